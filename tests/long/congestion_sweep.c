// SPDX-License-Identifier: BSD-3-Clause
//
// What congestion control makes of many networks, in virtual time and so the same on every machine: each row of a table
// (congestion_rows.tsv) is a network, a collective and the bounds of what is reached on it. A row is a process of its
// own. Prints what each took and fails where one is above its bound. `congestion_sweep ROWS [WORD]`: only rows that
// hold the word; `--measure` before it: prints the table anew, with what was measured as bounds.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/mix_bits.h"
#include "congestion_rows.h"
#include "mcast_inside.h"
#include "mcast_world.h"

enum { CHUNK = 1400, AT_ONCE_MAX = 16, COLLECT = 32768 };
// Operations, the first one apart; with many members each takes long.
enum { TIMES = 4, TIMES_OF_MANY = 2, MANY = 64 };
// What a member may ask for before it knows anything of its port: CO_REPAIR_WINDOW_START, each operation.
enum { FREE_REPAIRS = 16 };
enum { UNDECIDED = 250 };          // operations before those that are counted
enum { DEAF = 3, DEAF_TIMES = 3 }; // which member, and how often before it hears again
enum { LIMIT_S = 600 };
enum { BURST = 65536, IDLE_S = 10 }; // as the laboratory's shapers
// What overflows where is chance too: each row is the mean of worlds that differ in who loses what and by hundredths of
// the delay. Of one alone the worst operation may take twice as long as that of the next.
enum { WORLDS_LOSSY = 16, WORLDS = 8, WORLDS_OF_MANY = 3 };

struct job {
    const struct row *row;
    unsigned number; // of its worlds
    struct world world;
    size_t bytes, total; // of a block, of a member's buffer for one operation
    unsigned char *buffers;
    uint64_t stopped_from_ns, stopped_until_ns;
    int stopped;
    struct co_mcast_op **ops; // by member, those of one behind each other
    int *started;             // by member
    uint64_t *start_ns;       // by member, its next ones
};

static unsigned times_of(const struct row *row)
{
    return row->members < MANY ? TIMES : TIMES_OF_MANY;
}

static unsigned worlds_of(const struct row *row)
{
    return row->lost > 0 ? WORLDS_LOSSY : row->members >= MANY ? WORLDS_OF_MANY : WORLDS;
}

static bool is_stopped(const struct job *job, int rank)
{
    uint64_t now_ns = co_loopback_now_ns(job->world.hub);
    return rank == job->stopped && now_ns >= job->stopped_from_ns && now_ns < job->stopped_until_ns;
}

// As world_turn, but for who does not run.
static void turn(struct job *job)
{
    struct world *world = &job->world;
    uint64_t now_ns = co_loopback_now_ns(world->hub), next_ns = UINT64_MAX;
    int events = 0;
    for (int rank = 0; rank < job->row->members; rank++) {
        if (is_stopped(job, rank)) {
            next_ns = job->stopped_until_ns < next_ns ? job->stopped_until_ns : next_ns;
            continue;
        }
        bool wants_write;
        events += co_mcast_progress(world->mcast[rank], now_ns);
        uint64_t timer_ns = co_mcast_next_timer_ns(world->mcast[rank], &wants_write);
        next_ns = timer_ns < next_ns ? timer_ns : next_ns;
        next_ns = job->start_ns[rank] > now_ns && job->start_ns[rank] < next_ns ? job->start_ns[rank] : next_ns;
    }
    uint64_t arrival_ns = co_loopback_next_ns(world->hub);
    next_ns = arrival_ns != 0 && arrival_ns < next_ns ? arrival_ns : next_ns;
    if (events == 0) {
        assert_true(next_ns != UINT64_MAX);
        co_loopback_advance(world->hub, next_ns > now_ns ? next_ns : now_ns + 1000);
    }
}

// What the slowest link allows, with what random loss takes of it; there and back; and who does not run.
static double limit_ns(const struct row *row)
{
    double mbit = row->port_mbit > 0 && row->port_mbit < row->link_mbit ? row->port_mbit : row->link_mbit;
    double bytes = row->kib * 1024.0 * (row_is_allgather(row) ? row->members - 1 : 1) * row->outstanding;
    return bytes * 8000 / mbit * 100 / (100 - row->lost) + 2000.0 * row->delay_us + 1000.0 * row->jitter_us +
           row->stop_ms * 1e6;
}

