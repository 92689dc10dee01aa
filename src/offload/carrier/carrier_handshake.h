// SPDX-License-Identifier: BSD-3-Clause
//
// How two proxies begin a connection, without its socket: layout and checks of what they say first
// (docs/wire-format.md has the drawing). Who connects says HELLO, which has a code by the job's key: a stranger gets no
// answer. The answer is a HELLO and a proof, then each end has a proof for the other: codes by a key that comes from
// both HELLOs, whole, and the job's key. Each HELLO has random bytes, so nothing that was said once proves anything a
// second time. One thread; cold.
#ifndef CASTOFF_OFFLOAD_CARRIER_CARRIER_HANDSHAKE_H
#define CASTOFF_OFFLOAD_CARRIER_CARRIER_HANDSHAKE_H

#include <stdint.h>

#include "base/auth/auth.h"
#include "offload/carrier.h"

#define CO_CARRIER_VERSION 1
#define CO_CARRIER_HELLO_BYTES 64
#define CO_CARRIER_PROOF_BYTES 16
#define CO_CARRIER_GREETING_MAX (CO_CARRIER_HELLO_BYTES + CO_CARRIER_PROOF_BYTES) // what is said at a time

// The same for all connections of a proxy. The owner wipes it.
struct co_carrier_identity {
    uint8_t key[CO_AUTH_KEY_BYTES]; // the job's
    int self, proxies;
    bool has_aes; // this processor, as co_auth_is_portable says
    enum co_auth_form bulk_form;
};

// The owner wipes it, as soon as the connection has its tags.
struct co_carrier_handshake {
    bool is_client;  // has connected
    bool is_greeted; // the peer's HELLO was good, and a client has shown the key
    bool has_aes;    // both ends: known when greeted, as what follows
    int peer;        // of a server: -1 before that
    enum co_carrier_connection connection;
    uint8_t own_hello[CO_CARRIER_HELLO_BYTES];
    uint8_t key[CO_AUTH_KEY_BYTES]; // of the connection
};

// A client's: own_hello is to be sent at once. libsodium is initialized.
void co_carrier_handshake_begin_client(struct co_carrier_handshake *handshake,
                                       const struct co_carrier_identity *identity, int peer,
                                       enum co_carrier_connection connection);
void co_carrier_handshake_begin_server(struct co_carrier_handshake *handshake);

// Bytes of the peer's next word, of which co_carrier_handshake_take needs all; no more belong to the handshake.
size_t co_carrier_handshake_wants(const struct co_carrier_handshake *handshake);

// One word of the peer's. 0: there will be another one; 1: both have the key, and records follow; -errno and `why`,
// what is wrong with it: -EPROTO it is no castoff proxy, -EACCES it does not have the key of this job; where it has:
// -EPROTONOSUPPORT, -EINVAL it has another version or setting, and handshake->peer is right. In each case
// `answer_bytes` of `answer` are to be sent, 0 or more.
int co_carrier_handshake_take(struct co_carrier_handshake *handshake, const struct co_carrier_identity *identity,
                              const uint8_t *word, uint8_t answer[CO_CARRIER_GREETING_MAX], size_t *answer_bytes,
                              const char **why);

#endif
