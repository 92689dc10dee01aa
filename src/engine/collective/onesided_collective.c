// SPDX-License-Identifier: BSD-3-Clause
//
// A one-sided call: all members say that they can, so everybody is inside the call; then one transfer for each root;
// after each all say what became of it. The same words reach everybody, so all go the same way: what one of them lacks,
// all do again the ordinary way, on the same buffers. The words are a small allgather of the team: a member that has
// died ends it with an error, as it would end any other.
#include "engine/collective/onesided_collective.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory/memory_copy.h"
#include "base/counters.h"
#include "base/log.h"
#include "engine/collective/team_run.h"
#include "engine/collective/onesided_thread.h"
#include "engine/collective/team.h"
#include "engine/engine_state.h"

enum { SKIP_LEAST = 8, SKIP_MOST = 1024 }; // calls of a communicator after a failure
#define REST_LEAST_NS (10 * CO_NS_PER_S)   // of a process, for the sake of programs that use each communicator once
#define REST_MOST_NS (600 * CO_NS_PER_S)

// What a member says, before a transfer and behind it.
struct word {
    uint64_t bytes;
    int32_t error, reserved;
};

struct call {
    struct co_team *team;
    const char *name;
    size_t bytes;
    bool counts; // one member does
    struct co_onesided_thread transfer;
    bool has_turn, has_thread;
    int first; // of the members that said no
    struct word words[];
};

bool co_onesided_collective_fits(const struct co_team_facts *facts)
{
    return facts->nodes > 1 && facts->max_ranks_per_node == 1 && facts->has_multicast &&
           facts->ranks <= CO_ONESIDED_RANKS_MOST;
}

static void count(const struct call *call, enum co_counter_id id, uint64_t amount)
{
    co_counter_add(id, call->counts ? amount : 0);
}

// Not to try it in vain again and again. On all members alike.
static void skip_some(struct co_onesided_team *state)
{
    state->skip = state->skip == 0 ? SKIP_LEAST : 2 * state->skip;
    state->skip = state->skip > SKIP_MOST ? SKIP_MOST : state->skip;
    state->to_skip = state->skip;
}

static bool is_resting(struct co_onesided_collective *onesided)
{
    return co_clock_now_ns() < co_load_relaxed(&onesided->rest_until_ns); // relaxed: a guess
}

static void rest(struct co_onesided_collective *onesided)
{
    uint64_t before = co_load_relaxed(&onesided->rest_ns), now = before == 0 ? REST_LEAST_NS : 2 * before;
    now = now > REST_MOST_NS ? REST_MOST_NS : now;
    co_store_relaxed(&onesided->rest_ns, now); // relaxed: whoever fails at the same time says much the same
    co_store_relaxed(&onesided->rest_until_ns, co_clock_now_ns() + now);
}

// Whether this member can. What it can not must not keep the others from asking.
static int get_ready(struct call *call)
{
    struct co_onesided_collective *onesided = call->team->engine->onesided;
    call->has_turn = co_trylock_take(&onesided->turn);
    if (!call->has_turn) {
        return -EBUSY;
    }
    if (is_resting(onesided)) {
        return -EAGAIN;
    }
    int error = co_onesided_thread_open(&call->transfer, onesided);
    call->has_thread = error == 0;
    return error == -EAGAIN || error == -EBUSY ? -ENOMEM : error; // those two say something else here
}

static void end(struct call *call)
{
    if (call->has_thread) {
        co_onesided_thread_close(&call->transfer);
    }
    if (call->has_turn) {
        co_trylock_drop(&call->team->engine->onesided->turn);
    }
    free(call);
}

// The verdict, the same everywhere: 0 when nobody says no. Another thread's call, which will be over soon, counts
// least.
static int judge(struct call *call)
{
    int verdict = 0;
    for (int rank = 0; rank < call->team->size; rank++) {
        int error = call->words[rank].error;
        error = error == 0 && call->words[rank].bytes != call->words[0].bytes ? -EMSGSIZE : error;
        if (error != 0 && (verdict == 0 || (verdict == -EBUSY && error != -EBUSY))) {
            verdict = error;
            call->first = rank;
        }
    }
    return verdict;
}

// 0, and what all have said together, or -errno: a member has gone.
static int agree(struct call *call, int mine, int *verdict)
{
    struct word word = {.bytes = call->bytes, .error = mine};
    int error = co_team_exchange(call->team, &word, call->words, sizeof(word), call->name);
    *verdict = error == 0 ? judge(call) : error;
    return error;
}

static void decline(struct call *call, int verdict)
{
    enum co_counter_id reason = verdict == -EBUSY    ? CO_COUNT_ONESIDED_BUSY
                                : verdict == -EAGAIN ? CO_COUNT_ONESIDED_RESTING
                                                     : CO_COUNT_ONESIDED_REFUSED;
    count(call, reason, 1);
    if (verdict != -EBUSY) {
        skip_some(&call->team->onesided);
    }
    co_log(CO_LOG_INFO, CO_SUBSYS_ENGINE, "%s of %zu bytes is not placed: rank %d of the communicator says no (%s)",
           call->name, call->bytes, call->first, strerror(-verdict));
}

