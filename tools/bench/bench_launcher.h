// SPDX-License-Identifier: BSD-3-Clause
//
// The words that launch a job of the benchmark program: mpirun of Open MPI or mpiexec of MPICH, the laboratory's when
// we are inside one. Cold.
#ifndef CASTOFF_TOOLS_BENCH_LAUNCHER_H
#define CASTOFF_TOOLS_BENCH_LAUNCHER_H

#include <stdbool.h>

struct co_bench_request;

enum { BENCH_WORDS_MAX = 512 };

// Copies of words, which release frees. What there is no room for is left out.
struct co_bench_words {
    char *list[BENCH_WORDS_MAX];
    int count;
};

void co_bench_words_put(struct co_bench_words *words, const char *word);
void co_bench_words_put_pair(struct co_bench_words *words, const char *name, const char *value); // value NULL: nothing
void co_bench_words_release(struct co_bench_words *words);

// What is chosen of the stock MPI for a whole job; NULL: nothing.
struct co_bench_stock {
    const char *variable, *value;
    const char *words; // more of them for mpirun
};

bool co_bench_is_mpich(const struct co_bench_request *request);

// As far as the program's own words.
void co_bench_launcher_put(struct co_bench_words *words, const struct co_bench_request *request,
                           const struct co_bench_stock *stock, int ranks);

#endif
