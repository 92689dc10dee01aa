// SPDX-License-Identifier: BSD-3-Clause
//
// Sending: with segmentation offload one system call carries up to 64 KiB of datagrams, without it sendmmsg takes up
// to 64 of them. Payload leaves from where it lies. Hot; called by whoever holds
// the engine and by one sending thread beside it, so nothing here is kept from call to call.
#define _GNU_SOURCE // struct mmsghdr in udp_state.h
#include <errno.h>
#include <string.h>

#include "base/counters.h"
#include "transport/udp/udp_state.h"

#define RETRIES 8           // of a call, after errors that may belong to earlier datagrams
#define GSO_REFUSED_MOST 16 // batches in a row: anybody can write errors faster than a few calls are tried again

static unsigned add_pieces(struct iovec *pieces, const struct co_tx_datagram *datagram)
{
    unsigned count = 0;
    const void *starts[CO_UDP_PIECES] = {datagram->head, datagram->payload, datagram->tail};
    uint32_t sizes[CO_UDP_PIECES] = {datagram->head_bytes, datagram->payload_bytes, datagram->tail_bytes};
    for (int i = 0; i < CO_UDP_PIECES; i++) {
        if (sizes[i] > 0) {
            pieces[count++] = (struct iovec){.iov_base = (void *)(uintptr_t)starts[i], .iov_len = sizes[i]};
        }
    }
    return count;
}

// Datagrams from the start of the batch that one offloaded send carries: equal sizes, the last one may be smaller.
static unsigned offload_run(const struct co_tx_datagram *batch, unsigned count, uint32_t *run_bytes)
{
    uint32_t size = (uint32_t)co_tx_datagram_bytes(&batch[0]);
    unsigned run = 1;
    *run_bytes = size;
    if (size == 0) {
        return run;
    }
    while (run < count && run < CO_UDP_SEGMENTS_MAX) {
        uint32_t next = (uint32_t)co_tx_datagram_bytes(&batch[run]);
        if (next > size || next == 0 || *run_bytes + next > CO_UDP_PAYLOAD_MAX) {
            break;
        }
        *run_bytes += next;
        run++;
        if (next < size) {
            break;
        }
    }
    return run;
}

static void count_sent(unsigned datagrams, size_t bytes)
{
    co_counter_add(CO_COUNT_DATAGRAMS_SENT, datagrams);
    co_counter_add(CO_COUNT_WIRE_BYTES_SENT, bytes);
}

enum outcome { REFUSED, FULL, AGAIN, NO_OFFLOAD, BROKEN };

// What an errno of a send means for the datagrams of that call.
static enum outcome judge(int error, bool offloaded)
{
    switch (error) {
    case EAGAIN:
    case ENOBUFS: // the interface's queue dropped it
    case ENOMEM:
        return FULL;
    case EINTR:
    case ECONNREFUSED: // told now, but of an earlier datagram; this one has not left
        return AGAIN;
    case EINVAL: // a route that is a black hole, or:
    case EIO:    // the interface cannot checksum segments
    case EOPNOTSUPP:
    case EMSGSIZE:
        return offloaded ? NO_OFFLOAD : REFUSED;
    case EBADF:
    case ENOTSOCK:
    case EFAULT:
        return BROKEN;
    default: // no route, a firewall, no address any more: lost, as on the wire
        return REFUSED;
    }
}

static int send_offloaded(struct co_udp *udp, struct sockaddr_in *to, const struct co_tx_datagram *batch,
                          unsigned count, unsigned *run)
{
    union {
        struct cmsghdr header; // for its alignment
        char room[CMSG_SPACE(sizeof(uint16_t))];
    } control;
    struct iovec pieces[CO_UDP_SEGMENTS_MAX * CO_UDP_PIECES];
    uint32_t bytes;
    size_t used = 0;
    *run = offload_run(batch, count, &bytes);
    for (unsigned i = 0; i < *run; i++) {
        used += add_pieces(pieces + used, &batch[i]);
    }
    struct msghdr message = {.msg_name = to, .msg_namelen = sizeof *to, .msg_iov = pieces, .msg_iovlen = used};
    if (*run > 1) {
        uint16_t segment = (uint16_t)co_tx_datagram_bytes(&batch[0]);
        memset(&control, 0, sizeof control);
        control.header.cmsg_level = IPPROTO_UDP;
        control.header.cmsg_type = UDP_SEGMENT;
        control.header.cmsg_len = CMSG_LEN(sizeof segment);
        memcpy(CMSG_DATA(&control.header), &segment, sizeof segment);
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
    }
    co_counter_add(CO_COUNT_SEND_CALLS, 1);
    if (sendmsg(udp->unicast_fd, &message, MSG_DONTWAIT) < 0) {
        return -errno;
    }
    count_sent(*run, bytes);
    return (int)*run;
}

