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
// taken: MPI_Send MPI_Bcast MPI_Ibcast MPI_Allgather MPI_Iallgather MPI_Allgatherv MPI_Iallgatherv
// expect: every message in order with its bytes, every collective's result, and no other byte written
#include "oracle/collective.h"
#include "oracle/completion.h"
#include "oracle/parcel.h"
#include "oracle/script.h"
#include "oracle/verdict.h"

#include <stdlib.h>
#include <time.h>

#define ROUNDS 12
#define MOST_REQUESTS CO_SCRIPT_EVENTS
#define TAG_NOBODY 2000

struct pending {
    enum co_script_kind kind;
    struct co_parcel one;    // of a message
    int message;             // that is sent
    struct arrival *arrival; // of a receive
    struct co_collective collective;
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
    switch (choose(6)) {
    case 0:
        MPI_Issend(parcel.memory, parcel.count, parcel.type, to, tag, group->comm, request);
        break;
    case 1:
        MPI_Send_init(parcel.memory, parcel.count, parcel.type, to, tag, group->comm, request);
        pending->is_persistent = true;
        MPI_Start(request);
        break;
    case 2:
        MPI_Ibsend(parcel.memory, parcel.count, parcel.type, to, tag, group->comm, request);
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
    int found = 0;
    switch (choose(5)) {
    case 0:
        MPI_Probe(from, tag, group->comm, &probed);
        MPI_Recv(parcel->memory, parcel->count, parcel->type, probed.MPI_SOURCE, probed.MPI_TAG, group->comm,
                 &arrival->status);
        break;
    case 1:
        MPI_Mprobe(from, tag, group->comm, &handle, &probed);
        MPI_Mrecv(parcel->memory, parcel->count, parcel->type, &handle, &arrival->status);
        break;
    case 2: {
        MPI_Request request;
        while (found == 0) {
            MPI_Improbe(from, tag, group->comm, &found, &handle, &probed);
        }
        MPI_Imrecv(parcel->memory, parcel->count, parcel->type, &handle, &request);
        MPI_Wait(&request, &arrival->status);
        break;
    }
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

static void judge_collective(struct pending *pending)
{
    const struct co_collective *collective = &pending->collective;
    co_test_expect(co_collective_end(&pending->collective), "round %d: collective %d of %zu bytes, group %d of %d",
                   round_number, (int)collective->kind, collective->bytes, (int)(collective->group - script.groups),
                   collective->group->size);
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
    default:
        judge_collective(pending);
        return;
    }
    co_parcel_close(&pending->one);
}

static void do_collective(const struct co_script_event *event)
{
    const struct co_script_group *group = &script.groups[event->index];
    if (group->rank < 0) {
        return;
    }
    struct pending *pending = add_request(event->kind);
    co_collective_begin(&pending->collective, event, group, &own, request_of(pending), &pending->is_persistent);
    if (*request_of(pending) == MPI_REQUEST_NULL) {
        judge_collective(pending);
        request_count--;
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

// A receive that nobody sends to.
static void cancel_receive(void)
{
    int byte, is_cancelled = 0;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&byte, 1, MPI_INT, (int)choose((unsigned)co_test_size()), TAG_NOBODY, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &is_cancelled);
    co_test_expect(is_cancelled != 0, "round %d: a cancelled receive", round_number);
}

static void do_round(void)
{
    int room = CO_SCRIPT_MESSAGES * (CO_SCRIPT_BYTES + MPI_BSEND_OVERHEAD);
    void *buffer = malloc((size_t)room);
    MPI_Buffer_attach(buffer, room);
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
        if (choose(16) == 0) {
            cancel_receive();
        }
        if (choose(8) == 0) {
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }
    }
    co_script_free_groups(&script);
    co_test_expect(co_complete_all(request_count, requests, &own, complete), "round %d: requests were left",
                   round_number);
    judge_arrivals();
    MPI_Buffer_detach(&buffer, &room);
    free(buffer);
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
