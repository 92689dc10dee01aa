// SPDX-License-Identifier: BSD-3-Clause
//
// A small table of classes in each rank. Communicators of the same shape, of which a program may make thousands, share
// rows: their calls are added up, and times and verdict are those of the last one. A full table drops what comes later.
#include "pmpi/report/report_trials.h"

#include "base/log.h"
#include "base/atomics.h"
#include "base/settings.h"
#include "engine/decide/meetings.h"
#include "engine/decide/tune_table.h"
#include "pmpi/life/process.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 128

static struct {
    struct co_trylock lock;
    size_t count;
    struct co_trial_row rows[ROWS_MAX];
} table = {.lock = CO_TRYLOCK_INIT};

// By what makes a row.
static int compare(const void *left, const void *right)
{
    const struct co_trial_row *a = left, *b = right;
    const uint64_t of_a[] = {a->call, a->bytes, (uint64_t)a->ranks, (uint64_t)a->nodes, (uint64_t)a->per_node};
    const uint64_t of_b[] = {b->call, b->bytes, (uint64_t)b->ranks, (uint64_t)b->nodes, (uint64_t)b->per_node};
    for (size_t i = 0; i < sizeof of_a / sizeof *of_a; i++) {
        if (of_a[i] != of_b[i]) {
            return of_a[i] < of_b[i] ? -1 : 1;
        }
    }
    return 0;
}

static void add(struct co_trial_row *sum, const struct co_trial_row *row)
{
    struct co_trial_row was = *sum;
    if (row->first_at != 0 || was.first_at == 0) { // else it ended in the middle of its trials, without a verdict
        *sum = *row;
    }
    sum->teams = was.teams + row->teams;
    sum->calls = was.calls + row->calls;
    sum->changes = was.changes + row->changes;
    sum->gained_ns = was.gained_ns + row->gained_ns;
    sum->excess_ns = was.excess_ns + row->excess_ns;
    sum->first_at = was.first_at > row->first_at ? was.first_at : row->first_at;
}

static void add_locked(const struct co_trial_row *row)
{
    for (size_t i = 0; i < table.count; i++) {
        if (compare(&table.rows[i], row) == 0) {
            add(&table.rows[i], row);
            return;
        }
    }
    if (table.count < ROWS_MAX) {
        table.rows[table.count++] = *row;
    }
}

void co_report_trials_add(const struct co_communicator *entry)
{
    struct co_trial_row row;
    bool learns = co_process.rank == 0 && co_setting_text(CO_SET_TUNE_LEARN)[0] != '\0';
    if ((!co_process.counts && !learns) || entry->seed.rank != 0) {
        return;
    }
    co_trylock_wait(&table.lock);
    for (unsigned at = 0; co_team_trials_next(entry->team, &at, &row);) {
        add_locked(&row);
    }
    for (unsigned at = 0;
         entry->meetings != NULL && co_meetings_next(entry->meetings, &entry->seed.facts, &at, &row);) {
        add_locked(&row);
    }
    co_trylock_drop(&table.lock);
}

static struct co_tune_row learnt(const struct co_trial_row *row)
{
    return (struct co_tune_row){.call = (enum co_call)row->call,
                                .where = row->nodes == 1 ? CO_TUNE_NODE : CO_TUNE_HOSTS,
                                .ranks_min = row->ranks,
                                .ranks_max = row->ranks,
                                .per_node_min = row->per_node,
                                .per_node_max = row->per_node,
                                .transport = row->transport,
                                .bytes_min = row->bytes,
                                .bytes_max = row->bytes_most,
                                .take = row->takes != 0};
}

void co_report_trials_learn(void)
{
    static struct co_tune_row rows[ROWS_MAX];
    const char *path = co_setting_text(CO_SET_TUNE_LEARN);
    char why[300];
    unsigned count = 0;
    for (size_t i = 0; i < table.count; i++) {
        if (table.rows[i].first_at != 0) {
            rows[count++] = learnt(&table.rows[i]);
        }
    }
    if (co_process.rank == 0 && path[0] != '\0' && count > 0 &&
        co_tune_table_learn(path, rows, count, why, sizeof why) != 0) {
        co_log(CO_LOG_WARN, CO_SUBSYS_PMPI, "what was learnt is not kept: %s (CASTOFF_TUNE_LEARN)", why);
    }
}

// Rows of all ranks on rank 0, ROWS_MAX of each; those without calls are empty.
static size_t collect(struct co_trial_row **all)
{
    size_t ranks = co_process.world == CO_NO_HANDLE ? 1 : (size_t)co_process.size;
    *all = co_process.rank == 0 ? calloc(ranks, sizeof table.rows) : NULL;
    int possible = co_process.rank != 0 || *all != NULL, everybody = 0;
    if (co_process.world == CO_NO_HANDLE) {
        if (*all != NULL) {
            memcpy(*all, table.rows, sizeof table.rows);
        }
    } else {
        co_next.exchange_allreduce(&possible, &everybody, 1, co_next.integer, co_next.minimum, co_process.world);
        if (everybody) {
            co_next.Gather(table.rows, (int)sizeof table.rows, co_next.byte, *all, (int)sizeof table.rows, co_next.byte,
                           0, co_process.world);
        }
    }
    return *all == NULL ? 0 : ranks * ROWS_MAX;
}

size_t co_report_trials_gather(struct co_trial_row **rows)
{
    int64_t setting = co_setting_number(CO_SET_ADAPT);
    *rows = NULL;
    if (setting == CO_NO || (setting == CO_AUTO && co_process.node_count <= 1)) { // on all ranks
        return 0;
    }
    size_t count = collect(rows), kept = 0;
    if (count > 0) {
        qsort(*rows, count, sizeof **rows, compare);
    }
    for (size_t i = 0; i < count; i++) {
        const struct co_trial_row *row = &(*rows)[i];
        if (row->calls == 0) {
            continue;
        }
        if (kept > 0 && compare(&(*rows)[kept - 1], row) == 0) {
            add(&(*rows)[kept - 1], row);
        } else {
            (*rows)[kept++] = *row;
        }
    }
    return kept;
}
