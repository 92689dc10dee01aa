// SPDX-License-Identifier: BSD-3-Clause
//
// The file behind the counters of this process, and what a reader makes of such a file. Cold.
#define _GNU_SOURCE // memfd_create
#include "base/live_counters.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/counters.h"
#include "base/descriptors.h"
#include "base/fnv.h"

#define LIVE_MAGIC UINT64_C(0x736574616f66666f) // "offoates": no text, so that no text is taken for it
#define LIVE_VERSION 1

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

struct live_head {
    uint64_t magic;
    uint32_t version, names, counters;
    int32_t pid, rank, ranks;
    uint64_t started_ns;
    char job[CO_LIVE_JOB_BYTES];
};

_Static_assert(sizeof(struct live_head) == 40 + CO_LIVE_JOB_BYTES, "layout of the head");
_Static_assert(offsetof(struct live_head, started_ns) == 32, "layout of the head");
_Static_assert(sizeof(struct live_head) <= CO_COUNTER_PAGE, "the head has a page");
_Static_assert(sizeof co_counter_values % CO_COUNTER_PAGE == 0, "the values have pages of their own");

static int live_file = -1;
static struct co_descriptor_file live_memory; // behind it

// Two castoffs with the same digest count the same things in the same order.
static uint32_t digest_names(void)
{
    uint32_t digest = CO_FNV_32;
    for (int i = 0; i < CO_COUNTER_COUNT; i++) {
        const char *name = co_counter_row((enum co_counter_id)i)->name;
        digest = co_fnv_32(digest, name, strlen(name) + 1);
    }
    return digest;
}

static bool write_whole(int file, const void *from, size_t bytes, off_t at)
{
    return pwrite(file, from, bytes, at) == (ssize_t)bytes; // memory: all or, without any, an error
}

static int fill(int file, const struct live_head *head)
{
    const off_t bytes = CO_COUNTER_PAGE + (off_t)sizeof co_counter_values;
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < (rlim_t)bytes) {
        return -EFBIG; // else a signal ended the process
    }
    if (ftruncate(file, bytes) != 0) {
        return -errno;
    }
    if (!write_whole(file, head, sizeof *head, 0) ||
        !write_whole(file, co_counter_values, sizeof co_counter_values, CO_COUNTER_PAGE)) {
        return errno != 0 ? -errno : -EIO;
    }
    void *place = mmap((void *)co_counter_values, sizeof co_counter_values, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_FIXED, file, CO_COUNTER_PAGE);
    if (place == MAP_FAILED) {
        return -errno; // the pages are as they were, or the kernel's promise is void
    }
    // Sealed before anybody is told: who could shrink the file would end the process by a signal.
    if (fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
        return -errno;
    }
    fcntl(file, F_ADD_SEALS, F_SEAL_FUTURE_WRITE); // an older kernel has no such seal
    fcntl(file, F_ADD_SEALS, F_SEAL_SEAL);
    return 0;
}

// The pages as memory of this process alone, with what it has counted if that can be had.
static void make_private(bool keeps)
{
    uint64_t values[CO_COUNTER_COUNT];
    for (int i = 0; i < CO_COUNTER_COUNT; i++) {
        values[i] = keeps ? co_counter_read((enum co_counter_id)i) : 0;
    }
    void *place = mmap((void *)co_counter_values, sizeof co_counter_values, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    for (int i = 0; place != MAP_FAILED && i < CO_COUNTER_COUNT; i++) {
        co_store_relaxed(&co_counter_values[i], values[i]); // relaxed: a statistic
    }
}

int co_live_counters_open(const char *job, int rank, int ranks, uint64_t started_ns)
{
    struct live_head head = {.magic = LIVE_MAGIC,
                             .version = LIVE_VERSION,
                             .names = digest_names(),
                             .counters = CO_COUNTER_COUNT,
                             .pid = getpid(),
                             .rank = rank,
                             .ranks = ranks,
                             .started_ns = started_ns};
    if (live_file >= 0) {
        return -EALREADY;
    }
    if (CO_COUNTER_PAGE % sysconf(_SC_PAGESIZE) != 0 || (uintptr_t)co_counter_values % CO_COUNTER_PAGE != 0) {
        return -ENOTSUP;
    }
    memccpy(head.job, job, '\0', sizeof head.job - 1);
    int file = memfd_create(CO_LIVE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0) {
        return -errno;
    }
    int error = fill(file, &head);
    error = error == 0 ? co_descriptor_note(file, &live_memory) : error;
    if (error != 0) {
        make_private(true);
        close(file);
        return error;
    }
    live_file = file;
    return 0;
}

static void close_file(void)
{
    if (live_file >= 0 && co_descriptor_is_of(live_file, &live_memory)) { // else the program has closed it
        close(live_file);
    }
    live_file = -1;
}

void co_live_counters_close(void)
{
    if (live_file >= 0) {
        make_private(true);
        close_file();
    }
}

void co_live_counters_leave(void)
{
    if (live_file >= 0) {
        make_private(false);
        close_file();
    }
}

int co_live_counters_read(int file, struct co_live_counters *out)
{
    struct live_head head;
    if (pread(file, &head, sizeof head, 0) != (ssize_t)sizeof head || head.magic != LIVE_MAGIC) {
        return -EPROTO;
    }
    if (head.version != LIVE_VERSION || head.counters != CO_COUNTER_COUNT || head.names != digest_names()) {
        return -ESTALE;
    }
    if (pread(file, out->values, sizeof out->values, CO_COUNTER_PAGE) != (ssize_t)sizeof out->values) {
        return -EPROTO;
    }
    out->pid = head.pid;
    out->rank = head.rank;
    out->ranks = head.ranks;
    out->started_ns = head.started_ns;
    memcpy(out->job, head.job, sizeof out->job);
    out->job[sizeof out->job - 1] = '\0';
    return 0;
}
