// SPDX-License-Identifier: BSD-3-Clause
//
// Segments and core together, with ranks that are arrays of this process: it runs where the kernel lets nobody look
// into another process, too. What ranks that leave and ranks that write anything mean to the others.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "loopback_carrier.h"
#include "memory_window.h"
#include "offload/proxy/proxy_service.h"

enum { RANKS = 3, PROXIES = 2, BYTES = 256, BASE = 4096 };

static const int proxy_of_rank[RANKS] = {0, 0, 1};

static struct {
    struct loopback_hub hub;
    struct co_proxy_service *services[PROXIES];
    struct co_segment_memory *segments[RANKS];
    struct co_segment_rank ranks[RANKS];
    struct memory_window windows[RANKS];
    unsigned char memory[RANKS][BYTES];
    int hung_up[RANKS]; // 0, or why
    bool is_bulk_held;
} rig;

static void ring(void *context, int rank)
{
    (void)context;
    (void)rank;
}

static void hang_up(void *context, int rank, int error)
{
    (void)context;
    assert_int_equal(rig.hung_up[rank], 0);
    rig.hung_up[rank] = error;
}

static int open_rig(void **state)
{
    (void)state;
    memset(&rig, 0, sizeof rig);
    loopback_open(&rig.hub, PROXIES, 8);
    struct co_proxy_config config = {.proxies = PROXIES,
                                     .ranks = RANKS,
                                     .proxy_of_rank = proxy_of_rank,
                                     .piece_bytes = 16,
                                     .groups_max = 8,
                                     .ends_max = 64};
    struct co_proxy_service_output output = {.ring = ring, .hang_up = hang_up};
    for (config.self = 0; config.self < PROXIES; config.self++) {
        assert_int_equal(
            co_proxy_service_open(&rig.services[config.self], &config, &rig.hub.ends[config.self].carrier, &output), 0);
    }
    for (int i = 0; i < RANKS; i++) {
        memset(rig.memory[i], i + 1, BYTES);
        memory_window_open(&rig.windows[i], rig.memory[i], BASE, BYTES);
        rig.segments[i] = aligned_alloc(CO_LINE_PAIR, sizeof *rig.segments[i]);
        memset(rig.segments[i], 0, sizeof *rig.segments[i]);
        co_segment_rank_open(&rig.ranks[i], rig.segments[i]);
        assert_int_equal(
            co_proxy_service_join(rig.services[proxy_of_rank[i]], i, rig.segments[i], &rig.windows[i].window), 0);
    }
    return 0;
}

static int close_rig(void **state)
{
    (void)state;
    for (int i = 0; i < PROXIES; i++) {
        co_proxy_service_close(rig.services[i]);
    }
    for (int i = 0; i < RANKS; i++) {
        assert_int_equal(rig.windows[i].loans, 0);
        free(rig.segments[i]);
    }
    loopback_close(&rig.hub);
    return 0;
}

static void heard(void *context, int from, int to, enum co_carrier_connection connection, const uint8_t *bytes,
                  size_t count)
{
    (void)context;
    assert_int_equal(co_proxy_take(co_proxy_service_core(rig.services[to]), from, connection, bytes, count), 0);
}

// Until nothing moves.
static void run(void)
{
    bool has_more = true;
    for (int turns = 0; has_more; turns++) {
        assert_true(turns < 10000);
        has_more = false;
        for (int i = 0; i < PROXIES; i++) {
            has_more = co_proxy_service_progress(rig.services[i]) || has_more;
            while (loopback_deliver(&rig.hub, i, 1 - i, CO_CARRIER_CONTROL, NULL, heard) ||
                   (!rig.is_bulk_held && loopback_deliver(&rig.hub, i, 1 - i, CO_CARRIER_BULK, NULL, heard))) {
                has_more = true;
            }
        }
    }
}

static void give(int rank, struct co_offload_command command)
{
    bool rings;
    assert_int_equal(co_segment_give(&rig.ranks[rank], &command, NULL, 0, &rings), 0);
}

static void send(int rank, uint32_t ticket, uint32_t to, uint64_t bytes)
{
    give(rank, (struct co_offload_command){
                   .kind = CO_OFFLOAD_COMMAND_SEND,
                   .ticket = ticket,
                   .operation = {.kind = CO_OFFLOAD_OPERATION_SEND, .to = to, .address = BASE, .bytes = bytes}});
}

static void receive(int rank, uint32_t ticket, uint32_t from, uint64_t bytes)
{
    give(rank, (struct co_offload_command){
                   .kind = CO_OFFLOAD_COMMAND_RECEIVE,
                   .ticket = ticket,
                   .operation = {.kind = CO_OFFLOAD_OPERATION_RECEIVE, .from = from, .address = BASE, .bytes = bytes}});
}

