// SPDX-License-Identifier: BSD-3-Clause
//
// Asking a rank for a word outside of any group, in virtual time: one that lives answers and stays known as living, one
// whose process is gone is known as gone once its host has said so, and nobody else is. Who is waited for there, by
// messages, and gives no sign of life is gone after the deadline, where silence is proof.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/counters.h"
#include "mcast_inside.h"
#include "mcast_world.h"

enum { RANKS = 3, ASKS = 0, LIVES = 1, GOES = 2 };
#define DEADLINE_NS (UINT64_C(8) * 1000000000)
#define EVERY_NS (DEADLINE_NS / 16)

// Until nothing is in flight any more.
static void settle(struct world *world)
{
    while (world_turn(world)) {
    }
}

static void who_lives_answers(void **state)
{
    (void)state;
    struct world_options options = world_defaults(RANKS);
    struct world world;
    world_open(&world, &options);
    settle(&world);
    uint64_t before = co_counter_read(CO_COUNT_CONTROL_RECEIVED);
    co_mcast_query_liveness(world.mcast[ASKS], LIVES);
    settle(&world);
    assert_int_equal(co_counter_read(CO_COUNT_CONTROL_RECEIVED) - before, 2); // the question and the answer
    assert_false(co_mcast_is_gone(world.mcast[ASKS], LIVES));
    assert_false(co_mcast_is_gone(world.mcast[LIVES], ASKS));
    world_close(&world);
}

static void who_is_gone_is_known_when_asked(void **state)
{
    (void)state;
    struct world_options options = world_defaults(RANKS);
    struct world world;
    world_open(&world, &options);
    settle(&world);
    struct co_mcast *gone = world.mcast[GOES];
    co_loopback_kill(world.hub, GOES);
    world.mcast[GOES] = NULL; // it moves no more
    settle(&world);
    assert_false(co_mcast_is_gone(world.mcast[ASKS], GOES)); // nobody has asked
    co_mcast_query_liveness(world.mcast[ASKS], GOES);
    assert_false(co_mcast_is_gone(world.mcast[ASKS], GOES)); // its host has not answered
    settle(&world);
    assert_true(co_mcast_is_gone(world.mcast[ASKS], GOES));
    assert_false(co_mcast_is_gone(world.mcast[ASKS], LIVES));
    assert_false(co_mcast_is_gone(world.mcast[LIVES], GOES)); // who has not asked does not know
    co_mcast_query_liveness(world.mcast[ASKS], GOES);         // again: no harm
    co_mcast_query_liveness(world.mcast[ASKS], LIVES);
    settle(&world);
    assert_true(co_mcast_is_gone(world.mcast[ASKS], GOES));
    assert_false(co_mcast_is_gone(world.mcast[ASKS], LIVES));
    world.mcast[GOES] = gone;
    world_close(&world);
}

static void open_with_proof(struct world *world, const char *faults, enum co_liveness_proof proof)
{
    struct world_options options = world_defaults(RANKS);
    options.faults = faults;
    world_open(world, &options);
    settle(world);
    inside_set_deadline(world->mcast[ASKS], DEADLINE_NS);
    co_mcast_set_liveness_proof(world->mcast[ASKS], proof);
}

static void pass(struct world *world, uint64_t ns)
{
    uint64_t end = co_loopback_now_ns(world->hub) + ns;
    while (co_loopback_now_ns(world->hub) < end && world_turn(world)) {
    }
    if (co_loopback_now_ns(world->hub) < end) {
        co_loopback_advance(world->hub, end);
    }
}

// Somebody waits for this rank and looks every so often. After how long it is gone; 0: not in this time.
static uint64_t await_ns(struct world *world, int rank, uint64_t every_ns, uint64_t most_ns)
{
    uint64_t begin = co_loopback_now_ns(world->hub);
    while (co_loopback_now_ns(world->hub) - begin < most_ns) {
        if (co_mcast_await_peer(world->mcast[ASKS], rank, co_loopback_now_ns(world->hub), true)) {
            return co_loopback_now_ns(world->hub) - begin;
        }
        pass(world, every_ns);
    }
    return 0;
}

