// SPDX-License-Identifier: BSD-3-Clause
//
// What stands around the buffers of collectives, for tests with mpi.h but without an MPI: a communicator of three ranks
// of which this is the second, two types, packing, and a decision that takes all and says what it was asked. Each
// program includes it once.
#ifndef CO_TEST_AROUND_BUFFERS_H
#define CO_TEST_AROUND_BUFFERS_H

#include <stdint.h>
#include <string.h>

#include "pmpi/collective/routing.h"
#include "pmpi/datatype/packing.h"

#define RANKS 3
#define UNTOUCHED (-77)

static char handles[3]; // their addresses: of a communicator, of `row`, of `gaps`

struct co_process co_process = {.engine = (struct co_engine *)(void *)handles};
struct co_next_mpi co_next;
bool co_device_memory_is_taken;
struct co_datatype_cell co_datatype_cells[CO_DATATYPE_CELLS];
_Thread_local struct co_communicators_cache co_communicators_cache;
_Atomic unsigned co_communicators_generation;

static struct co_communicator communicator = {.seed = {.rank = 1, .facts = {.ranks = RANKS}}};
static const struct co_datatype row = {.bytes = sizeof(int), .extent = sizeof(int), .is_contiguous = true};
static const struct co_datatype gaps = {.bytes = sizeof(int), .extent = 3 * sizeof(int), .is_contiguous = false};

// What the decision was asked, and what, how often, who carries it: proxies where they are and it has over ten bytes.
static struct {
    enum co_call call, as;
    size_t bytes;
    unsigned times;
} decided, carried;

#define COMM ((MPI_Comm)(void *)&handles[0])
#define ROW ((MPI_Datatype)(void *)&handles[1])
#define GAPS ((MPI_Datatype)(void *)&handles[2])

struct co_communicator *co_communicators_find_slowly(MPI_Comm comm, unsigned generation)
{
    (void)generation;
    return comm == COMM ? &communicator : NULL;
}

bool co_route_program_type(ptrdiff_t count, MPI_Datatype type, bool sends, struct co_datatype *facts)
{
    (void)sends;
    *facts = type == GAPS ? gaps : row;
    return count >= 0 && (type == ROW || type == GAPS);
}

#define REFUSED (-5) // a code of native's

bool co_route_was_refused(int code)
{
    return code == REFUSED;
}

static int skipped; // numbers, but for those taken back

void co_let_go_to_native(struct co_team_seed *seed, struct co_engine *engine, struct co_team *team, int root)
{
    (void)engine, (void)team, (void)root;
    skipped += seed == &communicator.seed;
}

void co_let_go_take_back(struct co_team_seed *seed, struct co_engine *engine, struct co_team *team, int root)
{
    (void)engine, (void)team, (void)root;
    skipped -= seed == &communicator.seed;
}

enum co_reason co_route_first_calls(struct co_communicator *of, enum co_call call, int root, size_t bytes, uint64_t *ns)
{
    (void)of, (void)call, (void)root, (void)bytes, (void)ns;
    return CO_TAKE;
}

enum co_reason co_team_decide_as(const struct co_engine *engine, const struct co_team_facts *facts, enum co_call call,
                                 enum co_call other, size_t bytes)
{
    (void)engine, (void)facts;
    decided.call = call;
    decided.as = other;
    decided.bytes = bytes;
    decided.times++;
    return CO_TAKE;
}

bool co_team_decide_by_proxies(const struct co_engine *engine, const struct co_team_facts *facts, enum co_call call,
                               enum co_call other, size_t bytes)
{
    (void)engine, (void)facts;
    carried.call = call;
    carried.as = other;
    carried.bytes = bytes;
    carried.times++;
    return bytes > 10;
}

enum co_reason co_team_decide(const struct co_engine *engine, const struct co_team_facts *facts, enum co_call call,
                              size_t bytes)
{
    return co_team_decide_as(engine, facts, call, call, bytes);
}

enum co_reason co_team_choose(struct co_team *team, enum co_call call, int root, size_t bytes, uint64_t *trial_ns)
{
    return (void)team, (void)call, (void)root, (void)bytes, (void)trial_ns, CO_TAKE;
}

enum co_reason co_team_choose_at_once(const struct co_team *team, enum co_call call, size_t bytes)
{
    return (void)team, (void)call, (void)bytes, CO_TAKE;
}

bool co_packing_is_on_device(const void *buffer, size_t count, MPI_Datatype type, const struct co_datatype *facts)
{
    (void)buffer, (void)count, (void)type, (void)facts;
    return false;
}

int co_pack(void *packed, const void *buffer, size_t count, MPI_Datatype type, const struct co_datatype *facts)
{
    (void)type;
    for (size_t i = 0; i < count; i++) {
        memcpy((char *)packed + i * facts->bytes, (const char *)buffer + (ptrdiff_t)i * facts->extent, facts->bytes);
    }
    return 0;
}

int co_unpack_part(void *buffer, const void *packed, size_t bytes, size_t count, MPI_Datatype type,
                   const struct co_datatype *facts)
{
    (void)type;
    for (size_t i = 0; i < count && i * facts->bytes < bytes; i++) {
        memcpy((char *)buffer + (ptrdiff_t)i * facts->extent, (const char *)packed + i * facts->bytes, facts->bytes);
    }
    return 0;
}

int co_unpack(void *buffer, const void *packed, size_t count, MPI_Datatype type, const struct co_datatype *facts)
{
    return co_unpack_part(buffer, packed, count * facts->bytes, count, type, facts);
}

static void spoil(int *ints, int count)
{
    for (int i = 0; i < count; i++) {
        ints[i] = UNTOUCHED;
    }
}

#endif
