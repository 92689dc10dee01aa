// SPDX-License-Identifier: BSD-3-Clause
//
// Who can take part in a world; see the header.
#include "offload/api/offload_ready.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "offload/little_endian.h"

#define READY_MAGIC UINT64_C(0x3177656f66747363) // "cstfoew1"

enum { RANKS_WITHOUT_MEMORY = 256 }; // of jobs up to that no memory is needed

static void ready_encode(uint8_t out[CO_OFFLOAD_READY_BYTES], const struct co_offload_ready *ready)
{
    memset(out, 0, CO_OFFLOAD_READY_BYTES);
    co_little_endian_put(out, READY_MAGIC, 8);
    co_little_endian_put(out + 8, ready->version, 4);
    co_little_endian_put(out + 12, (uint32_t)-ready->error, 4);
    co_little_endian_put(out + 16, ready->fact_bytes, 4);
    co_little_endian_put(out + 20, ready->verdict_bytes, 4);
}

static bool is_alike(const uint8_t theirs[CO_OFFLOAD_READY_BYTES], const uint8_t first[CO_OFFLOAD_READY_BYTES])
{
    return co_little_endian_get(theirs, 8) == READY_MAGIC && memcmp(theirs, first, 12) == 0 &&
           memcmp(theirs + 16, first + 16, 8) == 0;
}

// All see the same words, and judge alike: that they fit comes first, for else none of them means anything.
static int readies_judge(const uint8_t *all, int size)
{
    for (int i = 0; i < size; i++) {
        if (!is_alike(all + (size_t)i * CO_OFFLOAD_READY_BYTES, all)) {
            return co_offload_fail(-EPROTO, "rank %d has another version of castoff than rank 0", i);
        }
    }
    for (int i = 0; i < size; i++) {
        int error = -(int)(uint32_t)co_little_endian_get(all + (size_t)i * CO_OFFLOAD_READY_BYTES + 12, 4);
        if (error != 0) {
            return co_offload_fail(error, "rank %d cannot take part: %s", i, strerror(-error));
        }
    }
    return 0;
}

int co_offload_ready_tell(const struct castoff_offload_job *job, const struct co_offload_ready *mine)
{
    uint8_t few[RANKS_WITHOUT_MEMORY * CO_OFFLOAD_READY_BYTES], own[CO_OFFLOAD_READY_BYTES];
    uint8_t *all = job->size <= RANKS_WITHOUT_MEMORY ? few : malloc((size_t)job->size * CO_OFFLOAD_READY_BYTES);

    if (all == NULL) {
        return co_offload_fail(-ENOMEM, "no memory");
    }
    ready_encode(own, mine);
    int result = job->allgather(job->arg, own, all, sizeof own);
    int error = result == 0 ? readies_judge(all, job->size)
                            : co_offload_fail(result < 0 ? result : -EIO, "the job's allgather has failed: %d", result);
    if (all != few) {
        free(all);
    }
    return error;
}
