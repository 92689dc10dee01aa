// SPDX-License-Identifier: BSD-3-Clause
//
// A rank that leaves while its proxy has no room for its last words: what is told then is in order, for a proxy hangs
// up a rank that closes a team of which it was not told to forget the plans. The rank's words are refused here.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "proxied_ranks.h"

static bool is_full; // for words that a plan is to be forgotten
static int refused, closed;

struct co_rank_client;
struct co_rank_group;
int __real_co_rank_group_free(struct co_rank_group *group);
int __wrap_co_rank_group_free(struct co_rank_group *group);
int __real_co_rank_client_close_team(struct co_rank_client *client, uint64_t team, uint32_t count);
int __wrap_co_rank_client_close_team(struct co_rank_client *client, uint64_t team, uint32_t count);

int __wrap_co_rank_group_free(struct co_rank_group *group)
{
    if (is_full) {
        refused++;
        return -EAGAIN;
    }
    return __real_co_rank_group_free(group);
}

int __wrap_co_rank_client_close_team(struct co_rank_client *client, uint64_t team, uint32_t count)
{
    closed += is_full;
    return __real_co_rank_client_close_team(client, team, count);
}

static void leaves_before_a_full_ring(void)
{
    struct co_proxied_world *world = proxied_open(NULL);
    struct co_proxied_team *team = proxied_team(world, 8);

    proxied_exchange(world, team, 40, 1); // its plan is kept
    is_full = ranks_own == 0;
    if (ranks_own == 1) { // whose proxy is the same: it lives on
        proxied_exchange(world, proxied_team(world, 9), 40, 1);
    } else {
        struct co_proxied_team *other = proxied_team(world, 9);
        proxied_exchange(world, other, 40, 1);
        co_proxied_team_close(other);
    }
    co_proxied_close(world);
    MUST(ranks_own != 0 || (refused > 0 && closed == 0));
}

static void leaves_before_a_full_ring_test(void **state)
{
    (void)state;
    ranks_run(2, leaves_before_a_full_ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(leaves_before_a_full_ring_test)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
