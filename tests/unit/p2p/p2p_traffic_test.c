// SPDX-License-Identifier: BSD-3-Clause
// Random traffic among three or four ranks on two communicators, compared with the exact pairing of the list oracle:
// sends of all sizes and modes, receives of all classes, probes, taken messages, cancelled receives, on one node and on
// several, with and without reading, with tiny credit, tables, rings and windows, channels without room now and then,
// reads that fail, one lane of the matcher or several. A tap between each rank and its channels tells the oracle what
// arrives, and when. CASTOFF_TEST_SEED=<seed> runs that one alone, CASTOFF_TEST_SEEDS=<count> as many from there on.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake_rc.h"
#include "fake_native.h"
#include "match_oracle.h"
#include "p2p_tap.h"
#include "p2p_world.h"

enum { RANKS = P2P_WORLD_MOST, COMMS = 2, STEPS = 1200, MOST = 4096, SEEDS = 100, LARGEST = 20000 };

struct message {
    struct co_p2p_send send;
    unsigned char *data;
    int from, to, comm; // job ranks
    bool is_taken;
};

struct receive {
    struct co_p2p_receive receive;
    unsigned char *buffer;
    int rank, comm, message; // its partner by the oracle, or ORACLE_NONE
    bool is_cancelled;
};

static struct p2p_world world;
static struct co_p2p_context *contexts[COMMS][RANKS]; // by job rank
static struct oracle oracles[COMMS][RANKS];
static struct message messages[MOST];
static struct receive receives[MOST];
static int message_count, receive_count, size;
static int streams[RANKS][RANKS][MOST], sent_of[RANKS][RANKS], come_of[RANKS][RANKS]; // from, to: ids in order
static unsigned long seed_of_job;
static uint64_t dice;
static bool is_moody; // channel and reads
static uint64_t now_ns;

static unsigned roll(unsigned sides)
{
    dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(dice >> 33) % sides;
}

// Communicator 1 has the ranks in reverse.
static int comm_rank(int comm, int rank)
{
    return comm == 0 ? rank : size - 1 - rank;
}

static void note_arrival(int id)
{
    struct message *message = &messages[id];
    int receive = oracle_arrive(&oracles[message->comm][message->to], id, comm_rank(message->comm, message->from),
                                message->send.tag);
    if (receive != ORACLE_NONE) {
        receives[receive].message = id;
    }
}

static void on_packet(int rank, int peer, const struct co_packet *packet)
{
    if (packet->kind == CO_PACKET_EAGER || packet->kind == CO_PACKET_EAGER_SYNC || packet->kind == CO_PACKET_RTS) {
        int id = streams[peer][rank][come_of[peer][rank]++];
        assert_int_equal(packet->tag, messages[id].send.tag); // those of a pair arrive in the order of their sends
        note_arrival(id);
    }
}

static bool has_room(void)
{
    return !is_moody || roll(4) != 0;
}

static int at_once(int most)
{
    return 1 + (int)roll((unsigned)most);
}

static int read_moodily(void *arg, int peer, void *local, uint64_t remote, size_t bytes)
{
    (void)arg;
    (void)peer;
    if (is_moody && roll(3) == 0) {
        return -EPERM;
    }
    memcpy(local, (const void *)(uintptr_t)remote, bytes);
    return 0;
}

static uint64_t moody_clock(void)
{
    now_ns += is_moody ? roll(1000) : 1;
    return now_ns;
}

static unsigned char byte_of(int id, size_t at)
{
    return (unsigned char)((size_t)id * 31 + at * 7 + at / 256);
}

static size_t roll_bytes(void)
{
    static const size_t sizes[] = {0, 1, 64, 65, 104, 105, 496, 497, 1000, 4096, 5000, LARGEST};
    return sizes[roll(sizeof(sizes) / sizeof(sizes[0]))];
}

static void start_send(void)
{
    int id = message_count++, from = (int)roll((unsigned)size), to = (int)roll((unsigned)size), comm = (int)roll(COMMS);
    struct message *message = &messages[id];
    *message = (struct message){.from = from, .to = to, .comm = comm};
    size_t bytes = roll_bytes();
    message->data = malloc(bytes + 1);
    for (size_t i = 0; i < bytes; i++) {
        message->data[i] = byte_of(id, i);
    }
    message->send = (struct co_p2p_send){.context = contexts[comm][from],
                                         .data = message->data,
                                         .bytes = bytes,
                                         .destination = comm_rank(comm, to),
                                         .tag = (int32_t)roll(3),
                                         .is_synchronous = roll(5) == 0};
    if (from == to) {
        note_arrival(id);
    } else {
        streams[from][to][sent_of[from][to]++] = id;
    }
    bool tries = !message->send.is_synchronous && roll(2) == 0;
    if (tries &&
        co_p2p_send_now(message->send.context, message->send.destination, message->send.tag, message->data, bytes)) {
        memset(message->data, 0xee, bytes); // the caller's again
        co_store_relaxed(&message->send.is_done, 1);
    } else {
        co_p2p_send(&message->send);
    }
}

