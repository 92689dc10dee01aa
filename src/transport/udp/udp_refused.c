// SPDX-License-Identifier: BSD-3-Clause
//
// Sends that this host's own kernel refuses: no route, a firewall, an interface or queue that takes nothing. One
// refusal is a datagram lost on the wire. Refusals in a row are told once, with reason and destination, and a peer to
// whom nothing has gone for the deadline counts as gone. Of a group that long without a taker everything counts as
// lost: members then ask for it, and get it by unicast. Cold: only after a refusal.
#define _GNU_SOURCE // struct mmsghdr in udp_state.h
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "transport/udp/udp_state.h"

#define TELL_NS CO_NS_PER_S        // a row as long is worth a line
#define QUEUE_NS CO_NS_PER_MS      // a moment for the interface's queue
#define PAUSE_NS (2 * CO_NS_PER_S) // without a try ends a row: who waits tries far more often
// No more of the time between two tries counts against the socket's queue: a host that stands still (a guest whose
// processor is taken away) drains none.
#define STALL_NS (CO_NS_PER_S / 4)

static void describe(struct co_destination to, const struct sockaddr_in *address, char *text, size_t room)
{
    char ip[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &address->sin_addr, ip, sizeof ip);
    if (to.kind == CO_TO_PEER) {
        snprintf(text, room, "rank %u (%s)", to.index, ip);
    } else {
        snprintf(text, room, "the multicast group %s", ip);
    }
}

static void tell(struct co_udp *udp, struct co_destination to, const struct sockaddr_in *address, int error)
{
    char where[64];
    if (!atomic_exchange(&udp->has_told_refusal, true)) {
        describe(to, address, where, sizeof where);
        co_log(CO_LOG_WARN, CO_SUBSYS_UDP, "this host refuses to send to %s: %s", where, strerror(error));
    }
}

void co_udp_peer_text(const struct co_transport *transport, int rank, char *text, size_t room)
{
    const struct co_udp *udp = (const struct co_udp *)transport;
    describe((struct co_destination){CO_TO_PEER, (unsigned)rank}, &udp->peers[rank], text, room);
}

struct co_udp_refusals *co_udp_refusals_of(struct co_udp *udp, struct co_destination to)
{
    return to.kind == CO_TO_PEER ? &udp->refusals[to.index] : &udp->group_refusals[to.index];
}

// 0: another sender has read its clock after us.
static uint64_t passed_ns(uint64_t since_ns, uint64_t now_ns)
{
    return now_ns > since_ns ? now_ns - since_ns : 0;
}

bool co_udp_refused(struct co_udp *udp, struct co_destination to, const struct sockaddr_in *address, int error)
{
    struct co_udp_refusals *row = error == EAGAIN ? &udp->full : co_udp_refusals_of(udp, to);
    uint64_t now_ns = co_clock_now_ns();
    // relaxed: a group's, and the socket's, may be written by two senders at a time, which only makes its row a little
    // longer or shorter; of the two words one may be the other's already
    uint64_t last_ns = co_load_relaxed(&row->last_ns), since_ns = co_load_relaxed(&row->since_ns);
    uint64_t pause_ns = passed_ns(last_ns, now_ns);
    if (since_ns == 0 || pause_ns > PAUSE_NS) {
        since_ns = now_ns;
        co_store_relaxed(&row->since_ns, since_ns);
    } else if (error == EAGAIN && pause_ns > STALL_NS) {
        since_ns += pause_ns - STALL_NS;
        co_store_relaxed(&row->since_ns, since_ns);
    }
    co_store_relaxed(&row->last_ns, now_ns);
    uint64_t row_ns = passed_ns(since_ns, now_ns);
    if (row_ns >= TELL_NS || row_ns >= udp->give_up_ns) {
        tell(udp, to, address, error);
    }
    if (row_ns < udp->give_up_ns) {
        return false;
    }
    if (to.kind == CO_TO_PEER) {
        co_udp_told_note(&udp->given_up, (int)to.index);
    }
    return true;
}

void co_udp_pause(struct co_udp *udp)
{
    co_store_relaxed(&udp->pause_until_ns, co_clock_now_ns() + QUEUE_NS); // relaxed: a later look will do
}

uint64_t co_udp_pause_ends_ns(struct co_udp *udp)
{
    uint64_t until_ns = co_load_relaxed(&udp->pause_until_ns);
    return until_ns > co_clock_now_ns() ? until_ns : 0;
}
