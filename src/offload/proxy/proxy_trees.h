// SPDX-License-Identifier: BSD-3-Clause
//
// Who passes a message on that goes from one member of a team to all: a chain of nodes from the root's, each the one
// behind the other, and in each node a chain of its members, whose first one has the message from the node before. So
// it enters and leaves each node once, however many members that has, and a member that comes late keeps it from those
// alone who stand behind it. All proxies find the same, for they have the members in one order. A node here is what one
// proxy serves. Pure; any thread; hot, but for making.
#ifndef CASTOFF_OFFLOAD_PROXY_PROXY_TREES_H
#define CASTOFF_OFFLOAD_PROXY_PROXY_TREES_H

#include <stdint.h>

#define CO_PROXY_NOBODY UINT32_MAX

struct co_proxy_layout; // of a team's members on nodes

// `proxy_of_member` of so many members, each below `proxies`. -ENOMEM.
int co_proxy_layout_make(struct co_proxy_layout **out, const uint32_t *proxy_of_member, uint32_t members,
                         uint32_t proxies);
void co_proxy_layout_free(struct co_proxy_layout *layout); // NULL: nothing

// Places of members: from whom it comes, to whom it goes; CO_PROXY_NOBODY: there is none.
struct co_proxy_tree {
    uint32_t from;
    uint32_t to[2]; // of the next node, and of the own one
};

// Of member `me`, when `root` has the message.
struct co_proxy_tree co_proxy_tree_of(const struct co_proxy_layout *layout, uint32_t root, uint32_t me);

#endif
