// SPDX-License-Identifier: BSD-3-Clause
//
// The tag at the end of every datagram. With authentication it is AES-256-GCM over header and payload as
// associated data (libsodium, or gmac.h where that is faster; ChaCha20-Poly1305 where some rank's processor has no
// AES), under a key of the sending rank that is derived from the job's random key; without, a seeded XXH3 check that
// finds damage, not malice, of everything or, to be as fast as the sockets are, of all but the payload of chunks, for
// which UDP's checksum is left. The nonce is the chunk's identity, which no two different contents ever share, so any
// member can seal a repair. Hot; one thread at a time for one struct co_auth.
#ifndef CASTOFF_BASE_AUTH_AUTH_H
#define CASTOFF_BASE_AUTH_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CO_AUTH_KEY_BYTES 32
#define CO_AUTH_NONCE_BYTES 12
#define CO_AUTH_TAG_MAX 16
#define CO_AUTH_HEAD_BYTES 24 // of a chunk: what CO_AUTH_HEAD covers

struct co_auth;

// In the order of the choices of CASTOFF_AUTH.
enum co_auth_form {
    CO_AUTH_KEYED, // AES or ChaCha20
    CO_AUTH_CHECK, // XXH3 of head and payload
    CO_AUTH_HEAD   // XXH3, of chunks and contributions only of the head
};

// Domains keep equal nonces of different uses apart.
enum co_auth_domain { CO_AUTH_CHUNK, CO_AUTH_REPAIR, CO_AUTH_CONTROL, CO_AUTH_CONTRIBUTION, CO_AUTH_DOMAIN_COUNT };

// Keys of the `ranks` senders are derived at first use.
int co_auth_open(struct co_auth **out, const uint8_t key[CO_AUTH_KEY_BYTES], int ranks, enum co_auth_form form);
// Another one with the same keys, for another thread.
int co_auth_copy(struct co_auth **out, const struct co_auth *auth);
void co_auth_close(struct co_auth *auth);

size_t co_auth_tag_bytes(const struct co_auth *auth); // 16 keyed, 8 not
const char *co_auth_name(const struct co_auth *auth); // "aes-256-gcm", "chacha20-poly1305", "xxh3", "xxh3-head"

// False: the payload of a chunk is not looked at, neither by seal nor by verify.
bool co_auth_covers_payload(const struct co_auth *auth);

// Keyed without AES: this processor lacks what libsodium needs for it, or it was given up.
bool co_auth_is_portable(const struct co_auth *auth);
// Gives up AES for ChaCha20-Poly1305 although this processor has it: all ranks must call it when the form of one of
// them is portable, since they check each other's tags. Before the first seal. Without a key there is nothing to give
// up.
void co_auth_use_portable(struct co_auth *auth);

// Writes the tag over head and payload (either may be empty). `team` is the full 64-bit team id, of which the wire
// carries half: it is covered too. The nonce must differ between all contents of one (domain, rank, team): each has a
// key of its own. Head and payload together: at most 65536 bytes, or any where one is empty; adjacent in memory they
// are not copied. CO_AUTH_HEAD: the head of a chunk is CO_AUTH_HEAD_BYTES long.
void co_auth_seal(struct co_auth *auth, enum co_auth_domain domain, int rank, uint64_t team,
                  const uint8_t nonce[CO_AUTH_NONCE_BYTES], const void *head, size_t head_bytes, const void *payload,
                  size_t payload_bytes, uint8_t *tag);

// `data` is head and payload together, followed by the tag. True when it verifies.
bool co_auth_verify(struct co_auth *auth, enum co_auth_domain domain, int rank, uint64_t team,
                    const uint8_t nonce[CO_AUTH_NONCE_BYTES], const uint8_t *data, size_t data_bytes);

// A number that all who have the key know, and nobody else before he has seen it.
uint64_t co_auth_word(const struct co_auth *auth);

// 32 random bytes of the system.
int co_auth_random_key(uint8_t key[CO_AUTH_KEY_BYTES]);

#endif
