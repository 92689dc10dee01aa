// SPDX-License-Identifier: BSD-3-Clause
//
// Nodes of a world; see the header.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "offload/api/offload_nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int boot_read(char boot[40])
{
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return -errno;
    }
    ssize_t bytes = read(file, boot, 36);
    close(file);
    return bytes == 36 ? 0 : -EIO;
}

static int namespace_read(uint64_t *number, const char *path)
{
    struct stat is;
    if (stat(path, &is) != 0) {
        return -errno;
    }
    *number = is.st_ino;
    return 0;
}

int co_offload_fact_read(struct co_offload_fact *fact)
{
    cpu_set_t cores;
    int error = boot_read(fact->boot);

    if (error == 0) {
        error = namespace_read(&fact->networks, "/proc/self/ns/net");
    }
    if (error == 0) {
        error = namespace_read(&fact->process_numbers, "/proc/self/ns/pid");
    }
    fact->process = (uint32_t)getpid();
    if (sched_getaffinity(0, sizeof cores, &cores) == 0) { // else no core is known to be its own
        memcpy(fact->cores, &cores, sizeof fact->cores);
    }
    return error;
}

static bool is_one_node(const struct co_offload_fact *a, const struct co_offload_fact *b)
{
    return memcmp(a->boot, b->boot, sizeof a->boot) == 0 && a->networks == b->networks &&
           a->process_numbers == b->process_numbers;
}

int co_offload_node_first(const struct co_offload_fact *facts, int rank)
{
    int first = 0;
    while (!is_one_node(&facts[first], &facts[rank])) {
        first++; // rank itself, at last
    }
    return first;
}

void co_offload_node_describe(const struct co_offload_fact *facts, int size, int rank, struct co_offload_job *job,
                              struct co_offload_job_rank *ranks)
{
    int own = co_offload_node_first(facts, rank);

    job->proxies = 0;
    job->ranks = (uint32_t)size;
    memset(job->rank_cores, 0, sizeof job->rank_cores);
    for (int i = 0; i < size; i++) {
        int first = co_offload_node_first(facts, i);
        ranks[i] = (struct co_offload_job_rank){.proxy = first == i ? job->proxies : ranks[first].proxy,
                                                .process = first == own ? facts[i].process : 0};
        job->proxies += first == i;
        for (int byte = 0; first == own && byte < CO_OFFLOAD_CORE_BYTES; byte++) {
            job->rank_cores[byte] |= facts[i].cores[byte];
        }
    }
    job->self = ranks[own].proxy;
}