static struct receive *make_receive(int rank, int comm)
{
    struct receive *receive = &receives[receive_count++];
    size_t room = roll(3) == 0 ? roll_bytes() : LARGEST;
    *receive = (struct receive){.rank = rank, .comm = comm, .message = ORACLE_NONE, .buffer = malloc(room + 1)};
    receive->buffer[room] = 0xa5;
    receive->receive =
        (struct co_p2p_receive){.context = contexts[comm][rank], .buffer = receive->buffer, .room = room};
    return receive;
}

static void start_receive(int rank, int comm, int32_t source, int32_t tag)
{
    struct receive *receive = make_receive(rank, comm);
    receive->message = oracle_post(&oracles[comm][rank], (int)(receive - receives), source, tag);
    co_p2p_receive(&receive->receive, source, tag);
}

static int32_t any_or(int most)
{
    return roll(3) == 0 ? CO_P2P_ANY : (int32_t)roll((unsigned)most);
}

static void probe(int rank, int comm, int32_t source, int32_t tag)
{
    struct co_p2p_info info;
    int id = oracle_probe(&oracles[comm][rank], source, tag);
    assert_int_equal(co_p2p_probe(contexts[comm][rank], source, tag, &info), id != ORACLE_NONE);
    if (id != ORACLE_NONE) {
        assert_int_equal(info.source, comm_rank(comm, messages[id].from));
        assert_int_equal(info.tag, messages[id].send.tag);
        assert_int_equal(info.bytes, messages[id].send.bytes);
    }
}

static void take(int rank, int comm, int32_t source, int32_t tag)
{
    struct co_p2p_info info;
    int id = oracle_take(&oracles[comm][rank], source, tag);
    struct co_p2p_message *taken = co_p2p_take(contexts[comm][rank], source, tag, &info);
    assert_int_equal(taken != NULL, id != ORACLE_NONE);
    if (taken != NULL) {
        struct receive *receive = make_receive(rank, comm);
        receive->message = id;
        co_p2p_receive_taken(&receive->receive, taken);
    }
}

static void cancel(void)
{
    if (receive_count == 0) {
        return;
    }
    struct receive *receive = &receives[roll((unsigned)receive_count)];
    int id = (int)(receive - receives);
    bool is_cancelled = !receive->is_cancelled && oracle_cancel(&oracles[receive->comm][receive->rank], id);
    assert_int_equal(co_p2p_cancel(&receive->receive), is_cancelled);
    receive->is_cancelled = receive->is_cancelled || is_cancelled;
}

static void step(void)
{
    int rank = (int)roll((unsigned)size), comm = (int)roll(COMMS);
    switch (roll(10)) {
    case 0:
    case 1:
    case 2:
        start_send();
        break;
    case 3:
    case 4:
    case 5:
        start_receive(rank, comm, any_or(size), any_or(3));
        break;
    case 6:
        probe(rank, comm, any_or(size), any_or(3));
        break;
    case 7:
        take(rank, comm, any_or(size), any_or(3));
        break;
    case 8:
        cancel();
        break;
    default:
        fake_net.is_slow[roll((unsigned)size)] = is_moody && roll(2) == 0;
        fake_rc_upset((int)roll((unsigned)size), is_moody ? roll(18) : 0);
        p2p_world_move(&world, rank);
    }
}

static void settle(void)
{
    is_moody = false;
    memset(fake_net.is_slow, 0, sizeof(fake_net.is_slow));
    fake_rc_calm();
    p2p_world_settle(&world);
}

// A receive for each message that is left, and none for the receives that are.
static void finish(void)
{
    settle();
    for (int comm = 0; comm < COMMS; comm++) {
        for (int rank = 0; rank < size; rank++) {
            while (oracles[comm][rank].message_count > 0) {
                start_receive(rank, comm, CO_P2P_ANY, CO_P2P_ANY);
                settle();
            }
        }
    }
    for (int i = 0; i < receive_count; i++) {
        struct receive *receive = &receives[i];
        if (receive->message == ORACLE_NONE && !receive->is_cancelled) {
            assert_true(oracle_cancel(&oracles[receive->comm][receive->rank], i));
            assert_true(co_p2p_cancel(&receive->receive));
            receive->is_cancelled = true;
        }
    }
    settle();
}

