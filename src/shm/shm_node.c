// SPDX-License-Identifier: BSD-3-Clause
//
// Opens and closes a process's view of its node: rank 0 makes the segment, the others map it, all agree, the name
// goes, peers are watched and single copy is probed. Collective, at start and end of the job only.
#include "shm/shm_node.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/counters.h"
#include "base/log.h"

#define CACHE_BYTES_USUAL ((size_t)32 << 20) // where the system does not tell

static void set_pointers(struct co_shm_node *node)
{
    char *base = node->segment.base;

    node->header = (struct co_shm_header *)base;
    node->processes = (struct co_shm_process *)(base + node->plan.process_offset);
    node->entries = (struct co_shm_entry *)(base + node->plan.entry_offset);
    node->loans = (struct co_shm_loan *)(base + node->plan.loan_offset);
    node->areas = base + node->plan.area_offset;
    // A core file need not hold gigabytes of holes.
    madvise(base, node->segment.bytes, MADV_DONTDUMP);
}

static int fill_header(struct co_shm_node *node)
{
    struct co_shm_header *header = node->header;
    int error = co_shm_directory_init(header);

    header->version = CO_SHM_VERSION;
    header->size = (uint32_t)node->config.size;
    header->team_bytes = node->config.team_bytes;
    header->area_bytes = node->plan.area_bytes;
    header->loans = node->plan.loans;
    header->entries = node->plan.entries;
    header->magic = CO_SHM_MAGIC;
    return error;
}

// Tries one size of directory after the other. 0, or -ENOSPC when even `least` entries do not fit.
static int create_within(struct co_shm_node *node, const char *name, size_t least)
{
    int error = -ENOSPC;

    for (size_t entries = CO_SHM_ENTRIES_MAX; entries >= least && error == -ENOSPC; entries /= 2) {
        co_shm_plan_compute(&node->plan, node->config.size, node->config.team_bytes, node->config.staging_bytes,
                            entries);
        error = co_shm_segment_create(&node->segment, name, node->plan.bytes,
                                      (size_t)node->config.size * CO_SHM_NATIVE_BYTES);
    }
    return error;
}

// A small /dev/shm (64 MiB in most containers) gets smaller teams rather than few, and few only in the end; what can be
// lent goes last. Returns the number of entries or -errno.
static int create(struct co_shm_node *node, const char *name)
{
    int error = create_within(node, name, CO_SHM_ENTRIES_GOOD);

    while (error == -ENOSPC && node->config.team_bytes > CO_SHM_TEAM_SMALL) {
        node->config.team_bytes /= 2;
        error = create_within(node, name, CO_SHM_ENTRIES_GOOD);
    }
    if (error == -ENOSPC) {
        error = create_within(node, name, CO_SHM_ENTRIES_MIN);
    }
    while (error == -ENOSPC && node->config.staging_bytes > 0) {
        size_t less = node->config.staging_bytes / 2;
        node->config.staging_bytes = less >= CO_SHM_LOAN_BYTES ? less : 0;
        error = create_within(node, name, CO_SHM_ENTRIES_MIN);
    }
    if (error == 0) {
        error =
            co_shm_segment_touch(node->segment.base, node->plan.area_offset); // before a store meets a full /dev/shm
    }
    if (error == 0) {
        set_pointers(node);
        error = fill_header(node);
    }
    return error != 0 ? error : (int)node->plan.entries;
}

static int attach(struct co_shm_node *node, const char *name, int entries)
{
    co_shm_plan_compute(&node->plan, node->config.size, node->config.team_bytes, node->config.staging_bytes,
                        (size_t)entries);
    int error = co_shm_segment_attach(&node->segment, name, node->plan.bytes);
    if (error != 0) {
        return error;
    }
    set_pointers(node);
    const struct co_shm_header *header = node->header;
    bool fits = header->magic == CO_SHM_MAGIC && header->version == CO_SHM_VERSION &&
                header->size == (uint32_t)node->config.size && header->team_bytes == node->config.team_bytes &&
                header->area_bytes == node->plan.area_bytes && header->loans == node->plan.loans &&
                header->entries == node->plan.entries;
    return fits ? 0 : -EPROTO;
}

