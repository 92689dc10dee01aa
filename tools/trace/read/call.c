// SPDX-License-Identifier: BSD-3-Clause
//
// The table of calls, and finding one by name: a perfect-enough hash that is made at compile time would be longer than
// this sorted index, which one thread makes once.
#include "tools/trace/read/call.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/fnv.h"

#define CO_CALL(name, family, op, arguments) {"MPI_" #name, arguments, CO_FAMILY_##family, CO_CALL_##op},
#define CO_CALL_DUMPI_END
const struct co_call_row co_call_rows[CO_CALL_COUNT] = {
#include "tools/trace/read/call_table.h"
};
#undef CO_CALL
#undef CO_CALL_DUMPI_END

enum { SLOTS = 2048 };
_Static_assert(CO_CALL_COUNT < SLOTS / 4, "names are found at once");

static uint16_t slots[SLOTS]; // id plus one
static pthread_once_t slots_once = PTHREAD_ONCE_INIT;

static uint32_t hash_of(const char *name, size_t length)
{
    uint32_t hash = co_fnv_32(CO_FNV_32, name, length);
    return (hash ^ hash >> 15) % SLOTS;
}

static void make_slots(void)
{
    for (unsigned id = 0; id < CO_CALL_COUNT; id++) {
        uint32_t slot = hash_of(co_call_rows[id].name, strlen(co_call_rows[id].name));
        while (slots[slot] != 0) {
            slot = (slot + 1) % SLOTS;
        }
        slots[slot] = (uint16_t)(id + 1);
    }
}

unsigned co_call_find(const char *name, size_t length)
{
    pthread_once(&slots_once, make_slots);
    for (uint32_t slot = hash_of(name, length); slots[slot] != 0; slot = (slot + 1) % SLOTS) {
        const char *there = co_call_rows[slots[slot] - 1].name;
        if (strncmp(there, name, length) == 0 && there[length] == '\0') {
            return slots[slot] - 1U;
        }
    }
    return CO_CALL_COUNT;
}

void co_call_clear(struct co_traced_call *call, unsigned id)
{
    *call = (struct co_traced_call){
        .id = (uint16_t)id,
        .op = co_call_rows[id].op,
        .times = 1,
        .bytes = -1,
        .tag = CO_CALL_NOT_KNOWN,
        .peer = CO_CALL_NOT_KNOWN,
        .source = CO_CALL_NOT_KNOWN,
        .receive_tag = CO_CALL_NOT_KNOWN,
        .comm = CO_COMM_WORLD,
        .root = -1,
        .index = -1,
    };
}
