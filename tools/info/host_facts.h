// SPDX-License-Identifier: BSD-3-Clause
//
// What a host says of itself for `castoff info --check`, in a line of JSON (`castoff info --facts`): which castoff it
// has, by which interface it would hear multicast, and what stands in the way there. Cold.
#ifndef CASTOFF_TOOLS_INFO_HOST_FACTS_H
#define CASTOFF_TOOLS_INFO_HOST_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct co_host_facts {
    char host[65];
    char version[64]; // with the commit
    bool has_library, has_multicast;
    char why[200];          // no multicast: why not
    char interface[32];     // the one that UDP takes
    char bridge[32];        // of this host, below or above that interface, which snoops without a querier; "": none
    int64_t mtu;            // of it; -1: not known, also below
    int64_t reverse_path;   // rp_filter in force: 1 is strict
    int64_t receive_bytes;  // buffer of a socket, as granted
    int64_t wanted_bytes;   // and as asked for
    int64_t overflows;      // datagrams that found no room in a socket's buffer, since this host started
    int64_t rank, ip, port; // of a session's host: where it hears unicast, host byte order; 0: nowhere
};

// Of the interface by which an address of another host (network byte order) is reached, 0: of the first one. Needs
// co_settings_load. Leaves nothing behind.
void co_host_facts_find(struct co_host_facts *facts, uint32_t near_ip);

// A line, with its end. 0 or -errno.
int co_host_facts_print(FILE *stream, const struct co_host_facts *facts);

// False: not such a line, or cut off.
bool co_host_facts_parse(struct co_host_facts *facts, const char *line);

#endif
