// SPDX-License-Identifier: BSD-3-Clause
// Which message goes into which receive: receives of all wildcard classes interleaved with exact ones, posted before,
// among and after the messages of several senders; sizes that alternate between eager and rendezvous, so that small
// messages could overtake large ones; statuses. Every message carries who sent it, its tag and its number, and every
// receive is checked against a plain search through two lists.
// ranks: 2 3 4
// environment: CASTOFF_P2P=yes
// expect: each sender's messages fill the receives that fit them in the order in which both began
// report: calls["MPI_Irecv"]["taken"] > 0
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define MESSAGES 120 // of each sender
#define ROUNDS 12
#define LARGEST 70000

struct head {
    int sender, tag, number;
};

static unsigned state;

static unsigned next_random(unsigned below)
{
    state = state * 1103515245u + 12345u;
    return (state >> 16) % below;
}

static int tag_of(int sender, int number, int round)
{
    return (sender * 7 + number * 5 + round * 3 + number / 7) % 4;
}

static size_t bytes_of(int number, int round)
{
    static const size_t sizes[] = {sizeof(struct head), 64, 200, 4096, 4100, 9000, LARGEST};
    return sizes[(unsigned)(number * 3 + round) % (round % 3 == 0 ? 2 : 7)];
}

static void send_all(int round, bool synchronous)
{
    static unsigned char *memory[MESSAGES];
    MPI_Request requests[MESSAGES];
    for (int i = 0; i < MESSAGES; i++) {
        size_t bytes = bytes_of(i, round);
        struct head head = {co_test_rank(), tag_of(co_test_rank(), i, round), i};
        memory[i] = malloc(bytes);
        memset(memory[i], i, bytes);
        memcpy(memory[i], &head, sizeof head);
        if (synchronous && i % 5 == 0) {
            MPI_Issend(memory[i], (int)bytes, MPI_BYTE, 0, head.tag, MPI_COMM_WORLD, &requests[i]);
        } else {
            MPI_Isend(memory[i], (int)bytes, MPI_BYTE, 0, head.tag, MPI_COMM_WORLD, &requests[i]);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MESSAGES; i++) {
        free(memory[i]);
    }
}

struct posted {
    int source, tag;
    MPI_Request request;
    unsigned char *memory;
    struct head got;
};

static struct posted *receives;
static int receive_count, total;

// The next number of each sender and tag that has not been found in an earlier receive: a receive of an exact sender
// and tag must find the least, and so must all others among those that they fit.
static bool check_one(struct posted *receive, const MPI_Status *status, bool *seen, int round)
{
    struct head head;
    int count;
    memcpy(&head, receive->memory, sizeof head);
    MPI_Get_count(status, MPI_BYTE, &count);
    receive->got = head;
    bool fits = status->MPI_SOURCE == head.sender && status->MPI_TAG == head.tag && head.number < MESSAGES &&
                head.number >= 0 && (size_t)count == bytes_of(head.number, round) &&
                (receive->source == MPI_ANY_SOURCE || receive->source == head.sender) &&
                (receive->tag == MPI_ANY_TAG || receive->tag == head.tag) &&
                head.tag == tag_of(head.sender, head.number, round);
    if (!fits) {
        return co_test_expect(false, "a receive got what does not fit it: %d %d %d", head.sender, head.tag,
                              head.number);
    }
    bool *place = &seen[(head.sender - 1) * MESSAGES + head.number];
    bool is_new = !*place;
    *place = true;
    for (int i = (int)sizeof head; i < count; i++) {
        if (receive->memory[i] != (unsigned char)head.number) {
            return co_test_expect(false, "message %d of %d has a wrong byte", head.number, head.sender);
        }
    }
    return co_test_expect(is_new, "message %d of %d came twice", head.number, head.sender);
}

static bool could_take(const struct posted *receive, int sender, int tag)
{
    return (receive->source == MPI_ANY_SOURCE || receive->source == sender) &&
           (receive->tag == MPI_ANY_TAG || receive->tag == tag);
}

// No two messages of a sender may have passed each other: a later one in an earlier receive that both fit.
static void check_order(void)
{
    for (int i = 0; i < receive_count; i++) {
        for (int j = i + 1; j < receive_count; j++) {
            const struct posted *first = &receives[i], *second = &receives[j];
            if (first->got.sender == second->got.sender && second->got.number < first->got.number &&
                could_take(first, second->got.sender, second->got.tag)) {
                co_test_expect(false, "of sender %d, message %d went into receive %d, and %d into %d",
                               first->got.sender, first->got.number, i, second->got.number, j);
            }
        }
    }
}

static void post(int source, int tag)
{
    struct posted *receive = &receives[receive_count++];
    receive->source = source;
    receive->tag = tag;
    receive->memory = malloc(LARGEST);
    MPI_Irecv(receive->memory, LARGEST, MPI_BYTE, source, tag, MPI_COMM_WORLD, &receive->request);
}

// As many exact, half-exact and free receives as there are messages: the exact ones cannot starve, because the free
// ones are posted for messages that are counted off. `left` counts the messages of a sender and tag without a receive.
static void post_mixture(int round, int kind)
{
    int left[4][4] = {{0}}, all = 0;
    for (int sender = 1; sender < co_test_size(); sender++) {
        for (int i = 0; i < MESSAGES; i++) {
            left[sender][tag_of(sender, i, round)]++;
            all++;
        }
    }
    // Only free receives could take what an exact one needs; so from the first one on, all are free in what they are.
    int exact = kind == 0 ? all : all / 2;
    while (receive_count < exact) {
        int sender = 1 + (int)next_random((unsigned)co_test_size() - 1), tag = (int)next_random(4);
        if (left[sender][tag] > 0) {
            left[sender][tag]--;
            post(sender, tag);
        }
    }
    while (receive_count < all) {
        post(MPI_ANY_SOURCE, MPI_ANY_TAG);
    }
}

// Receives by source alone with ANY_TAG, by tag alone with ANY_SOURCE; both kinds at once could starve each other.
static void post_class(int round, bool by_source)
{
    int left[4] = {0};
    for (int sender = 1; sender < co_test_size(); sender++) {
        for (int i = 0; i < MESSAGES; i++) {
            left[by_source ? sender : tag_of(sender, i, round)]++;
        }
    }
    for (int i = 0; i < total;) {
        int key = (int)next_random(4);
        if (left[key] > 0) {
            left[key]--;
            post(by_source ? key : MPI_ANY_SOURCE, by_source ? MPI_ANY_TAG : key);
            i++;
        }
    }
}

static void post_all(int round)
{
    switch (round % 4) {
    case 0:
        post_mixture(round, 0);
        break;
    case 1:
        post_mixture(round, 1);
        break;
    case 2:
        post_class(round, true);
        break;
    default:
        post_class(round, false);
    }
}

static void receive_all(int round)
{
    receive_count = 0;
    total = MESSAGES * (co_test_size() - 1);
    receives = calloc((size_t)total, sizeof *receives);
    bool *seen = calloc((size_t)total, sizeof *seen);
    state = (unsigned)round + 7;
    bool before = round / 4 % 2 == 0;
    if (before) {
        post_all(round);
    }
    MPI_Barrier(MPI_COMM_WORLD); // the senders' requests are all there
    if (!before) {
        post_all(round);
    }
    for (int i = 0; i < receive_count; i++) {
        MPI_Status status;
        int index = round % 2 == 0 ? i : receive_count - 1 - i;
        MPI_Wait(&receives[index].request, &status);
        check_one(&receives[index], &status, seen, round);
    }
    check_order();
    for (int i = 0; i < receive_count; i++) {
        free(receives[i].memory);
    }
    free(receives);
    free(seen);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int round = 0; round < ROUNDS; round++) {
        if (co_test_rank() == 0) {
            receive_all(round);
        } else {
            send_all(round, round % 2 == 1);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    co_test_expect(true, "done");
    return co_test_finish();
}
