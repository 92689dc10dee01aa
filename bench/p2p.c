// SPDX-License-Identifier: BSD-3-Clause
//
// Measures messages between pairs of ranks on castoff's side and on stock's in turn, in one job. An ordinary MPI
// program: started by `castoff bench p2p`, or by hand (mpirun -n 2 castoff run --set P2P=yes build/bench/p2p --calls
// latency
// --sizes 8,4096). Rank 0 prints one line for each side, call and step:
//   row CALL STEP BATCH SIDE WRONG COUNT ns ns ns ...
// where STEP is a size or a depth and each time is that of one message, on the slowest pair, in one round.
#include "p2p.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

double p2p_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// What is measured for one call and step.
struct point {
    const struct p2p_call *call;
    size_t step;
    int batch;
    size_t wrong[P2P_SIDES];
    double *times; // [side][rounds_max]
};

static const struct p2p_steps *steps_of(const struct p2p_run *run, const struct p2p_call *call)
{
    return p2p_call_has_depth(call) ? &run->options.depths : &run->options.sizes;
}

static bool allocate(struct p2p_run *run)
{
    size_t bytes = 8, messages = 64;
    for (int c = 0; c < P2P_CALLS; c++) {
        const struct p2p_steps *steps = steps_of(run, &p2p_calls[c]);
        for (int i = 0; run->options.calls[c] && i < steps->count; i++) {
            bool has_depth = p2p_call_has_depth(&p2p_calls[c]);
            size_t count = has_depth ? p2p_depth_messages(&p2p_calls[c], steps->at[i]) : 0;
            size_t room = has_depth ? count * sizeof(uint64_t) : p2p_stream_room(&p2p_calls[c], steps->at[i]);
            messages = count > messages ? count : messages;
            bytes = room > bytes ? room : bytes;
        }
    }
    run->send = malloc(bytes);
    run->receive = malloc(bytes);
    run->requests = malloc(messages * sizeof *run->requests);
    int mine = run->send && run->receive && run->requests, all;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, run->control);
    return all;
}

static MPI_Comm duplicate_native(void)
{
    MPI_Info info;
    MPI_Comm comm;
    MPI_Info_create(&info);
    MPI_Info_set(info, "castoff", "no");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    MPI_Info_free(&info);
    return comm;
}

static void open_sides(struct p2p_run *run)
{
    run->control = duplicate_native();
    run->sides[0].name = "castoff";
    MPI_Comm_dup(MPI_COMM_WORLD, &run->sides[0].comm);
    run->sides[1] = (struct p2p_side){"stock", duplicate_native()};
    int half = run->ranks / 2;
    run->is_first = run->rank < half;
    run->peer = run->is_first ? run->rank + half : run->rank - half;
}

static double sample(struct p2p_run *run, struct point *point, int s, int batch)
{
    MPI_Comm comm = run->sides[s].comm;
    MPI_Barrier(run->control);
    return p2p_call_has_depth(point->call)
               ? p2p_depth_sample(run, comm, point->call, point->step, batch, &point->wrong[s])
               : p2p_stream_sample(run, comm, point->call, point->step, batch, &point->wrong[s]);
}

static double slowest(struct p2p_run *run, double mine)
{
    double all;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, run->control);
    return all;
}

// So many turns, what is not timed included, that a sample lasts about a millisecond; the same number on both sides.
// This warms both up.
static int choose_batch(struct p2p_run *run, struct point *point)
{
    double longest = 0;
    for (int s = 0; s < P2P_SIDES; s++) {
        double least = 1;
        for (int i = 0, batch = 1; i < 3; i++, batch = 16) {
            double start = p2p_now();
            sample(run, point, s, batch);
            double took = slowest(run, (p2p_now() - start) / batch);
            least = took < least ? took : least;
            if (took > 5e-3) {
                break;
            }
        }
        longest = least > longest ? least : longest;
    }
    double wanted = 1e-3 / (longest > 1e-8 ? longest : 1e-8);
    int batch = wanted < 2 ? 1 : wanted > 4096 ? 4096 : (int)wanted;
    return run->options.batch ? run->options.batch : batch;
}

static bool goes_on(struct p2p_run *run, int rounds, double start)
{
    int more = rounds < run->options.rounds_max &&
               (rounds < run->options.rounds_min || p2p_now() - start < run->options.seconds);
    MPI_Bcast(&more, 1, MPI_INT, 0, run->control);
    return more;
}

static void print_rows(struct p2p_run *run, const struct point *point, int rounds)
{
    double *times = calloc((size_t)rounds, sizeof *times);
    for (int s = 0; s < P2P_SIDES; s++) {
        unsigned long long mine = point->wrong[s], all = 0;
        MPI_Reduce(point->times + (size_t)s * (size_t)run->options.rounds_max, times, rounds, MPI_DOUBLE, MPI_MAX, 0,
                   run->control);
        MPI_Reduce(&mine, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, run->control);
        if (run->rank == 0) {
            printf("row %s %zu %d %s %llu %d", point->call->name, point->step, point->batch, run->sides[s].name, all,
                   rounds);
            for (int i = 0; i < rounds; i++) {
                printf(" %.2f", times[i] * 1e9);
            }
            putchar('\n');
        }
    }
    free(times);
}

static void measure(struct p2p_run *run, const struct p2p_call *call, size_t step)
{
    struct point point = {.call = call, .step = step};
    int rounds = 0;
    point.times = calloc((size_t)run->options.rounds_max * P2P_SIDES, sizeof *point.times);
    point.batch = choose_batch(run, &point);
    double start = p2p_now();
    while (goes_on(run, rounds, start)) {
        for (int i = 0; i < P2P_SIDES; i++) {
            int s = (i + rounds) % P2P_SIDES; // nobody always comes first
            point.times[s * run->options.rounds_max + rounds] = sample(run, &point, s, point.batch);
        }
        rounds++;
    }
    print_rows(run, &point, rounds);
    free(point.times);
}

static void measure_all(struct p2p_run *run)
{
    for (int c = 0; c < P2P_CALLS; c++) {
        const struct p2p_call *call = &p2p_calls[c];
        const struct p2p_steps *steps = steps_of(run, call);
        for (int i = 0; run->options.calls[c] && i < steps->count; i++) {
            if (call->kind != P2P_RATE || steps->at[i] > 0) { // a flood of none takes no time
                measure(run, call, steps->at[i]);
            }
        }
    }
}

int main(int argc, char **argv)
{
    struct p2p_run run = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.ranks);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!p2p_options_read(&run.options, argc, argv, run.rank)) {
        MPI_Finalize();
        return 2;
    }
    open_sides(&run);
    if (run.ranks % 2 != 0 || !allocate(&run)) {
        if (run.rank == 0) {
            fputs("p2p: not enough memory for the largest step, or the number of ranks is odd\n", stderr);
        }
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    measure_all(&run);
    free(run.send);
    free(run.receive);
    free(run.requests);
    for (int s = 0; s < P2P_SIDES; s++) {
        MPI_Comm_free(&run.sides[s].comm);
    }
    MPI_Comm_free(&run.control);
    MPI_Finalize();
    return 0;
}