static void open_job(struct job *job, const struct row *row, unsigned number)
{
    struct world_options options = world_defaults(row->members);
    options.chunk_bytes = CHUNK;
    options.window_bytes = 2 << 20;
    options.staging_bytes = 8 << 20;
    options.eager_bytes = 65536;
    options.collect_bytes = row_is_collected(row) ? COLLECT : 0;
    options.latency_ns = row->delay_us * (CO_NS_PER_US + number * CO_NS_PER_US / 100);
    options.jitter_ns = row->jitter_us * CO_NS_PER_US;
    options.bytes_per_s = (uint64_t)(row->link_mbit * 125000);
    options.egress_queue_bytes = (size_t)row->link_kib * 1024;
    options.burst_bytes = strcmp(row->manner, "tokens") == 0 ? BURST : 0;
    options.egress_drops = strcmp(row->manner, "drops") == 0;
    options.port_bytes_per_s = (uint64_t)(row->port_mbit * 125000);
    options.port_queue_bytes = (size_t)row->port_kib * 1024;
    char faults[40];
    snprintf(faults, sizeof(faults), "miss=0.%02u,seed=%u", row->lost, number + 1);
    options.faults = row->lost > 0 ? faults : NULL;
    *job = (struct job){.row = row, .number = number, .bytes = (size_t)row->kib * 1024, .stopped = -1};
    job->total = job->bytes * (row_is_allgather(row) ? (size_t)row->members : 1);
    size_t members = (size_t)row->members, outstanding = (size_t)row->outstanding;
    job->buffers = malloc(job->total * members * outstanding);
    job->ops = calloc(members * outstanding, sizeof(struct co_mcast_op *));
    job->started = calloc(members, sizeof(int));
    job->start_ns = calloc(members, sizeof(uint64_t));
    assert_true(job->buffers != NULL && job->ops != NULL && job->started != NULL && job->start_ns != NULL);
    world_open(&job->world, &options);
    if (options.burst_bytes > 0) { // idle before, so that all have their tokens
        co_loopback_advance(job->world.hub, IDLE_S * CO_NS_PER_S);
    }
    for (int rank = 0; strcmp(row->ports, "one") == 0 && rank < row->members - 1; rank++) {
        co_loopback_set_port(job->world.hub, rank, options.bytes_per_s);
    }
}

// Once in the time that the operation should take.
static void choose_stop(struct job *job, unsigned number)
{
    const struct row *row = job->row;
    uint64_t dice = co_mix_bits(job->number * TIMES + number + 1), now_ns = co_loopback_now_ns(job->world.hub);
    if (row->stop_ms > 0 && strcmp(row->stops, "starts") != 0) {
        double within_ns = limit_ns(row) - row->stop_ms * 1e6;
        job->stopped = strcmp(row->stops, "root") == 0 ? 0 : 1 + (int)(dice % (uint64_t)(row->members - 1));
        job->stopped_from_ns = now_ns + (uint64_t)(within_ns * (double)(dice >> 32) / 0x1p32);
        job->stopped_until_ns = job->stopped_from_ns + row->stop_ms * CO_NS_PER_MS;
    }
}

static unsigned char *block_of(const struct job *job, int rank, int which, int source)
{
    size_t buffer = (size_t)rank * (size_t)job->row->outstanding + (size_t)which;
    return job->buffers + buffer * job->total + (row_is_allgather(job->row) ? (size_t)source * job->bytes : 0);
}

static struct co_mcast_op **op_of(const struct job *job, int rank, int which)
{
    return &job->ops[rank * job->row->outstanding + which];
}

static void start(struct job *job, int rank, int which, unsigned seed)
{
    struct co_mcast_group *group = job->world.group[rank];
    struct co_mcast_op **op = op_of(job, rank, which);
    uint64_t now_ns = co_loopback_now_ns(job->world.hub);
    unsigned char *buffer = block_of(job, rank, which, 0);
    memset(buffer, 0, job->total);
    if (row_is_allgather(job->row)) {
        pattern_fill(block_of(job, rank, which, rank), job->bytes, seed + (unsigned)rank);
        assert_int_equal(co_mcast_allgather_start(op, group, buffer, job->bytes, now_ns), 0);
        return;
    }
    if (rank == 0) {
        pattern_fill(buffer, job->bytes, seed);
    }
    assert_int_equal(co_mcast_bcast_start(op, group, 0, buffer, job->bytes, now_ns), 0);
}