static int send_plain(struct co_udp *udp, struct sockaddr_in *to, const struct co_tx_datagram *batch, unsigned count,
                      unsigned *run)
{
    struct mmsghdr messages[CO_UDP_SEGMENTS_MAX];
    struct iovec pieces[CO_UDP_SEGMENTS_MAX * CO_UDP_PIECES];
    size_t used = 0, bytes = 0;
    *run = count < CO_UDP_SEGMENTS_MAX ? count : CO_UDP_SEGMENTS_MAX;
    for (unsigned i = 0; i < *run; i++) {
        unsigned added = add_pieces(pieces + used, &batch[i]);
        messages[i].msg_hdr =
            (struct msghdr){.msg_name = to, .msg_namelen = sizeof *to, .msg_iov = pieces + used, .msg_iovlen = added};
        used += added;
    }
    co_counter_add(CO_COUNT_SEND_CALLS, 1);
    int sent = sendmmsg(udp->unicast_fd, messages, *run, MSG_DONTWAIT);
    if (sent < 0 && (errno == ENOSYS || errno == EPERM)) { // a sandbox forbids it, or a firewall says so of both
        sent = sendmsg(udp->unicast_fd, &messages[0].msg_hdr, MSG_DONTWAIT) < 0 ? -1 : 1;
    }
    if (sent < 0) {
        return -errno;
    }
    for (int i = 0; i < sent; i++) {
        bytes += co_tx_datagram_bytes(&batch[i]);
    }
    count_sent((unsigned)sent, bytes);
    *run = 1; // an error, if any, concerns the first that was not sent: the next call tells
    return sent;
}

static bool all_fit(const struct co_udp *udp, const struct co_tx_datagram *batch, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (co_tx_datagram_bytes(&batch[i]) > udp->transport.max_datagram_bytes) {
            return false;
        }
    }
    return true;
}

static int find_address(const struct co_udp *udp, struct co_destination to, struct sockaddr_in *address)
{
    if (to.kind == CO_TO_GROUP) {
        if (to.index >= udp->groups.count) {
            return -EINVAL;
        }
        *address = (struct sockaddr_in){.sin_family = AF_INET,
                                        .sin_port = htons(udp->groups.port),
                                        .sin_addr.s_addr = htonl(udp->groups.first_ip + to.index)};
        return 0;
    }
    if (to.index >= (unsigned)udp->peer_count) {
        return -EINVAL;
    }
    *address = udp->peers[to.index];
    return 0;
}

static void end_refusals(struct co_udp_refusals *row)
{
    if (co_load_relaxed(&row->since_ns) != 0) { // relaxed: as in co_udp_refused
        co_store_relaxed(&row->since_ns, 0);
    }
}

// Of a batch some has left; where its start `had_to` leave plain, it was the offload that the kernel refused.
static void note_offload(struct co_udp *udp, bool had_to, bool offloaded)
{
    // relaxed, all of it: another sender finds it out by itself
    if (had_to && co_add_relaxed(&udp->gso_refused, 1) + 1 >= GSO_REFUSED_MOST) {
        co_store_relaxed(&udp->has_gso, false);
    } else if (offloaded && co_load_relaxed(&udp->gso_refused) != 0) {
        co_store_relaxed(&udp->gso_refused, 0);
    }
}

// An error may be ICMP's word on an earlier datagram. Whether it is cannot be told: its entry in the error queue may
// have been read by another thread, or have found no room there. So some errors of a call are tried again, whatever
// they say.
static bool may_concern_earlier(struct co_udp *udp, unsigned *retries)
{
    co_udp_unreachable_note(udp);
    return ++*retries <= RETRIES;
}

int co_udp_send(struct co_transport *transport, struct co_destination to, const struct co_tx_datagram *batch,
                unsigned count)
{
    struct co_udp *udp = (struct co_udp *)transport;
    struct sockaddr_in address;
    unsigned done = 0, retries = 0;
    bool is_plain = false; // offload was refused: because it is none, or as everything is
    int error = find_address(udp, to, &address);
    if (error || !all_fit(udp, batch, count)) {
        return error ? error : -EMSGSIZE;
    }
    while (done < count && !co_load_relaxed(&udp->is_closed)) { // relaxed: for good
        unsigned run;
        bool offloaded = !is_plain && co_load_relaxed(&udp->has_gso);
        int sent = offloaded ? send_offloaded(udp, &address, batch + done, count - done, &run)
                             : send_plain(udp, &address, batch + done, count - done, &run);
        if (sent >= 0) {
            note_offload(udp, is_plain && done == 0, offloaded && run > 1);
            done += (unsigned)sent;
            end_refusals(co_udp_refusals_of(udp, to));
            end_refusals(&udp->full);
            continue;
        }
        switch (judge(-sent, offloaded && run > 1)) {
        case REFUSED:
            if (may_concern_earlier(udp, &retries)) {
                break;
            }
            co_counter_add(CO_COUNT_SEND_REFUSED, 1);
            co_udp_refused(udp, to, &address, -sent);
            done += offloaded ? run : 1;
            break;
        case FULL:
            if (sent != -EAGAIN) {
                co_udp_pause(udp);
            }
            if (!co_udp_refused(udp, to, &address, -sent)) {
                return (int)done;
            }
            done += offloaded ? run : 1; // a queue that never moves
            break;
        case AGAIN:
            co_udp_unreachable_note(udp);
            if (++retries > RETRIES) {
                return (int)done;
            }
            break;
        case NO_OFFLOAD:
            is_plain = !may_concern_earlier(udp, &retries);
            break;
        case BROKEN:
            co_udp_is_own(udp, CO_UDP_UNICAST);
            return done > 0 ? (int)done : sent;
        }
    }
    return done > 0 || count == 0 ? (int)done : -EBADF;
}
