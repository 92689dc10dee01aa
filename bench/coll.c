// SPDX-License-Identifier: BSD-3-Clause
//
// Measures broadcasts, allgathers and all-to-alls, blocking, nonblocking and persistent, on castoff's side and on
// stock's sides in turn, in one job. An ordinary MPI program: started by `castoff bench`, or by hand (mpirun -n 4
// castoff run build/bench/coll
// --calls bcast --sizes 8,4096). Rank 0 prints where the ranks are (coll_place.c), then one line for each side, call
// and size:
//   row CALL BYTES BATCH SIDE WRONG COUNT ns ns ns ...
// where each time is that of the slowest rank in one round. The start of a nonblocking call ends on each rank for
// itself: its times are those of one rank, the one with the largest median.
#include "coll.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const coll_call_names[COLL_CALLS] = {"bcast",
                                                 "ibcast",
                                                 "allgather",
                                                 "iallgather",
                                                 "allgatherv",
                                                 "iallgatherv",
                                                 "ialltoall",
                                                 "ialltoallv",
                                                 "persistent-bcast",
                                                 "persistent-allgather",
                                                 "persistent-allgatherv",
                                                 "istart",
                                                 "overlap",
                                                 "overlap-ibcast",
                                                 "overlap-iallgatherv",
                                                 "overlap-ialltoall",
                                                 "overlap-ialltoallv"};

static bool allocate(struct coll_run *run)
{
    size_t largest = 0;
    for (int i = 0; i < run->options.size_count; i++) {
        largest = run->options.sizes[i] > largest ? run->options.sizes[i] : largest;
    }
    bool is_bcast_only = true;
    for (int call = 0; call < COLL_CALLS; call++) {
        is_bcast_only &= !run->options.calls[call] || coll_has_root((enum coll_call)call);
    }
    run->room = largest * (is_bcast_only ? 1 : (size_t)run->ranks);
    size_t blocks = run->ranks > 10 ? (size_t)run->ranks : 10; // a rank's share of the mean may be ten times as much
    run->send = malloc(blocks * largest);
    run->receive = malloc(run->room);
    run->counts = calloc((size_t)run->ranks, sizeof *run->counts);
    run->places = calloc((size_t)run->ranks, sizeof *run->places);
    int mine = run->send && run->receive && run->counts && run->places && largest <= INT32_MAX, all;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, run->control);
    return all;
}

// What is measured for one call and size.
struct point {
    enum coll_call call;
    size_t bytes;
    bool is_in[COLL_SIDES_MAX];
    double took; // one call, on the slower of castoff's side and the fastest other one
    int batch;
    size_t wrong[COLL_SIDES_MAX];
    double *times; // [side][rounds_max]
};

struct turn {
    int side, point;
};

static double slowest(struct coll_run *run, double mine)
{
    double all;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, run->control);
    return all;
}

// Warms a side up and gives the time of one call.
static double try_side(struct coll_run *run, struct point *point, int s)
{
    const struct coll_side *side = &run->sides[s];
    double took = slowest(run, coll_sample(run, side, point->call, point->bytes, 1, &point->wrong[s]));
    for (int i = 0; i < 2 && took < 20e-3 && point->call != COLL_ISTART; i++) {
        double again = slowest(run, coll_sample(run, side, point->call, point->bytes, 16, &point->wrong[s]));
        took = again < took ? again : took;
    }
    return took;
}

// So many calls that a sample lasts about a millisecond; the same number on all sides, for pipelining counts.
static int batch_for(const struct coll_run *run, enum coll_call call, double took)
{
    if (call == COLL_ISTART || run->options.batch) {
        return call == COLL_ISTART ? 1 : run->options.batch;
    }
    double wanted = 1e-3 / (took > 1e-8 ? took : 1e-8);
    return wanted < 2 ? 1 : wanted > 2048 ? 2048 : (int)wanted;
}

// All ranks see the same times, so they leave out the same sides: stock's algorithms that are nowhere near its best.
static void choose_sides(struct coll_run *run, struct point *point)
{
    double took[COLL_SIDES_MAX], best = INFINITY;
    for (int s = 0; s < run->side_count; s++) {
        point->is_in[s] = coll_side_serves(&run->sides[s], point->call);
        if (point->is_in[s]) {
            took[s] = try_side(run, point, s);
            best = s > 0 && took[s] < best ? took[s] : best;
        }
    }
    for (int s = 2; s < run->side_count; s++) {
        point->is_in[s] = point->is_in[s] && took[s] < 2 * best;
    }
    point->took = took[0] > best ? took[0] : best;
}

static void open_point(struct coll_run *run, struct point *point, enum coll_call call, size_t bytes)
{
    *point = (struct point){.call = call, .bytes = bytes};
    point->times = calloc((size_t)run->options.rounds_max * COLL_SIDES_MAX, sizeof *point->times);
    for (int s = 0; s < run->side_count; s++) {
        if (coll_side_serves(&run->sides[s], call)) {
            coll_sample_plan(run, &run->sides[s], call, bytes);
        }
    }
    choose_sides(run, point);
}

static void close_point(struct coll_run *run, struct point *point)
{
    for (int s = 0; s < run->side_count; s++) {
        if (coll_side_serves(&run->sides[s], point->call)) {
            coll_sample_forget(&run->sides[s], point->call);
        }
    }
    free(point->times);
}

static bool goes_on(struct coll_run *run, int rounds, double start, double seconds)
{
    int more = rounds < run->options.rounds_max && (rounds < run->options.rounds_min || coll_now() - start < seconds);
    MPI_Bcast(&more, 1, MPI_INT, 0, run->control);
    return more;
}

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *times, int count)
{
    double *sorted = malloc((size_t)count * sizeof *sorted);
    memcpy(sorted, times, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, compare_times);
    double middle = sorted[count / 2];
    free(sorted);
    return middle;
}

