// SPDX-License-Identifier: BSD-3-Clause
//
// Ids: the member of rank 0 gives the pair of its world rank and its own count of communicators it has named, the count
// spread by the rank. The pair is unique in the job, and since it is handed out over the new communicator itself, no
// two members can differ about it, whatever else their counts have seen. All exchanges are native and inside the
// creating call. MPI_COMM_WORLD's is known to all, and memory for it was agreed on before: its one exchange is the last
// of the start, and tells what else is left to tell.
#include "pmpi/communicator/communicator_follow.h"

#include "base/counters.h"
#include "base/log.h"
#include "engine/decide/meetings.h"
#include "p2p/p2p.h"
#include "pmpi/communicator/communicators.h"
#include "pmpi/life/process.h"

#include <errno.h>
#include <stdlib.h>

static int keyval = MPI_KEYVAL_INVALID;
static _Atomic uint32_t ids_given;

// Memory for MPI_COMM_WORLD, so that nothing has to be exchanged about it.
static struct {
    struct co_communicator *entry;
    int *members;
} of_world;

// Runs inside MPI_Comm_free and MPI_Comm_disconnect, also those of libraries that call PMPI.
static int on_free(MPI_Comm comm, int key, void *attribute, void *extra)
{
    (void)key;
    (void)extra;
    // At MPI_Finalize the last communicators go after the engine did: their entries are gone already.
    if (co_process_is_serving() && co_communicators_find(comm) == attribute) {
        co_communicators_remove(attribute);
    }
    return MPI_SUCCESS;
}

static void forget_world(void)
{
    free(of_world.entry);
    free(of_world.members);
    of_world.entry = NULL;
    of_world.members = NULL;
}

int co_communicator_follow_open(int world_size)
{
    of_world.entry = calloc(1, sizeof *of_world.entry);
    of_world.members = malloc((size_t)world_size * sizeof(int));
    if (of_world.entry == NULL || of_world.members == NULL) {
        return -ENOMEM;
    }
    for (int rank = 0; rank < world_size; rank++) {
        of_world.members[rank] = rank;
    }
    // A duplicate gets an entry of its own in the call that makes it, never a copy of this one.
    return co_next.Comm_create_keyval(co_communicator_copy_nothing, on_free, &keyval, NULL) == MPI_SUCCESS ? 0 : -EIO;
}

void co_communicator_follow_close(void)
{
    forget_world();
    if (keyval != MPI_KEYVAL_INVALID) {
        co_next.Comm_free_keyval(&keyval);
    }
}

// Ranks in `base` of `count` members from `first` on; false: one of them is not there.
static bool translate(MPI_Group group, int first, int count, MPI_Group base, int *base_ranks)
{
    int ranks[64];
    for (int done = 0; done < count;) {
        int piece = count - done < 64 ? count - done : 64;
        for (int i = 0; i < piece; i++) {
            ranks[i] = first + done + i;
        }
        co_next.Group_translate_ranks(group, piece, ranks, base, base_ranks + done);
        for (int i = 0; i < piece; i++) {
            if (base_ranks[done + i] == MPI_UNDEFINED) {
                return false;
            }
        }
        done += piece;
    }
    return true;
}

// Needs no memory, so that all members come to the same answer.
static bool is_part_of(MPI_Group group, int size, MPI_Group base)
{
    int base_ranks[64];
    for (int first = 0; first < size; first += 64) {
        if (!translate(group, first, size - first < 64 ? size - first : 64, base, base_ranks)) {
            return false;
        }
    }
    return true;
}

// What the members exchange about a new communicator, or one more team of it; the largest of each counts.
struct proposal {
    uint64_t id;        // rank 0's, the others' is 0
    uint64_t objection; // a communicator: wants it off; a team: enum co_reason
    uint64_t no_memory;
};

static uint64_t next_id(void)
{
    uint32_t number = co_add_relaxed(&ids_given, 1) + 1; // relaxed: only its uniqueness matters
    // The wire carries the low half. Where that is the same for two halves of a split, each would take the other's
    // datagrams for forged ones; multiples of this constant stay far apart.
    uint32_t low = number + (uint32_t)co_process.rank * UINT32_C(0x9E3779B1);
    return ((uint64_t)co_process.rank + 1) << 32 | low;
}