// A group of so many barriers, behind a receive from rank 2 if there is one.
static void tell(int rank, uint64_t group, uint32_t count, bool has_receive)
{
    static uint8_t definition[CO_OFFLOAD_OPERATIONS_MAX * CO_OFFLOAD_OPERATION_BYTES];
    struct co_offload_operation operation = {
        .kind = CO_OFFLOAD_OPERATION_RECEIVE, .from = 2, .address = BASE, .bytes = 8};
    struct co_offload_command command = {.kind = CO_OFFLOAD_COMMAND_GROUP, .group = group, .operations = count};
    bool rings;

    for (uint32_t i = 0; i < count; i++) {
        if (i > 0 || !has_receive) {
            operation = (struct co_offload_operation){.kind = CO_OFFLOAD_OPERATION_BARRIER};
        }
        co_offload_operation_encode(definition + (size_t)i * CO_OFFLOAD_OPERATION_BYTES, &operation);
    }
    assert_int_equal(
        co_segment_give(&rig.ranks[rank], &command, definition, (size_t)count * CO_OFFLOAD_OPERATION_BYTES, &rings), 0);
}

static void call(int rank, uint32_t ticket, uint64_t group)
{
    give(rank, (struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_CALL, .ticket = ticket, .group = group});
}

static void forget(int rank, uint64_t group)
{
    give(rank, (struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_FORGET, .group = group});
}

static int result(int rank, uint32_t ticket)
{
    assert_true(co_segment_is_done(&rig.ranks[rank], ticket));
    return co_segment_collect(&rig.ranks[rank], ticket).error;
}

// Rank 0 has sent, its bytes are on their way, and it has said BYE and ended before anybody looked.
static void leave_unseen(void)
{
    send(0, 0, 2, 40);
    receive(2, 0, 0, 40);
    rig.is_bulk_held = true;
    run();
    assert_int_equal(result(0, 0), 0);
    give(0, (struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_BYE});
}

static void who_says_bye_and_is_gone_has_left(void **state)
{
    (void)state;
    leave_unseen();
    co_proxy_service_lost(rig.services[0], 0);
    run();
    assert_false(co_segment_is_done(&rig.ranks[2], 0)); // nobody says that it is gone before its bytes have come
    rig.is_bulk_held = false;
    run();
    assert_int_equal(result(2, 0), 0);
    assert_memory_equal(rig.memory[2], rig.memory[0], 40);
}

// What it has forgotten or told stands before BYE and changes nothing.
static void commands_before_bye_that_begin_nothing(void **state)
{
    (void)state;
    send(0, 0, 2, 40);
    receive(2, 0, 0, 40);
    rig.is_bulk_held = true;
    run();
    assert_int_equal(result(0, 0), 0);
    for (uint64_t group = 1; group <= 100; group++) {
        give(0, (struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_GROUP, .group = group});
        give(0, (struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_FORGET, .group = group});
    }
    give(0, (struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_BYE});
    co_proxy_service_lost(rig.services[0], 0);
    rig.is_bulk_held = false;
    run();
    assert_int_equal(result(2, 0), 0);
}

// A call that nobody waited for: its rank has died, whatever it has said. So has one without BYE.
static void who_leaves_a_call_behind_has_died(void **state)
{
    (void)state;
    send(0, 0, 2, 40);
    give(0, (struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_BYE});
    co_proxy_service_lost(rig.services[0], 0);
    co_proxy_service_lost(rig.services[0], 0); // once more is nothing
    receive(2, 0, 0, 40);
    receive(2, 1, 1, 40);
    co_proxy_service_lost(rig.services[0], 1);
    rig.is_bulk_held = true; // that word is a control record
    run();
    assert_int_equal(result(2, 0), -ECONNRESET);
    assert_int_equal(result(2, 1), -ECONNRESET);
    assert_int_equal(rig.hung_up[0], 0); // its connection has ended: nobody has to end it
}

// Memory of one rank: its groups, and those that it has forgotten while a call is under way, until that is over.
static void operations_that_are_kept_have_a_bound(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        tell(0, 9, CO_OFFLOAD_OPERATIONS_MAX, false);
        forget(0, 9);
        run();
    }
    for (uint64_t group = 1; group <= 4; group++) {
        tell(0, group, CO_OFFLOAD_OPERATIONS_MAX, group == 1);
        run();
    }
    call(0, 0, 1);
    forget(0, 1);
    run();
    assert_int_equal(rig.hung_up[0], 0);
    send(2, 0, 0, 8);
    tell(2, 1, 2, false); // another rank's are another's
    run();
    assert_int_equal(rig.hung_up[2], 0);
    tell(0, 5, 1, false);
    run();
    assert_int_equal(rig.hung_up[0], -ENOSPC);
}

