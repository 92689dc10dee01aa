// SPDX-License-Identifier: BSD-3-Clause
//
// What a process says first on a proxy's unix socket, and what it is answered: layout and validation, in one place
// (docs/wire-format.md). A rank joins with the key of its job and, beside the message, the descriptor of its segment
// (segment_memory.h); a command asks for the status. Behind it a byte is a ring of the doorbell, whatever byte it is.
// Little-endian, of fixed width. Pure; any thread; set-up.
#ifndef CASTOFF_OFFLOAD_OFFLOAD_HELLO_H
#define CASTOFF_OFFLOAD_OFFLOAD_HELLO_H

#include <stddef.h>
#include <stdint.h>

#define CO_OFFLOAD_KEY_BYTES 32
#define CO_OFFLOAD_HELLO_BYTES 64
#define CO_OFFLOAD_WELCOME_BYTES 32

enum co_offload_hello_kind {
    CO_OFFLOAD_HELLO_JOIN = 1, // a rank
    CO_OFFLOAD_HELLO_STATUS    // the answer is text, up to the end of the connection
};

// How the proxy reaches the memory of a rank.
enum co_offload_lend {
    CO_OFFLOAD_LEND_ATTACH,
    CO_OFFLOAD_LEND_STAGE,
    CO_OFFLOAD_LEND_COPY, // the rank does, into copies behind its segment; of no job, but of a rank
    CO_OFFLOAD_LENDS
};

// Of STATUS all but the kind is zero.
struct co_offload_hello {
    uint32_t kind;
    uint32_t rank; // of the job
    uint8_t key[CO_OFFLOAD_KEY_BYTES];
    uint64_t probe_address, probe_word; // the rank has this word there, and the proxy writes its complement
};

struct co_offload_welcome {
    uint32_t error;                // an errno: the rank cannot join, and the connection is over. 0: it has
    uint32_t lend;                 // enum co_offload_lend
    uint32_t groups_max, ends_max; // proxy_core.h
};

void co_offload_hello_encode(uint8_t out[CO_OFFLOAD_HELLO_BYTES], const struct co_offload_hello *hello);
// -EPROTO: no such message, bit for bit.
int co_offload_hello_decode(struct co_offload_hello *out, const uint8_t bytes[CO_OFFLOAD_HELLO_BYTES]);

void co_offload_welcome_encode(uint8_t out[CO_OFFLOAD_WELCOME_BYTES], const struct co_offload_welcome *welcome);
int co_offload_welcome_decode(struct co_offload_welcome *out, const uint8_t bytes[CO_OFFLOAD_WELCOME_BYTES]);

#endif
