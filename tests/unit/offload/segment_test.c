// SPDX-License-Identifier: BSD-3-Clause
//
// The memory between a rank and its proxy: commands in order through many rounds of the ring, definitions that nobody
// writes over, a rank that writes anything, and sides that sleep.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "offload/segment.h"

static struct co_segment_memory *memory;
static struct co_segment_rank rank;
static struct co_segment_proxy proxy;

static int open_both(void **state)
{
    (void)state;
    memory = aligned_alloc(CO_LINE_PAIR, sizeof *memory);
    memset(memory, 0, sizeof *memory);
    co_segment_rank_open(&rank, memory);
    return co_segment_proxy_open(&proxy, memory);
}

static int close_both(void **state)
{
    (void)state;
    free(memory);
    return 0;
}

static int give(uint32_t kind, uint64_t group)
{
    bool rings;
    struct co_offload_command command = {.kind = kind, .group = group};
    return co_segment_give(&rank, &command, NULL, 0, &rings);
}

static struct co_offload_command take(void)
{
    uint8_t bytes[CO_OFFLOAD_COMMAND_BYTES];
    struct co_offload_command command;
    assert_int_equal(co_segment_take(&proxy, bytes), 1);
    assert_int_equal(co_offload_command_decode(&command, bytes, 4), 0);
    return command;
}

static void commands_in_order(void **state)
{
    (void)state;
    uint8_t bytes[CO_OFFLOAD_COMMAND_BYTES];
    uint64_t given = 0, taken = 0;

    assert_int_equal(co_segment_take(&proxy, bytes), 0);
    for (int round = 0; round < 5; round++) {
        while (give(CO_OFFLOAD_COMMAND_CALL, given) == 0) {
            given++;
        }
        assert_int_equal(given - taken, CO_SEGMENT_COMMANDS);
        for (int i = 0; i < CO_SEGMENT_COMMANDS - round; i++) {
            assert_int_equal(take().group, taken++);
            co_segment_taken(&proxy);
        }
    }
}

// A command that was read, but not said to be, is still there, and so is its place.
static void what_is_not_said_to_be_taken_stays(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < CO_SEGMENT_COMMANDS; i++) {
        assert_int_equal(give(CO_OFFLOAD_COMMAND_CALL, i), 0);
    }
    assert_int_equal(take().group, 0);
    uint64_t news = co_segment_news(&rank);
    assert_int_equal(give(CO_OFFLOAD_COMMAND_CALL, 0), -EAGAIN);
    assert_int_equal(take().group, 0);
    assert_true(co_segment_news(&rank) == news);
    co_segment_taken(&proxy);
    assert_true(co_segment_news(&rank) != news);
    assert_int_equal(give(CO_OFFLOAD_COMMAND_CALL, 0), 0);
    assert_int_equal(take().group, 1);
}

static uint8_t definition[CO_SEGMENT_AREA_BYTES + 1], back[CO_SEGMENT_AREA_BYTES];

static int give_definition(uint64_t number, size_t bytes)
{
    bool rings;
    struct co_offload_command command = {.kind = CO_OFFLOAD_COMMAND_GROUP, .group = number};
    memset(definition, (int)(number % 251 + 1), bytes);
    return co_segment_give(&rank, &command, definition, bytes, &rings);
}

// Bytes of the definition by its number, so that both ends know.
static size_t length_of(uint64_t number)
{
    return 1 + (size_t)((number * 2654435761U) % (number % 50 == 0 ? CO_SEGMENT_AREA_BYTES : 100000));
}

static void take_definition(uint64_t number)
{
    struct co_offload_command command = take();
    size_t bytes = length_of(number);
    assert_int_equal(command.group, number);
    assert_int_equal(co_segment_read(&proxy, command.definition, back, bytes), 0);
    for (size_t i = 0; i < bytes; i += i < 100 ? 1 : 97) {
        assert_int_equal(back[i], number % 251 + 1);
    }
    assert_int_equal(back[bytes - 1], number % 251 + 1);
    co_segment_taken(&proxy);
}

static void definitions_are_not_written_over(void **state)
{
    (void)state;
    uint64_t given = 0, taken = 0;
    unsigned most = 0;

    while (taken < 3000) {
        int error = give_definition(given, length_of(given));
        if (error == 0) {
            given++;
        } else {
            assert_int_equal(error, -EAGAIN);
            assert_true(given > taken); // an empty area has always room
        }
        most = given - taken > most ? (unsigned)(given - taken) : most;
        unsigned turns = error != 0 ? 1 + (unsigned)(given % 7) : given % 3 == 0;
        for (; turns > 0 && taken < given; turns--) {
            take_definition(taken++);
        }
    }
    assert_true(most > 10);
}

