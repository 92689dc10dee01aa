// SPDX-License-Identifier: BSD-3-Clause
//
// Chooses launcher and options by the family of MPI. Cold.
#include "bench_launcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/settings.h"
#include "bench.h"

void co_bench_words_put(struct co_bench_words *words, const char *word)
{
    if (words->count < BENCH_WORDS_MAX - 1) {
        words->list[words->count++] = strdup(word);
    }
}

void co_bench_words_put_pair(struct co_bench_words *words, const char *name, const char *value)
{
    if (value) {
        co_bench_words_put(words, name);
        co_bench_words_put(words, value);
    }
}

void co_bench_words_release(struct co_bench_words *words)
{
    while (words->count > 0) {
        free(words->list[--words->count]);
    }
}

static void put_split(struct co_bench_words *words, const char *text)
{
    while (text && *text) {
        size_t blank = strspn(text, " "), length = strcspn(text + blank, " ");
        char *word = strndup(text + blank, length);
        if (word && length) {
            co_bench_words_put(words, word);
        }
        free(word);
        text += blank + length;
    }
}

static void put_mca(struct co_bench_words *words, const char *name, const char *value)
{
    co_bench_words_put(words, "--mca");
    co_bench_words_put_pair(words, name, value);
}

bool co_bench_is_mpich(const struct co_bench_request *request)
{
    return request->family && strcmp(request->family, "mpich") == 0;
}

static void put_open_mpi(struct co_bench_words *words, const struct co_bench_request *request,
                         const struct co_bench_stock *stock, int ranks)
{
    const char *lab = co_environment("CASTOFF_LAB_MPIRUN");
    co_bench_words_put(words, lab ? lab : "mpirun");
    if (!lab) {
        put_split(words, "--oversubscribe --bind-to none");
        if (geteuid() == 0) {
            co_bench_words_put(words, "--allow-run-as-root");
        }
        if (ranks > sysconf(_SC_NPROCESSORS_ONLN)) {
            put_mca(words, "mpi_yield_when_idle", "1");
        }
    }
    if (stock->variable) {
        put_mca(words, stock->variable, stock->value);
        put_split(words, stock->words);
    }
    // Without it the forced algorithm of a communicator is not looked at; the default choice stays as it is.
    if (!request->is_p2p) {
        put_mca(words, "coll_tuned_use_dynamic_rules", "1");
    }
}

void co_bench_launcher_put(struct co_bench_words *words, const struct co_bench_request *request,
                           const struct co_bench_stock *stock, int ranks)
{
    char number[16];
    if (co_bench_is_mpich(request)) {
        const char *lab = co_environment("CASTOFF_LAB_MPIEXEC");
        co_bench_words_put(words, lab ? lab : "mpiexec.mpich");
    } else {
        put_open_mpi(words, request, stock, ranks);
    }
    put_split(words, request->mpirun_arguments);
    snprintf(number, sizeof number, "%d", ranks);
    co_bench_words_put_pair(words, "-n", number);
}
