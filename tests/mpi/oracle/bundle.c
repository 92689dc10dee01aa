// SPDX-License-Identifier: BSD-3-Clause
// Bundles of requests: every completing call of MPI, chosen by chance.
#include "oracle/bundle.h"

#include "oracle/verdict.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct co_bundle_entry *co_bundle_add(struct co_bundle *bundle)
{
    if (bundle->count == CO_BUNDLE_MOST) {
        abort();
    }
    struct co_bundle_entry *entry = &bundle->entries[bundle->count];
    memset(entry, 0, sizeof *entry);
    entry->is_active = true;
    bundle->requests[bundle->count++] = MPI_REQUEST_NULL;
    return entry;
}

void co_bundle_expect(struct co_bundle *bundle, bool holds, const char *what, long first, long second)
{
    if (!holds && bundle->wrong++ < 4) {
        fprintf(stderr, "rank %d: %s: %ld, %ld\n", co_test_rank(), what, first, second);
    }
}

void co_bundle_judge(struct co_bundle *bundle, const struct co_bundle_entry *entry, const MPI_Status *status)
{
    if (status != NULL) {
        int count = -1, cancelled = 1;
        MPI_Get_count(status, MPI_BYTE, &count);
        MPI_Test_cancelled(status, &cancelled);
        co_bundle_expect(bundle, status->MPI_SOURCE == entry->source, "source", status->MPI_SOURCE, entry->source);
        co_bundle_expect(bundle, status->MPI_TAG == entry->tag, "tag", status->MPI_TAG, entry->tag);
        co_bundle_expect(bundle, (size_t)count == entry->bytes, "count", count, (long)entry->bytes);
        co_bundle_expect(bundle, !cancelled, "cancelled", entry->source, entry->tag);
    }
    co_bundle_expect(bundle, co_parcel_holds(&entry->parcel, entry->bytes, entry->seed), "content of tag, bytes",
                     entry->tag, (long)entry->bytes);
}

static void note(struct co_bundle *bundle, int index, const MPI_Status *status)
{
    if (index < 0 || index >= bundle->count || !bundle->entries[index].is_active) {
        co_bundle_expect(bundle, false, "index completed that is not active", index, bundle->count);
        return;
    }
    struct co_bundle_entry *entry = &bundle->entries[index];
    entry->is_active = false;
    bool is_null = bundle->requests[index] == MPI_REQUEST_NULL;
    co_bundle_expect(bundle, is_null != entry->is_persistent, "handle of request", index, is_null);
    if (entry->receives) {
        co_bundle_judge(bundle, entry, status);
    }
}

static int active(const struct co_bundle *bundle)
{
    int count = 0;
    for (int i = 0; i < bundle->count; i++) {
        count += bundle->entries[i].is_active;
    }
    return count;
}

static void note_all(struct co_bundle *bundle, const MPI_Status *statuses)
{
    for (int i = 0; i < bundle->count; i++) {
        if (bundle->entries[i].is_active) {
            note(bundle, i, statuses == NULL ? NULL : &statuses[i]);
        }
    }
}

static void by_waitall(struct co_bundle *bundle)
{
    MPI_Status statuses[CO_BUNDLE_MOST];
    bool ignores = co_parcel_random(bundle->random, 2) == 0;
    MPI_Waitall(bundle->count, bundle->requests, ignores ? MPI_STATUSES_IGNORE : statuses);
    note_all(bundle, ignores ? NULL : statuses);
}

static void by_testall(struct co_bundle *bundle)
{
    MPI_Status statuses[CO_BUNDLE_MOST];
    int flag = 0;
    while (!flag) {
        MPI_Testall(bundle->count, bundle->requests, &flag, statuses);
        if (!flag) {
            sched_yield();
        }
    }
    note_all(bundle, statuses);
}

static void by_any(struct co_bundle *bundle, bool waits)
{
    while (active(bundle) > 0) {
        MPI_Status status;
        int index = MPI_UNDEFINED, flag = 1;
        if (waits) {
            MPI_Waitany(bundle->count, bundle->requests, &index, &status);
        } else {
            MPI_Testany(bundle->count, bundle->requests, &index, &flag, &status);
        }
        if (flag) {
            note(bundle, index, &status);
        } else {
            sched_yield();
        }
        if (flag && index == MPI_UNDEFINED) {
            return;
        }
    }
}

static void by_some(struct co_bundle *bundle, bool waits)
{
    while (active(bundle) > 0) {
        MPI_Status statuses[CO_BUNDLE_MOST];
        int indices[CO_BUNDLE_MOST], count = 0;
        if (waits) {
            MPI_Waitsome(bundle->count, bundle->requests, &count, indices, statuses);
        } else {
            MPI_Testsome(bundle->count, bundle->requests, &count, indices, statuses);
        }
        for (int i = 0; count != MPI_UNDEFINED && i < count; i++) {
            note(bundle, indices[i], &statuses[i]);
        }
        if (count == MPI_UNDEFINED) {
            co_bundle_expect(bundle, false, "no active request", active(bundle), waits);
            return;
        }
        if (count == 0) {
            sched_yield();
        }
    }
}

// From the last to the first, or the other way round.
static void by_one(struct co_bundle *bundle, bool waits)
{
    bool backwards = co_parcel_random(bundle->random, 2) == 0;
    for (int k = 0; k < bundle->count; k++) {
        int i = backwards ? bundle->count - 1 - k : k, flag = 0;
        MPI_Status status;
        if (!bundle->entries[i].is_active) {
            continue;
        }
        while (!waits && !flag) {
            MPI_Test(&bundle->requests[i], &flag, &status);
            if (!flag) {
                sched_yield();
            }
        }
        if (waits) {
            MPI_Wait(&bundle->requests[i], &status);
        }
        note(bundle, i, &status);
    }
}

static void by_looking_first(struct co_bundle *bundle)
{
    for (int i = 0; i < bundle->count; i++) {
        MPI_Status status;
        int flag = 0;
        while (bundle->entries[i].is_active && !flag) {
            MPI_Request_get_status(bundle->requests[i], &flag, &status);
            if (!flag) {
                sched_yield();
            }
        }
        if (flag) {
            MPI_Wait(&bundle->requests[i], MPI_STATUS_IGNORE);
            note(bundle, i, &status);
        }
    }
}

void co_bundle_complete(struct co_bundle *bundle)
{
    switch (co_parcel_random(bundle->random, 9)) {
    case 0:
        by_waitall(bundle);
        break;
    case 1:
        by_testall(bundle);
        break;
    case 2:
    case 3:
        by_any(bundle, co_parcel_random(bundle->random, 2) == 0);
        break;
    case 4:
    case 5:
        by_some(bundle, co_parcel_random(bundle->random, 2) == 0);
        break;
    case 6:
    case 7:
        by_one(bundle, co_parcel_random(bundle->random, 2) == 0);
        break;
    default:
        by_looking_first(bundle);
        break;
    }
    co_bundle_expect(bundle, active(bundle) == 0, "requests left", active(bundle), bundle->count);
}

void co_bundle_clear(struct co_bundle *bundle)
{
    for (int i = 0; i < bundle->count; i++) {
        if (bundle->entries[i].is_persistent) {
            MPI_Request_free(&bundle->requests[i]);
        }
        co_parcel_close(&bundle->entries[i].parcel);
    }
    bundle->count = 0;
}
