// SPDX-License-Identifier: BSD-3-Clause
//
// One host of a session: says which addresses it has, by which ways it gets to those of the first host, opens sockets
// on the network that was chosen, sends when it is told to, and says whom it has heard. No clock of another host
// matters: who speaks next, the session says. Cold.
#include "reach_host.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mix_bits.h"
#include "base/settings.h"
#include "host_counters.h"
#include "host_facts.h"
#include "reach.h"
#include "reach_sockets.h"
#include "tools/volley/volley_host.h"
#include "transport/udp/udp.h"

// QUIET_MS: nothing has come for so long, so what was sent is here or lost; for what waits in a slow link's queue, that
// is another round. TAKEN_MOST: at a time; strangers may send for ever, and faster than that.
enum { QUIET_MS = 100, DRAINS_MAX = 40, TAKEN_MOST = 4096 };

struct peer {
    struct sockaddr_in address;
    int64_t mtu;
};

struct co_reach_host {
    int rank, size, count; // count: of those that were met
    uint64_t nonce;
    struct co_reach_sockets sockets;
    struct co_volley_socket volleys;
    struct peer *peers;
    char *heard; // kind, from: '0' or '1'
    int unicast_error, multicast_error;
    struct co_host_counters before;
};

static uint64_t mix_text(uint64_t mixed, const char *text)
{
    for (; *text != '\0'; text++) {
        mixed = co_mix_bits(mixed ^ (uint8_t)*text);
    }
    return mixed;
}

// Of all interfaces, which the kernel tells without any of its files.
static uint64_t mix_links(void)
{
    struct ifaddrs *all = NULL;
    uint64_t mixed = 0;
    if (getifaddrs(&all) != 0) {
        return 0;
    }
    for (const struct ifaddrs *entry = all; entry != NULL; entry = entry->ifa_next) {
        if (entry->ifa_addr == NULL || entry->ifa_addr->sa_family != AF_PACKET || (entry->ifa_flags & IFF_LOOPBACK)) {
            continue;
        }
        struct sockaddr_ll link;
        memcpy(&link, entry->ifa_addr, sizeof link);
        for (int i = 0; i < link.sll_halen && i < (int)sizeof link.sll_addr; i++) {
            mixed = co_mix_bits(mixed ^ link.sll_addr[i]);
        }
    }
    freeifaddrs(all);
    return mixed;
}

// Hosts of one number are one machine, and one network of it: containers have their own, and in some the kernel does
// not say when it was booted. 0: not to be told.
static uint64_t find_machine(void)
{
    char boot[64] = "", network[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    bool is_known = file != NULL && fscanf(file, "%63s", boot) == 1 &&
                    readlink("/proc/self/ns/net", network, sizeof network - 1) > 0;
    if (file != NULL) {
        fclose(file);
    }
    return is_known ? mix_text(mix_text(1, boot), network) : mix_links();
}

static void say_hello(struct co_reach_host *host, char *rest, FILE *answer)
{
    (void)rest;
    uint32_t ips[CO_UDP_CANDIDATES_MAX];
    int count = co_udp_candidates(co_setting_text(CO_SET_UDP_INTERFACE), ips, CO_UDP_CANDIDATES_MAX);
    char text[64 + CO_UDP_CANDIDATES_MAX * 16] = "";
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%08" PRIx32, i > 0 ? "," : "", ntohl(ips[i]));
    }
    fprintf(answer, "castoff_reach hello %d %d %016" PRIx64 " %s\n", host->rank, host->size, find_machine(),
            count > 0 ? text : "-");
}

// "ways 0a4d0001,..."
static void say_ways(struct co_reach_host *host, char *list, FILE *answer)
{
    char *state = NULL, text[CO_UDP_CANDIDATES_MAX + 1];
    int count = 0;
    for (char *one = strtok_r(list, ",", &state); one != NULL && count < CO_UDP_CANDIDATES_MAX;
         one = strtok_r(NULL, ",", &state)) {
        uint32_t ip = htonl((uint32_t)strtoul(one, NULL, 16));
        text[count++] = (char)('0' + (int)co_udp_way_to(co_setting_text(CO_SET_UDP_INTERFACE), ip));
    }
    text[count] = '\0';
    fprintf(answer, "castoff_reach ways %d %s\n", host->rank, count > 0 ? text : "-");
}

