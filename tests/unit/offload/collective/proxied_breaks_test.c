// SPDX-License-Identifier: BSD-3-Clause
//
// A rank that cannot so much as refuse a call, and leaves its proxy: for the others it is gone, and its own calls are
// over when the proxy has let go of its memory, not before.
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/atomics.h"
#include "base/clock.h"
#include "proxied_ranks.h"

static const char *const pairs[] = {"CASTOFF_NODE_RANKS=2", NULL};
static const char *const *settings; // of the test that runs

// One that all have ended: who goes then takes nothing along.
static void exchange_by_all(struct co_proxied_world *world, struct co_proxied_team *team)
{
    proxied_exchange(world, team, 40, 1);
    (void)co_add_acq_rel(&ranks_shared->words[2], 1); // acq_rel: with the look of the others
    RANKS_UNTIL(co_load_acquire(&ranks_shared->words[2]) == ranks_count);
}

// Rank 2 can open nothing: for the others it is gone.
static void a_rank_breaks(void)
{
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *team = proxied_team(world, 8);
    unsigned char send[4 * 40], receive[4 * 40];
    struct co_proxied_call *call;

    exchange_by_all(world, team);
    if (ranks_own == 2) {
        co_proxied_break(world);
        MUST(co_proxied_alltoall(&call, team, send, receive, 40) == -ECONNRESET);
        RANKS_UNTIL(!co_proxied_look(world, co_clock_now_ns()));
        MUST(co_proxied_world_is_lost(world));
        MUST(co_proxied_alltoall(&call, team, send, receive, 40) == -ECONNRESET);
    } else {
        MUST(co_proxied_alltoall(&call, team, send, receive, 40) == 0);
        struct co_proxied_result result = proxied_wait(world, call);
        MUST(result.error == -ECONNRESET && result.with == 2);
    }
    co_proxied_team_close(team);
    co_proxied_close(world);
}

static void a_rank_breaks_test(void **state)
{
    (void)state;
    settings = pairs;
    ranks_run(4, a_rank_breaks);
}

// A proxy that has not heard of it yet may write on: the call is not over before it has.
static void breaks_beside_a_stopped_proxy(void)
{
    static unsigned char send[2 * 40], receive[2 * 40];
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *team = proxied_team(world, 8);
    struct co_proxied_call *call;
    int proxy = ranks_shared->proxy;

    exchange_by_all(world, team);
    if (ranks_own == 0) {
        MUST(co_proxied_alltoall(&call, team, send, receive, 40) == 0);
        MUST(kill(proxy, SIGSTOP) == 0);
        RANKS_UNTIL(ranks_state_of(proxy) == 'T');
        co_proxied_break(world);
        for (int i = 0; i < 3; i++) {
            MUST(co_proxied_look(world, co_clock_now_ns()) && !co_proxied_is_done(call));
        }
        MUST(kill(proxy, SIGCONT) == 0);
        MUST(proxied_wait(world, call).error == -ECONNRESET && co_proxied_world_is_lost(world));
        co_store_release(&ranks_shared->words[0], 1);
    } else {
        RANKS_UNTIL(co_load_acquire(&ranks_shared->words[0]) == 1);
        MUST(co_proxied_alltoall(&call, team, send, receive, 40) == 0);
        MUST(proxied_wait(world, call).error == -ECONNRESET);
    }
    co_proxied_team_close(team);
    co_proxied_close(world);
}

static void breaks_beside_a_stopped_proxy_test(void **state)
{
    (void)state;
    settings = NULL; // one node
    ranks_run(2, breaks_beside_a_stopped_proxy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_breaks_test),
        cmocka_unit_test(breaks_beside_a_stopped_proxy_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