static void check_receive(const struct receive *receive)
{
    assert_true(co_p2p_receive_is_done(&receive->receive));
    assert_int_equal(receive->receive.result, receive->is_cancelled ? -ECANCELED : 0);
    if (receive->is_cancelled) {
        return;
    }
    const struct message *message = &messages[receive->message];
    assert_int_equal(receive->receive.source, comm_rank(receive->comm, message->from));
    assert_int_equal(receive->receive.tag, message->send.tag);
    assert_int_equal(receive->receive.bytes, message->send.bytes);
    size_t room = receive->receive.room, bytes = message->send.bytes < room ? message->send.bytes : room;
    for (size_t i = 0; i < bytes; i++) {
        assert_int_equal(receive->buffer[i], byte_of(receive->message, i));
    }
    assert_int_equal(receive->buffer[room], 0xa5);
}

static void check_all(void)
{
    for (int i = 0; i < receive_count; i++) {
        check_receive(&receives[i]);
        if (!receives[i].is_cancelled) {
            assert_false(messages[receives[i].message].is_taken);
            messages[receives[i].message].is_taken = true;
        }
        free(receives[i].buffer);
    }
    for (int i = 0; i < message_count; i++) {
        assert_true(messages[i].is_taken);
        assert_true(co_p2p_send_is_done(&messages[i].send));
        assert_int_equal(messages[i].send.result, 0);
        free(messages[i].data);
    }
    for (int i = 0; i < COMMS * size; i++) {
        assert_false(co_p2p_context_is_busy(contexts[i / size][i % size]));
    }
}

static void open_job(uint64_t seed)
{
    dice = seed * UINT64_C(0x9e3779b97f4a7c15);
    size = 2 + (int)roll(RANKS - 1);
    message_count = receive_count = 0;
    memset(oracles, 0, sizeof(oracles));
    memset(sent_of, 0, sizeof(sent_of));
    memset(come_of, 0, sizeof(come_of));
    bool is_tiny = roll(2) == 0, may_read = roll(2) == 0;
    int node_ranks = 1 + (int)roll((unsigned)size), node_size = node_ranks > 1 ? node_ranks : 2;
    struct p2p_world_options options = {.size = size,
                                        .eager_most = roll(2) == 0 ? 4096 : 0,
                                        .credit = is_tiny ? 3000 : 1 << 20,
                                        .matcher = {roll(2) == 0 ? 8 : 512, roll(2) == 0 ? 8 : 512, 1u << roll(6)},
                                        .places_most = roll(2) == 0 ? 100 : 0,
                                        .buffered_most = roll(2) == 0 ? 20000 : 0,
                                        .memory =
                                            is_tiny ? (size_t)node_size * (size_t)(node_size - 1) * (12 << 10) : 0,
                                        .node_ranks = node_ranks,
                                        .remote_eager_most = roll(2) == 0 ? 4096 : 0,
                                        .native_memory = is_tiny ? (size_t)64 << 10 : (size_t)1 << 20,
                                        .lanes = seed_of_job % 2 == 0 ? 0 : 2 + (unsigned)(seed_of_job / 2 % 5),
                                        .has_rc = roll(2) == 0,
                                        .wrap = p2p_tap_put,
                                        .stream_most = roll(2) == 0 ? 1 << 20 : 0,
                                        .patience_ns = roll(1000),
                                        .now_ns = moody_clock,
                                        .read = may_read ? read_moodily : NULL};
    p2p_tap_hooks = (struct p2p_tap_hooks){on_packet, has_room, at_once};
    is_moody = false;
    p2p_world_open(&world, &options);
    is_moody = roll(2) == 0;
    fake_net.buffered = roll(2) == 0 ? 0 : fake_net.buffered;
    fake_rc_net.has_room = has_room;
    for (int rank = 0; rank < size; rank++) {
        int peers[RANKS];
        for (int i = 0; i < size; i++) {
            peers[i] = size - 1 - i;
        }
        contexts[0][rank] = world.contexts[rank];
        contexts[1][rank] = co_p2p_context_open(world.ranks[rank], 2, peers, size, comm_rank(1, rank));
    }
}

static void run(uint64_t seed)
{
    open_job(seed);
    for (int i = 0; i < STEPS; i++) {
        step();
    }
    finish();
    check_all();
    for (int rank = 0; rank < size; rank++) {
        co_p2p_context_close(contexts[1][rank]);
    }
    p2p_world_close(&world);
}

static unsigned long number_from(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);
    return text == NULL ? otherwise : strtoul(text, NULL, 0);
}

static void traffic(void **state)
{
    (void)state;
    unsigned long first = number_from("CASTOFF_TEST_SEED", 0);
    unsigned long count = number_from("CASTOFF_TEST_SEEDS", first > 0 ? 1 : SEEDS);
    first = first > 0 ? first : 1;
    for (seed_of_job = first; seed_of_job < first + count; seed_of_job++) {
        run(seed_of_job);
    }
}

// Where an assertion has failed: how to see it again.
static int tell_seed(void **state)
{
    (void)state;
    printf("last seed: CASTOFF_TEST_SEED=%lu\n", seed_of_job);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(traffic, tell_seed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
