// SPDX-License-Identifier: BSD-3-Clause
//
// Receiving: recvmmsg into preallocated slots, where each message may be up to 64 KiB of datagrams of one sender that
// the kernel has joined (UDP_GRO) and that are told apart by the size which comes with it. Hot, without allocation;
// called by whoever holds the engine.
#define _GNU_SOURCE // struct mmsghdr in udp_state.h
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/counters.h"
#include "transport/udp/udp_state.h"

// The kernel wrote into the lengths last time.
static void renew_messages(struct co_udp_receiver *receiver, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        receiver->messages[i].msg_hdr.msg_controllen = sizeof receiver->controls[i];
        receiver->messages[i].msg_hdr.msg_flags = 0;
    }
}

static unsigned messages_for(const struct co_udp_receiver *receiver, unsigned budget)
{
    unsigned messages = budget / receiver->datagrams_per_message;
    return messages < 1 ? 1 : messages < CO_UDP_RECEIVE_SLOTS ? messages : CO_UDP_RECEIVE_SLOTS;
}

// One recvmmsg. Returns messages taken, 0 when the socket is empty, or -errno; *wanted is how many there was room for.
static int receive_once(struct co_udp *udp, int socket, int fd, unsigned budget, unsigned *wanted,
                        struct co_udp_taken *taken, co_deliver_fn deliver, void *arg)
{
    struct co_udp_receiver *receiver = &udp->receiver;
    *wanted = messages_for(receiver, budget);
    renew_messages(receiver, *wanted);
    co_udp_landings_aim(receiver, socket, *wanted, arg);
    if (receiver->landings.count > 0 && *wanted > CO_UDP_LANDINGS) {
        *wanted = CO_UDP_LANDINGS;
    }
    co_counter_add(CO_COUNT_RECEIVE_CALLS, 1);
    int count = recvmmsg(fd, receiver->messages, *wanted, MSG_DONTWAIT, NULL), error = errno;
    co_udp_landings_settle(receiver, count < 0 ? -error : count, arg);
    if (count < 0) {
        // judged by the caller, who knows the socket; what cannot be written to its place is gone, and asked for again
        bool is_unlucky = error == EAGAIN || error == EINTR || (error == EFAULT && receiver->landings.count > 0);
        return is_unlucky ? 0 : -error;
    }
    unsigned before = taken->datagrams;
    for (int i = 0; i < count; i++) {
        if (i + 1 < count) {
            __builtin_prefetch(receiver->messages[i + 1].msg_hdr.msg_iov->iov_base);
        }
        if (!co_udp_landings_deliver(receiver, (unsigned)i, taken, deliver, arg)) {
            co_udp_message_deliver(&receiver->messages[i], taken, deliver, arg);
        }
    }
    if (count > 0) {
        receiver->datagrams_per_message = (taken->datagrams - before) / (unsigned)count;
    }
    return count;
}

// Asked again before each call, for the receiver of a datagram may leave its group. -1: not open.
static int descriptor_of(const struct co_udp *udp, int socket)
{
    return socket == CO_UDP_UNICAST ? udp->unicast_fd : udp->group_fds[socket];
}

static int judge(struct co_udp *udp, int socket, int error)
{
    if (!co_udp_is_own(udp, socket)) {
        return -EBADF;
    }
    if (socket == CO_UDP_UNICAST) {
        co_udp_unreachable_note(udp);
    }
    return co_udp_receive_error(-error);
}

// Empties one socket as far as the budget goes.
static int drain(struct co_udp *udp, int socket, unsigned budget, struct co_udp_taken *taken, co_deliver_fn deliver,
                 void *arg)
{
    unsigned wanted = 0;
    int count;
    do {
        int fd = descriptor_of(udp, socket);
        if (fd < 0) {
            return 0;
        }
        count = receive_once(udp, socket, fd, budget - taken->datagrams, &wanted, taken, deliver, arg);
    } while (count > 0 && (unsigned)count == wanted && taken->datagrams < budget);
    return count < 0 ? judge(udp, socket, count) : 0;
}

// As poll(2) left the descriptors.
static uint32_t ready_bits(const struct co_udp *udp, const struct pollfd *fds, int count)
{
    uint32_t bits = 0;
    for (int i = 0; i < count; i++) {
        if (!(fds[i].revents & (POLLIN | POLLERR | POLLNVAL))) { // reading finds out that it is closed
            continue;
        }
        bits |= fds[i].fd == udp->unicast_fd ? CO_UDP_UNICAST_BIT : 0;
        for (unsigned group = 0; group < udp->groups.count; group++) {
            bits |= fds[i].fd == udp->group_fds[group] ? UINT32_C(1) << group : 0;
        }
    }
    return bits;
}

// Which sockets have something, lanes' included, in one call.
static uint32_t ask(struct co_udp *udp)
{
    struct pollfd fds[CO_UDP_GROUPS_MAX + 1] = {{.fd = udp->unicast_fd, .events = POLLIN}};
    nfds_t count = 1;
    for (unsigned group = 0; group < udp->groups.count; group++) {
        if (udp->group_fds[group] >= 0) {
            fds[count++] = (struct pollfd){.fd = udp->group_fds[group], .events = POLLIN};
        }
    }
    if (count == 1) {
        return CO_UDP_UNICAST_BIT;
    }
    co_counter_add(CO_COUNT_RECEIVE_CALLS, 1);
    if (poll(fds, count, 0) <= 0) {
        return 0;
    }
    if (fds[0].revents & POLLERR) {
        co_udp_unreachable_note(udp);
    }
    return ready_bits(udp, fds, (int)count);
}

