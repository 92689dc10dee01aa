// SPDX-License-Identifier: BSD-3-Clause
// Messages, collectives, blocking and not, and communicators that come and go, all at once as chance mixes them:
// several ranks go through one list of events, which all of them draw from the same seed; how each event is done (mode,
// layout, completing call, delay) every rank draws for itself. What blocks waits only for events that stand before it
// in the list, so a correct library always comes to the end.
// Arguments: the seed, and how many rounds.
// ranks: 3 4
// arguments: 1 12
// arguments: 2 12
// environment: CASTOFF_P2P=yes
// taken: MPI_Send MPI_Bcast MPI_Ibcast MPI_Allgather MPI_Iallgather MPI_Allgatherv
// expect: every message in order with its bytes, every collective's result, and no other byte written
#include "oracle/completion.h"
#include "oracle/parcel.h"
#include "oracle/script.h"
#include "oracle/verdict.h"

#include <stdlib.h>
#include <time.h>

#define ROUNDS 12
#define MOST_REQUESTS CO_SCRIPT_EVENTS
#define TAG_RING 1000

struct pending {
    enum co_script_kind kind;
    struct co_parcel one, all;
    int message; // that is sent
    int group;
    struct arrival *arrival; // of a receive
    size_t bytes;
    uint64_t seed;
    bool is_persistent;
};

static struct co_script script;
static MPI_Request requests[MOST_REQUESTS];
static struct pending pendings[MOST_REQUESTS];
static int request_count, round_number;
static uint64_t own; // chance of this rank alone

static unsigned choose(unsigned limit)
{
    return co_parcel_random(&own, limit);
}

static void pause_sometimes(void)
{
    if (choose(20) == 0) {
        struct timespec time = {.tv_nsec = 1 + choose(3000000)};
        nanosleep(&time, NULL);
    }
}

static struct pending *add_request(enum co_script_kind kind)
{
    struct pending *pending = &pendings[request_count++];
    *pending = (struct pending){.kind = kind, .message = -1};
    return pending;
}

static MPI_Request *request_of(const struct pending *pending)
{
    return &requests[pending - pendings];
}

static void open_parcel(struct co_parcel *parcel, size_t bytes)
{
    co_parcel_open(parcel, co_parcel_layout_for(bytes, choose(8)), bytes);
}

static void send_message(int index)
{
    const struct co_script_message *message = &script.messages[index];
    const struct co_script_group *group = &script.groups[message->group];
    if (group->rank != message->source) {
        return;
    }
    struct co_parcel parcel;
    open_parcel(&parcel, message->bytes);
    co_parcel_fill(&parcel, message->seed);
    int to = message->destination, tag = message->tag;
    if (co_script_send_may_block(&script, message) && choose(2) == 0) {
        if (choose(3) == 0) {
            MPI_Ssend(parcel.memory, parcel.count, parcel.type, to, tag, group->comm);
        } else {
            MPI_Send(parcel.memory, parcel.count, parcel.type, to, tag, group->comm);
        }
        co_test_expect(co_parcel_holds(&parcel, message->bytes, message->seed), "what was sent is as it was");
        co_parcel_close(&parcel);
        return;
    }
    struct pending *pending = add_request(CO_SCRIPT_SEND);
    pending->one = parcel;
    pending->message = index;
    MPI_Request *request = request_of(pending);
    switch (choose(5)) {
    case 0:
        MPI_Issend(parcel.memory, parcel.count, parcel.type, to, tag, group->comm, request);
        break;
    case 1:
        MPI_Send_init(parcel.memory, parcel.count, parcel.type, to, tag, group->comm, request);
        pending->is_persistent = true;
        MPI_Start(request);
        break;
    default:
        MPI_Isend(parcel.memory, parcel.count, parcel.type, to, tag, group->comm, request);
    }
}

// What came, in the order of the receives, which is not that of their completion.
struct arrival {
    struct co_parcel parcel;
    MPI_Status status;
    int stands_for; // any message that the receive could have taken
};

static struct arrival arrivals[CO_SCRIPT_MESSAGES];
static int receives;

static const struct co_script_message *expected_message(int order)
{
    const struct co_script_message *model = &script.messages[arrivals[order].stands_for];
    int source = arrivals[order].status.MPI_SOURCE, before = 0;
    for (int i = 0; i < order; i++) {
        before += co_script_same_key(&script.messages[arrivals[i].stands_for], model) &&
                  arrivals[i].status.MPI_SOURCE == source;
    }
    return co_script_expected(&script, model, source, before);
}

static void judge_arrivals(void)
{
    for (int i = 0; i < receives; i++) {
        const struct co_script_message *message = expected_message(i);
        const MPI_Status *status = &arrivals[i].status;
        int count = -1;
        MPI_Get_count(status, MPI_BYTE, &count);
        co_test_expect(message != NULL && message->tag == status->MPI_TAG && (int)message->bytes == count &&
                           co_parcel_holds(&arrivals[i].parcel, message->bytes, message->seed),
                       "round %d: receive %d of group %d took %d bytes from %d with tag %d", round_number, i,
                       script.messages[arrivals[i].stands_for].group, count, status->MPI_SOURCE, status->MPI_TAG);
        co_parcel_close(&arrivals[i].parcel);
    }
}