static void operations_of_a_call_that_is_over_are_given_back(void **state)
{
    (void)state;
    const struct co_offload_operation to_group[] = {
        {.kind = CO_OFFLOAD_OPERATION_SEND, .to = 0, .address = BASE, .bytes = 8}};
    uint8_t definition[CO_OFFLOAD_OPERATION_BYTES];
    struct co_offload_command command = {.kind = CO_OFFLOAD_COMMAND_GROUP, .group = 1, .operations = 1};
    bool rings;

    for (uint64_t group = 1; group <= 4; group++) {
        tell(0, group, CO_OFFLOAD_OPERATIONS_MAX, group == 1);
        run();
    }
    call(0, 0, 1);
    forget(0, 1);
    co_offload_operation_encode(definition, to_group);
    assert_int_equal(co_segment_give(&rig.ranks[2], &command, definition, sizeof definition, &rings), 0);
    call(2, 0, 1);
    run();
    assert_int_equal(result(0, 0), 0);
    tell(0, 5, CO_OFFLOAD_OPERATIONS_MAX, false);
    run();
    assert_int_equal(rig.hung_up[0], 0);
}

// Long groups, told or called, do not keep the others of a node waiting.
static void a_turn_of_a_rank_has_a_bound(void **state)
{
    (void)state;
    for (uint64_t group = 1; group <= 8; group++) {
        tell(0, group, 5000, false);
        tell(1, group, 5, false);
    }
    co_proxy_service_progress(rig.services[0]);
    assert_int_equal(co_load_acquire(&rig.segments[0]->taken), 1);
    assert_int_equal(co_load_acquire(&rig.segments[1]->taken), 8);
    run();
    for (uint32_t ticket = 0; ticket < 8; ticket++) {
        call(0, ticket, 1);
        call(1, ticket, 1);
    }
    co_proxy_service_progress(rig.services[0]);
    assert_int_equal(co_load_acquire(&rig.segments[0]->taken), 9);
    assert_int_equal(co_load_acquire(&rig.segments[1]->taken), 16);
    run();
    assert_int_equal(result(0, 7), 0);
}

static _Atomic bool has_scribbled, ends;

// Writes over commands and definitions of rank 0 until it is told to end, in no order, as no rank would.
static void *scribble(void *seed)
{
    uint32_t random = *(const uint32_t *)seed;
    while (!atomic_load(&ends)) {
        random = random * 1664525 + 1013904223;
        uint32_t slot = random >> 16 & (CO_SEGMENT_COMMANDS - 1), byte = random >> 26;
        rig.segments[0]->commands[slot][byte] ^= (uint8_t)(random >> 8 & 3);
        rig.segments[0]->area[random >> 16 & 0xfff] ^= (uint8_t)(random >> 8 & 1);
        atomic_store(&has_scribbled, true);
    }
    return NULL;
}

// The others of its node go on, whatever a rank writes, and whenever.
static void a_rank_that_scribbles_while_it_is_read(void **state)
{
#if defined(__SANITIZE_THREAD__)
    skip(); // it is a race
#endif
    for (uint32_t round = 0; round < 20; round++) {
        pthread_t thread;
        for (uint64_t group = 1; group <= 30; group++) {
            tell(0, group, 4, true);
            call(0, (uint32_t)group, group);
            forget(0, group);
        }
        atomic_store(&ends, false);
        atomic_store(&has_scribbled, false);
        assert_int_equal(pthread_create(&thread, NULL, scribble, &round), 0);
        while (!atomic_load(&has_scribbled)) {
            sched_yield();
        }
        send(1, 0, 2, 100);
        receive(2, 0, 1, 100);
        run();
        atomic_store(&ends, true);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(result(1, 0), 0);
        assert_int_equal(result(2, 0), 0);
        assert_memory_equal(rig.memory[2], rig.memory[1], 100);
        assert_int_equal(rig.hung_up[1] | rig.hung_up[2], 0);
        close_rig(state);
        open_rig(state);
    }
}

#define ON_RIG(test) cmocka_unit_test_setup_teardown(test, open_rig, close_rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_RIG(who_says_bye_and_is_gone_has_left),
        ON_RIG(commands_before_bye_that_begin_nothing),
        ON_RIG(who_leaves_a_call_behind_has_died),
        ON_RIG(operations_that_are_kept_have_a_bound),
        ON_RIG(operations_of_a_call_that_is_over_are_given_back),
        ON_RIG(a_turn_of_a_rank_has_a_bound),
        ON_RIG(a_rank_that_scribbles_while_it_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
