// SPDX-License-Identifier: BSD-3-Clause
//
// Nodes of a world; see the header.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "offload/api/offload_nodes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
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

static int networks_read(struct co_offload_fact *fact, const char *interface)
{
    struct ifaddrs *all;
    int count = 0;

    if (getifaddrs(&all) != 0) {
        return -errno;
    }
    for (struct ifaddrs *one = all; one != NULL && count < CO_OFFLOAD_NETWORKS; one = one->ifa_next) {
        bool is_wanted = interface[0] != '\0' ? strcmp(one->ifa_name, interface) == 0
                                              : (one->ifa_flags & (IFF_UP | IFF_LOOPBACK)) == IFF_UP;
        if (is_wanted && one->ifa_addr != NULL && one->ifa_netmask != NULL && one->ifa_addr->sa_family == AF_INET) {
            struct sockaddr_in address, mask; // whose alignment the list does not promise
            memcpy(&address, one->ifa_addr, sizeof address);
            memcpy(&mask, one->ifa_netmask, sizeof mask);
            fact->at[count].address = address.sin_addr.s_addr;
            fact->at[count++].mask = mask.sin_addr.s_addr;
        }
    }
    freeifaddrs(all);
    return 0;
}

int co_offload_fact_read(struct co_offload_fact *fact, const char *interface)
{
    cpu_set_t cores;
    int error = boot_read(fact->boot);

    if (error == 0) {
        error = namespace_read(&fact->networks, "/proc/self/ns/net");
    }
    if (error == 0) {
        error = namespace_read(&fact->process_numbers, "/proc/self/ns/pid");
    }
    if (error == 0) {
        error = networks_read(fact, interface);
    }
    (void)gethostname(fact->host, sizeof fact->host - 1);
    fact->process = (uint32_t)getpid();
    if (sched_getaffinity(0, sizeof cores, &cores) == 0) { // else no core is known to be its own
        memcpy(fact->cores, &cores, sizeof fact->cores);
    }
    return error;
}

static bool is_one_host(const struct co_offload_fact *a, const struct co_offload_fact *b)
{
    return memcmp(a->boot, b->boot, sizeof a->boot) == 0 && a->networks == b->networks &&
           a->process_numbers == b->process_numbers;
}

int co_offload_node_first(const struct co_offload_fact *facts, int rank)
{
    uint32_t node_ranks = facts[0].node_ranks, proxies = facts[0].node_proxies, position = 0;
    int first = rank;

    for (int i = 0; i < rank; i++) {
        position += is_one_host(&facts[i], &facts[rank]);
    }
    // As far back as its node goes: to the host's first rank, or to the one with which this node begins; and of these
    // the one that begins with the same proxy.
    uint32_t back = node_ranks == 0 ? position : position % node_ranks;
    back -= proxies == 0 ? 0 : back % proxies;
    while (back > 0) {
        first--;
        back -= is_one_host(&facts[first], &facts[rank]);
    }
    return first;
}

// The same address elsewhere is no way there: bridges of containers have one that each host has.
static bool has_network(const struct co_offload_fact *fact, uint32_t address, uint32_t mask)
{
    for (int i = 0; i < CO_OFFLOAD_NETWORKS && fact->at[i].address != 0; i++) {
        if (fact->at[i].address != address && ((fact->at[i].address ^ address) & mask) == 0) {
            return true;
        }
    }
    return false;
}

void co_offload_node_place(const struct co_offload_fact *facts, int size, int first, uint16_t port,
                           char place[CO_OFFLOAD_PLACE_BYTES])
{
    const struct co_offload_fact *own = &facts[first];
    struct in_addr best = {.s_addr = 0};
    char text[INET_ADDRSTRLEN];
    int most = -1, others = 0;

    for (int i = 0; i < size; i++) {
        others += !is_one_host(&facts[i], own);
    }
    for (int at = 0; at < CO_OFFLOAD_NETWORKS && own->at[at].address != 0; at++) {
        int reached = 0;
        for (int i = 0; i < size; i++) {
            reached += !is_one_host(&facts[i], own) && has_network(&facts[i], own->at[at].address, own->at[at].mask);
        }
        if (reached > most) {
            most = reached;
            best.s_addr = own->at[at].address;
        }
    }
    if (others == 0) { // nodes of one host, for trials
        best.s_addr = htonl(INADDR_LOOPBACK);
    }
    place[0] = '\0';
    if (best.s_addr != 0 && inet_ntop(AF_INET, &best, text, sizeof text) != NULL) {
        snprintf(place, CO_OFFLOAD_PLACE_BYTES, "%s:%u", text, port);
    }
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
        // Of its whole host: nodes that are parts of one share its cores.
        for (int byte = 0; is_one_host(&facts[i], &facts[own]) && byte < CO_OFFLOAD_CORE_BYTES; byte++) {
            job->rank_cores[byte] |= facts[i].cores[byte];
        }
    }
    job->self = ranks[own].proxy;
    job->place[0] = '\0';
    if (job->proxies > 1) {
        co_offload_node_place(facts, size, own, 0, job->place);
    }
}
