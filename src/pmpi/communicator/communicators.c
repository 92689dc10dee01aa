// SPDX-License-Identifier: BSD-3-Clause
//
// An open-addressing table under a short lock, with a cache of one entry for each thread in front: a program that
// stays on one communicator pays two compares. The generation invalidates all caches when the table changes.
#include "pmpi/communicator/communicators.h"

#include "engine/decide/meetings.h"
#include "p2p/p2p.h"
#include "pmpi/communicator/communicator_proxies.h"
#include "pmpi/life/process.h"
#include "pmpi/report/report_trials.h"

#include <errno.h>
#include <stdlib.h>

#define CELLS_MIN 64

static struct {
    struct co_trylock lock;
    struct co_communicator **cells;
    size_t mask, used;
} table = {.lock = CO_TRYLOCK_INIT};

// Every change of the table is a new one; the first entry makes it 1, so that a fresh cache never matches.
_Atomic unsigned co_communicators_generation;

_Thread_local struct co_communicators_cache co_communicators_cache __attribute__((tls_model("initial-exec")));

static size_t cell_of(MPI_Comm comm)
{
    return (size_t)CO_HANDLE_HASH(comm) & table.mask;
}

static struct co_communicator *find_locked(MPI_Comm comm)
{
    if (table.cells == NULL) {
        return NULL;
    }
    for (size_t i = cell_of(comm); table.cells[i] != NULL; i = (i + 1) & table.mask) {
        if (table.cells[i]->comm == comm) {
            return table.cells[i];
        }
    }
    return NULL;
}

struct co_communicator *co_communicators_find_slowly(MPI_Comm comm, unsigned generation)
{
    co_trylock_wait(&table.lock);
    struct co_communicator *entry = find_locked(comm);
    co_trylock_drop(&table.lock);
    co_communicators_cache = (struct co_communicators_cache){comm, entry, generation};
    return entry;
}

static void insert_locked(struct co_communicator *entry)
{
    size_t i = cell_of(entry->comm);
    while (table.cells[i] != NULL) {
        i = (i + 1) & table.mask;
    }
    table.cells[i] = entry;
}

static int grow_locked(void)
{
    size_t count = table.cells == NULL ? CELLS_MIN : 2 * (table.mask + 1);
    struct co_communicator **old = table.cells;
    size_t old_count = old == NULL ? 0 : table.mask + 1;
    struct co_communicator **cells = calloc(count, sizeof(struct co_communicator *));
    if (cells == NULL) {
        return -ENOMEM;
    }
    table.cells = cells;
    table.mask = count - 1;
    for (size_t i = 0; i < old_count; i++) {
        if (old[i] != NULL) {
            insert_locked(old[i]);
        }
    }
    free(old);
    return 0;
}

int co_communicators_add(struct co_communicator *entry)
{
    int error = 0;
    co_trylock_wait(&table.lock);
    if (table.cells == NULL || 2 * (table.used + 1) > table.mask) {
        error = grow_locked();
    }
    if (error == 0) {
        co_store_relaxed(&entry->holders, 1); // relaxed: published by the lock
        insert_locked(entry);
        table.used++;
        co_add_acq_rel(&co_communicators_generation, 1); // release C1
    }
    co_trylock_drop(&table.lock);
    return error;
}

// Closes the hole at cell i by moving up what would not be found across it.
static void fill_hole_locked(size_t hole)
{
    for (size_t i = (hole + 1) & table.mask; table.cells[i] != NULL; i = (i + 1) & table.mask) {
        size_t home = cell_of(table.cells[i]->comm);
        if (((i - home) & table.mask) >= ((i - hole) & table.mask)) {
            table.cells[hole] = table.cells[i];
            hole = i;
        }
    }
    table.cells[hole] = NULL;
}

static void take_out_locked(struct co_communicator *entry)
{
    for (size_t i = cell_of(entry->comm); table.cells[i] != NULL; i = (i + 1) & table.mask) {
        if (table.cells[i] == entry) {
            fill_hole_locked(i);
            table.used--;
            co_add_acq_rel(&co_communicators_generation, 1); // release C1
            return;
        }
    }
}

static void close_entry(struct co_communicator *entry)
{
    if (entry->messages != NULL) {
        co_p2p_context_close(entry->messages); // the pointer stays, for persistent requests, which hold the context
    }
    if (entry->seed.facts.has_proxies) {
        co_communicator_drop_proxies(entry);
    }
    if (entry->team != NULL) {
        co_report_trials_add(entry);
        co_team_close(entry->team);
        entry->team = NULL;
    } else {
        co_team_seed_close(&entry->seed, co_process.engine);
    }
    co_meetings_close(entry->meetings);
    entry->meetings = NULL;
    entry->comm = co_next.comm_null;
    co_communicator_drop(entry);
}

void co_communicators_remove(struct co_communicator *entry)
{
    co_trylock_wait(&table.lock);
    take_out_locked(entry);
    co_trylock_drop(&table.lock);
    close_entry(entry);
}

void co_communicators_remove_all(void)
{
    co_trylock_wait(&table.lock);
    struct co_communicator **cells = table.cells;
    size_t count = cells == NULL ? 0 : table.mask + 1;
    table.cells = NULL;
    table.mask = table.used = 0;
    co_add_acq_rel(&co_communicators_generation, 1); // release C1
    co_trylock_drop(&table.lock);
    for (size_t i = 0; i < count; i++) {
        if (cells[i] != NULL) {
            close_entry(cells[i]);
        }
    }
    free(cells);
}
