// SPDX-License-Identifier: BSD-3-Clause
//
// What proxies know of communicators: a team each, from its first call that they carry on. Beside the communicator's
// entry and not in it, for most have none. Warm to open; look-up is hot and safe from any thread.
#ifndef CASTOFF_PMPI_COMMUNICATOR_COMMUNICATOR_PROXIES_H
#define CASTOFF_PMPI_COMMUNICATOR_COMMUNICATOR_PROXIES_H

struct co_communicator;
struct co_proxied_team;

struct co_proxied_team *co_communicator_find_proxies(const struct co_communicator *entry); // NULL: none yet
// The first one: of a communicator there is one thread at a time. 0 or -ENOMEM.
int co_communicator_keep_proxies(const struct co_communicator *entry, struct co_proxied_team *team);
// With the communicator: calls under way keep what they need.
void co_communicator_drop_proxies(const struct co_communicator *entry);

#endif
