// SPDX-License-Identifier: BSD-3-Clause
//
// Cores of proxies over TCP carriers: all to all, and down a chain, many pieces long, called again and again; a proxy
// that is killed ends what others have with its rank, and nothing else; one that leaves ends nothing.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "memory_window.h"
#include "offload/offload_record.h"
#include "offload/proxy/proxy_core.h"
#include "tcp_carrier_rig.h"

enum { RANKS = 4, SLOT = 300000, SLOTS = 2 * RANKS, BASE = 65536, PENDING = 1, ALL_TO_ALL = 1, CHAIN = 2, CALLS = 5 };

// Each proxy has one rank, of its own number.
static struct co_proxy *cores[RANKS];
static struct memory_window windows[RANKS];
static unsigned char *memory[RANKS];
static int result[RANKS];
static const int proxy_of_rank[RANKS] = {0, 1, 2, 3};

static void complete(void *context, int rank, uint32_t ticket, const struct co_offload_completion *completion)
{
    (void)context;
    assert_int_equal(ticket, 0);
    assert_int_equal(result[rank], PENDING);
    result[rank] = completion->error;
}

static int take(int at, int peer, enum co_carrier_connection connection, const uint8_t *record, size_t bytes)
{
    return co_proxy_take(cores[at], peer, connection, record, bytes);
}

static void lost(int at, int peer)
{
    co_proxy_peer_lost(cores[at], peer);
}

static bool progress(int at)
{
    return co_proxy_progress(cores[at]);
}

static void define(int rank, uint64_t group, const struct co_offload_operation *operations, uint32_t count)
{
    uint8_t definition[2 * RANKS * CO_OFFLOAD_OPERATION_BYTES];
    for (uint32_t i = 0; i < count; i++) {
        co_offload_operation_encode(definition + i * CO_OFFLOAD_OPERATION_BYTES, &operations[i]);
    }
    assert_int_equal(co_proxy_command(cores[rank], rank,
                                      &(struct co_offload_command){
                                          .kind = CO_OFFLOAD_COMMAND_GROUP, .group = group, .operations = count},
                                      definition, count * CO_OFFLOAD_OPERATION_BYTES),
                     0);
}

static uint64_t address(int slot)
{
    return BASE + (uint64_t)slot * SLOT;
}

// Slot i goes to rank i, whose slot RANKS + own number it becomes. In the chain slot 0 of rank 0 becomes that of all.
static void groups_define(int rank)
{
    struct co_offload_operation operations[2 * RANKS];
    uint32_t count = 0, own = (uint32_t)rank;
    for (uint32_t i = 0; i < RANKS; i++) {
        if (i != own) {
            operations[count++] = (struct co_offload_operation){.kind = CO_OFFLOAD_OPERATION_RECEIVE,
                                                                .from = i,
                                                                .address = address((int)(RANKS + i)),
                                                                .bytes = SLOT - i};
            operations[count++] = (struct co_offload_operation){
                .kind = CO_OFFLOAD_OPERATION_SEND, .to = i, .address = address((int)i), .bytes = SLOT - own};
        }
    }
    define(rank, ALL_TO_ALL, operations, count);
    operations[0] = (struct co_offload_operation){.kind = rank == 0           ? CO_OFFLOAD_OPERATION_SEND
                                                          : rank == RANKS - 1 ? CO_OFFLOAD_OPERATION_RECEIVE
                                                                              : CO_OFFLOAD_OPERATION_FORWARD,
                                                  .to = rank == RANKS - 1 ? 0 : own + 1,
                                                  .from = rank == 0 ? 0 : own - 1,
                                                  .address = address(0),
                                                  .bytes = SLOT};
    define(rank, CHAIN, operations, 1);
}

static int begin(void **state)
{
    (void)state;
    tcp_rig_begin(RANKS);
    tcp_rig.take = take;
    tcp_rig.lost = lost;
    tcp_rig.progress = NULL;
    tcp_rig_open_all();
    tcp_rig.is_waiting = true;
    for (int i = 0; i < RANKS; i++) {
        struct co_proxy_config config = {.self = i,
                                         .proxies = RANKS,
                                         .ranks = RANKS,
                                         .proxy_of_rank = proxy_of_rank,
                                         .piece_bytes = CO_OFFLOAD_RECORD_PAYLOAD_MAX,
                                         .groups_max = 2,
                                         .ends_max = 100};
        assert_int_equal(co_proxy_open(&cores[i], &config, co_carrier_tcp_base(tcp_rig.ends[i].tcp),
                                       &(struct co_proxy_output){NULL, complete}),
                         0);
        memory[i] = calloc(SLOTS, SLOT);
        assert_non_null(memory[i]);
        memory_window_open(&windows[i], memory[i], BASE, (uint64_t)SLOTS * SLOT);
        assert_int_equal(co_proxy_rank_join(cores[i], i, &windows[i].window), 0);
        groups_define(i);
    }
    tcp_rig.progress = progress;
    return 0;
}