static void slowest_of_rounds(struct coll_run *run, enum coll_call call, const double *times, int rounds, double *out)
{
    struct {
        double median;
        int rank;
    } mine = {0, run->rank}, slow;
    if (call != COLL_ISTART) {
        MPI_Reduce(times, out, rounds, MPI_DOUBLE, MPI_MAX, 0, run->control);
        return;
    }
    mine.median = median(times, rounds);
    MPI_Allreduce(&mine, &slow, 1, MPI_DOUBLE_INT, MPI_MAXLOC, run->control);
    memcpy(out, times, (size_t)rounds * sizeof *out);
    MPI_Bcast(out, rounds, MPI_DOUBLE, slow.rank, run->control);
}

static void print_rows(struct coll_run *run, struct point *point, int rounds)
{
    double *slowest_times = calloc((size_t)rounds, sizeof *slowest_times);
    for (int s = 0; s < run->side_count; s++) {
        unsigned long long mine = point->wrong[s], all = 0;
        if (!point->is_in[s]) {
            continue;
        }
        slowest_of_rounds(run, point->call, point->times + (size_t)s * (size_t)run->options.rounds_max, rounds,
                          slowest_times);
        MPI_Reduce(&mine, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, run->control);
        if (run->rank == 0) {
            printf("row %s %zu %d %s %llu %d", coll_call_names[point->call], point->bytes, point->batch,
                   run->sides[s].name, all, rounds);
            for (int i = 0; i < rounds; i++) {
                printf(" %.1f", slowest_times[i] * 1e9);
            }
            putchar('\n');
        }
    }
    free(slowest_times);
}

// What is measured in one round, on all ranks in the same order and in another one each time: who comes after a call of
// the other side finds caches and queues cold, and with one order that turns round it would be the same call each time.
static int order_round(struct turn *turns, int sides, int count, int round)
{
    for (int i = 0; i < sides * count; i++) {
        turns[i] = (struct turn){.side = (i / count + round) % sides, .point = i % count};
    }
    for (int i = sides * count - 1; i > 0 && count > 1; i--) {
        uint64_t seed = coll_data_seed((uint64_t)round, i);
        int j = (int)((seed ^ seed >> 31) * UINT64_C(0xd6e8feb86659fd93) >> 33) % (i + 1);
        struct turn other = turns[j];
        turns[j] = turns[i];
        turns[i] = other;
    }
    return sides * count;
}

static void take_round(struct coll_run *run, struct point *points, int count, int round)
{
    struct turn turns[COLL_SIDES_MAX * COLL_CALLS];
    int all = order_round(turns, run->side_count, count, round);
    for (int i = 0; i < all; i++) {
        int s = turns[i].side;
        struct point *point = &points[turns[i].point];
        if (point->is_in[s]) {
            point->times[s * run->options.rounds_max + round] =
                coll_sample(run, &run->sides[s], point->call, point->bytes, point->batch, &point->wrong[s]);
        }
    }
}

// Several calls of one size in the same rounds, with as many calls in a sample.
static void measure(struct coll_run *run, const enum coll_call *calls, int count, size_t bytes)
{
    struct point points[COLL_CALLS];
    double slowest_call = 0;
    int rounds = 0;
    for (int i = 0; i < count; i++) {
        open_point(run, &points[i], calls[i], bytes);
        slowest_call = points[i].took > slowest_call ? points[i].took : slowest_call;
    }
    for (int i = 0; i < count; i++) {
        points[i].batch = batch_for(run, calls[i], slowest_call);
    }
    double start = coll_now();
    while (goes_on(run, rounds, start, run->options.seconds * count)) {
        take_round(run, points, count, rounds);
        rounds++;
    }
    for (int i = 0; i < count; i++) {
        print_rows(run, &points[i], rounds);
        close_point(run, &points[i]);
    }
}

static void measure_one_after_the_other(struct coll_run *run)
{
    for (int i = 0; i < COLL_CALLS; i++) {
        enum coll_call call = (enum coll_call)i;
        for (int j = 0; run->options.calls[call] && j < run->options.size_count; j++) {
            if (coll_is_overlap(call)) {
                coll_overlap_measure(run, call, run->options.sizes[j]);
            } else {
                measure(run, &call, 1, run->options.sizes[j]);
            }
        }
    }
}

// `castoff bench` lets no call through that is not timed by rounds.
static void measure_in_turn(struct coll_run *run)
{
    enum coll_call calls[COLL_CALLS];
    int count = 0;
    for (int call = 0; call < COLL_CALLS; call++) {
        if (run->options.calls[call]) {
            calls[count++] = (enum coll_call)call;
        }
    }
    for (int i = 0; i < run->options.size_count; i++) {
        measure(run, calls, count, run->options.sizes[i]);
    }
}

int main(int argc, char **argv)
{
    struct coll_run run = {0};
    int provided;
    coll_place_pin(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.ranks);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!coll_options_read(&run.options, argc, argv, run.rank)) {
        MPI_Finalize();
        return 2;
    }
    coll_sides_open(&run);
    if (!allocate(&run) || run.options.root >= run.ranks) {
        if (run.rank == 0) {
            fputs("coll: not enough memory for the largest size, or no such root\n", stderr);
        }
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    coll_place_print(&run);
    if (run.options.takes_turns) {
        measure_in_turn(&run);
    } else {
        measure_one_after_the_other(&run);
    }
    free(run.send);
    free(run.receive);
    free(run.counts);
    free(run.places);
    coll_sides_close(&run);
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
