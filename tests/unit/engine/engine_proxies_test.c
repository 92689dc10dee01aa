// SPDX-License-Identifier: BSD-3-Clause
//
// Proxies that are busy, and the engine: a transfer that goes on is no stall however long it takes, and one that stands
// is; calls that wait for room are moved by whoever moves the engine, until there are none.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/atomics.h"
#include "base/log.h"
#include "engine_inside.h"
#include "engine_job.h"

enum { WINDOWS = 6, MOVES = 5 };

static char log_path[64];
static int moved_asked, moves;
static bool moves_on;

static int fake_descriptor(void *arg)
{
    (void)arg;
    return -1;
}

static void fake_look(void *arg, uint64_t now_ns)
{
    (void)arg;
    (void)now_ns;
}

static bool fake_move(void *arg)
{
    (void)arg;
    return ++moves < MOVES;
}

static uint64_t fake_moved(void *arg)
{
    (void)arg;
    return (uint64_t)(moves_on ? ++moved_asked : moved_asked);
}

static bool is_told(void)
{
    char line[2048];
    bool is_there = false;
    FILE *file = fopen(log_path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        is_there = is_there || strstr(line, "no progress in MPI_Wait") != NULL;
    }
    if (file != NULL) {
        fclose(file);
    }
    return is_there;
}

static struct co_proxies *lend(struct job_rank *rank)
{
    static struct co_proxies proxies;
    job_require(rank->open_status == 0, rank->why);
    proxies = (struct co_proxies){.members_most = 2,
                                  .descriptor = fake_descriptor,
                                  .look = fake_look,
                                  .move = fake_move,
                                  .moved = fake_moved,
                                  .under_way = 1};
    co_engine_lend_proxies(rank->engine, &proxies);
    return &proxies;
}

// It is asked when the wait begins, and then each time when the stall would be told.
static void waits_long(struct job_rank *rank)
{
    struct co_wait wait = {.call = "MPI_Wait"};
    if (rank->rank != 0) {
        return;
    }
    (void)lend(rank);
    inside_set_stall(rank->engine, 5000000);
    for (moves_on = true; moved_asked < WINDOWS;) {
        co_engine_wait_turn(rank->engine, &wait);
    }
    job_require(!is_told(), "a transfer that goes on was told as a stall");
    for (moves_on = false; !is_told();) {
        co_engine_wait_turn(rank->engine, &wait);
    }
}

static void what_goes_on_is_no_stall(void **state)
{
    (void)state;
    snprintf(log_path, sizeof log_path, "/tmp/castoff-proxies-test-XXXXXX");
    int file = mkstemp(log_path);
    assert_true(file >= 0);
    close(file);
    engine_job_set("CASTOFF_LOG", "warn");
    engine_job_set("CASTOFF_LOG_FILE", log_path);
    engine_job_set("CASTOFF_PROGRESS", "caller");
    co_log_open(0);
    engine_job_run(2, (const int[]){0, 0}, waits_long);
    co_log_close();
    engine_job_set("CASTOFF_PROGRESS", NULL);
    engine_job_set("CASTOFF_LOG_FILE", NULL);
    engine_job_set("CASTOFF_LOG", "error");
    co_log_open(-1);
    unlink(log_path);
}

// Also from within native calls, and where calls that were refused are all that waits.
static void moves_what_waits(struct job_rank *rank)
{
    if (rank->rank != 0) {
        return;
    }
    struct co_proxies *proxies = lend(rank);
    proxies->under_way = 0;
    co_engine_progress(rank->engine);
    job_require(moves == 0, "nothing waits");
    co_store_relaxed(proxies->is_crowded, true); // relaxed: one thread
    for (int i = 1; i <= MOVES; i++) {
        job_require((i % 2 == 0 ? co_engine_progress(rank->engine) : co_engine_progress_inside(rank->engine)) == 0,
                    "nothing of the engine's has moved");
        job_require(moves == i, "a turn did not move what waits");
    }
    co_engine_progress(rank->engine);
    job_require(moves == MOVES, "nothing waits any more");
}

static void what_waits_for_room_is_moved(void **state)
{
    (void)state;
    engine_job_set("CASTOFF_PROGRESS", "caller");
    engine_job_run(2, (const int[]){0, 0}, moves_what_waits);
    engine_job_set("CASTOFF_PROGRESS", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_on_is_no_stall),
        cmocka_unit_test(what_waits_for_room_is_moved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