static void definitions_have_bounds(void **state)
{
    (void)state;
    assert_int_equal(give_definition(0, CO_SEGMENT_AREA_BYTES + 1), -ENOSPC);
    assert_true(CO_SEGMENT_AREA_BYTES >= CO_OFFLOAD_OPERATIONS_MAX * CO_OFFLOAD_OPERATION_BYTES);
    for (uint64_t i = 0; i < CO_SEGMENT_DEFINITIONS; i++) {
        assert_int_equal(give_definition(i, 1), 0);
    }
    assert_int_equal(give_definition(0, 1), -EAGAIN);
    assert_int_equal(give(CO_OFFLOAD_COMMAND_CALL, 0), 0); // one without is another matter
    for (uint64_t i = 0; i < CO_SEGMENT_DEFINITIONS; i++) {
        co_segment_taken(&proxy);
    }
    assert_int_equal(give_definition(0, CO_SEGMENT_AREA_BYTES), 0);
    assert_int_equal(give_definition(0, 1), -EAGAIN);
}

static void a_rank_that_writes_anything(void **state)
{
    (void)state;
    uint8_t bytes[CO_OFFLOAD_COMMAND_BYTES];

    assert_int_equal(give(CO_OFFLOAD_COMMAND_CALL, 0), 0);
    co_store_relaxed(&memory->given, CO_SEGMENT_COMMANDS + 1);
    assert_int_equal(co_segment_take(&proxy, bytes), -EPROTO);
    co_store_relaxed(&memory->given, UINT64_MAX);
    assert_int_equal(co_segment_take(&proxy, bytes), -EPROTO);
    co_store_relaxed(&memory->taken, 77); // nobody reads it here
    co_store_relaxed(&memory->given, CO_SEGMENT_COMMANDS);
    assert_int_equal(co_segment_take(&proxy, bytes), 1);
    assert_int_equal(co_segment_read(&proxy, CO_SEGMENT_AREA_BYTES, back, 1), -EPROTO);
    assert_int_equal(co_segment_read(&proxy, CO_SEGMENT_AREA_BYTES - 1, back, 2), -EPROTO);
    assert_int_equal(co_segment_read(&proxy, CO_SEGMENT_AREA_BYTES + 1, back, 1), -EPROTO);
    assert_int_equal(co_segment_read(&proxy, UINT64_MAX, back, 1), -EPROTO);
    assert_int_equal(co_segment_read(&proxy, CO_SEGMENT_AREA_BYTES, back, 0), 0);
    assert_int_equal(co_segment_read(&proxy, CO_SEGMENT_AREA_BYTES - 2, back, 2), 0);
    memory->magic++;
    assert_int_equal(co_segment_proxy_open(&proxy, memory), -EPROTO);
}

static void completions(void **state)
{
    (void)state;
    const struct co_offload_completion completion = {
        .state = CO_OFFLOAD_COMPLETION_DONE, .error = -EMSGSIZE, .bytes = 99};

    assert_false(co_segment_is_done(&rank, 1023));
    uint64_t news = co_segment_news(&rank);
    assert_false(co_segment_complete(&proxy, 1023, &completion));
    assert_true(co_segment_news(&rank) != news);
    assert_true(co_segment_is_done(&rank, 1023));
    assert_false(co_segment_is_done(&rank, 1022));
    struct co_offload_completion got = co_segment_collect(&rank, 1023);
    assert_int_equal(got.error, -EMSGSIZE);
    assert_int_equal(got.bytes, 99);
    assert_false(co_segment_is_done(&rank, 1023)); // the ticket is free
    co_segment_complete(&proxy, 5, &completion);
    memory->completions[5][9] = 0x7f; // and the error positive: nonsense
    memory->completions[5][11] = 0x7f;
    assert_int_equal(co_segment_collect(&rank, 5).error, -EPROTO);
}

