// SPDX-License-Identifier: BSD-3-Clause
//
// What the members' loss counts say to a sender's window: each member's for itself, from the last judgement on.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mcast/state/group.h"
#include "mcast_world.h"

enum { MEMBERS = 4, CHUNK = 100, CHUNKS = CO_PATH_QUEUE_JUDGED };

static bool has_learned_of_loss(const struct world *world)
{
    return world->group[0]->window.alone.rate.queue.now < CO_PATH_QUEUE_MOST;
}

// Broadcasts of one window each, from member 0; of each one of the others says that it lost so much.
static void broadcasts(struct world *world, int times, int loser, uint32_t lost)
{
    for (int i = 0; i < times; i++) {
        world->group[loser]->lost += lost;
        world_bcast(world, 0, CHUNK * CHUNKS, (unsigned)i);
    }
}

static void who_lost_before_does_not_hide_who_loses_now(void **state)
{
    (void)state; // the second loser was not seen until it had lost as much as the first one ever had
    struct world_options options = world_defaults(MEMBERS);
    options.window_bytes = CHUNK * CHUNKS;
    struct world world;
    world_open(&world, &options);
    broadcasts(&world, 3, 1, 0);
    assert_false(has_learned_of_loss(&world));
    broadcasts(&world, 1, 1, CHUNKS);
    broadcasts(&world, 40, 1, 0);
    assert_false(has_learned_of_loss(&world));
    broadcasts(&world, 1, 2, CHUNKS / 10);
    broadcasts(&world, 1, 2, 0); // the last credit may come during the next one
    assert_true(has_learned_of_loss(&world));
    world_close(&world);
}

static void what_members_lose_by_turns_is_no_more_than_one_of_them_loses(void **state)
{
    (void)state;
    struct world_options options = world_defaults(MEMBERS);
    options.window_bytes = CHUNK * CHUNKS;
    struct world world;
    world_open(&world, &options);
    for (int i = 0; i < 12; i++) {
        broadcasts(&world, 1, 1 + i % (MEMBERS - 1), CHUNKS / 100); // one in a hundred, which is borne
        assert_false(has_learned_of_loss(&world));
    }
    world_close(&world);
}

static void who_sends_is_not_blamed_for_what_others_sent(void **state)
{
    (void)state; // with rotating roots each took the losses of all for its own
    struct world_options options = world_defaults(MEMBERS);
    options.window_bytes = CHUNK * CHUNKS;
    struct world world;
    world_open(&world, &options);
    for (int i = 0; i < 3; i++) {
        world.group[1]->lost_of[2] += CHUNKS;
        broadcasts(&world, 1, 1, 0);
        assert_false(has_learned_of_loss(&world));
    }
    world.group[1]->lost_of[0] += CHUNKS / 10;
    broadcasts(&world, 2, 1, 0);
    assert_true(has_learned_of_loss(&world));
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_lost_before_does_not_hide_who_loses_now),
        cmocka_unit_test(who_sends_is_not_blamed_for_what_others_sent),
        cmocka_unit_test(what_members_lose_by_turns_is_no_more_than_one_of_them_loses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
