// SPDX-License-Identifier: BSD-3-Clause
//
// The switch's addresses; see the header.
#include "onesided/forwarding.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/memory/fixed_pool.h"
#include "base/hash_map.h"

struct place {
    uint64_t heard_ns;
    int port;
};

struct co_forwarding {
    struct co_hash_map places;
    struct co_fixed_pool pool;
};

static uint64_t key_of(const uint8_t mac[6], uint16_t vlan)
{
    uint64_t key = vlan;
    for (int i = 0; i < 6; i++) {
        key = key << 8 | mac[i];
    }
    return key;
}

int co_forwarding_open(struct co_forwarding **out)
{
    struct co_forwarding *table = calloc(1, sizeof *table);
    if (table == NULL) {
        return -ENOMEM;
    }
    co_hash_map_open(&table->places);
    int error = co_fixed_pool_open(&table->pool, sizeof(struct place), CO_FORWARDING_MAX);
    if (error != 0) {
        free(table);
        return error;
    }
    *out = table;
    return 0;
}

void co_forwarding_close(struct co_forwarding *table)
{
    if (table != NULL) {
        co_hash_map_close(&table->places);
        co_fixed_pool_close(&table->pool);
        free(table);
    }
}

static struct place *add_place(struct co_forwarding *table, uint64_t key)
{
    struct place *place = co_fixed_pool_take(&table->pool);
    if (place != NULL && co_hash_map_put(&table->places, key, place) != 0) {
        co_fixed_pool_give(&table->pool, place);
        place = NULL;
    }
    return place;
}

void co_forwarding_learn(struct co_forwarding *table, const uint8_t mac[6], uint16_t vlan, int port, uint64_t now_ns)
{
    if (mac[0] & 1) {
        return;
    }
    uint64_t key = key_of(mac, vlan);
    struct place *place = co_hash_map_get(&table->places, key);
    if (place == NULL) {
        place = add_place(table, key);
    }
    if (place != NULL) {
        *place = (struct place){.heard_ns = now_ns, .port = port};
    }
}

int co_forwarding_find(const struct co_forwarding *table, const uint8_t mac[6], uint16_t vlan, uint64_t now_ns)
{
    const struct place *place = mac[0] & 1 ? NULL : co_hash_map_get(&table->places, key_of(mac, vlan));
    return place != NULL && now_ns - place->heard_ns < CO_FORWARDING_AGE_NS ? place->port : CO_FORWARDING_UNKNOWN;
}

// The map must not change while it is gone through, so one pass finds a handful and removes them then.
static size_t forget_some(struct co_forwarding *table, uint64_t now_ns)
{
    enum { SOME = 64 };
    uint64_t keys[SOME], key;
    size_t position = 0, count = 0;
    const struct place *place;
    while (count < SOME && (place = co_hash_map_next(&table->places, &position, &key)) != NULL) {
        if (now_ns - place->heard_ns >= CO_FORWARDING_AGE_NS) {
            keys[count++] = key;
        }
    }
    for (size_t i = 0; i < count; i++) {
        co_fixed_pool_give(&table->pool, co_hash_map_remove(&table->places, keys[i]));
    }
    return count;
}

void co_forwarding_age(struct co_forwarding *table, uint64_t now_ns)
{
    while (forget_some(table, now_ns) > 0) {
    }
}

unsigned co_forwarding_count(const struct co_forwarding *table)
{
    return (unsigned)table->places.count;
}

uint64_t co_forwarding_overflows(const struct co_forwarding *table)
{
    return table->pool.overflows;
}