// The least of all results, with our own failure kept when the exchange itself fails.
static int agree(const struct co_shm_node *node, int mine)
{
    return node->config.all_agree(node->config.arg, mine);
}

static int map_segment(struct co_shm_node *node)
{
    const struct co_shm_config *config = &node->config;
    char name[CO_SHM_NAME_MAX];

    co_shm_segment_name(name, config->job_key, (unsigned)config->node_index);
    int entries = agree(node, config->rank == 0 ? create(node, name) : INT_MAX);
    if (entries < 0) {
        return entries;
    }
    int team_bytes = agree(node, config->rank == 0 ? (int)config->team_bytes : INT_MAX); // rank 0's, see create
    if (team_bytes < 0) {
        return team_bytes;
    }
    node->config.team_bytes = (size_t)team_bytes;
    int loans = agree(node, config->rank == 0 ? (int)node->plan.loans : INT_MAX); // rank 0's too
    if (loans < 0) {
        return loans;
    }
    node->config.staging_bytes = (size_t)loans * CO_SHM_LOAN_BYTES;
    int error = agree(node, config->rank == 0 ? 0 : attach(node, name, entries));
    if (config->rank == 0) {
        co_shm_segment_unlink(&node->segment);
    } else {
        node->segment.name[0] = '\0'; // rank 0's to remove; a later job may use the name again
    }
    return error;
}

static void introduce_self(struct co_shm_node *node)
{
    struct co_shm_process *self = &node->processes[node->config.rank];
    struct stat state;

    self->pid = (uint64_t)getpid();
    self->pid_namespace = stat("/proc/self/ns/pid", &state) == 0 ? (uint64_t)state.st_ino : 0;
    self->started = co_shm_peers_started();
    node->probe_word = node->config.job_key * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)node->config.rank + 1;
    self->probe_address = (uint64_t)(uintptr_t)&node->probe_word;
    self->probe_value = node->probe_word;
}

static bool is_usable(const struct co_shm_config *config)
{
    return config->size > 0 && config->rank >= 0 && config->rank < config->size && config->team_bytes > 0 &&
           config->team_bytes <= INT_MAX && config->barrier && config->all_agree;
}

int co_shm_node_open(struct co_shm_node **out, const struct co_shm_config *config)
{
    if (!is_usable(config)) {
        return -EINVAL;
    }
    struct co_shm_node *node = calloc(1, sizeof *node);
    int error = config->all_agree(config->arg, node ? 0 : -ENOMEM);
    if (error != 0) {
        free(node);
        return error;
    }
    node->config = *config;
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    node->cache_bytes = cache > 0 ? (size_t)cache : CACHE_BYTES_USUAL;
    error = map_segment(node);
    if (error != 0) {
        goto failed;
    }
    co_counter_raise(CO_COUNT_SHM_FIXED, node->plan.area_offset);
    introduce_self(node);
    error = config->barrier(config->arg);
    if (error == 0) {
        error = agree(node, co_shm_peers_open(node));
    }
    if (error == 0) {
        error = co_shm_single_copy_probe(node);
    }
    if (error != 0) {
        goto failed;
    }
    *out = node;
    return 0;
failed:
    co_shm_node_close(node);
    return error;
}

void co_shm_node_close(struct co_shm_node *node)
{
    if (!node) {
        return;
    }
    co_shm_single_copy_end(node);
    co_shm_peers_close(node);
    co_shm_segment_close(&node->segment);
    free(node);
}

int co_shm_node_try(int ranks, uint64_t key, size_t team_bytes)
{
    struct co_shm_node node = {.config.size = ranks};
    char name[CO_SHM_NAME_MAX];

    node.config.team_bytes = team_bytes < CO_SHM_TEAM_SMALL ? team_bytes : CO_SHM_TEAM_SMALL;
    co_shm_segment_name(name, key, 0);
    int error = create_within(&node, name, CO_SHM_ENTRIES_MIN);
    if (error == 0) {
        co_shm_segment_close(&node.segment);
    }
    return error;
}
