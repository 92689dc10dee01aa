// SPDX-License-Identifier: BSD-3-Clause
//
// What the module libcastoff-gmac.so offers: tags of AES-256-GCM over associated data alone (GMAC, NIST SP 800-38D) by
// the vector units of the newer x86-64 processors, with intel-ipsec-mb. The same tags as libsodium's. A library of its
// own, so that the preloaded one needs no more than the C library; base/auth/gmac.c loads it.
#ifndef CASTOFF_BASE_GMAC_MODULE_H
#define CASTOFF_BASE_GMAC_MODULE_H

#include <stddef.h>
#include <stdint.h>

#define CO_GMAC_MODULE_VERSION 1
#define CO_GMAC_KEY_ROOM 2048 // an expanded key, aligned to 64

struct co_gmac_module {
    int version;
    const char *name; // "ipsec-mb"
    void (*expand)(void *expanded, const uint8_t key[32]);
    // Head and payload need not be adjacent; either may be empty.
    void (*tag)(const void *expanded, const uint8_t nonce[12], const void *head, size_t head_bytes, const void *payload,
                size_t payload_bytes, uint8_t tag[16]);
};

// The only symbol of the module. NULL: this processor is none that it serves.
const struct co_gmac_module *co_gmac_module(void) __attribute__((visibility("default")));

#endif