static void who_sleeps_is_rung(void **state)
{
    (void)state;
    bool rings;
    struct co_offload_command command = {.kind = CO_OFFLOAD_COMMAND_CALL};
    const struct co_offload_completion completion = {.state = CO_OFFLOAD_COMPLETION_DONE};

    assert_int_equal(co_segment_give(&rank, &command, NULL, 0, &rings), 0);
    assert_false(rings);
    assert_false(co_segment_proxy_sleeps(&proxy)); // there is something
    co_segment_taken(&proxy);
    assert_true(co_segment_proxy_sleeps(&proxy));
    assert_int_equal(co_segment_give(&rank, &command, NULL, 0, &rings), 0);
    assert_true(rings);
    co_segment_proxy_wakes(&proxy);
    assert_int_equal(co_segment_give(&rank, &command, NULL, 0, &rings), 0);
    assert_false(rings);

    assert_true(co_segment_rank_sleeps(&rank, 3));
    assert_true(co_segment_complete(&proxy, 3, &completion));
    co_segment_rank_wakes(&rank);
    assert_false(co_segment_complete(&proxy, 4, &completion));
    assert_false(co_segment_rank_sleeps(&rank, 3)); // it is over
    assert_false(co_segment_complete(&proxy, 5, &completion));
}

// Two threads that go to sleep whenever there is nothing to do: a ring that is missed would be a hang.
enum { ROUNDS = 20000 };
static int to_proxy[2], to_rank[2];
static uint64_t received; // by the rank: plain memory, visible by the completion alone

static void ring(int fd)
{
    assert_int_equal(write(fd, "x", 1), 1);
}

static void wait_ring(int fd)
{
    char byte;
    assert_int_equal(read(fd, &byte, 1), 1);
}

static void *serve(void *unused)
{
    (void)unused;
    uint8_t bytes[CO_OFFLOAD_COMMAND_BYTES];
    for (uint64_t i = 0; i < ROUNDS;) {
        if (co_segment_take(&proxy, bytes) == 0) {
            if (co_segment_proxy_sleeps(&proxy)) {
                wait_ring(to_proxy[0]);
                co_segment_proxy_wakes(&proxy);
            }
            continue;
        }
        struct co_offload_command command;
        if (co_offload_command_decode(&command, bytes, 4) != 0 || command.group != i) {
            abort();
        }
        co_segment_taken(&proxy);
        received = i * 3;
        struct co_offload_completion completion = {.state = CO_OFFLOAD_COMPLETION_DONE, .bytes = i};
        if (co_segment_complete(&proxy, command.ticket, &completion)) {
            ring(to_rank[1]);
        }
        i++;
    }
    return NULL;
}

static void calls_in_turn(bool rank_sleeps)
{
    pthread_t thread;

    assert_int_equal(pipe(to_proxy), 0);
    assert_int_equal(pipe(to_rank), 0);
    assert_int_equal(pthread_create(&thread, NULL, serve, NULL), 0);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        bool rings;
        uint32_t ticket = (uint32_t)(i % CO_TICKETS);
        struct co_offload_command command = {.kind = CO_OFFLOAD_COMMAND_CALL, .group = i, .ticket = ticket};
        assert_int_equal(co_segment_give(&rank, &command, NULL, 0, &rings), 0);
        if (rings) {
            ring(to_proxy[1]);
        }
        while (!co_segment_is_done(&rank, ticket)) {
            if (rank_sleeps && co_segment_rank_sleeps(&rank, ticket)) {
                wait_ring(to_rank[0]);
                co_segment_rank_wakes(&rank);
            } else if (!rank_sleeps) {
                sched_yield();
            }
        }
        assert_int_equal(co_segment_collect(&rank, ticket).bytes, i);
        assert_int_equal(received, i * 3);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (int i = 0; i < 2; i++) {
        close(to_proxy[i]);
        close(to_rank[i]);
    }
}

static void nobody_sleeps_through_a_ring(void **state)
{
    (void)state;
    calls_in_turn(true);
}

// A rank that looks all the time sees a completion that is whole, or none.
static void a_completion_is_whole_when_it_is_said(void **state)
{
    (void)state;
    calls_in_turn(false);
}

#define WITH_BOTH(test) cmocka_unit_test_setup_teardown(test, open_both, close_both)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_BOTH(commands_in_order),
        WITH_BOTH(what_is_not_said_to_be_taken_stays),
        WITH_BOTH(definitions_are_not_written_over),
        WITH_BOTH(definitions_have_bounds),
        WITH_BOTH(a_rank_that_writes_anything),
        WITH_BOTH(completions),
        WITH_BOTH(who_sleeps_is_rung),
        WITH_BOTH(nobody_sleeps_through_a_ring),
        WITH_BOTH(a_completion_is_whole_when_it_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
