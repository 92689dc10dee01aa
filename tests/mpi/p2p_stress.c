// SPDX-License-Identifier: BSD-3-Clause
// All point-to-point calls under MPI_THREAD_MULTIPLE, as chance mixes them: threads of two ranks talk in pairs, each on
// a communicator of its own with wildcards of all kinds or on a shared one by tags, with sends of all modes, receives,
// probes, matched probes, cancels, persistent requests and every completing call; then all of them receive from any
// source with any tag. What is sent follows from the seed, how it is sent, received and completed does not.
// Arguments: the seed, and how many steps the pairs make.
// ranks: 2
// arguments: 1
// arguments: 2
// environment: CASTOFF_P2P=yes
// taken: MPI_Send MPI_Recv MPI_Mprobe
// expect: every message once, in order, with its bytes, and no other byte written
#include "oracle/talker.h"
#include "oracle/verdict.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define STEPS 60          // each of up to six messages
#define ROUNDS 3          // of persistent requests
#define FREE_MESSAGES 120 // of each thread, when all receive from anybody
#define FREE_AT_ONCE 3
#define FREE_ROOM 70000

static struct co_talker talkers[THREADS];
static int steps = STEPS;

// The receives are there before anything comes, in an order in which only equal tags keep theirs.
static void receive_expected(struct co_talker *talker)
{
    int order[CO_TALKER_MESSAGES];
    for (int i = 0; i < talker->count; i++) {
        order[i] = i;
    }
    for (int i = 0; i < 2 * talker->count; i++) {
        int at = (int)co_talker_chance(talker, (unsigned)talker->count - 1), first = order[at];
        if (talker->messages[first].tag != talker->messages[order[at + 1]].tag) {
            order[at] = order[at + 1];
            order[at + 1] = first;
        }
    }
    for (int i = 0; i < talker->count; i++) {
        co_talker_post(talker, &talker->messages[order[i]], true);
    }
    MPI_Send(NULL, 0, MPI_BYTE, talker->peer, co_talker_tag(talker, CO_TALKER_TAG_GO), talker->comm);
}

static void send_all(struct co_talker *talker, bool is_expected)
{
    if (is_expected) {
        MPI_Recv(NULL, 0, MPI_BYTE, talker->peer, co_talker_tag(talker, CO_TALKER_TAG_GO), talker->comm,
                 MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < talker->count; i++) {
        co_talker_send(talker, &talker->messages[i], is_expected);
    }
}

static void one_way(struct co_talker *talker, int sender, bool is_expected)
{
    is_expected = is_expected && talker->count > 1;
    if (co_test_rank() == sender) {
        send_all(talker, is_expected);
    } else if (is_expected) {
        receive_expected(talker);
    } else {
        for (int i = 0; i < talker->count; i++) {
            co_talker_receive(talker, &talker->messages[i]);
        }
    }
    co_bundle_complete(&talker->bundle);
}

static void exchange(struct co_talker *talker)
{
    for (int i = 0; i < talker->count; i++) {
        bool sends_first = co_talker_chance(talker, 2) == 0;
        if (sends_first) {
            co_talker_start_send(talker, &talker->messages[i], talker->peer);
        }
        co_talker_post(talker, &talker->messages[i], false);
        if (!sends_first) {
            co_talker_start_send(talker, &talker->messages[i], talker->peer);
        }
    }
    co_bundle_complete(&talker->bundle);
}

static void make_receive(struct co_talker *talker, const struct co_talker_message *message)
{
    struct co_bundle_entry *entry = co_talker_add_receive(talker, message, talker->peer);
    MPI_Recv_init(entry->parcel.memory, entry->parcel.count, entry->parcel.type, co_talker_any_source(talker),
                  message->tag, talker->comm, co_talker_request(talker));
    entry->is_persistent = true;
}

// The same requests again and again, their bytes new each time. They start in any order: each has a tag of its own.
static void exchange_again(struct co_talker *talker)
{
    struct co_bundle *bundle = &talker->bundle;
    for (int i = 0; i < talker->count; i++) {
        talker->messages[i].tag = co_talker_tag(talker, CO_TALKER_TAG_DISTINCT + i);
        make_receive(talker, &talker->messages[i]);
        co_talker_make_send(talker, &talker->messages[i]);
    }
    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < bundle->count; i++) {
            bundle->entries[i].seed += round;
            bundle->entries[i].is_active = true;
            if (!bundle->entries[i].receives) {
                co_parcel_fill(&bundle->entries[i].parcel, bundle->entries[i].seed);
            }
        }
        MPI_Startall(bundle->count, bundle->requests);
        co_bundle_complete(bundle);
    }
}

