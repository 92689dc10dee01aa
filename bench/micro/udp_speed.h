// SPDX-License-Identifier: BSD-3-Clause
//
// What sender and receivers of udp_speed share: what their datagrams begin with, and the buffers.
#ifndef CASTOFF_BENCH_UDP_SPEED_H
#define CASTOFF_BENCH_UDP_SPEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "transport/udp/udp.h"

#define HEAD_BYTES 24
#define TAIL_BYTES 16

#define BUFFER_BYTES ((size_t)8 << 20)

enum word { HELLO = 1, DATA, END, READY, REPORT, DONE };

// Starts every datagram.
struct head {
    uint32_t word, from;
    uint64_t number; // DATA: its place in the stream, in bytes; REPORT: how far the receiver is; DONE: received bytes
    uint32_t ip;     // HELLO: the sender's address
    uint16_t port;
    uint16_t zero;
};
_Static_assert(sizeof(struct head) == HEAD_BYTES, "head of a datagram");

extern bool udp_speed_is_plain, udp_speed_is_untouched;

struct co_transport *udp_speed_open(const char *interface, bool plain, struct co_udp_address *address);
// False: nothing for so long.
bool udp_speed_sleep(struct co_transport *udp, int milliseconds, int want_write);

size_t udp_speed_payload(const struct co_transport *udp);
// Of datagrams, whole: what follows starts over at the buffer's begin.
uint64_t udp_speed_datagrams(const struct co_transport *udp);
// Where the payload of the datagram stands that begins there in the stream.
size_t udp_speed_place(const struct co_transport *udp, uint64_t number);

struct rusage udp_speed_usage_since(const struct rusage *start);
void udp_speed_print_usage(const char *role, const struct rusage *used, uint64_t from_ns, uint64_t to_ns);

int udp_speed_receive(const char *interface); // until the sender ends; the exit status

#endif