// When members begin: all at once, or each at any time of a while.
static void choose_starts(struct job *job, unsigned number)
{
    const struct row *row = job->row;
    uint64_t now_ns = co_loopback_now_ns(job->world.hub), within_ns = row->stop_ms * CO_NS_PER_MS;
    bool are_skewed = strcmp(row->stops, "starts") == 0;
    for (int rank = 0; rank < row->members; rank++) {
        uint64_t dice = co_mix_bits((job->number * TIMES + number + 1) * WORLD_MAX + (unsigned)rank);
        job->start_ns[rank] = now_ns + (are_skewed ? dice % within_ns : 0);
        job->started[rank] = 0;
    }
}

static void start_due(struct job *job, unsigned number)
{
    uint64_t now_ns = co_loopback_now_ns(job->world.hub);
    for (int rank = 0; rank < job->row->members; rank++) {
        int *next = &job->started[rank];
        for (; *next < job->row->outstanding && job->start_ns[rank] <= now_ns; (*next)++) {
            start(job, rank, *next, number * (unsigned)job->row->outstanding + (unsigned)*next);
        }
    }
}

// Have all of them ended? Looks on where it stopped before.
static bool have_ended(const struct job *job, int *rank, int *which)
{
    for (; *rank < job->row->members; (*rank)++, *which = 0) {
        for (; *which < job->row->outstanding; (*which)++) {
            if (*which >= job->started[*rank] || co_mcast_op_state(*op_of(job, *rank, *which)) == 0) {
                return false;
            }
        }
    }
    return true;
}

static void finish(struct job *job)
{
    const struct row *row = job->row;
    for (int rank = 0; rank < row->members; rank++) {
        for (int which = 0; which < row->outstanding; which++) {
            for (int source = 0; source < (row_is_allgather(row) ? row->members : 1); source++) {
                assert_memory_equal(block_of(job, rank, which, source), block_of(job, source, which, source),
                                    job->bytes);
            }
            co_mcast_op_release(*op_of(job, rank, which));
        }
    }
}

// Nanoseconds.
static double run_once(struct job *job, unsigned number)
{
    uint64_t began_ns = co_loopback_now_ns(job->world.hub);
    int rank = 0, which = 0;
    choose_stop(job, number);
    choose_starts(job, number);
    start_due(job, number);
    while (!have_ended(job, &rank, &which)) {
        turn(job);
        start_due(job, number);
        assert_true(co_loopback_now_ns(job->world.hub) < began_ns + LIMIT_S * CO_NS_PER_S);
    }
    finish(job);
    return (double)(co_loopback_now_ns(job->world.hub) - began_ns);
}

// What overflowed before the sender's link, nobody got. Of what a deaf member misses each byte is lost.
static double lost_bytes(const struct job *job, uint64_t injected)
{
    const struct row *row = job->row;
    double times = row->port_mbit == 0 || strcmp(row->manner, "drops") == 0 ? row->members - 1 : 1;
    double missed = row->lost > 0 ? (double)(co_counter_read(CO_COUNT_FAULTS_INJECTED) - injected) : 0;
    double unheard = strcmp(row->stops, "deaf") == 0 ? row_is_allgather(row) ? row->members - 1 : 1 : 0;
    return CHUNK * (times * (double)co_loopback_overflows(job->world.hub) + missed) +
           unheard * row->kib * 1024 * row->outstanding * times_of(row);
}

// One member hears no multicast any more, or again; or which way is the faster one has been found out: after it has
// been so for a while, which is not counted.
static void prepare(struct job *job)
{
    for (unsigned i = 0; i < UNDECIDED && row_is_decided(job->row); i++) {
        run_once(job, i);
    }
    struct co_transport *transport = job->world.transport[DEAF];
    bool hears = strcmp(job->row->stops, "hears") == 0;
    if (!hears && strcmp(job->row->stops, "deaf") != 0) {
        return;
    }
    run_once(job, 0);
    transport->ops->leave(transport, 0);
    for (unsigned i = 0; i < DEAF_TIMES && hears; i++) {
        run_once(job, i);
    }
    if (hears) {
        transport->ops->join(transport, 0);
    }
}

