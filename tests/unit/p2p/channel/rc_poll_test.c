// SPDX-License-Identifier: BSD-3-Clause
//
// Connections for messages over a device that is no device: their completions cannot be polled.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "p2p/channel/rc/rc_state.h"

static int poll_broken(struct ibv_cq *queue, int most, struct ibv_wc *done)
{
    (void)queue, (void)most, (void)done;
    return -1;
}

static void warn(const char *text)
{
    (void)text;
}

static void who_cannot_be_polled_has_lost_all_peers(void **state)
{
    enum { PEERS = 3 };
    static struct ibv_context context;
    static struct ibv_cq queue;
    struct co_rc_all *all = calloc(1, sizeof *all);
    struct co_rc_event events[PEERS];
    (void)state;
    assert_non_null(all);
    context.ops.poll_cq = poll_broken;
    queue.context = &context;
    *all = (struct co_rc_all){.context = &context,
                              .done = &queue,
                              .polls = 1, // the door is not looked at
                              .peers = calloc(PEERS, sizeof *all->peers),
                              .config = {.size = PEERS, .self = 1, .warn = warn}};
    assert_non_null(all->peers);
    co_hash_map_open(&all->by_queue_pair);
    for (unsigned i = 0; i < CO_RC_READS; i++) {
        all->reads[i].peer = -1;
    }
    assert_int_equal(co_rc_poll(&all->rc, events, PEERS), PEERS - 1);
    assert_true(events[0].kind == CO_RC_LOST && events[0].peer == 0 && events[0].result == -ECONNRESET);
    assert_true(events[1].kind == CO_RC_LOST && events[1].peer == 2);
    assert_int_equal(co_rc_poll(&all->rc, events, PEERS), 0);
    co_hash_map_close(&all->by_queue_pair);
    free(all->peers);
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(who_cannot_be_polled_has_lost_all_peers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
