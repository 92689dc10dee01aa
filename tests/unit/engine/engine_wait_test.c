// SPDX-License-Identifier: BSD-3-Clause
//
// Waiting calls: the stall watchdog speaks once for each stall and says what is waited for; native MPI is moved while
// we wait; what another thread moves ends a wait too. Stalls end by what the log says, never by time.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "engine_inside.h"
#include "engine_job.h"
#include "engine_messages.h"

static char log_path[64];
static enum co_call call;
static const char *expected_call, *expected_what; // both in the line of a stall

static int count_told(void)
{
    char line[2048];
    int count = 0;
    FILE *file = fopen(log_path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        const char *at = strstr(line, expected_call);
        count += at != NULL && strstr(at, expected_what) != NULL;
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

static void take_part(struct job_rank *rank, struct co_team *team)
{
    unsigned char *all = calloc((size_t)rank->job->size, 5000);
    struct co_task *task = NULL;
    if (call != CO_CALL_ALLGATHER) {
        struct co_wait wait = {.call = "MPI_Wait"};
        job_require(co_team_iallgather(&task, team, call, NULL, all, 5000) == 0, "iallgather");
        while (!co_task_is_done(task)) {
            co_engine_wait_turn(rank->engine, &wait);
        }
        job_require(co_task_result(task) == 0, "result");
        co_task_release(task);
    } else {
        job_require(co_team_allgather(team, NULL, all, 5000) == 0, "allgather");
    }
    free(all);
}

static uint64_t turns_without_progress(void)
{
    return co_counter_read(CO_COUNT_WAIT_SLEEPS) + co_counter_read(CO_COUNT_WAIT_YIELDS);
}

// Until the first rank has complained, and has looked often enough to do it again.
static void await_complaint(int told_before)
{
    enum { TURNS = 300 };
    while (count_told() == told_before) {
        sched_yield();
    }
    uint64_t turns = turns_without_progress();
    while (turns_without_progress() - turns < TURNS) {
        sched_yield();
    }
    job_require(count_told() == told_before + 1, "a stall was told more than once");
}

// The last rank comes when the first one has complained, twice in a row. Once it has come the machine may keep it from
// going on, which is a stall like any other.
static void one_is_late(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team *team = engine_job_world(rank, 3);
    inside_set_stall(rank->engine, rank->rank == 0 ? 20000000 : 0);
    for (int stall = 0; stall < 2; stall++) {
        int told_before = count_told();
        pthread_barrier_wait(&rank->job->all);
        if (rank->rank == rank->job->size - 1) {
            await_complaint(told_before);
        }
        take_part(rank, team);
        pthread_barrier_wait(&rank->job->all);
    }
    co_team_close(team);
}

static void run_with_log(int size, const int *nodes, const char *in_call, const char *what)
{
    expected_call = in_call;
    expected_what = what;
    snprintf(log_path, sizeof(log_path), "/tmp/castoff-wait-test-XXXXXX");
    int file = mkstemp(log_path);
    assert_true(file >= 0);
    close(file);
    engine_job_set("CASTOFF_LOG", "warn");
    engine_job_set("CASTOFF_LOG_FILE", log_path);
    engine_job_set("CASTOFF_PROGRESS", "caller");
    co_log_open(0);
    engine_job_run(size, nodes, one_is_late);
    co_log_close();
    engine_job_set("CASTOFF_PROGRESS", NULL);
    engine_job_set("CASTOFF_LOG_FILE", NULL);
    engine_job_set("CASTOFF_LOG", "error");
    co_log_open(-1);
    unlink(log_path);
}

static void a_stall_is_told_once(void **state)
{
    (void)state;
    call = CO_CALL_ALLGATHER;
    run_with_log(2, (const int[]){0, 0}, "no progress in MPI_Allgather for ", " s: shm allgather of 5000 bytes");
    run_with_log(2, (const int[]){0, 1}, "no progress in MPI_Allgather for ", " s: MPI_Allgather of 5000 bytes");
    call = CO_CALL_IALLGATHER;
    run_with_log(2, (const int[]){0, 0}, "no progress in MPI_Wait for ", " s: MPI_Iallgather of 5000 bytes");
    run_with_log(3, (const int[]){0, 0, 1}, "no progress in MPI_Wait for ", " s: MPI_Iallgather of 5000 bytes");
    call = CO_CALL_ALLGATHER_INIT;
    run_with_log(2, (const int[]){0, 1}, "no progress in MPI_Wait for ", " s: MPIX_Allgather_init of 5000 bytes");
}

static _Atomic int native_calls;

static void count_native(void)
{
    atomic_fetch_add(&native_calls, 1);
}

// A peer may need our native side before it can join.
static void late_until_native_moved(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team *team = engine_job_world(rank, 3);
    if (rank->rank == 0) {
        inside_set_native_progress(rank->engine, count_native);
    }
    while (rank->rank == 1 && atomic_load(&native_calls) < 10) {
        sched_yield();
    }
    take_part(rank, team);
    co_team_close(team);
}

static void native_moves_meanwhile(void **state)
{
    (void)state;
    for (call = CO_CALL_ALLGATHER; call < CO_CALL_BCAST_INIT; call++) {
        atomic_store(&native_calls, 0);
        engine_job_run(2, (const int[]){0, 0}, late_until_native_moved);
        atomic_store(&native_calls, 0);
        engine_job_run(2, (const int[]){0, 1}, late_until_native_moved);
    }
}

static uint64_t event_every_ns; // 0: each turn

// Looks for who is gone are due every tenth of a second, whatever happens meanwhile.
static void look_three_times(struct job_rank *rank)
{
    struct co_wait wait = {.call = "test"};
    uint64_t due_ns = 0, event_ns = co_clock_now_ns();
    job_require(rank->open_status == 0, rank->why);
    for (int looks = 0; looks < 3;) {
        uint64_t now_ns = co_clock_now_ns();
        if (now_ns - event_ns >= event_every_ns) {
            inside_add_event(rank->engine);
            event_ns = now_ns;
        }
        co_engine_wait_turn(rank->engine, &wait);
        if (wait.look_ns != due_ns) {
            job_require(due_ns <= co_clock_now_ns(), "a look was put off");
            due_ns = wait.look_ns;
            looks++;
        }
    }
}

static void what_happens_puts_no_look_off(void **state)
{
    (void)state;
    static const uint64_t every_ns[] = {0, 20 * CO_NS_PER_MS};
    for (size_t i = 0; i < sizeof every_ns / sizeof *every_ns; i++) {
        event_every_ns = every_ns[i];
        engine_job_run(2, (const int[]){0, 0}, look_three_times);
        engine_job_run(2, (const int[]){0, 1}, look_three_times);
    }
}

static void turns(struct co_engine *engine, struct co_wait *wait, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        co_engine_wait_turn(engine, wait);
    }
}

// Looks at messages alone with which a wait in vain begins.
static unsigned looks_in_vain(struct co_engine *engine)
{
    struct co_wait wait = {.call = "MPI_Recv", .for_message = true};
    co_engine_wait_turn(engine, &wait);
    turns(engine, &wait, wait.message_spins); // and one turn of all
    return wait.message_spins;
}

// Where ranks outnumber cores waits spin as long as messages come while they do.
static void learn_by_messages(struct job_rank *rank)
{
    struct co_p2p_context *context = engine_messages_open(rank);
    struct co_engine *engine = rank->engine;
    struct co_p2p_send send = {.context = context, .destination = 0};
    struct co_wait wait = {.call = "MPI_Recv", .for_message = true};
    if (rank->rank == 0) {
        inside_crowd(engine);
        unsigned tried = looks_in_vain(engine);
        job_require(tried > 1, "the first one is no try");
        for (int i = 0; i < 10; i++) {
            job_require(looks_in_vain(engine) == 0, "it was in vain, and is done again");
        }
        while (wait.message_spins == 0) { // until it is tried again
            wait = (struct co_wait){.call = "MPI_Recv", .for_message = true};
            co_engine_wait_turn(engine, &wait);
        }
        job_require(wait.message_spins > 1, "it does not spin");
    }
    pthread_barrier_wait(&rank->job->all);
    if (rank->rank == 1) {
        co_p2p_send(&send);
    }
    pthread_barrier_wait(&rank->job->all);
    if (rank->rank == 0) {
        co_engine_wait_turn(engine, &wait); // finds it
        unsigned spins = wait.message_spins;
        job_require(looks_in_vain(engine) >= spins, "who spun for a message spins for the next");
    }
}

static void crowded_waits_learn_to_spin(void **state)
{
    (void)state;
    engine_job_set("CASTOFF_P2P", "yes");
    engine_job_set("CASTOFF_PROGRESS", "caller");
    engine_job_run(2, (const int[]){0, 0}, learn_by_messages);
    engine_job_set("CASTOFF_PROGRESS", NULL);
    engine_job_set("CASTOFF_P2P", NULL);
}

// Proxies of which one call is under way, until somebody says that it is over.
static struct {
    int ends[2]; // a pipe: readable while something is over
    _Atomic int sleeping, slept, looks, is_over;
} fake;

static int fake_descriptor(void *arg)
{
    (void)arg;
    return fake.ends[0];
}

static void fake_sleeps(void *arg)
{
    (void)arg;
    atomic_fetch_add(&fake.sleeping, 1);
    atomic_fetch_add(&fake.slept, 1);
}

static void fake_wakes(void *arg)
{
    (void)arg;
    atomic_fetch_sub(&fake.sleeping, 1);
}

static void fake_look(void *arg, uint64_t now_ns)
{
    (void)arg;
    (void)now_ns;
    atomic_fetch_add(&fake.looks, 1);
}

static bool fake_is_over(const void *waited_for)
{
    (void)waited_for;
    return atomic_load(&fake.is_over) != 0;
}

// The other rank says so once the first one has slept and has looked whether they are there.
static void wait_for_proxies(struct job_rank *rank)
{
    static struct co_proxies proxies;
    job_require(rank->open_status == 0, rank->why);
    if (rank->rank == 0) {
        proxies = (struct co_proxies){.members_most = 2,
                                      .descriptor = fake_descriptor,
                                      .sleeps = fake_sleeps,
                                      .wakes = fake_wakes,
                                      .look = fake_look,
                                      .under_way = 1};
        co_engine_lend_proxies(rank->engine, &proxies);
        struct co_wait wait = {.call = "MPI_Wait", .is_over = fake_is_over};
        while (!fake_is_over(NULL)) {
            co_engine_wait_turn(rank->engine, &wait);
        }
        job_require(atomic_load(&fake.sleeping) == 0, "who said that it sleeps has not said that it is awake");
        // Asleep it would have looked once more, and not slept.
        int slept = atomic_load(&fake.slept);
        proxies.under_way = 0;
        for (int i = 0; i < 300; i++) {
            co_engine_wait_turn(rank->engine, &wait);
        }
        job_require(atomic_load(&fake.slept) == slept, "it sleeps for proxies that carry nothing");
    } else {
        while (atomic_load(&fake.slept) < 3 || atomic_load(&fake.looks) < 1) {
            sched_yield();
        }
        atomic_store(&fake.is_over, 1);
        job_require(write(fake.ends[1], "!", 1) == 1, "pipe");
    }
}

static void proxies_wake_who_waits_for_them(void **state)
{
    (void)state;
    engine_job_set("CASTOFF_PROGRESS", "caller");
    for (int nodes = 1; nodes <= 2; nodes++) {
        assert_int_equal(pipe(fake.ends), 0);
        fake.sleeping = fake.slept = fake.looks = fake.is_over = 0;
        engine_job_run(2, (const int[]){0, nodes - 1}, wait_for_proxies);
        close(fake.ends[0]);
        close(fake.ends[1]);
    }
    engine_job_set("CASTOFF_PROGRESS", NULL);
}

// A communicator of more ranks than they take has none.
static void count_members(struct job_rank *rank)
{
    static struct co_proxies proxies[3] = {{.members_most = 2}, {.members_most = 2}, {.members_most = 2}};
    struct co_team_seed seed;
    job_require(rank->open_status == 0, rank->why);
    job_require(co_team_seed_open(&seed, rank->engine, 8, (const int[]){0, 1, 2}, 3, rank->rank) == 0, "seed");
    job_require(!seed.facts.has_proxies, "there are none yet");
    co_team_seed_close(&seed, rank->engine);
    co_engine_lend_proxies(rank->engine, &proxies[rank->rank]);
    job_require(co_team_seed_open(&seed, rank->engine, 9, (const int[]){0, 1, 2}, 3, rank->rank) == 0, "seed");
    job_require(!seed.facts.has_proxies, "three are too many for them");
    job_require(co_team_decide(rank->engine, &seed.facts, CO_CALL_IALLTOALL, 1 << 20) == CO_NO_PROXY, "reason");
    co_team_seed_close(&seed, rank->engine);
    proxies[rank->rank].members_most = 3;
    job_require(co_team_seed_open(&seed, rank->engine, 10, (const int[]){0, 1, 2}, 3, rank->rank) == 0, "seed");
    job_require(seed.facts.has_proxies, "three are as many as they take");
    co_team_seed_close(&seed, rank->engine);
}

static void proxies_take_so_many_members(void **state)
{
    (void)state;
    engine_job_run(3, (const int[]){0, 0, 0}, count_members);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stall_is_told_once),         cmocka_unit_test(native_moves_meanwhile),
        cmocka_unit_test(crowded_waits_learn_to_spin),  cmocka_unit_test(proxies_wake_who_waits_for_them),
        cmocka_unit_test(proxies_take_so_many_members), cmocka_unit_test(what_happens_puts_no_look_off),
    };
    return cmocka_run_group_tests(tests, engine_job_set_up, NULL);
}