static struct result run_world(const struct row *row, unsigned number)
{
    struct job job;
    struct result result = {0};
    open_job(&job, row, number);
    prepare(&job);
    uint64_t fetched = co_counter_read(CO_COUNT_RETRANSMITTED), injected = co_counter_read(CO_COUNT_FAULTS_INJECTED);
    double limit = limit_ns(row), unit = (double)row->kib * 1024 * (row->members - 1) * row->outstanding;
    for (unsigned i = 0; i < times_of(row); i++) {
        unsigned over = (unsigned)(100 * run_once(&job, i) / limit + 0.5);
        result.first = i == 0 ? over : result.first;
        result.later = i > 0 && over > result.later ? over : result.later;
    }
    double sent_again = (double)(co_counter_read(CO_COUNT_RETRANSMITTED) - fetched), lost = lost_bytes(&job, injected);
    double more = sent_again - (double)times_of(row) * row->outstanding * FREE_REPAIRS * CHUNK * (row->members - 1);
    double placed = unit * times_of(row) * (row_is_allgather(row) ? row->members : 1);
    result.again = more <= 0 ? 0 : (unsigned)(100 * more / (lost > CHUNK ? lost : CHUNK) + 0.5);
    result.share = (unsigned)(1000 * sent_again / placed + 0.5);
    world_settle(&job.world, LIMIT_S * CO_NS_PER_S);
    for (int rank = 0; rank < row->members; rank++) {
        inside_require_nothing_left(job.world.mcast[rank], true);
    }
    world_close(&job.world);
    free(job.buffers);
    free(job.ops);
    free(job.started);
    free(job.start_ns);
    return result;
}

static struct result run(const struct row *row)
{
    struct result sum = {0};
    unsigned worlds = worlds_of(row);
    for (unsigned number = 0; number < worlds; number++) {
        struct result result = run_world(row, number);
        sum.first += result.first;
        sum.later += result.later;
        sum.again += result.again;
        sum.share += result.share;
    }
    return (struct result){sum.first / worlds, sum.later / worlds, sum.again / worlds, sum.share / worlds};
}

struct running {
    size_t row;
    pid_t pid;
    int from;
};

static void begin(struct running *running, const struct row *rows, size_t row)
{
    int ends[2];
    if (pipe(ends) != 0) {
        exit(2);
    }
    fflush(stdout);
    *running = (struct running){.row = row, .pid = fork(), .from = ends[0]};
    if (running->pid < 0) {
        exit(2);
    }
    if (running->pid == 0) {
        struct result result = run(&rows[row]);
        _exit(write(ends[1], &result, sizeof(result)) == sizeof(result) ? 0 : 1);
    }
    close(ends[1]);
}

// A row that did not end has no result: all is as bad as can be.
static struct result end(const struct running *running)
{
    struct result result;
    int status;
    bool has_ended = read(running->from, &result, sizeof(result)) == sizeof(result);
    close(running->from);
    waitpid(running->pid, &status, 0);
    return has_ended ? result : (struct result){99999, 99999, 99999, 99999};
}

int main(int argc, char **argv)
{
    static struct row rows[ROWS_MAX];
    bool is_measuring = argc > 1 && strcmp(argv[1], "--measure") == 0;
    char **words = argv + 1 + is_measuring;
    if (words[0] == NULL) {
        fprintf(stderr, "usage: congestion_sweep [--measure] ROWS [WORD]\n");
        return 2;
    }
    size_t count = rows_read(rows, words[0], words[1]), begun = 0, passed = 0, reached = 0;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t at_once = cores < 1 ? 1 : cores > AT_ONCE_MAX ? AT_ONCE_MAX : (size_t)cores;
    struct running running[AT_ONCE_MAX];
    for (size_t ended = 0; ended < count; ended++) {
        for (; begun < count && begun < ended + at_once; begun++) {
            begin(&running[begun % at_once], rows, begun);
        }
        struct result result = end(&running[ended % at_once]);
        passed += row_judge(&rows[ended], &result, is_measuring) || is_measuring;
        reached += row_is_reached(&result);
    }
    fprintf(is_measuring ? stderr : stdout, "%zu of %zu rows reach the goal\n", reached, count);
    if (!is_measuring) {
        printf("%zu passed, %zu failed, 0 skipped\n", passed, count - passed);
    }
    return passed == count ? 0 : 1;
}