static bool agree(MPI_Comm comm, struct proposal *proposal)
{
    struct proposal mine = *proposal;
    int words = (int)(sizeof mine / sizeof(uint64_t));
    return co_next.exchange_allreduce(&mine, proposal, words, co_next.uint64, co_next.maximum, comm) == MPI_SUCCESS;
}

// *word, which rides along, becomes the least of all members'.
static bool all_could(MPI_Comm comm, bool could, int *word)
{
    int mine[2] = {could, *word}, least[2] = {0, *word};
    bool is_told = co_next.exchange_allreduce(mine, least, 2, co_next.integer, co_next.minimum, comm) == MPI_SUCCESS;
    *word = least[1];
    return is_told && least[0] != 0;
}

// Messages that come before everybody has agreed wait in the context.
static int open_messages(struct co_communicator *entry, const int *members)
{
    if (co_load_relaxed(&entry->is_switched_off) ||
        co_messages_decide(co_process.engine, &entry->seed.facts) != CO_TAKE) {
        return 0;
    }
    entry->messages = co_messages_open_context(co_process.engine, &entry->seed, members);
    return entry->messages == NULL ? -ENOMEM : 0;
}

// Nobody has sent any.
static void close_messages(struct co_communicator *entry)
{
    if (entry->messages != NULL) {
        co_p2p_context_close(entry->messages);
        entry->messages = NULL;
    }
}

static void drop(struct co_communicator *entry)
{
    close_messages(entry);
    co_meetings_close(entry->meetings);
    co_team_seed_close(&entry->seed, co_process.engine);
    free(entry);
}

// Takes the entry over: on failure it is freed.
static int set_up(struct co_communicator *entry, const int *members, uint64_t id, int size, int rank, bool *has_seed)
{
    int error = co_team_seed_open(&entry->seed, co_process.engine, id, members, size, rank);
    *has_seed = error == 0;
    if (error != 0) {
        free(entry);
        return error;
    }
    entry->trials = co_trials_are_for(co_process.engine, &entry->seed.facts) ? CO_TRIALS_COUNTED : CO_TRIALS_NONE;
    error = co_meetings_open(&entry->meetings, co_process.engine, &entry->seed.facts);
    error = error == 0 ? open_messages(entry, members) : error;
    if (error == 0) {
        error = co_communicators_add(entry);
    }
    // Without its attribute an entry would outlive its communicator.
    if (error == 0 && co_next.Comm_set_attr(entry->comm, keyval, entry) != MPI_SUCCESS) {
        co_communicators_remove(entry);
        return -EIO;
    }
    if (error != 0) {
        drop(entry);
        return error;
    }
    co_counter_raise(CO_COUNT_COMMUNICATOR_IDLE,
                     sizeof *entry + CO_COMMUNICATOR_CELL_BYTES + co_team_seed_bytes(&entry->seed));
    return 0;
}

int *co_communicator_members(MPI_Comm comm, int size)
{
    int *members = malloc((size_t)size * sizeof(int));
    MPI_Group group;
    if (members == NULL || co_next.Comm_group(comm, &group) != MPI_SUCCESS) {
        free(members);
        return NULL;
    }
    translate(group, 0, size, co_process.world_group, members);
    co_next.Group_free(&group);
    return members;
}

int co_communicator_open_team(struct co_communicator *entry)
{
    int error = entry->seed.broken;
    if (error != 0) {
        return error;
    }
    int *members = co_communicator_members(entry->comm, entry->seed.facts.ranks);
    error = members == NULL ? -ENOMEM : co_team_open(&entry->team, co_process.engine, &entry->seed, members);
    free(members);
    if (error != 0) {
        co_team_seed_break(&entry->seed, co_process.engine, error);
    }
    return error;
}

