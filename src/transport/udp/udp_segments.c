// SPDX-License-Identifier: BSD-3-Clause
//
// What a received message holds: up to 64 KiB of datagrams of one sender that the kernel has joined (UDP_GRO) and that
// are told apart by the size which comes with it. Hot, without allocation; called by whoever receives, the holder of
// the engine or the thread of a lane.
#define _GNU_SOURCE // struct mmsghdr in udp_state.h
#include <errno.h>
#include <string.h>

#include "base/counters.h"
#include "transport/udp/udp_state.h"

void co_udp_count_received(const struct co_udp_taken *taken)
{
    co_counter_add(CO_COUNT_DATAGRAMS_RECEIVED, taken->datagrams);
    co_counter_add(CO_COUNT_WIRE_BYTES_RECEIVED, taken->bytes);
}

size_t co_udp_segment_bytes(struct mmsghdr *message)
{
    struct msghdr *head = &message->msg_hdr;
    size_t bytes = message->msg_len;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(head); header; header = CMSG_NXTHDR(head, header)) {
        if (header->cmsg_level == IPPROTO_UDP && header->cmsg_type == UDP_GRO) {
            int size;
            memcpy(&size, CMSG_DATA(header), sizeof size);
            return size > 0 ? (size_t)size : bytes;
        }
    }
    return bytes;
}

void co_udp_segments_deliver(const uint8_t *data, size_t bytes, size_t segment, struct co_udp_taken *taken,
                             co_deliver_fn deliver, void *arg)
{
    struct co_arrival arrivals[CO_DELIVER_AT_ONCE];
    size_t at = 0;
    unsigned count = 0;
    do { // an empty datagram is one, too
        size_t size = bytes - at < segment ? bytes - at : segment;
        __builtin_prefetch(data + at); // its header
        arrivals[count++] = (struct co_arrival){.data = data + at, .bytes = (uint32_t)size};
        at += size;
        if (count == CO_DELIVER_AT_ONCE || at == bytes) {
            deliver(arg, arrivals, count);
            taken->datagrams += count;
            count = 0;
        }
    } while (at < bytes);
    taken->bytes += bytes;
}

void co_udp_message_deliver(struct mmsghdr *message, struct co_udp_taken *taken, co_deliver_fn deliver, void *arg)
{
    co_udp_segments_deliver(message->msg_hdr.msg_iov->iov_base, message->msg_len, co_udp_segment_bytes(message), taken,
                            deliver, arg);
}

// What an errno of a receive means for the transport: only a broken descriptor is for good.
int co_udp_receive_error(int error)
{
    return error == EBADF || error == ENOTSOCK || error == EFAULT || error == EINVAL ? -error : 0;
}
