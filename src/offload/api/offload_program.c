// SPDX-License-Identifier: BSD-3-Clause
//
// castoff_offload_open: for a program, which has no settings and no log before that.
#include <errno.h>
#include <pthread.h>

#include "base/log.h"
#include "base/settings.h"
#include "offload/api/offload_world.h"

enum { KEY_MIN = 16, KEY_MAX = 64 };

static bool job_is_good(const struct castoff_offload_job *job)
{
    return job->size > 0 && job->size <= CO_OFFLOAD_JOB_RANKS_MAX && job->rank >= 0 && job->rank < job->size &&
           job->allgather != NULL && (job->key == NULL || (job->key_bytes >= KEY_MIN && job->key_bytes <= KEY_MAX));
}

// Others may be writing lines when one more world is opened.
static void log_open_once(int rank)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool is_open;

    pthread_mutex_lock(&lock);
    if (!is_open) {
        co_log_open(rank);
        is_open = true;
    }
    pthread_mutex_unlock(&lock);
}

int castoff_offload_open(struct castoff_offload_world **out, const struct castoff_offload_job *given)
{
    struct castoff_offload_job job;
    int error = co_offload_given_read(&job, given);
    if (error != 0) {
        return error;
    }
    if (!job_is_good(&job)) {
        return co_offload_fail(-EINVAL, "rank, size, allgather or key of the job cannot be");
    }
    co_settings_load();
    log_open_once(job.rank);
    return co_offload_world_open(out, &job);
}