static void replace(struct co_talker *talker, const struct co_talker_message *message, struct co_bundle_entry *entry,
                    MPI_Status *status)
{
    struct co_bundle_entry *to_come = co_talker_add_receive(talker, message, talker->peer);
    entry->seed = to_come->seed;
    entry->bytes = to_come->bytes;
    entry->source = to_come->source;
    entry->tag = to_come->tag;
    MPI_Sendrecv_replace(entry->parcel.memory, entry->parcel.count, entry->parcel.type, talker->peer, message->tag,
                         co_talker_any_source(talker), co_talker_any_tag(talker, message), talker->comm, status);
    co_bundle_judge(&talker->bundle, entry, status);
}

static void exchange_in_one_call(struct co_talker *talker)
{
    for (int i = 0; i < talker->count; i++) {
        const struct co_talker_message *message = &talker->messages[i];
        struct co_bundle_entry *sent = co_talker_add_send(talker, message);
        MPI_Status status;
        co_talker_forget(talker);
        if (co_talker_chance(talker, 2) == 0) {
            replace(talker, message, sent, &status);
        } else {
            struct co_bundle_entry *received = co_talker_add_receive(talker, message, talker->peer);
            MPI_Sendrecv(sent->parcel.memory, sent->parcel.count, sent->parcel.type, talker->peer, message->tag,
                         received->parcel.memory, received->parcel.count, received->parcel.type,
                         co_talker_any_source(talker), co_talker_any_tag(talker, message), talker->comm, &status);
            co_bundle_judge(&talker->bundle, received, &status);
        }
        co_talker_forget(talker);
    }
}

// By their source, for the peer may be ahead.
static void talk_to_oneself(struct co_talker *talker)
{
    for (int i = 0; i < talker->count; i++) {
        const struct co_talker_message *message = &talker->messages[i];
        co_talker_start_send(talker, message, co_test_rank());
        struct co_bundle_entry *entry = co_talker_add_receive(talker, message, co_test_rank());
        MPI_Irecv(entry->parcel.memory, entry->parcel.count, entry->parcel.type, co_test_rank(),
                  co_talker_any_tag(talker, message), talker->comm, co_talker_request(talker));
    }
    co_bundle_complete(&talker->bundle);
}

static void *talk_in_pairs(void *argument)
{
    struct co_talker *talker = argument;
    for (int step = 0; step < steps; step++) {
        co_talker_plan(talker);
        unsigned kind = co_parcel_random(&talker->plan, 10);
        bool is_expected = co_parcel_random(&talker->plan, 3) == 0;
        if (kind < 5) {
            one_way(talker, (int)(kind % 2), is_expected);
        } else if (kind < 7) {
            exchange(talker);
        } else if (kind == 7) {
            exchange_again(talker);
        } else if (kind == 8) {
            exchange_in_one_call(talker);
        } else {
            talk_to_oneself(talker);
        }
        co_bundle_clear(&talker->bundle);
        if (co_talker_chance(talker, 4) == 0) {
            co_talker_cancel_for_nothing(talker);
        }
    }
    return NULL;
}

// What any thread may receive: its number stands in front, its thread is the tag.
static size_t free_bytes(int thread, int number)
{
    static const size_t sizes[] = {8, 60, 500, 4000, 4100, 9000, 30000, FREE_ROOM};
    return sizes[(thread + number) % 8];
}

static void start_free_send(struct co_talker *talker, unsigned char *buffer, int number, MPI_Request *request)
{
    size_t bytes = free_bytes(talker->number, number);
    memcpy(buffer, &number, sizeof number);
    co_test_pattern_fill(buffer + sizeof number, bytes - sizeof number, co_test_seed(talker->number, number, bytes));
    if (co_talker_chance(talker, 2) == 0) {
        MPI_Isend(buffer, (int)bytes, MPI_BYTE, talker->peer, talker->number, talker->shared, request);
    } else {
        MPI_Issend(buffer, (int)bytes, MPI_BYTE, talker->peer, talker->number, talker->shared, request);
    }
}

