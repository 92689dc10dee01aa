// SPDX-License-Identifier: BSD-3-Clause
//
// A lane: one group's socket with receive memory of its own, so that a thread can take its datagrams from the kernel
// while others do the same for other groups and somebody else holds the engine. Opened once, when threads are there to
// use it. Hot; one thread at a time for one lane.
#define _GNU_SOURCE // struct mmsghdr in udp_state.h
#include <errno.h>
#include <stdlib.h>

#include "base/counters.h"
#include "transport/udp/udp_state.h"

int co_udp_lane_open(struct co_transport *transport, unsigned index)
{
    struct co_udp *udp = (struct co_udp *)transport;
    if (index >= udp->groups.count || udp->group_fds[index] < 0) {
        return -EINVAL;
    }
    if (udp->lanes[index] != NULL) {
        return 0;
    }
    struct co_udp_lane *lane = malloc(sizeof(*lane));
    if (lane == NULL) {
        return -ENOMEM;
    }
    for (unsigned i = 0; i < CO_UDP_LANE_SLOTS; i++) {
        lane->pieces[i] =
            (struct iovec){.iov_base = lane->slots + (size_t)i * CO_UDP_SLOT_BYTES, .iov_len = CO_UDP_SLOT_BYTES};
        lane->messages[i].msg_hdr =
            (struct msghdr){.msg_iov = &lane->pieces[i], .msg_iovlen = 1, .msg_control = &lane->controls[i]};
    }
    udp->lanes[index] = lane;
    udp->receiver.busy = CO_UDP_NOBODY; // poll may have been about to go on with this group
    return 0;
}

int co_udp_lane_receive(struct co_transport *transport, unsigned index, co_deliver_fn deliver, void *arg,
                        bool *has_more)
{
    struct co_udp *udp = (struct co_udp *)transport;
    struct co_udp_lane *lane = udp->lanes[index];
    for (unsigned i = 0; i < CO_UDP_LANE_SLOTS; i++) { // the kernel wrote into the lengths last time
        lane->messages[i].msg_hdr.msg_controllen = sizeof(lane->controls[i]);
        lane->messages[i].msg_hdr.msg_flags = 0;
    }
    if (co_load_relaxed(&udp->is_closed)) { // relaxed: for good
        *has_more = false;
        return -EBADF;
    }
    co_counter_add(CO_COUNT_RECEIVE_CALLS, 1);
    int count = recvmmsg(udp->group_fds[index], lane->messages, CO_UDP_LANE_SLOTS, MSG_DONTWAIT, NULL);
    *has_more = count == CO_UDP_LANE_SLOTS;
    if (count < 0) {
        int error = errno;
        return co_udp_is_own(udp, (int)index) ? co_udp_receive_error(error) : -EBADF;
    }
    struct co_udp_taken taken = {0};
    for (int i = 0; i < count; i++) {
        co_udp_message_deliver(&lane->messages[i], &taken, deliver, arg);
    }
    co_udp_count_received(&taken);
    return (int)taken.datagrams;
}

int co_udp_lane_descriptor(struct co_transport *transport, unsigned index)
{
    const struct co_udp *udp = (const struct co_udp *)transport;
    return co_load_relaxed(&udp->is_closed) ? -1 : udp->group_fds[index]; // relaxed: for good
}

bool co_udp_lane_is_quiet(const struct co_transport *transport, unsigned index)
{
    return ((const struct co_udp *)transport)->quiet_lanes >> index & 1;
}

void co_udp_lane_close(struct co_udp *udp, unsigned index)
{
    free(udp->lanes[index]);
    udp->lanes[index] = NULL;
}