static int end(void **state)
{
    (void)state;
    tcp_rig_end();
    for (int i = 0; i < RANKS; i++) {
        co_proxy_close(cores[i]);
        assert_int_equal(windows[i].loans, 0);
        free(memory[i]);
    }
    return 0;
}

static void call(int rank, uint64_t group)
{
    result[rank] = PENDING;
    assert_int_equal(co_proxy_command(cores[rank], rank,
                                      &(struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_CALL, .group = group},
                                      NULL, 0),
                     0);
}

static bool all_are_over(void)
{
    for (int i = 0; i < RANKS; i++) {
        if (result[i] == PENDING && tcp_rig.ends[i].tcp != NULL) {
            return false;
        }
    }
    return true;
}

static unsigned char value(int from, int to, int turn)
{
    return (unsigned char)(1 + from + 5 * to + 31 * turn);
}

static bool slot_has(int rank, int slot, size_t bytes, unsigned char what)
{
    const unsigned char *at = memory[rank] + (size_t)slot * SLOT;
    return at[0] == what && memcmp(at, at + 1, bytes - 1) == 0;
}

static void all_to_all(void **state)
{
    (void)state;
    for (int turn = 0; turn < CALLS; turn++) {
        for (int rank = 0; rank < RANKS; rank++) {
            for (int to = 0; to < RANKS; to++) {
                memset(memory[rank] + (size_t)to * SLOT, value(rank, to, turn), SLOT);
            }
            call(rank, ALL_TO_ALL);
        }
        tcp_rig_until(all_are_over);
        for (int i = 0; i < RANKS * RANKS; i++) {
            int rank = i / RANKS, from = i % RANKS;
            assert_int_equal(result[rank], 0);
            assert_true(rank == from ||
                        slot_has(rank, RANKS + from, (size_t)SLOT - (size_t)from, value(from, rank, turn)));
        }
    }
}

static void down_a_chain(void **state)
{
    (void)state;
    for (int turn = 0; turn < CALLS; turn++) {
        memset(memory[0], 40 + turn, SLOT);
        for (int rank = RANKS - 1; rank >= 0; rank--) {
            call(rank, CHAIN);
        }
        tcp_rig_until(all_are_over);
        for (int rank = 0; rank < RANKS; rank++) {
            assert_int_equal(result[rank], 0);
            assert_true(slot_has(rank, 0, SLOT, (unsigned char)(40 + turn)));
        }
    }
}

// In the middle of it, or before; the others have an error, and go on with each other.
static void one_is_killed(void **state)
{
    (void)state;
    for (int rank = 0; rank < RANKS; rank++) {
        call(rank, ALL_TO_ALL);
        tcp_rig_turn(rank);
    }
    tcp_rig_kill(2);
    tcp_rig_until(all_are_over);
    assert_true(result[0] < 0 && result[1] < 0 && result[3] < 0);
    call(0, CHAIN);
    call(1, CHAIN);
    tcp_rig_until(all_are_over);
    assert_int_equal(result[0], 0); // to 1
    assert_true(result[1] < 0);     // to 2
}

static int leaver;

static bool it_has_left(void)
{
    for (int i = 0; i < RANKS; i++) {
        if (i != leaver && !tcp_rig.ends[i].is_lost[leaver]) {
            return false;
        }
    }
    return co_carrier_tcp_has_left(tcp_rig.ends[leaver].tcp);
}

// A rank says BYE and its proxy leaves, behind all that it has to send.
static void one_leaves(void **state)
{
    (void)state;
    memset(memory[3], 77, SLOT);
    for (int rank = 0; rank < RANKS; rank++) {
        call(rank, ALL_TO_ALL);
    }
    tcp_rig_until(all_are_over);
    leaver = 3;
    assert_int_equal(
        co_proxy_command(cores[3], 3, &(struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_BYE}, NULL, 0), 0);
    co_proxy_rank_lost(cores[3], 3);
    tcp_rig_turn(3);
    co_carrier_tcp_leave(tcp_rig.ends[3].tcp, tcp_rig_now_ns());
    tcp_rig_until(it_has_left);
    for (int rank = 0; rank < RANKS - 1; rank++) {
        assert_int_equal(result[rank], 0);
        assert_int_equal(tcp_rig.ends[rank].error[3], 0);
    }
    assert_true(slot_has(0, RANKS + 3, SLOT - 3, 77));
    result[3] = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(all_to_all, begin, end),
                                       cmocka_unit_test_setup_teardown(down_a_chain, begin, end),
                                       cmocka_unit_test_setup_teardown(one_is_killed, begin, end),
                                       cmocka_unit_test_setup_teardown(one_leaves, begin, end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
