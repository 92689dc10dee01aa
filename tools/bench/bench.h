// SPDX-License-Identifier: BSD-3-Clause
//
// What `castoff bench` asks for, what the benchmark program answered, and what is made of it. Cold.
#ifndef CASTOFF_TOOLS_BENCH_H
#define CASTOFF_TOOLS_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "engine/decide/tune_table.h"
#include "tools/output/statistics.h"

enum {
    BENCH_CALLS_TEXT = 256,
    BENCH_SIDES_MAX = 64,
    BENCH_RANKS_MAX = 16,
    BENCH_SIZES_MAX = 64,
    BENCH_SETTINGS_MAX = 64
};

// bench_calls.c: what can be measured, by the name behind --calls.
struct co_bench_call {
    const char *name, *title;
    bool is_message; // of `castoff bench p2p`, not a collective
    bool has_depth;  // measured over depths of queues, not over sizes
    bool has_rounds; // a collective whose samples are times of rounds
};

const struct co_bench_call *co_bench_call_find(const char *name); // never NULL
const struct co_bench_call *co_bench_call_at(int i);              // NULL: no more
// A list separated by commas: 0, or -EINVAL with a sentence in why.
int co_bench_calls_check(const char *list, bool is_message, char *why, size_t why_room);
void co_bench_calls_all(bool is_message, char *list, size_t room);
bool co_bench_calls_have(const char *list, const char *name);
// As the check, for calls that are to be measured in the same rounds: of a kind that has them, and two at least.
int co_bench_calls_check_turns(const char *list, char *why, size_t why_room);

struct co_bench_request {
    bool is_p2p; // messages, by the program p2p; otherwise collectives, by coll
    char calls[BENCH_CALLS_TEXT];
    size_t sizes[BENCH_SIZES_MAX], depths[BENCH_SIZES_MAX];
    int size_count, depth_count;
    int ranks[BENCH_RANKS_MAX]; // one run of the program for each
    int ranks_count;
    bool against_best;       // all of stock's algorithms and components instead of its default
    bool without_castoff;    // stock against stock
    bool forces;             // takes whatever is possible, as --tune must
    bool takes_turns;        // calls of one size in the same rounds, held against the first
    const char *family;      // of the MPI: "open-mpi", "mpich"; NULL: the former
    const char *calls_given; // NULL: the usual ones
    const char *seconds, *rounds_min, *rounds_max, *batch, *late_ms, *root, *compute, *blocks,
        *pin;                     // NULL: the program's default
    const char *mpirun_arguments; // more of them, separated by blanks
    char *settings[BENCH_SETTINGS_MAX + 4];
    int setting_count;
    const char *json, *csv, *svg, *tune;
    bool plots;
    const char *command; // as it was typed, for the file of --tune
};

// Where the ranks of a job were.
struct co_bench_place {
    int nodes, ranks_per_node; // the latter on the node that has most; 0: not told
};

// Samples of one side of one call and size.
struct co_bench_side {
    char name[32]; // "castoff", "stock", "bcast-6"
    char job[16];  // "default", "sm", "han", "adapt": settings of the stock MPI that hold for a whole job
    unsigned long long wrong;
    size_t count;
    double *ns;
    double p50_ns, p99_ns;
    struct co_ratio ratio; // this side over castoff in the same job; not set for castoff itself
};

struct co_bench_point {
    char call[24];
    size_t bytes; // or the depth
    int ranks, batch;
    struct co_bench_place place;
    struct co_bench_side sides[BENCH_SIDES_MAX];
    int side_count;
    int castoff, stock; // the two that are compared; the castoff side is that of the stock side's job
};

struct co_bench_overlap {
    char call[24], name[32], job[16];
    size_t bytes;
    int ranks, rounds;
    unsigned long long wrong;
    double pure_ns, start_ns, compute_ns, total_ns, percent;
    bool is_cut; // the program computed more than 100 %, which is noise: no more than all can overlap
};