// CO_ONESIDED_WHOLE and *out: all members can; it is to be ended. CO_ONESIDED_NOT or -errno otherwise.
static int begin(struct call **out, struct co_team *team, const char *name, size_t bytes, bool counts)
{
    struct co_onesided_team *state = &team->onesided;
    int verdict;
    if (!co_onesided_collective_fits(&team->facts)) {
        co_counter_add(CO_COUNT_ONESIDED_NO_LAYOUT, counts && team->facts.nodes > 1);
        return CO_ONESIDED_NOT;
    }
    if (state->to_skip > 0) {
        state->to_skip--;
        co_counter_add(CO_COUNT_ONESIDED_RESTING, counts);
        return CO_ONESIDED_NOT;
    }
    struct call *call = calloc(1, sizeof(*call) + (size_t)team->size * sizeof(struct word));
    if (call == NULL) {
        co_team_give_up(team, -ENOMEM);
        return -ENOMEM;
    }
    call->team = team;
    call->name = name;
    call->bytes = bytes;
    call->counts = counts;
    int error = agree(call, get_ready(call), &verdict);
    if (error == 0 && verdict == 0) {
        *out = call;
        return CO_ONESIDED_WHOLE;
    }
    if (error == 0) {
        decline(call, verdict);
    }
    end(call);
    return error;
}

// Once in a process aloud, by the first member that has something to say.
static void tell(struct call *call)
{
    struct co_onesided_collective *onesided = call->team->engine->onesided;
    bool is_loud = call->first == call->team->rank && !co_load_relaxed(&onesided->has_told); // relaxed: for people
    if (call->words[call->team->rank].error == 0) {
        return;
    }
    co_log(is_loud ? CO_LOG_WARN : CO_LOG_INFO, CO_SUBSYS_ENGINE,
           "%s of %zu bytes could not be placed and goes the ordinary way, as the next ones will for a while: %s",
           call->name, call->bytes, call->transfer.why);
    if (is_loud) {
        co_store_relaxed(&onesided->has_told, true); // relaxed: at worst it is said twice
    }
}

static void note(struct call *call, int root, int verdict)
{
    struct co_team *team = call->team;
    struct co_onesided_collective *onesided = team->engine->onesided;
    if (verdict == 0) {
        team->onesided.skip = 0;
        co_store_relaxed(&onesided->rest_ns, 0); // relaxed: as above
        bool is_root = team->rank == root;
        co_counter_add(CO_COUNT_ONESIDED_BYTES, is_root ? call->bytes : 0);
        co_counter_add(CO_COUNT_ONESIDED_AGAIN, is_root ? call->transfer.counts.chunks_repaired : 0);
        return;
    }
    count(call, CO_COUNT_ONESIDED_FALLEN_BACK, 1);
    skip_some(&team->onesided);
    rest(onesided);
    tell(call);
}

// 0 and the verdict of all, or -errno.
static int carry(struct call *call, int root, void *buffer, int *verdict)
{
    struct co_team *team = call->team;
    struct co_onesided_thread *transfer = &call->transfer;
    transfer->is_sender = team->rank == root;
    transfer->members = (unsigned)team->size - 1;
    transfer->buffer = buffer;
    transfer->bytes = call->bytes;
    snprintf(transfer->group, sizeof(transfer->group), "%016llx.%llx.%u",
             (unsigned long long)team->engine->onesided->job_tag, (unsigned long long)team->id,
             team->onesided.transfers++);
    snprintf(transfer->name, sizeof(transfer->name), "rank%d", team->rank);
    int mine = co_onesided_thread_carry(transfer, team->engine, call->name);
    int error = agree(call, mine, verdict);
    if (error == 0) {
        note(call, root, *verdict);
    }
    return error;
}

int co_onesided_collective_bcast(struct co_team *team, int root, void *buffer, size_t bytes)
{
    struct call *call = NULL;
    int verdict, status = begin(&call, team, "MPI_Bcast", bytes, team->rank == root);
    if (status != CO_ONESIDED_WHOLE) {
        return status;
    }
    int error = carry(call, root, buffer, &verdict);
    count(call, CO_COUNT_ONESIDED_BROADCASTS, error == 0 && verdict == 0);
    end(call);
    return error != 0 ? error : verdict == 0 ? CO_ONESIDED_WHOLE : CO_ONESIDED_NOT;
}

// One sender after the other: a member has one queue pair at a time, whatever the number of ranks.
int co_onesided_collective_allgather(struct co_team *team, const void *mine, void *all, size_t block_bytes)
{
    struct call *call = NULL;
    unsigned char *own = (unsigned char *)all + (size_t)team->rank * block_bytes;
    int error = 0, verdict = 0;
    int status = begin(&call, team, "MPI_Allgather", block_bytes, team->rank == 0);
    if (status != CO_ONESIDED_WHOLE) {
        return status;
    }
    if (mine != NULL && mine != own) {
        co_memory_copy(own, mine, block_bytes);
    }
    for (int root = 0; root < team->size && error == 0 && verdict == 0; root++) {
        error = carry(call, root, (unsigned char *)all + (size_t)root * block_bytes, &verdict);
        count(call, CO_COUNT_ONESIDED_BLOCKS, error == 0 && verdict == 0);
    }
    end(call);
    return error != 0 ? error : verdict == 0 ? CO_ONESIDED_WHOLE : CO_ONESIDED_NOT;
}