static void receive_now(const struct co_script_message *message, struct arrival *arrival)
{
    const struct co_script_group *group = &script.groups[message->group];
    const struct co_parcel *parcel = &arrival->parcel;
    int from = message->is_wild ? MPI_ANY_SOURCE : message->source, tag = message->is_wild ? MPI_ANY_TAG : message->tag;
    MPI_Status probed;
    MPI_Message handle;
    switch (choose(4)) {
    case 0:
        MPI_Probe(from, tag, group->comm, &probed);
        MPI_Recv(parcel->memory, parcel->count, parcel->type, probed.MPI_SOURCE, probed.MPI_TAG, group->comm,
                 &arrival->status);
        break;
    case 1:
        MPI_Mprobe(from, tag, group->comm, &handle, &probed);
        MPI_Mrecv(parcel->memory, parcel->count, parcel->type, &handle, &arrival->status);
        break;
    default:
        MPI_Recv(parcel->memory, parcel->count, parcel->type, from, tag, group->comm, &arrival->status);
        return;
    }
    co_test_expect(probed.MPI_SOURCE == arrival->status.MPI_SOURCE && probed.MPI_TAG == arrival->status.MPI_TAG,
                   "round %d: what was probed is received", round_number);
}

static void receive_message(int index)
{
    const struct co_script_message *message = &script.messages[index];
    const struct co_script_group *group = &script.groups[message->group];
    if (group->rank != message->destination) {
        return;
    }
    struct arrival *arrival = &arrivals[receives++];
    struct co_parcel *parcel = &arrival->parcel;
    arrival->stands_for = index;
    open_parcel(parcel, message->is_wild ? CO_SCRIPT_BYTES : message->bytes + choose(2) * choose(1000));
    if (co_script_receive_may_block(&script, message) && choose(2) == 0) {
        receive_now(message, arrival);
        return;
    }
    int from = message->is_wild ? MPI_ANY_SOURCE : message->source, tag = message->is_wild ? MPI_ANY_TAG : message->tag;
    struct pending *pending = add_request(CO_SCRIPT_RECEIVE);
    pending->arrival = arrival;
    MPI_Request *request = request_of(pending);
    if (choose(5) == 0) {
        MPI_Recv_init(parcel->memory, parcel->count, parcel->type, from, tag, group->comm, request);
        pending->is_persistent = true;
        MPI_Startall(1, request);
    } else {
        MPI_Irecv(parcel->memory, parcel->count, parcel->type, from, tag, group->comm, request);
    }
}

static uint64_t block_seed(uint64_t seed, int rank)
{
    return seed + (uint64_t)rank * 7919;
}

static void judge_blocks(const struct co_parcel *all, size_t bytes, int size, uint64_t seed, const char *what)
{
    for (int i = 0; i < size; i++) {
        size_t wrong = co_test_pattern_mismatch((char *)all->memory + (size_t)i * bytes, bytes, block_seed(seed, i));
        co_test_expect(wrong == bytes, "round %d: %s: block %d of %zu bytes is wrong at %zu", round_number, what, i,
                       bytes, wrong);
    }
}

static void judge_pending(struct pending *pending, const MPI_Status *status)
{
    switch (pending->kind) {
    case CO_SCRIPT_SEND:
        co_test_expect(co_parcel_holds(&pending->one, script.messages[pending->message].bytes,
                                       script.messages[pending->message].seed),
                       "round %d: what was sent is as it was", round_number);
        break;
    case CO_SCRIPT_RECEIVE:
        pending->arrival->status = *status;
        return;
    case CO_SCRIPT_IBCAST:
        co_test_expect(co_parcel_holds(&pending->one, pending->bytes, pending->seed), "round %d: Ibcast %zu",
                       round_number, pending->bytes);
        break;
    default:
        judge_blocks(&pending->all, pending->bytes, script.groups[pending->group].size, pending->seed, "Iallgather");
        co_parcel_close(&pending->all);
    }
    co_parcel_close(&pending->one);
}

