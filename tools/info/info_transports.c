// SPDX-License-Identifier: BSD-3-Clause
//
// Probes of the transports for `castoff info`: the same doors that the library uses, opened and closed again. Cold.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // process_vm_readv
#endif
#include "info_transports.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/settings.h"
#include "engine/engine.h"
#include "shm/shm.h"
#include "transport/udp/udp.h"
#include "transport/verbs.h"

// Lets everyone copy from it, says so, and stays until the pipe to it closes.
static void be_copied_from(int ready, int stay)
{
    char byte = 'r';
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); // as ranks do; matters under Yama only
    if (write(ready, &byte, 1) == 1) {
        (void)!read(stay, &byte, 1);
    }
    _exit(0);
}

// A sibling, not the parent: parents are allowed more.
static int copy_as_sibling(pid_t target, const void *address)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)address, 1};
        _exit(process_vm_readv(target, &here, 1, &there, 1, 0) == 1 ? 0 : errno);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0) {
        return errno;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM; // killed: a filter that does not argue
}

static int probe_single_copy(void)
{
    static const char there = 'x';
    int ready[2], stay[2];
    char byte;
    if (pipe2(ready, O_CLOEXEC)) {
        return errno;
    }
    if (pipe2(stay, O_CLOEXEC)) {
        int failed = errno;
        close(ready[0]);
        close(ready[1]);
        return failed;
    }
    pid_t target = fork();
    if (target == 0) {
        close(stay[1]);
        be_copied_from(ready[1], stay[0]);
    }
    close(ready[1]);
    int failed = target > 0 && read(ready[0], &byte, 1) == 1 ? copy_as_sibling(target, &there) : EAGAIN;
    close(ready[0]);
    close(stay[0]);
    close(stay[1]);
    if (target > 0) {
        waitpid(target, NULL, 0);
    }
    return failed;
}

// A rank for each core, or as many as there is room for.
static int find_ranks(int *ranks)
{
    uint64_t key = co_clock_now_ns() ^ (uint64_t)getpid() << 40;
    size_t team_bytes = (size_t)co_setting_number(CO_SET_SHM_TEAM);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int failed = 0;
    for (*ranks = cores > 2 ? (int)cores : 2; *ranks >= 2; --*ranks) {
        failed = co_shm_node_try(*ranks, key, team_bytes);
        if (failed != -ENOSPC) {
            return failed;
        }
    }
    return failed;
}

static void probe_shm(struct co_transport_state *state)
{
    struct statvfs space;
    int ranks, failed = find_ranks(&ranks);
    bool is_known = statvfs("/dev/shm", &space) == 0;
    double free_mib = is_known ? (double)space.f_bavail * (double)space.f_frsize / (1024 * 1024) : 0;
    state->is_usable = failed == 0;
    if (failed) {
        snprintf(state->detail, sizeof state->detail, "no segment can be made in /dev/shm: %s", strerror(-failed));
        if (failed == -ENOSPC && is_known) {
            snprintf(state->detail, sizeof state->detail,
                     "/dev/shm has %.0f MiB free, too little for two ranks beside native MPI's own", free_mib);
        }
        return;
    }
    size_t used = (size_t)snprintf(state->detail, sizeof state->detail, "/dev/shm is writable");
    if (is_known) {
        used += (size_t)snprintf(state->detail + used, sizeof state->detail - used,
                                 ", %.0f MiB free, enough for %d ranks here", free_mib, ranks);
    }
    failed = probe_single_copy();
    snprintf(state->detail + used, sizeof state->detail - used,
             failed ? "; no single copy (process_vm_readv: %s)%s" : "; single copy by process_vm_readv%s%s",
             failed ? strerror(failed) : "", failed == EPERM ? ", as in many containers" : "");
}

// Messages between ranks of a node go through rings in shared memory.
static void probe_messages(struct co_transport_state *state)
{
    int ranks = co_messages_ranks_most();
    if (ranks < 2) {
        snprintf(state->detail, sizeof state->detail, "CASTOFF_P2P_MEMORY=%s has no rings for two ranks",
                 co_setting_text(CO_SET_P2P_MEMORY));
        return;
    }
    int failed = co_messages_try(2, co_clock_now_ns() ^ (uint64_t)getpid() << 40);
    state->is_usable = failed == 0;
    if (failed) {
        snprintf(state->detail, sizeof state->detail, "no rings in /dev/shm for two ranks: %s", strerror(-failed));
        return;
    }
    failed = probe_single_copy();
    snprintf(state->detail, sizeof state->detail, "messages inside a node of up to %d ranks, large ones %s", ranks,
             failed ? "in pieces, for no process may read another's memory"
                    : "in pieces up to CASTOFF_P2P_STREAM, above by single copy");
}

static long read_limit(const char *path)
{
    FILE *file = fopen(path, "r");
    long value = -1;
    if (file) {
        if (fscanf(file, "%ld", &value) != 1) {
            value = -1;
        }
        fclose(file);
    }
    return value;
}

static int open_udp(struct co_transport **udp, uint32_t near_ip, struct co_udp_address *mine, char *why,
                    size_t why_room)
{
    struct co_udp_config config;
    co_network_udp_config(&config, co_clock_now_ns() ^ (uint64_t)getpid() << 40);
    config.near_ip = near_ip;
    return co_udp_open(udp, &config, mine, why, why_room);
}