void co_udp_woken(struct co_transport *transport, const struct pollfd *fds, int count)
{
    struct co_udp *udp = (struct co_udp *)transport;
    uint32_t bits = ready_bits(udp, fds, count);
    if (bits & CO_UDP_UNICAST_BIT) { // he may have slept for long
        co_udp_is_own(udp, CO_UDP_UNICAST);
    }
    for (unsigned group = 0; group < udp->groups.count; group++) {
        if (bits >> group & 1) {
            co_udp_is_own(udp, (int)group);
        }
    }
    // relaxed: the word is all, and one that comes too late or twice only means that poll asks, or finds a socket empty
    co_store_relaxed(&udp->woken, co_clock_now_ns() << CO_UDP_WOKEN_BITS | CO_UDP_WOKEN_BIT | bits);
}

// Unicast first, for control must not wait behind a flood of chunks; of the groups each in turn.
static unsigned list_ready(struct co_udp *udp, uint32_t bits, int ready[CO_UDP_GROUPS_MAX + 1])
{
    unsigned found = 0;
    if (bits & CO_UDP_UNICAST_BIT) {
        ready[found++] = CO_UDP_UNICAST;
    }
    for (unsigned i = 0; i < udp->groups.count; i++) {
        unsigned group = (udp->receiver.first_group + i) % udp->groups.count;
        if (bits >> group & 1 && udp->lanes[group] == NULL) {
            ready[found++] = (int)group;
        }
    }
    udp->receiver.first_group = (udp->receiver.first_group + 1) % udp->groups.count;
    return found;
}

// A socket in full flow is read without asking which ones are ready: that halves the system calls. The others wait
// for a few polls at most.
static int drain_busy(struct co_udp *udp, unsigned budget, struct co_udp_taken *taken, co_deliver_fn deliver, void *arg)
{
    struct co_udp_receiver *receiver = &udp->receiver;
    if (receiver->busy == CO_UDP_NOBODY || receiver->busy_polls >= CO_UDP_BUSY_POLLS) {
        receiver->busy_polls = 0;
        return 0;
    }
    receiver->busy_polls++;
    return drain(udp, receiver->busy, budget, taken, deliver, arg);
}

// Each gets its part first, and who has more then what the others have left: anybody may send to one socket faster than
// it can be read, and shall not keep the others from being read at all.
static int drain_ready(struct co_udp *udp, uint32_t bits, unsigned budget, struct co_udp_taken *taken,
                       co_deliver_fn deliver, void *arg)
{
    int ready[CO_UDP_GROUPS_MAX + 1], error = 0;
    unsigned count = list_ready(udp, bits, ready), most = 0;
    udp->receiver.busy = CO_UDP_NOBODY;
    for (unsigned left = count, more = 0; left > 0 && taken->datagrams < budget && !error; left = more, more = 0) {
        for (unsigned i = 0; i < left && taken->datagrams < budget && !error; i++) {
            unsigned before = taken->datagrams, part = (budget - before + left - i - 1) / (left - i);
            error = drain(udp, ready[i], before + part, taken, deliver, arg);
            if (taken->datagrams - before > most) {
                most = taken->datagrams - before;
                udp->receiver.busy = ready[i];
            }
            if (taken->datagrams - before >= part) {
                ready[more++] = ready[i];
            }
        }
    }
    return error;
}

int co_udp_poll(struct co_transport *transport, unsigned budget, co_deliver_fn deliver, void *arg)
{
    struct co_udp *udp = (struct co_udp *)transport;
    struct co_udp_taken taken = {0};
    uint64_t woken = co_load_relaxed(&udp->woken); // relaxed: as in co_udp_woken
    uint32_t bits = 0;
    if (woken != 0) {
        co_store_relaxed(&udp->woken, 0);
        // Who was off the processor meanwhile must look again, or he takes for lost what has come.
        uint64_t found = woken & ((UINT64_C(1) << CO_UDP_WOKEN_BITS) - 1);
        uint64_t age_ns = ((co_clock_now_ns() << CO_UDP_WOKEN_BITS) - (woken - found)) >> CO_UDP_WOKEN_BITS;
        bits = age_ns < CO_UDP_WOKEN_NS ? (uint32_t)found : 0;
    }
    if (co_load_relaxed(&udp->is_closed)) { // relaxed: for good
        return -EBADF;
    }
    int error = bits != 0 ? 0 : drain_busy(udp, budget, &taken, deliver, arg);
    udp->quiet_lanes = 0;
    if (taken.datagrams == 0 && !error) {
        bits = bits != 0 ? bits : ask(udp);
        udp->quiet_lanes = ~bits;
        error = drain_ready(udp, bits, budget, &taken, deliver, arg);
    }
    if (taken.datagrams > 0) {
        co_udp_count_received(&taken);
    }
    return error && taken.datagrams == 0 ? error : (int)taken.datagrams;
}