// "open TAG NONCE NEAR": the facts of the network that the job would take, and a socket there.
static void open_and_say(struct co_reach_host *host, char *rest, FILE *answer)
{
    uint64_t tag = 0;
    uint32_t near_ip = 0;
    char why[256] = "";
    struct co_host_facts facts;
    if (sscanf(rest, "%" SCNx64 " %" SCNx64 " %" SCNx32, &tag, &host->nonce, &near_ip) != 3) {
        return;
    }
    co_host_facts_find(&facts, htonl(near_ip));
    if (facts.has_multicast && co_reach_sockets_open(&host->sockets, tag, htonl(near_ip), why, sizeof why) != 0) {
        facts.has_multicast = false;
        snprintf(facts.why, sizeof facts.why, "%.199s", why);
    }
    co_volley_prepare(&host->volleys, host->sockets.group);
    facts.rank = host->rank;
    facts.ip = facts.has_multicast ? ntohl(host->sockets.own.sin_addr.s_addr) : 0;
    facts.port = facts.has_multicast ? ntohs(host->sockets.own.sin_port) : 0;
    co_host_facts_print(answer, &facts);
}

// "meet IP:PORT:MTU,...", as many as there are hosts.
static void meet(struct co_reach_host *host, char *list, FILE *answer)
{
    char *state = NULL;
    free(host->peers);
    free(host->heard);
    host->count = 0;
    host->peers = calloc(CO_REACH_HOSTS_MAX, sizeof *host->peers);
    for (char *one = strtok_r(list, ",", &state);
         host->peers != NULL && one != NULL && host->count < CO_REACH_HOSTS_MAX; one = strtok_r(NULL, ",", &state)) {
        unsigned ip = 0, port = 0;
        struct peer *peer = &host->peers[host->count++];
        sscanf(one, "%x:%u:%" SCNd64, &ip, &port, &peer->mtu);
        peer->address = (struct sockaddr_in){
            .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(ip)};
    }
    size_t cells = (size_t)CO_REACH_KINDS * (size_t)host->count;
    host->heard = malloc(cells + 1);
    if (host->heard != NULL) {
        memset(host->heard, '0', cells);
    }
    co_host_counters_find(&host->before);
    fprintf(answer, "castoff_reach met %d\n", host->rank);
}

static void take_all(struct co_reach_host *host, int fd)
{
    struct co_reach_mark mark;
    for (int i = 0; i < TAKEN_MOST && fd >= 0 && co_reach_sockets_take(fd, &mark); i++) {
        if (mark.nonce == host->nonce && mark.kind < CO_REACH_KINDS && mark.from < host->count && host->heard != NULL) {
            host->heard[(size_t)mark.kind * (size_t)host->count + mark.from] = '1';
        }
    }
}

static void send_one(struct co_reach_host *host, int kind, int to, size_t full_bytes)
{
    struct co_reach_mark mark = {.nonce = host->nonce, .from = (uint16_t)host->rank, .kind = (uint8_t)kind};
    int64_t mtu = host->peers[host->rank].mtu;
    size_t bytes =
        co_reach_packet_bytes(kind, full_bytes, mtu, co_reach_is_multicast(kind) ? mtu : host->peers[to].mtu);
    const struct sockaddr_in *address =
        co_reach_is_multicast(kind) ? &host->sockets.group_address : &host->peers[to].address;
    if (host->sockets.unicast < 0 || bytes == 0 || address->sin_port == 0) {
        return;
    }
    int error = co_reach_sockets_send(&host->sockets, address, &mark, bytes);
    if (error != 0 && kind == CO_REACH_UNICAST) {
        host->unicast_error = error;
    } else if (error != 0 && kind == CO_REACH_MULTICAST) {
        host->multicast_error = error;
    }
}

static void send_to_all(struct co_reach_host *host, int kind, size_t full_bytes)
{
    for (int to = 0; to < (co_reach_is_multicast(kind) ? 1 : host->count); to++) {
        if (co_reach_is_multicast(kind) || to != host->rank) {
            send_one(host, kind, to, full_bytes);
        }
    }
}

// "send FULL KINDS FROM.KIND.TO,...": those kinds to all, and then single ones.
static void send_and_say(struct co_reach_host *host, char *rest, FILE *answer)
{
    char *state = NULL, *full = strtok_r(rest, " ", &state), *kinds = strtok_r(NULL, " ", &state);
    size_t full_bytes = full != NULL ? strtoul(full, NULL, 10) : 0;
    for (const char *kind = kinds; host->rank < host->count && kind != NULL && *kind != '\0'; kind++) {
        if (*kind >= '0' && *kind < '0' + CO_REACH_KINDS) {
            send_to_all(host, *kind - '0', full_bytes);
        }
    }
    for (char *one = strtok_r(NULL, ",", &state); one != NULL; one = strtok_r(NULL, ",", &state)) {
        int from = -1, kind = -1, to = -1;
        if (sscanf(one, "%d.%d.%d", &from, &kind, &to) == 3 && from == host->rank && from < host->count && to >= 0 &&
            to < host->count && kind >= 0 && kind < CO_REACH_KINDS) {
            send_one(host, kind, to, full_bytes);
        }
    }
    fprintf(answer, "castoff_reach sent %d\n", host->rank);
}