static void probe_udp(struct co_transport_state *state, uint32_t near_ip)
{
    struct co_transport *udp;
    struct co_udp_address mine;
    char why[256] = "";
    int failed = open_udp(&udp, near_ip, &mine, why, sizeof why);
    failed = failed ? failed : udp->ops->join(udp, 0);
    state->is_usable = failed == 0;
    if (failed) {
        snprintf(state->detail, sizeof state->detail, "%s", *why ? why : strerror(-failed));
        return;
    }
    co_udp_describe(udp, state->detail, 256);
    udp->ops->close(udp);
    size_t used = strlen(state->detail);
    snprintf(state->detail + used, sizeof state->detail - used,
             "; net.core.rmem_max %ld, wmem_max %ld, igmp_max_memberships %ld",
             read_limit("/proc/sys/net/core/rmem_max"), read_limit("/proc/sys/net/core/wmem_max"),
             read_limit("/proc/sys/net/ipv4/igmp_max_memberships"));
}

static void count_nothing(enum co_verbs_count what, uint64_t number)
{
    (void)what;
    (void)number;
}

static void say_nothing(const char *text)
{
    (void)text;
}

// The device of the interface that UDP would take, opened and joined as a job does.
static void try_device(struct co_transport_state *state, const struct co_verbs_module *module)
{
    struct co_transport *udp, *verbs;
    struct co_udp_address mine;
    struct co_verbs_address address;
    char *why = state->detail;
    size_t room = sizeof state->detail;
    if (open_udp(&udp, 0, &mine, why, room) != 0) {
        return;
    }
    struct co_verbs_config config = {.device = co_setting_text(CO_SET_VERBS_DEVICE),
                                     .own_ip = mine.ip,
                                     .first_group_ip = co_udp_first_group(udp),
                                     .subgroups = (unsigned)co_setting_number(CO_SET_UDP_SUBGROUPS),
                                     .receive_bytes = (size_t)co_setting_number(CO_SET_VERBS_RECEIVE),
                                     .join_ns = (uint64_t)co_setting_number(CO_SET_VERBS_JOIN),
                                     .count = count_nothing,
                                     .warn = say_nothing};
    state->is_usable = module->open(&verbs, &config, &address, why, room) == 0;
    if (state->is_usable) {
        module->describe(verbs, why, room);
        verbs->ops->close(verbs);
    }
    udp->ops->close(udp);
}

// What is there, a device in a clause, behind what was found by trying.
static void probe_verbs(struct co_transport_state *state)
{
    char devices[256] = "";
    const struct co_verbs_module *module = co_verbs_load(state->detail, sizeof state->detail);
    if (module == NULL) {
        return;
    }
    try_device(state, module);
    module->list(devices, sizeof devices);
    size_t used = strlen(state->detail);
    for (char *line = strtok(devices, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        used += (size_t)snprintf(state->detail + used, sizeof state->detail - used, "; device %s", line);
        used = used < sizeof state->detail ? used : sizeof state->detail - 1;
    }
}

// What is off by a setting is not tried out. `without`: a bit for each choice that leaves it out.
static bool is_off(struct co_transport_state *state, unsigned without)
{
    int64_t allowed = co_setting_number(CO_SET_TRANSPORT);
    if (!co_setting_number(CO_SET_ENABLE)) {
        snprintf(state->detail, sizeof state->detail, "off by CASTOFF_ENABLE=%s", co_setting_text(CO_SET_ENABLE));
    } else if (allowed == CO_ALLOW_NONE || (without >> allowed & 1) != 0) {
        snprintf(state->detail, sizeof state->detail, "off by CASTOFF_TRANSPORT=%s", co_setting_text(CO_SET_TRANSPORT));
    }
    return state->detail[0] != '\0';
}

void co_transports_probe_udp(struct co_transport_state *state, uint32_t near_ip)
{
    *state = (struct co_transport_state){.name = "udp"};
    if (!is_off(state, 1U << CO_ALLOW_SHM | 1U << CO_ALLOW_VERBS)) {
        probe_udp(state, near_ip);
    }
}

void co_transports_probe(struct co_transport_state states[CO_TRANSPORTS])
{
    states[0] = (struct co_transport_state){.name = "shm"};
    states[2] = (struct co_transport_state){.name = "verbs"};
    states[3] = (struct co_transport_state){.name = "p2p"};
    states[4] = (struct co_transport_state){.name = "placed"};
    states[5] = (struct co_transport_state){.name = "proxy"};
    if (co_setting_number(CO_SET_P2P) == CO_NO) {
        snprintf(states[3].detail, sizeof states[3].detail, "off by CASTOFF_P2P=%s", co_setting_text(CO_SET_P2P));
    } else if (!is_off(&states[3], 0)) {
        probe_messages(&states[3]);
    }
    if (!is_off(&states[0], 0)) {
        probe_shm(&states[0]);
    }
    co_transports_probe_udp(&states[1], 0);
    if (!is_off(&states[2], 1U << CO_ALLOW_SHM | 1U << CO_ALLOW_UDP)) {
        probe_verbs(&states[2]);
    }
    if (!is_off(&states[4], 1U << CO_ALLOW_SHM)) {
        co_onesided_probe(&states[4]);
    }
    co_proxy_probe(&states[5]);
}
