// SPDX-License-Identifier: BSD-3-Clause
// Plans, sends and receives of talking threads.
#include "oracle/talker.h"

#include "oracle/verdict.h"

#define TAGS 3 // that messages share
#define BUFFERED_MOST 20000
#define THREADS_MOST 64

typedef int blocking_send(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int starting_send(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static blocking_send *const blocking[] = {MPI_Send, MPI_Ssend, MPI_Bsend, MPI_Rsend};
static starting_send *const nonblocking[] = {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
static starting_send *const persistent[] = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init};

void co_talker_open(struct co_talker *talker, uint64_t seed, int number, int peer)
{
    *talker = (struct co_talker){.number = number, .peer = peer};
    talker->plan = co_test_seed(number, 1, seed);
    talker->mine = co_test_seed(number, 2 + co_test_rank(), seed);
    talker->bundle.random = &talker->mine;
}

unsigned co_talker_chance(struct co_talker *talker, unsigned limit)
{
    return co_parcel_random(&talker->mine, limit);
}

static uint64_t seed_of(int rank, const struct co_talker *talker, const struct co_talker_message *message)
{
    return co_test_seed(rank * THREADS_MOST + talker->number, message->number, message->bytes);
}

// Few are large: a step in ten or so has one of megabytes.
static size_t plan_bytes(uint64_t *plan)
{
    static const size_t sizes[] = {0,    1,    8,     60,    64,    65,    256,    1000,   4000,  4032,
                                   4096, 4097, 5000,  8192,  16384, 20000, 32768,  65536,  65537, 131072,
                                   4,    512,  40960, 12288, 4608,  100,   200000, 262144, 3,     2};
    static const size_t large[] = {(1 << 20) - 64, 1 << 20, (1 << 20) + 1, 3 << 20};
    return co_parcel_random(plan, 40) == 0 ? large[co_parcel_random(plan, 4)] : sizes[co_parcel_random(plan, 30)];
}

int co_talker_tag(const struct co_talker *talker, int tag)
{
    return talker->number * CO_TALKER_TAGS + tag;
}

void co_talker_plan(struct co_talker *talker)
{
    bool is_shared = co_parcel_random(&talker->plan, 2) == 0;
    talker->comm = is_shared ? talker->shared : talker->own;
    talker->may_any_tag = !is_shared;
    talker->count = 1 + (int)co_parcel_random(&talker->plan, CO_TALKER_MESSAGES);
    for (int i = 0; i < talker->count; i++) {
        talker->messages[i].tag = co_talker_tag(talker, (int)co_parcel_random(&talker->plan, TAGS));
        talker->messages[i].bytes = plan_bytes(&talker->plan);
        talker->messages[i].number = talker->planned++;
    }
}

struct co_bundle_entry *co_talker_add_send(struct co_talker *talker, const struct co_talker_message *message)
{
    struct co_bundle_entry *entry = co_bundle_add(&talker->bundle);
    co_parcel_open(&entry->parcel, co_parcel_layout_for(message->bytes, co_talker_chance(talker, 8)), message->bytes);
    entry->seed = seed_of(co_test_rank(), talker, message);
    co_parcel_fill(&entry->parcel, entry->seed);
    return entry;
}

// With room for as much as comes, or for more.
struct co_bundle_entry *co_talker_add_receive(struct co_talker *talker, const struct co_talker_message *message,
                                              int source)
{
    struct co_bundle_entry *entry = co_bundle_add(&talker->bundle);
    size_t more = co_talker_chance(talker, 3) == 0 ? 512 : 0;
    co_parcel_open(&entry->parcel, co_parcel_layout_for(message->bytes, co_talker_chance(talker, 8)),
                   message->bytes + more);
    entry->seed = seed_of(source, talker, message);
    entry->bytes = message->bytes;
    entry->source = source;
    entry->tag = message->tag;
    entry->receives = true;
    return entry;
}

MPI_Request *co_talker_request(struct co_talker *talker)
{
    return &talker->bundle.requests[talker->bundle.count - 1];
}

// What blocks is over at once.
void co_talker_forget(struct co_talker *talker)
{
    talker->bundle.entries[talker->bundle.count - 1].is_active = false;
}

static enum co_talker_mode mode_for(struct co_talker *talker, const struct co_talker_message *message, bool is_expected)
{
    enum co_talker_mode mode = (enum co_talker_mode)co_talker_chance(talker, 4);
    bool is_legal =
        (mode != CO_TALKER_BUFFERED || message->bytes <= BUFFERED_MOST) && (mode != CO_TALKER_READY || is_expected);
    return is_legal ? mode : CO_TALKER_STANDARD;
}

void co_talker_send(struct co_talker *talker, const struct co_talker_message *message, bool is_expected)
{
    struct co_bundle_entry *entry = co_talker_add_send(talker, message);
    struct co_parcel *parcel = &entry->parcel;
    MPI_Request *request = co_talker_request(talker);
    enum co_talker_mode mode = mode_for(talker, message, is_expected);
    switch (co_talker_chance(talker, 4)) {
    case 0:
        persistent[mode](parcel->memory, parcel->count, parcel->type, talker->peer, message->tag, talker->comm,
                         request);
        entry->is_persistent = true;
        MPI_Start(request);
        break;
    case 1:
        blocking[mode](parcel->memory, parcel->count, parcel->type, talker->peer, message->tag, talker->comm);
        co_talker_forget(talker);
        break;
    default:
        nonblocking[mode](parcel->memory, parcel->count, parcel->type, talker->peer, message->tag, talker->comm,
                          request);
        break;
    }
}

void co_talker_start_send(struct co_talker *talker, const struct co_talker_message *message, int to)
{
    struct co_bundle_entry *entry = co_talker_add_send(talker, message);
    nonblocking[mode_for(talker, message, false)](entry->parcel.memory, entry->parcel.count, entry->parcel.type, to,
                                                  message->tag, talker->comm, co_talker_request(talker));
}

// Not buffered: native sends wrong bytes where such a request of more than 4,040 bytes starts a second time before the
// first message has gone (Open MPI 4.1.4, ob1).
void co_talker_make_send(struct co_talker *talker, const struct co_talker_message *message)
{
    struct co_bundle_entry *entry = co_talker_add_send(talker, message);
    enum co_talker_mode mode = co_talker_chance(talker, 2) == 0 ? CO_TALKER_STANDARD : CO_TALKER_SYNCHRONOUS;
    persistent[mode](entry->parcel.memory, entry->parcel.count, entry->parcel.type, talker->peer, message->tag,
                     talker->comm, co_talker_request(talker));
    entry->is_persistent = true;
}

int co_talker_any_source(struct co_talker *talker)
{
    return co_talker_chance(talker, 2) == 0 ? MPI_ANY_SOURCE : talker->peer;
}

int co_talker_any_tag(struct co_talker *talker, const struct co_talker_message *message)
{
    return talker->may_any_tag && co_talker_chance(talker, 2) == 0 ? MPI_ANY_TAG : message->tag;
}

static void receive_probed(struct co_talker *talker, const struct co_talker_message *message,
                           struct co_bundle_entry *entry)
{
    struct co_parcel *parcel = &entry->parcel;
    MPI_Status found, status;
    int flag = 0, count;
    if (co_talker_chance(talker, 2) == 0) {
        MPI_Probe(co_talker_any_source(talker), co_talker_any_tag(talker, message), talker->comm, &found);
    } else {
        while (!flag) {
            MPI_Iprobe(co_talker_any_source(talker), co_talker_any_tag(talker, message), talker->comm, &flag, &found);
        }
    }
    MPI_Get_count(&found, MPI_BYTE, &count);
    co_bundle_expect(&talker->bundle, (size_t)count == message->bytes, "probed", count, (long)message->bytes);
    MPI_Recv(parcel->memory, parcel->count, parcel->type, found.MPI_SOURCE, found.MPI_TAG, talker->comm, &status);
    co_talker_forget(talker);
    co_bundle_judge(&talker->bundle, entry, &status);
}

static void receive_matched(struct co_talker *talker, const struct co_talker_message *message,
                            struct co_bundle_entry *entry)
{
    struct co_parcel *parcel = &entry->parcel;
    MPI_Message matched = MPI_MESSAGE_NULL;
    MPI_Status found, status;
    int flag = 0, count;
    if (co_talker_chance(talker, 2) == 0) {
        MPI_Mprobe(co_talker_any_source(talker), co_talker_any_tag(talker, message), talker->comm, &matched, &found);
    } else {
        while (!flag) {
            MPI_Improbe(co_talker_any_source(talker), co_talker_any_tag(talker, message), talker->comm, &flag, &matched,
                        &found);
        }
    }
    MPI_Get_count(&found, MPI_BYTE, &count);
    co_bundle_expect(&talker->bundle, (size_t)count == message->bytes, "matched", count, (long)message->bytes);
    if (co_talker_chance(talker, 2) == 0) {
        MPI_Imrecv(parcel->memory, parcel->count, parcel->type, &matched, co_talker_request(talker));
        return;
    }
    MPI_Mrecv(parcel->memory, parcel->count, parcel->type, &matched, &status);
    co_talker_forget(talker);
    co_bundle_judge(&talker->bundle, entry, &status);
}

// Cancelled before its message has come, or not: then it has it.
static void receive_or_cancel(struct co_talker *talker, const struct co_talker_message *message,
                              struct co_bundle_entry *entry)
{
    struct co_parcel *parcel = &entry->parcel;
    MPI_Request request;
    MPI_Status status;
    int is_cancelled;
    MPI_Irecv(parcel->memory, parcel->count, parcel->type, co_talker_any_source(talker),
              co_talker_any_tag(talker, message), talker->comm, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &is_cancelled);
    if (is_cancelled) {
        MPI_Recv(parcel->memory, parcel->count, parcel->type, talker->peer, message->tag, talker->comm, &status);
    }
    co_talker_forget(talker);
    co_bundle_judge(&talker->bundle, entry, &status);
}

void co_talker_cancel_for_nothing(struct co_talker *talker)
{
    MPI_Request request;
    MPI_Status status;
    int is_cancelled, nothing;
    MPI_Irecv(&nothing, 1, MPI_INT, co_talker_any_source(talker), co_talker_tag(talker, CO_TALKER_TAG_NEVER),
              talker->comm, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &is_cancelled);
    co_bundle_expect(&talker->bundle, is_cancelled, "a receive of nothing was not cancelled", 0, 0);
}

void co_talker_post(struct co_talker *talker, const struct co_talker_message *message, bool by_tag)
{
    struct co_bundle_entry *entry = co_talker_add_receive(talker, message, talker->peer);
    struct co_parcel *parcel = &entry->parcel;
    int source = co_talker_any_source(talker), tag = by_tag ? message->tag : co_talker_any_tag(talker, message);
    if (co_talker_chance(talker, 3) == 0) {
        MPI_Recv_init(parcel->memory, parcel->count, parcel->type, source, tag, talker->comm,
                      co_talker_request(talker));
        entry->is_persistent = true;
        MPI_Start(co_talker_request(talker));
    } else {
        MPI_Irecv(parcel->memory, parcel->count, parcel->type, source, tag, talker->comm, co_talker_request(talker));
    }
}

// In the order of the messages, so that a wildcard can match no other.
void co_talker_receive(struct co_talker *talker, const struct co_talker_message *message)
{
    MPI_Status status;
    struct co_bundle_entry *entry;
    struct co_parcel *parcel;
    unsigned way = co_talker_chance(talker, 7);
    if (way < 3) {
        co_talker_post(talker, message, false);
        return;
    }
    entry = co_talker_add_receive(talker, message, talker->peer);
    parcel = &entry->parcel;
    if (way == 3) {
        receive_probed(talker, message, entry);
    } else if (way == 4) {
        receive_matched(talker, message, entry);
    } else if (way == 5) {
        receive_or_cancel(talker, message, entry);
    } else {
        MPI_Recv(parcel->memory, parcel->count, parcel->type, co_talker_any_source(talker),
                 co_talker_any_tag(talker, message), talker->comm, &status);
        co_talker_forget(talker);
        co_bundle_judge(&talker->bundle, entry, &status);
    }
}