static void gather_blocks(const struct co_script_event *event, const struct co_script_group *group)
{
    size_t bytes = event->bytes;
    struct co_parcel one, all;
    co_parcel_open(&one, 0, bytes);
    co_parcel_open(&all, 0, bytes * (size_t)group->size);
    co_test_pattern_fill(one.memory, bytes, block_seed(event->seed, group->rank));
    const void *sent = one.memory;
    char *own_block = (char *)all.memory + (size_t)group->rank * bytes;
    if (choose(3) == 0) {
        sent = MPI_IN_PLACE;
        co_test_pattern_fill(own_block, bytes, block_seed(event->seed, group->rank));
    }
    if (event->kind == CO_SCRIPT_IALLGATHER) {
        struct pending *pending = add_request(CO_SCRIPT_IALLGATHER);
        pending->one = one;
        pending->all = all;
        pending->bytes = bytes;
        pending->seed = event->seed;
        pending->group = event->index;
        MPI_Iallgather(sent, (int)bytes, MPI_BYTE, all.memory, (int)bytes, MPI_BYTE, group->comm, request_of(pending));
        return;
    }
    if (event->kind == CO_SCRIPT_ALLGATHER) {
        MPI_Allgather(sent, (int)bytes, MPI_BYTE, all.memory, (int)bytes, MPI_BYTE, group->comm);
    } else {
        int counts[CO_SCRIPT_RANKS], offsets[CO_SCRIPT_RANKS];
        for (int i = 0; i < group->size; i++) {
            counts[i] = (int)bytes;
            offsets[i] = i * (int)bytes;
        }
        MPI_Allgatherv(sent, (int)bytes, MPI_BYTE, all.memory, counts, offsets, MPI_BYTE, group->comm);
    }
    judge_blocks(&all, bytes, group->size, event->seed,
                 event->kind == CO_SCRIPT_ALLGATHER ? "Allgather" : "Allgatherv");
    co_parcel_close(&one);
    co_parcel_close(&all);
}

static void broadcast(const struct co_script_event *event, const struct co_script_group *group)
{
    struct co_parcel parcel;
    open_parcel(&parcel, event->bytes);
    if (group->rank == event->root) {
        co_parcel_fill(&parcel, event->seed);
    }
    if (event->kind == CO_SCRIPT_IBCAST) {
        struct pending *pending = add_request(CO_SCRIPT_IBCAST);
        pending->one = parcel;
        pending->bytes = event->bytes;
        pending->seed = event->seed;
        MPI_Ibcast(parcel.memory, parcel.count, parcel.type, event->root, group->comm, request_of(pending));
        return;
    }
    MPI_Bcast(parcel.memory, parcel.count, parcel.type, event->root, group->comm);
    co_test_expect(co_parcel_holds(&parcel, event->bytes, event->seed), "round %d: Bcast of %zu", round_number,
                   event->bytes);
    co_parcel_close(&parcel);
}

static void shift_ring(const struct co_script_event *event, const struct co_script_group *group)
{
    int next = (group->rank + 1) % group->size, previous = (group->rank + group->size - 1) % group->size;
    struct co_parcel out, in;
    open_parcel(&out, event->bytes);
    open_parcel(&in, event->bytes);
    co_parcel_fill(&out, block_seed(event->seed, group->rank));
    MPI_Status status;
    MPI_Sendrecv(out.memory, out.count, out.type, next, TAG_RING, in.memory, in.count, in.type, previous, TAG_RING,
                 group->comm, &status);
    co_test_expect(status.MPI_SOURCE == previous && status.MPI_TAG == TAG_RING &&
                       co_parcel_holds(&in, event->bytes, block_seed(event->seed, previous)),
                   "round %d: ring", round_number);
    co_parcel_close(&out);
    co_parcel_close(&in);
}

static void do_collective(const struct co_script_event *event)
{
    const struct co_script_group *group = &script.groups[event->index];
    if (group->rank < 0) {
        return;
    }
    switch (event->kind) {
    case CO_SCRIPT_BARRIER:
        MPI_Barrier(group->comm);
        break;
    case CO_SCRIPT_BCAST:
    case CO_SCRIPT_IBCAST:
        broadcast(event, group);
        break;
    case CO_SCRIPT_RING:
        shift_ring(event, group);
        break;
    default:
        gather_blocks(event, group);
    }
}

static void complete(int index, const MPI_Status *status)
{
    judge_pending(&pendings[index], status);
    if (pendings[index].is_persistent) {
        MPI_Request_free(&requests[index]);
    }
    co_test_expect(requests[index] == MPI_REQUEST_NULL, "round %d: the handle is null", round_number);
}

static void do_round(void)
{
    co_script_draw(&script);
    request_count = 0;
    receives = 0;
    for (int i = 0; i < script.event_count; i++) {
        int flag;
        pause_sometimes();
        switch (script.events[i].kind) {
        case CO_SCRIPT_SEND:
            send_message(script.events[i].index);
            break;
        case CO_SCRIPT_RECEIVE:
            receive_message(script.events[i].index);
            break;
        default:
            do_collective(&script.events[i]);
        }
        if (choose(8) == 0) {
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }
    }
    co_script_free_groups(&script);
    co_test_expect(co_complete_all(request_count, requests, &own, complete), "round %d: requests were left",
                   round_number);
    judge_arrivals();
    // A receive from anybody could take what somebody sends in the next round.
    MPI_Barrier(MPI_COMM_WORLD);
    co_script_make_groups(&script);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    if (co_test_size() > CO_SCRIPT_RANKS) {
        return co_test_skip("too many ranks");
    }
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;
    own = seed * 31 + (uint64_t)co_test_rank() + 1;
    co_parcel_types_make();
    co_script_begin(&script, seed);
    for (round_number = 0; round_number < rounds; round_number++) {
        do_round();
    }
    co_script_end(&script);
    co_parcel_types_free();
    return co_test_finish();
}