static void start_free_receive(struct co_talker *talker, unsigned char *buffer, MPI_Request *request)
{
    MPI_Message message;
    MPI_Status status;
    int flag = 0;
    if (co_talker_chance(talker, 3) == 0) {
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, talker->shared, &flag, &message, &status);
    }
    if (flag) {
        MPI_Imrecv(buffer, FREE_ROOM, MPI_BYTE, &message, request);
    } else {
        MPI_Irecv(buffer, FREE_ROOM, MPI_BYTE, co_talker_any_source(talker), MPI_ANY_TAG, talker->shared, request);
    }
}

// Of each thread, the messages that one thread of ours receives come in the order in which they were sent.
static void judge_free(struct co_talker *talker, const unsigned char *buffer, const MPI_Status *status, int *last)
{
    int number, count, from = status->MPI_TAG;
    MPI_Get_count(status, MPI_BYTE, &count);
    memcpy(&number, buffer, sizeof number);
    bool is_one = from >= 0 && from < THREADS && number >= 0 && (size_t)count == free_bytes(from, number);
    co_bundle_expect(&talker->bundle, is_one, "a message of nobody, or of other length", from, count);
    if (is_one) {
        size_t bytes = (size_t)count - sizeof number;
        co_bundle_expect(&talker->bundle, number > last[from], "order", number, last[from]);
        co_bundle_expect(
            &talker->bundle,
            co_test_pattern_mismatch(buffer + sizeof number, bytes, co_test_seed(from, number, (size_t)count)) == bytes,
            "content", from, number);
        last[from] = number;
    }
}

static void *talk_freely(void *argument)
{
    struct co_talker *talker = argument;
    unsigned char *buffers = malloc(2 * FREE_AT_ONCE * FREE_ROOM);
    int last[THREADS] = {-1, -1, -1, -1};
    for (int number = 0, count; number < FREE_MESSAGES; number += count) {
        MPI_Request requests[2 * FREE_AT_ONCE];
        MPI_Status statuses[2 * FREE_AT_ONCE];
        count = 1 + (int)co_talker_chance(talker, FREE_AT_ONCE);
        count = count < FREE_MESSAGES - number ? count : FREE_MESSAGES - number;
        for (int i = 0; i < count; i++) {
            start_free_send(talker, buffers + i * FREE_ROOM, number + i, &requests[count + i]);
        }
        for (int i = 0; i < count; i++) {
            start_free_receive(talker, buffers + (FREE_AT_ONCE + i) * FREE_ROOM, &requests[i]);
        }
        MPI_Waitall(2 * count, requests, statuses);
        for (int i = 0; i < count; i++) {
            judge_free(talker, buffers + (FREE_AT_ONCE + i) * FREE_ROOM, &statuses[i], last);
        }
    }
    free(buffers);
    return NULL;
}

static void run(void *(*body)(void *), const char *what)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, body, &talkers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        co_test_expect(talkers[i].bundle.wrong == 0, "%s, thread %d: %d wrong", what, i, talkers[i].bundle.wrong);
        talkers[i].bundle.wrong = 0;
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int level, bytes;
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    void *buffer = malloc(CO_TALKER_BUFFER);
    steps = argc > 2 ? atoi(argv[2]) : STEPS;
    MPI_Comm shared;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    co_test_begin();
    if (level < MPI_THREAD_MULTIPLE) {
        return co_test_skip("no MPI_THREAD_MULTIPLE");
    }
    co_parcel_types_make();
    MPI_Buffer_attach(buffer, CO_TALKER_BUFFER);
    MPI_Comm_dup(MPI_COMM_WORLD, &shared);
    for (int i = 0; i < THREADS; i++) {
        co_talker_open(&talkers[i], seed, i, 1 - co_test_rank());
        talkers[i].shared = shared;
        MPI_Comm_dup(MPI_COMM_WORLD, &talkers[i].own);
    }
    run(talk_in_pairs, "pairs");
    run(talk_freely, "any thread's messages");
    MPI_Buffer_detach(&buffer, &bytes);
    free(buffer);
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_free(&talkers[i].own);
    }
    MPI_Comm_free(&shared);
    co_parcel_types_free();
    return co_test_finish();
}