// However long it says nothing else, and however much is lost.
static void who_answers_is_waited_for(void **state)
{
    (void)state;
    static const char *const plans[] = {NULL, "drop=0.3,seed=5"};
    for (size_t plan = 0; plan < sizeof plans / sizeof *plans; plan++) {
        struct world world;
        open_with_proof(&world, plans[plan], CO_LIVENESS_PROOF_MEMBERS);
        assert_int_equal(await_ns(&world, LIVES, EVERY_NS, 20 * DEADLINE_NS), 0);
        world_close(&world);
    }
}

// A firewall may refuse all datagrams of one who lives: it is believed of who has answered once.
static void who_was_never_heard_is_not_gone_by_refusals(void **state)
{
    (void)state;
    for (int was_heard = 0; was_heard <= 1; was_heard++) {
        struct world world;
        open_with_proof(&world, NULL, CO_LIVENESS_PROOF_NONE);
        struct co_mcast *asks = world.mcast[ASKS];
        inside_set_unheard(asks, GOES);
        if (was_heard) {
            assert_false(co_mcast_await_peer(asks, GOES, co_loopback_now_ns(world.hub), false));
            settle(&world);
        }
        inside_set_dead(asks, GOES);
        bool is_gone = co_mcast_await_peer(asks, GOES, co_loopback_now_ns(world.hub), false);
        assert_int_equal(is_gone, was_heard);
        assert_true(co_mcast_await_peer(asks, GOES, co_loopback_now_ns(world.hub), true));
        world_close(&world);
    }
}

// A host without power, or behind a cut link: nobody says that it is gone.
static void who_is_silent_is_gone_after_the_deadline(void **state)
{
    (void)state;
    struct world world;
    open_with_proof(&world, NULL, CO_LIVENESS_PROOF_MEMBERS);
    struct co_mcast *silent = world.mcast[GOES];
    world.mcast[GOES] = NULL;
    uint64_t gone_ns = await_ns(&world, GOES, EVERY_NS, 2 * DEADLINE_NS);
    assert_true(gone_ns > DEADLINE_NS && gone_ns < DEADLINE_NS + DEADLINE_NS / 4);
    assert_int_equal(await_ns(&world, LIVES, EVERY_NS, 2 * DEADLINE_NS), 0);
    world.mcast[GOES] = silent;
    world_close(&world);
}

static void a_word_in_between_begins_it_anew(void **state)
{
    (void)state;
    struct world world;
    open_with_proof(&world, NULL, CO_LIVENESS_PROOF_MEMBERS);
    struct co_mcast *slow = world.mcast[GOES];
    for (int times = 0; times < 4; times++) {
        world.mcast[GOES] = NULL;
        assert_int_equal(await_ns(&world, GOES, EVERY_NS, DEADLINE_NS - EVERY_NS), 0);
        world.mcast[GOES] = slow;
        pass(&world, EVERY_NS); // what was asked is answered
    }
    world_close(&world);
}

// Who looks now and then, and computes for long meanwhile, has not listened.
static void time_elsewhere_counts_a_little(void **state)
{
    (void)state;
    struct world world;
    open_with_proof(&world, NULL, CO_LIVENESS_PROOF_MEMBERS);
    struct co_mcast *silent = world.mcast[GOES];
    world.mcast[GOES] = NULL;
    assert_int_equal(await_ns(&world, GOES, 10 * DEADLINE_NS, 80 * DEADLINE_NS), 0); // eight looks
    assert_int_not_equal(await_ns(&world, GOES, 10 * DEADLINE_NS, 30 * DEADLINE_NS), 0);
    world.mcast[GOES] = silent;
    world_close(&world);
}