static int64_t grown(int64_t before, int64_t now)
{
    return before < 0 || now < 0 ? -1 : now > before ? now - before : 0;
}

// "tell KINDS"
static void say_heard(struct co_reach_host *host, char *kinds, FILE *answer)
{
    struct pollfd sockets[2] = {{.fd = host->sockets.unicast, .events = POLLIN},
                                {.fd = host->sockets.group, .events = POLLIN}};
    for (int i = 0; i < DRAINS_MAX && poll(sockets, 2, QUIET_MS) > 0; i++) {
        take_all(host, host->sockets.unicast);
        take_all(host, host->sockets.group);
    }
    struct co_host_counters now;
    co_host_counters_find(&now);
    fprintf(answer, "castoff_reach heard %d %d %d %" PRId64 " %" PRId64, host->rank, host->unicast_error,
            host->multicast_error, grown(host->before.dropped, now.dropped),
            grown(host->before.filtered, now.filtered));
    for (; host->heard != NULL && *kinds >= '0' && *kinds < '0' + CO_REACH_KINDS; kinds++) {
        fprintf(answer, " %c%.*s", *kinds, host->count, host->heard + (size_t)(*kinds - '0') * (size_t)host->count);
    }
}

// "volley NUMBER FROM COUNT BYTES KBITS": it is sent by one, and seen by the others.
static void volley_and_say(struct co_reach_host *host, char *rest, FILE *answer)
{
    struct co_volley volley;
    struct co_volley_seen seen = {.sent = 0};
    uint64_t nonce = ~host->nonce; // another one than that of what is heard or not
    if (sscanf(rest, "%d %d %d %zu %" SCNd64, &volley.number, &volley.from, &volley.count, &volley.bytes,
               &volley.kbits) != 5) {
        return;
    }
    if (volley.from == host->rank) {
        co_volley_send(host->sockets.unicast, &host->sockets.group_address, nonce, &volley);
        co_volley_drain(&host->volleys);
    } else if (host->sockets.group >= 0) {
        co_volley_take(&host->volleys, nonce, &volley, &seen);
    }
    fprintf(answer, "castoff_reach volley %d %d %d %d %d %" PRId64 "\n", host->rank, volley.number, seen.sent,
            seen.arrived, seen.overflowed, seen.kbits);
}

void co_reach_host_obey(struct co_reach_host *host, char *words, char answer[CO_REACH_ANSWER_MAX])
{
    static const struct {
        const char *word;
        void (*obey)(struct co_reach_host *host, char *rest, FILE *answer);
    } known[] = {{"hello", say_hello},   {"ways", say_ways},  {"open", open_and_say},    {"meet", meet},
                 {"send", send_and_say}, {"tell", say_heard}, {"volley", volley_and_say}};
    char *blank = strchr(words, ' '), *rest = blank != NULL ? blank + 1 : words + strlen(words);
    FILE *stream = fmemopen(answer, CO_REACH_ANSWER_MAX, "w");
    if (blank != NULL) {
        *blank = '\0';
    }
    for (size_t i = 0; stream != NULL && i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(words, known[i].word) == 0) {
            known[i].obey(host, rest, stream);
        }
    }
    bool is_whole = stream != NULL && fflush(stream) == 0 && ftell(stream) > 0 && ftell(stream) < CO_REACH_ANSWER_MAX;
    if (stream != NULL) {
        fclose(stream);
    }
    if (!is_whole) {
        snprintf(answer, CO_REACH_ANSWER_MAX, "castoff_reach nothing %d", host->rank);
    }
    answer[strcspn(answer, "\n")] = '\0';
}

struct co_reach_host *co_reach_host_make(int rank, int count)
{
    struct co_reach_host *host = calloc(1, sizeof *host);
    if (host != NULL) {
        *host = (struct co_reach_host){.rank = rank, .size = count, .sockets = {.unicast = -1, .group = -1}};
    }
    return host;
}

void co_reach_host_release(struct co_reach_host *host)
{
    co_reach_sockets_close(&host->sockets);
    free(host->peers);
    free(host->heard);
    free(host);
}
