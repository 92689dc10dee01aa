// SPDX-License-Identifier: BSD-3-Clause
//
// Whether our sockets are still ours. Where one of them is not, none is used any more: who closes one of what he does
// not know closes all. Between two looks they are safe by their numbers, which files that a program opens come to late.
#define _GNU_SOURCE // struct mmsghdr in udp_state.h
#include "base/log.h"
#include "transport/udp/udp_state.h"

static void lose(struct co_udp *udp)
{
    if (!atomic_exchange(&udp->is_closed, true)) {
        co_log(
            CO_LOG_WARN, CO_SUBSYS_UDP,
            "the program has closed descriptors that are not its own (closefrom, close_range), castoff's among them");
    }
}

bool co_udp_is_own(struct co_udp *udp, int socket)
{
    bool is_unicast = socket == CO_UDP_UNICAST;
    int fd = is_unicast ? udp->unicast_fd : udp->group_fds[socket];
    const struct co_descriptor_file *file = is_unicast ? &udp->unicast_file : &udp->group_files[socket];
    if (co_load_relaxed(&udp->is_closed)) { // relaxed: for good
        return false;
    }
    if (fd >= 0 && !co_descriptor_is_of(fd, file)) {
        lose(udp);
        return false;
    }
    return true;
}