// Every member calls it; all of them serve the communicator afterwards, or none. Takes the entry over.
static void serve(struct co_communicator *entry, const int *members, uint64_t id, int size, int rank, int *word)
{
    MPI_Comm comm = entry->comm;
    bool has_seed;
    int error = set_up(entry, members, id, size, rank, &has_seed);
    if (error != 0) {
        co_log(CO_LOG_INFO, CO_SUBSYS_PMPI, "a communicator of %d ranks stays native: error %d", size, -error);
    }
    if (!all_could(comm, error == 0, word) && error == 0) {
        entry->reason = CO_NO_MEMORY;
        close_messages(entry);
    }
    if (!has_seed) {
        co_team_seed_decline(co_process.engine, id, members, size, rank);
    }
}

static void follow_members(MPI_Comm comm, int size, int rank, const int *members, bool wants_off)
{
    struct co_communicator *entry = members == NULL ? NULL : calloc(1, sizeof *entry);
    struct proposal proposal = {rank == 0 ? next_id() : 0, wants_off, entry == NULL};
    int no_word = 0;
    if (!agree(comm, &proposal) || proposal.no_memory != 0) {
        free(entry);
        return;
    }
    entry->comm = comm;
    co_store_relaxed(&entry->is_switched_off, proposal.objection != 0); // relaxed: published by the table
    serve(entry, members, proposal.id, size, rank, &no_word);
}

void co_communicator_follow_world(int *word)
{
    // The first that rank 0 names, as everybody knows.
    uint64_t id = UINT64_C(1) << 32 | 1;
    if (co_process.rank == 0) {
        id = next_id();
    }
    of_world.entry->comm = co_next.comm_world;
    serve(of_world.entry, of_world.members, id, co_process.size, co_process.rank, word);
    of_world.entry = NULL;
    forget_world();
}

void co_communicator_follow(MPI_Comm comm, bool wants_off)
{
    int is_inter = 0, size = 0, rank = 0;
    MPI_Group group;
    if (!co_process_is_serving() || comm == co_next.comm_null) {
        return;
    }
    co_next.Comm_test_inter(comm, &is_inter);
    co_next.Comm_size(comm, &size);
    if (is_inter || size < 2 || co_next.Comm_group(comm, &group) != MPI_SUCCESS) {
        return;
    }
    co_next.Comm_rank(comm, &rank);
    // A communicator with members of other jobs stays native.
    if (is_part_of(group, size, co_process.world_group)) {
        int *members = malloc((size_t)size * sizeof(int));
        if (members != NULL) {
            translate(group, 0, size, co_process.world_group, members);
        }
        follow_members(comm, size, rank, members, wants_off);
        free(members);
    }
    co_next.Group_free(&group);
}

enum co_reason co_communicator_agree_on_team(const struct co_communicator *entry, enum co_reason reason, int **members,
                                             co_communicator_team_opener *open, void *arg)
{
    int size = entry->seed.facts.ranks, rank = entry->seed.rank;
    *members = co_communicator_members(entry->comm, size);
    struct proposal proposal = {rank == 0 ? next_id() : 0, reason, *members == NULL};
    if (!agree(entry->comm, &proposal) || proposal.no_memory != 0) {
        proposal.objection = CO_NO_MEMORY;
    }
    if (proposal.objection == CO_TAKE) {
        int error = open(arg, proposal.id, *members, size, rank), no_word = 0;
        if (!all_could(entry->comm, error == 0, &no_word)) {
            proposal.objection = CO_NO_MEMORY;
        }
    }
    return (enum co_reason)proposal.objection;
}

bool co_communicator_has_members_of(MPI_Comm parent, MPI_Comm created)
{
    int is_inter = 0, size = 0;
    MPI_Group base, group;
    co_next.Comm_test_inter(created, &is_inter);
    co_next.Comm_size(created, &size);
    if (is_inter || co_next.Comm_group(parent, &base) != MPI_SUCCESS) {
        return false;
    }
    bool has = co_next.Comm_group(created, &group) == MPI_SUCCESS;
    if (has) {
        has = is_part_of(group, size, base);
        co_next.Group_free(&group);
    }
    co_next.Group_free(&base);
    return has;
}
