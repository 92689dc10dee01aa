// SPDX-License-Identifier: BSD-3-Clause
//
// Opens and closes a process's view of its node: rank 0 makes the segment, the others map it, all agree, the name
// goes, peers are watched and single copy is probed. On a busy machine each exchange waits for a turn of the processor
// on every rank, so they are few: what was made, who has mapped it, who could copy. Collective, at start and end of the
// job only.
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

// What the ranks of a node tell each other first. The least of each counts: what is the first rank's alone to say is
// most with the others.
enum { STATUS, ENTRIES, TEAM_BYTES, LOANS, CORES, COMPANY, FIRST_WORDS = COMPANY + CO_SHM_COMPANY_WORDS };

static void tell_first(struct co_shm_node *node, const struct co_shm_config *config, const char *name, int *told)
{
    long online = config->cores > 0 ? config->cores : sysconf(_SC_NPROCESSORS_ONLN);
    told[STATUS] = node == NULL ? -ENOMEM : 0;
    told[ENTRIES] = told[TEAM_BYTES] = told[LOANS] = INT_MAX;
    told[CORES] = (int)online;
    if (node != NULL && config->rank == 0) {
        int entries = create(node, name);
        told[STATUS] = entries < 0 ? entries : 0;
        told[ENTRIES] = entries;
        told[TEAM_BYTES] = (int)node->config.team_bytes;
        told[LOANS] = (int)node->plan.loans;
    }
    if (config->company != NULL) {
        config->company->make(config->company->arg, &told[COMPANY]);
    }
}

// After it all have mapped the segment, with what each says of itself, or none goes on.
static int map_segment(struct co_shm_node *node, const char *name, const int *told, int *company_status)
{
    const struct co_shm_config *config = &node->config;
    const struct co_shm_company *company = config->company;

    node->config.team_bytes = (size_t)told[TEAM_BYTES]; // rank 0's, see create
    node->config.staging_bytes = (size_t)told[LOANS] * CO_SHM_LOAN_BYTES;
    node->shares_cores = config->size > told[CORES];
    int status = config->rank == 0 ? 0 : attach(node, name, told[ENTRIES]);
    if (status == 0) {
        introduce_self(node);
    }
    int said[] = {status, company != NULL ? company->map(company->arg, &told[COMPANY]) : 0};
    int error = config->minimum(config->arg, said, 2);
    if (config->rank != 0) {
        node->segment.name[0] = '\0'; // rank 0's to remove; a later job may use the name again
    }
    *company_status = said[1];
    return error != 0 ? error : said[0];
}

static bool is_usable(const struct co_shm_config *config)
{
    return config->size > 0 && config->rank >= 0 && config->rank < config->size && config->team_bytes > 0 &&
           config->team_bytes <= INT_MAX && config->minimum;
}

int co_shm_node_open(struct co_shm_node **out, const struct co_shm_config *config)
{
    if (!is_usable(config)) {
        return -EINVAL;
    }
    char name[CO_SHM_NAME_MAX];
    int told[FIRST_WORDS] = {0}, company_status = 0;
    struct co_shm_node *node = calloc(1, sizeof *node);
    if (node != NULL) {
        node->config = *config;
        long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
        node->cache_bytes = cache > 0 ? (size_t)cache : CACHE_BYTES_USUAL;
    }
    co_shm_segment_name(name, config->job_key, (unsigned)config->node_index);
    tell_first(node, config, name, told);
    int error = config->minimum(config->arg, told, FIRST_WORDS);
    error = error != 0 ? error : told[STATUS];
    if (error == 0) {
        error = map_segment(node, name, told, &company_status);
    }
    if (node != NULL && config->rank == 0) {
        co_shm_segment_unlink(&node->segment);
    }
    if (error == 0) {
        co_counter_raise(CO_COUNT_SHM_FIXED, node->plan.area_offset);
        error = co_shm_single_copy_probe(node, co_shm_peers_open(node));
    }
    if (config->company != NULL) {
        config->company->settle(config->company->arg, error != 0 ? error : company_status);
    }
    if (error != 0) {
        co_shm_node_close(node);
        return error;
    }
    node->config.company = NULL;
    *out = node;
    return 0;
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