// Without threads a silent rank computes, and its host speaks for it: until that is silent, too.
static void a_host_speaks_for_who_computes(void **state)
{
    (void)state;
    static const char *const plans[] = {NULL, "drop=0.3,seed=5"};
    for (size_t plan = 0; plan < sizeof plans / sizeof *plans; plan++) {
        struct world world;
        open_with_proof(&world, plans[plan], CO_LIVENESS_PROOF_HOSTS);
        struct co_mcast *computes = world.mcast[GOES];
        world.mcast[GOES] = NULL;
        assert_int_equal(await_ns(&world, GOES, EVERY_NS, 20 * DEADLINE_NS), 0);
        co_loopback_silence_host(world.hub, GOES);
        uint64_t gone_ns = await_ns(&world, GOES, EVERY_NS, 2 * DEADLINE_NS);
        assert_true(gone_ns >= DEADLINE_NS && gone_ns < DEADLINE_NS + DEADLINE_NS / 4);
        world.mcast[GOES] = computes;
        world_close(&world);
    }
}

// Its host lives and says that the process is gone: at once, not after the deadline.
static void a_process_that_ends_is_told_of_by_its_host(void **state)
{
    (void)state;
    static const enum co_liveness_proof proofs[] = {CO_LIVENESS_PROOF_NONE, CO_LIVENESS_PROOF_HOSTS,
                                                    CO_LIVENESS_PROOF_MEMBERS};
    for (size_t i = 0; i < sizeof proofs / sizeof *proofs; i++) {
        struct world world;
        open_with_proof(&world, NULL, proofs[i]);
        struct co_mcast *gone = world.mcast[GOES];
        co_loopback_kill(world.hub, GOES);
        world.mcast[GOES] = NULL;
        uint64_t gone_ns = await_ns(&world, GOES, EVERY_NS, DEADLINE_NS);
        assert_true(gone_ns > 0 && gone_ns <= 4 * EVERY_NS);
        world.mcast[GOES] = gone;
        world_close(&world);
    }
}

static void silence_is_nothing_where_it_is_no_proof(void **state)
{
    (void)state;
    struct world world;
    open_with_proof(&world, NULL, CO_LIVENESS_PROOF_NONE);
    struct co_mcast *silent = world.mcast[GOES];
    world.mcast[GOES] = NULL;
    assert_int_equal(await_ns(&world, GOES, EVERY_NS, 20 * DEADLINE_NS), 0);
    world.mcast[GOES] = silent;
    world_close(&world);
}

static int questions_left;

static int ask_while_there_is_room(struct co_transport *transport, int rank)
{
    (void)transport;
    (void)rank;
    return questions_left > 0 ? questions_left-- : 0;
}

static void who_could_not_be_asked_is_waited_for(void **state)
{
    (void)state;
    struct world world;
    open_with_proof(&world, NULL, CO_LIVENESS_PROOF_HOSTS);
    struct co_mcast *silent = world.mcast[GOES];
    world.mcast[GOES] = NULL;
    co_loopback_silence_host(world.hub, GOES);
    const struct co_transport_ops *right = world.transport[ASKS]->ops;
    struct co_transport_ops crowded = *right;
    crowded.host_ask = ask_while_there_is_room;
    questions_left = 1;
    world.transport[ASKS]->ops = &crowded;
    assert_int_equal(await_ns(&world, GOES, EVERY_NS, 4 * DEADLINE_NS), 0);
    assert_int_equal(questions_left, 0);
    world.transport[ASKS]->ops = right;
    assert_int_not_equal(await_ns(&world, GOES, EVERY_NS, DEADLINE_NS), 0);
    world.mcast[GOES] = silent;
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_lives_answers),
        cmocka_unit_test(who_is_gone_is_known_when_asked),
        cmocka_unit_test(who_answers_is_waited_for),
        cmocka_unit_test(who_was_never_heard_is_not_gone_by_refusals),
        cmocka_unit_test(who_is_silent_is_gone_after_the_deadline),
        cmocka_unit_test(a_word_in_between_begins_it_anew),
        cmocka_unit_test(time_elsewhere_counts_a_little),
        cmocka_unit_test(a_host_speaks_for_who_computes),
        cmocka_unit_test(a_process_that_ends_is_told_of_by_its_host),
        cmocka_unit_test(silence_is_nothing_where_it_is_no_proof),
        cmocka_unit_test(who_could_not_be_asked_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
