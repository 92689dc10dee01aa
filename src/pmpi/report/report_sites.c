// SPDX-License-Identifier: BSD-3-Clause
//
// A small table of addresses in each rank; names are found at the end, because addresses differ between ranks while
// names do not. A full table drops further places: the report is a help for people, not an account.
#include "pmpi/report/report_sites.h"

#include "base/atomics.h"
#include "base/settings.h"
#include "base/stack_trace.h"
#include "pmpi/life/process.h"

#include <stdlib.h>
#include <string.h>

#define SITES_MAX 64

struct site {
    uintptr_t address;
    enum co_call call;
    enum co_reason reason;
    uint64_t calls;
};

static struct {
    struct co_trylock lock;
    bool is_wanted;
    size_t count;
    struct site sites[SITES_MAX];
} table = {.lock = CO_TRYLOCK_INIT};

void co_report_sites_open(bool is_wanted)
{
    table.is_wanted = is_wanted;
}

static void count_locked(struct site site)
{
    for (size_t i = 0; i < table.count; i++) {
        struct site *known = &table.sites[i];
        if (known->address == site.address && known->call == site.call && known->reason == site.reason) {
            known->calls++;
            return;
        }
    }
    if (table.count < SITES_MAX) {
        table.sites[table.count++] = site;
    }
}

void co_report_sites_add(enum co_call call, enum co_reason reason)
{
    if (!table.is_wanted) {
        return;
    }
    struct site site = {co_stack_trace_call_site(), call, reason, 1};
    co_trylock_wait(&table.lock);
    count_locked(site);
    co_trylock_drop(&table.lock);
}

// Rows of all ranks on rank 0, SITES_MAX of each; those without calls are empty.
static size_t collect(struct co_report_site_row *mine, struct co_report_site_row **all)
{
    size_t bytes = SITES_MAX * sizeof *mine;
    size_t ranks = co_process.world == CO_NO_HANDLE ? 1 : (size_t)co_process.size;
    *all = co_process.rank == 0 ? calloc(ranks, bytes) : NULL;
    int possible = co_process.rank != 0 || *all != NULL;
    if (co_process.world == CO_NO_HANDLE) {
        if (*all != NULL) {
            memcpy(*all, mine, bytes);
        }
    } else {
        int everybody = 0;
        co_next.exchange_allreduce(&possible, &everybody, 1, co_next.integer, co_next.minimum, co_process.world);
        if (everybody) {
            co_next.Gather(mine, (int)bytes, co_next.byte, *all, (int)bytes, co_next.byte, 0, co_process.world);
        }
    }
    return *all == NULL ? 0 : ranks * SITES_MAX;
}

static int by_place(const void *left, const void *right)
{
    const struct co_report_site_row *a = left, *b = right;
    int order = strcmp(a->place, b->place);
    order = order != 0 ? order : (int)a->call - (int)b->call;
    return order != 0 ? order : (int)a->reason - (int)b->reason;
}

static int by_calls(const void *left, const void *right)
{
    const struct co_report_site_row *a = left, *b = right;
    return a->calls == b->calls ? by_place(left, right) : a->calls > b->calls ? -1 : 1;
}

// Adds equal rows up; returns how many are left.
static size_t merge(struct co_report_site_row *rows, size_t count)
{
    size_t kept = 0;
    qsort(rows, count, sizeof *rows, by_place);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].calls == 0) {
            continue;
        }
        if (kept > 0 && by_place(&rows[kept - 1], &rows[i]) == 0) {
            rows[kept - 1].calls += rows[i].calls;
        } else {
            rows[kept++] = rows[i];
        }
    }
    qsort(rows, kept, sizeof *rows, by_calls);
    return kept;
}

size_t co_report_sites_gather(struct co_report_site_row **rows)
{
    static struct co_report_site_row mine[SITES_MAX];
    *rows = NULL;
    if (!table.is_wanted) {
        return 0;
    }
    for (size_t i = 0; i < table.count; i++) {
        const struct site *site = &table.sites[i];
        mine[i] = (struct co_report_site_row){.calls = site->calls, .call = site->call, .reason = site->reason};
        co_stack_trace_address_print(site->address, mine[i].place, sizeof mine[i].place);
    }
    size_t count = collect(mine, rows);
    return count == 0 ? 0 : merge(*rows, count);
}