// Two calls of one size that were measured in the same rounds, on castoff's side or on stock's.
struct co_bench_turn {
    char first[24], call[24], side[32];
    size_t bytes;
    int ranks;
    size_t samples;
    struct co_ratio ratio; // the first call over this one
};

struct co_bench_results {
    struct co_bench_point *points;
    int point_count;
    struct co_bench_turn *turns;
    int turn_count;
    struct co_bench_overlap *overlaps;
    int overlap_count;
    struct co_bench_place place; // of the job that is being read
    int node_ranks;              // CASTOFF_NODE_RANKS of the jobs; 0: all of a host
};

// bench_sizes.c: "8", "8,64K", "8:8M" (steps of 4), "8:8M:2" (steps of 2). 0 or -EINVAL. Depths may begin with 0. And
// "2,4,8".
int co_bench_sizes_parse(const char *text, size_t *sizes, int room);
int co_bench_depths_parse(const char *text, size_t *depths, int room);
int co_bench_ranks_parse(const char *text, int *ranks, int room);

// bench_check.c: the numbers of a request. 0, or -EINVAL with the first that makes no sense.
int co_bench_request_check(const struct co_bench_request *request, char *why, size_t why_room);

// bench_sizes.c as well: the words of a command as one line; those behind the first are put in quotes where a shell
// would cut or replace them.
void co_bench_command_print(char *text, size_t room, int count, char **words);

// bench_results.c: one line of the benchmark program, as its head describes; other lines are left alone. 0, -EINVAL
// when a row is damaged, -ENOMEM.
int co_bench_results_take(struct co_bench_results *results, const char *line, const char *job, int ranks);
// Fills in what follows from the samples; points without two sides are dropped.
int co_bench_results_judge(struct co_bench_results *results, bool against_best);
void co_bench_results_release(struct co_bench_results *results);
bool co_bench_results_are_right(const struct co_bench_results *results); // no wrong byte anywhere

// bench_turns.c: holds the calls that were measured in turn against the first of `calls`. 0 or -ENOMEM.
int co_bench_turns_judge(struct co_bench_results *results, const char *calls);
void co_bench_turns_print(const struct co_bench_results *results, FILE *stream);

// bench_job.c: runs the program once for each number of ranks and each kind of stock job. Exit status.
int co_bench_jobs_run(const struct co_bench_request *request, struct co_bench_results *results);

// Hosts, rate of the links and more words of the laboratory's script; NULL: not given.
struct co_bench_lab {
    const char *hosts, *rate, *arguments;
};

// bench_lab.c: with the command line of `castoff bench`. Returns an exit status only where the script cannot be
// started.
int co_bench_lab_enter(const struct co_bench_lab *lab, int argc, char **argv);

// bench_table.c, bench_files.c and bench_svg.c.
void co_bench_table_print(const struct co_bench_results *results, FILE *stream);
void co_bench_plot_print(const struct co_bench_results *results, FILE *stream);
int co_bench_csv_write(const struct co_bench_results *results, const char *path);
int co_bench_json_write(const struct co_bench_results *results, const char *path);
int co_bench_svg_write(const struct co_bench_results *results, const char *path, char *why, size_t why_room);

// bench_tune.c: rows for the calls and places that were measured come first, those of the table that hold for others,
// too, stay behind them. Returns how many are new, -E2BIG when there is no room, -ENODATA when the place was not told.
int co_bench_tune_make(struct co_tune_table *table, const struct co_bench_results *results);

// bench_tune_file.c: makes or renews the file. 0 or -errno with the cause, which names it. And whether it could, before
// the time for measuring is spent.
int co_bench_tune_check(const char *path, char *why, size_t why_room);
int co_bench_tune_write(const struct co_bench_results *results, const char *path, const char *command, char *why,
                        size_t why_room);

// castoff_model.c: castoff bench --model.
int co_bench_model_run(int argc, char **argv);

#endif
