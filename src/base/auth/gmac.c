// SPDX-License-Identifier: BSD-3-Clause
//
// Loads the module of GMAC and holds it against libsodium: tags of lengths up to a datagram of Ethernet have to be the
// same, and a tag of a datagram has to take less time, the least of some turns, which other work cannot make shorter.
// Both take less than a tenth of a millisecond. Tags are the same bytes either way, so each rank decides for itself.
// Start-up only.
#include "base/auth/gmac.h"

#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/module.h"
#include "base/atomics.h"

#define MODULE_FILE "libcastoff-gmac.so"
#define DATAGRAM_BYTES 1456
#define TURNS 8
#define TAGS_OF_TURN 4

struct sides {
    const struct co_gmac_module *module;
    _Alignas(64) uint8_t expanded[CO_GMAC_KEY_ROOM];
    crypto_aead_aes256gcm_state sodium;
    uint8_t data[DATAGRAM_BYTES];
};

static struct co_trylock lock = CO_TRYLOCK_INIT; // guards what follows
static const char *directory;
static bool is_known;
static const struct co_gmac_module *known;

static void tag_by_module(const struct sides *sides, size_t head, size_t bytes, uint8_t tag[16])
{
    sides->module->tag(sides->expanded, sides->data, sides->data, head, sides->data + head, bytes - head, tag);
}

static void tag_by_sodium(const struct sides *sides, size_t bytes, uint8_t tag[16])
{
    uint8_t nothing[1];
    crypto_aead_aes256gcm_encrypt_detached_afternm(nothing, tag, NULL, NULL, 0, sides->data, bytes, NULL, sides->data,
                                                   &sides->sodium);
}

static bool are_the_same(const struct sides *sides)
{
    for (size_t bytes = 0; bytes <= DATAGRAM_BYTES; bytes += bytes < 70 ? 1 : 97) {
        uint8_t theirs[16] = {0}, ours[16] = {1};
        tag_by_sodium(sides, bytes, ours);
        tag_by_module(sides, bytes / 3, bytes, theirs);
        if (memcmp(theirs, ours, sizeof ours) != 0) {
            return false;
        }
    }
    return true;
}

static bool is_faster(const struct sides *sides)
{
    uint64_t least_ns[2] = {UINT64_MAX, UINT64_MAX};
    uint8_t tag[16];
    for (int turn = 0; turn < 2 * TURNS; turn++) {
        uint64_t start_ns = co_clock_now_ns();
        for (int i = 0; i < TAGS_OF_TURN; i++) {
            turn % 2 == 0 ? tag_by_sodium(sides, DATAGRAM_BYTES, tag) : tag_by_module(sides, 24, DATAGRAM_BYTES, tag);
        }
        uint64_t took_ns = co_clock_now_ns() - start_ns;
        least_ns[turn % 2] = took_ns < least_ns[turn % 2] ? took_ns : least_ns[turn % 2];
    }
    co_log(CO_LOG_DEBUG, CO_SUBSYS_MCAST, "a tag of %d bytes: libsodium %lu ns, %s %lu ns", DATAGRAM_BYTES,
           (unsigned long)(least_ns[0] / TAGS_OF_TURN), sides->module->name,
           (unsigned long)(least_ns[1] / TAGS_OF_TURN));
    return least_ns[1] < least_ns[0];
}

static bool is_better(const struct co_gmac_module *module)
{
    struct sides sides = {.module = module};
    for (size_t i = 0; i < sizeof sides.data; i++) {
        sides.data[i] = (uint8_t)(i * 31 + i / 256 + 5);
    }
    module->expand(sides.expanded, sides.data);
    crypto_aead_aes256gcm_beforenm(&sides.sodium, sides.data);
    if (!are_the_same(&sides)) {
        co_log(CO_LOG_WARN, CO_SUBSYS_MCAST, MODULE_FILE " makes other tags than libsodium: it is not used");
        return false;
    }
    return is_faster(&sides);
}

// Under the lock.
static const struct co_gmac_module *load(void)
{
    const struct co_gmac_module *(*find)(void) = NULL;
    char why[256] = "";
    *(void **)&find = co_module_load(directory, MODULE_FILE, "co_gmac_module", why, sizeof why);
    const struct co_gmac_module *module = find != NULL ? find() : NULL;
    if (module == NULL || module->version != CO_GMAC_MODULE_VERSION) {
        co_log(CO_LOG_DEBUG, CO_SUBSYS_MCAST, "tags are libsodium's: %s",
               find == NULL ? why : MODULE_FILE " is of another version");
        return NULL;
    }
    return is_better(module) ? module : NULL;
}

const struct co_gmac_module *co_gmac_find(void)
{
    co_trylock_wait(&lock);
    if (!is_known) {
        known = load();
        is_known = true;
    }
    const struct co_gmac_module *found = known;
    co_trylock_drop(&lock);
    return found;
}

void co_gmac_directory_set(const char *new_directory)
{
    co_trylock_wait(&lock);
    directory = new_directory;
    is_known = false;
    co_trylock_drop(&lock);
}
