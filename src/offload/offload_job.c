// SPDX-License-Identifier: BSD-3-Clause
//
// A job for a proxy; see the header.
#include "offload/offload_job.h"

#include <errno.h>
#include <string.h>

#include "offload/little_endian.h"

#define JOB_MAGIC UINT64_C(0x33626f6a66747363)       // "cstfjob3"
#define STARTED_MAGIC UINT64_C(0x3179647266747363)   // "cstfrdy1"
#define CONNECTED_MAGIC UINT64_C(0x316e6f6366747363) // "cstfcon1"
#define ERRNO_MAX 4095
#define AUTH_MAX 2
#define PROCESS_MAX ((uint32_t)INT32_MAX)

// A text has its end inside, and zeros behind it.
static void text_put(uint8_t *out, const char *text, size_t room)
{
    size_t length = strnlen(text, room - 1);
    memset(out, 0, room);
    memcpy(out, text, length);
}

static bool text_get(char *text, const uint8_t *bytes, size_t room)
{
    size_t length = strnlen((const char *)bytes, room);
    memcpy(text, bytes, room);
    for (size_t i = length; i < room; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return length < room;
}

void co_offload_job_encode(uint8_t out[CO_OFFLOAD_JOB_BYTES], const struct co_offload_job *job)
{
    co_little_endian_put(out, JOB_MAGIC, 8);
    co_little_endian_put(out + 8, job->self, 4);
    co_little_endian_put(out + 12, job->proxies, 4);
    co_little_endian_put(out + 16, job->ranks, 4);
    co_little_endian_put(out + 20, job->lend, 4);
    co_little_endian_put(out + 24, job->groups_max, 4);
    co_little_endian_put(out + 28, job->ends_max, 4);
    co_little_endian_put(out + 32, job->staging_bytes, 8);
    memcpy(out + 40, job->key, CO_OFFLOAD_KEY_BYTES);
    co_little_endian_put(out + 72, job->has_cores, 4);
    co_little_endian_put(out + 76, job->auth, 4);
    memcpy(out + 80, job->cores, CO_OFFLOAD_CORE_BYTES);
    memcpy(out + 208, job->rank_cores, CO_OFFLOAD_CORE_BYTES);
    text_put(out + 336, job->place, CO_OFFLOAD_PLACE_BYTES);
    co_little_endian_put(out + 400, job->deadline_ns, 8);
    co_little_endian_put(out + 408, job->first_number, 8);
    co_little_endian_put(out + 416, job->sources, 4);
}

int co_offload_job_decode(struct co_offload_job *out, const uint8_t bytes[CO_OFFLOAD_JOB_BYTES])
{
    uint64_t has_cores = co_little_endian_get(bytes + 72, 4);
    struct co_offload_job job = {.self = (uint32_t)co_little_endian_get(bytes + 8, 4),
                                 .proxies = (uint32_t)co_little_endian_get(bytes + 12, 4),
                                 .ranks = (uint32_t)co_little_endian_get(bytes + 16, 4),
                                 .lend = (uint32_t)co_little_endian_get(bytes + 20, 4),
                                 .groups_max = (uint32_t)co_little_endian_get(bytes + 24, 4),
                                 .ends_max = (uint32_t)co_little_endian_get(bytes + 28, 4),
                                 .staging_bytes = co_little_endian_get(bytes + 32, 8),
                                 .auth = (uint32_t)co_little_endian_get(bytes + 76, 4),
                                 .deadline_ns = co_little_endian_get(bytes + 400, 8),
                                 .first_number = co_little_endian_get(bytes + 408, 8),
                                 .sources = (uint32_t)co_little_endian_get(bytes + 416, 4),
                                 .has_cores = has_cores == 1};

    memcpy(job.key, bytes + 40, CO_OFFLOAD_KEY_BYTES);
    memcpy(job.cores, bytes + 80, CO_OFFLOAD_CORE_BYTES);
    memcpy(job.rank_cores, bytes + 208, CO_OFFLOAD_CORE_BYTES);
    if (co_little_endian_get(bytes, 8) != JOB_MAGIC || job.ranks == 0 || job.ranks > CO_OFFLOAD_JOB_RANKS_MAX ||
        job.proxies == 0 || job.proxies > job.ranks || job.self >= job.proxies || job.lend > CO_OFFLOAD_LEND_STAGE ||
        job.groups_max == 0 || job.ends_max == 0 || has_cores > 1 || job.auth > AUTH_MAX || job.deadline_ns == 0 ||
        !text_get(job.place, bytes + 336, CO_OFFLOAD_PLACE_BYTES) || (job.proxies > 1) != (job.place[0] != '\0')) {
        return -EPROTO;
    }
    *out = job;
    return 0;
}

void co_offload_job_rank_encode(uint8_t out[CO_OFFLOAD_JOB_RANK_BYTES], const struct co_offload_job_rank *rank)
{
    co_little_endian_put(out, rank->proxy, 4);
    co_little_endian_put(out + 4, rank->process, 4);
}

int co_offload_job_rank_decode(struct co_offload_job_rank *out, const uint8_t bytes[CO_OFFLOAD_JOB_RANK_BYTES],
                               const struct co_offload_job *job)
{
    struct co_offload_job_rank rank = {.proxy = (uint32_t)co_little_endian_get(bytes, 4),
                                       .process = (uint32_t)co_little_endian_get(bytes + 4, 4)};

    if (rank.proxy >= job->proxies || rank.process > PROCESS_MAX || (rank.proxy == job->self) != (rank.process != 0)) {
        return -EPROTO;
    }
    *out = rank;
    return 0;
}

void co_offload_started_encode(uint8_t out[CO_OFFLOAD_STARTED_BYTES], const struct co_offload_started *started)
{
    memset(out, 0, CO_OFFLOAD_STARTED_BYTES);
    co_little_endian_put(out, STARTED_MAGIC, 8);
    co_little_endian_put(out + 8, started->error, 4);
    co_little_endian_put(out + 12, started->process, 4);
    co_little_endian_put(out + 16, started->cores, 4);
    co_little_endian_put(out + 20, started->port, 2);
    text_put(out + 24, started->name, CO_LOCAL_NAME_MAX);
}

int co_offload_started_decode(struct co_offload_started *out, const uint8_t bytes[CO_OFFLOAD_STARTED_BYTES])
{
    struct co_offload_started started = {.error = (uint32_t)co_little_endian_get(bytes + 8, 4),
                                         .process = (uint32_t)co_little_endian_get(bytes + 12, 4),
                                         .cores = (uint32_t)co_little_endian_get(bytes + 16, 4),
                                         .port = (uint16_t)co_little_endian_get(bytes + 20, 2)};

    if (co_little_endian_get(bytes, 8) != STARTED_MAGIC || co_little_endian_get(bytes + 22, 2) != 0 ||
        started.error > ERRNO_MAX || started.process == 0 || started.process > PROCESS_MAX ||
        !text_get(started.name, bytes + 24, CO_LOCAL_NAME_MAX) || (started.error == 0) != (started.name[0] != '\0')) {
        return -EPROTO;
    }
    *out = started;
    return 0;
}

void co_offload_peer_encode(uint8_t out[CO_OFFLOAD_PEER_BYTES], const struct co_offload_peer *peer)
{
    text_put(out, peer->host, CO_OFFLOAD_PLACE_BYTES);
    text_put(out + CO_OFFLOAD_PLACE_BYTES, peer->place, CO_OFFLOAD_PLACE_BYTES);
}

int co_offload_peer_decode(struct co_offload_peer *out, const uint8_t bytes[CO_OFFLOAD_PEER_BYTES])
{
    struct co_offload_peer peer;

    if (!text_get(peer.host, bytes, CO_OFFLOAD_PLACE_BYTES) ||
        !text_get(peer.place, bytes + CO_OFFLOAD_PLACE_BYTES, CO_OFFLOAD_PLACE_BYTES) || peer.place[0] == '\0') {
        return -EPROTO;
    }
    *out = peer;
    return 0;
}

void co_offload_connected_encode(uint8_t out[CO_OFFLOAD_CONNECTED_BYTES], const struct co_offload_connected *connected)
{
    co_little_endian_put(out, CONNECTED_MAGIC, 8);
    co_little_endian_put(out + 8, connected->error, 8);
    text_put(out + 16, connected->why, CO_OFFLOAD_CONNECTED_WHY);
}

int co_offload_connected_decode(struct co_offload_connected *out, const uint8_t bytes[CO_OFFLOAD_CONNECTED_BYTES])
{
    struct co_offload_connected connected = {.error = (uint32_t)co_little_endian_get(bytes + 8, 4)};

    if (co_little_endian_get(bytes, 8) != CONNECTED_MAGIC || co_little_endian_get(bytes + 8, 8) > ERRNO_MAX ||
        !text_get(connected.why, bytes + 16, CO_OFFLOAD_CONNECTED_WHY)) {
        return -EPROTO;
    }
    *out = connected;
    return 0;
}
