// SPDX-License-Identifier: BSD-3-Clause
//
// One rule for each kind of finding; what its host has seen decides which cure is named, and where that is not known,
// the line says what could be looked at. Cold.
#include "reach_advice.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/settings.h"
#include "transport/udp/udp.h"

enum { SUMMED_MOST = 4 };

static const char *const datagrams[] = {[CO_REACH_OF_UDP] = "UDP datagram",
                                        [CO_REACH_OF_UNICAST] = "unicast UDP datagram",
                                        [CO_REACH_OF_MULTICAST] = "multicast",
                                        [CO_REACH_OF_FULL] = "full packet",
                                        [CO_REACH_OF_LARGE] = "large packet"};

static const char *const many[] = {[CO_REACH_OF_UDP] = "UDP datagrams",
                                   [CO_REACH_OF_UNICAST] = "unicast UDP datagrams",
                                   [CO_REACH_OF_MULTICAST] = "multicast datagrams"};

static const char *name(const struct co_reach_told *told, int rank)
{
    return told->by_rank[rank].host;
}

static const char *interface_of(const struct co_reach_told *told, int rank)
{
    return told->by_rank[rank].interface;
}

static void sum_up_one(char *text, size_t room, const struct co_reach_told *told, const struct co_reach_finding *one)
{
    const char *what = datagrams[one->of];
    switch (one->what) {
    case CO_REACH_OUT:
        snprintf(text, room, "no %s of %s is heard", what, name(told, one->host));
        break;
    case CO_REACH_IN:
        snprintf(text, room, "%s hears no %s", name(told, one->host), what);
        break;
    case CO_REACH_PATH:
        snprintf(text, room, "%s hears no %s of %s", name(told, one->other), what, name(told, one->host));
        break;
    case CO_REACH_NOBODY:
        snprintf(text, room, "no host hears a %s of another", what);
        break;
    default:
        snprintf(text, room, "%s and %s have one address", name(told, one->host), name(told, one->other));
    }
}

void co_reach_sum_up(char *text, size_t room, const struct co_reach_told *told)
{
    const struct co_reach_verdict *verdict = told->verdict;
    size_t used = 0;
    int shown = 0, more = verdict->left_out;
    *text = '\0';
    for (int i = 0; i < verdict->count; i++) {
        char one[224];
        if (verdict->findings[i].of >= CO_REACH_OF_LARGE) {
            continue;
        }
        sum_up_one(one, sizeof one, told, &verdict->findings[i]);
        if (shown == SUMMED_MOST || used + strlen(one) + 16 > room) {
            more++;
            continue;
        }
        used += (size_t)snprintf(text + used, room - used, "%s%s", shown++ > 0 ? "; " : "", one);
    }
    if (more > 0 && used < room) {
        snprintf(text + used, room - used, "; %d more", more);
    }
}

// As nftables has it.
static void print_rule(char *text, size_t room, enum co_reach_of of, const char *chain)
{
    if (of == CO_REACH_OF_MULTICAST) {
        snprintf(text, room, "nft insert rule inet filter %s ip daddr %s accept", chain,
                 co_setting_text(CO_SET_UDP_GROUP));
    } else {
        snprintf(text, room, "nft insert rule inet filter %s udp dport 20000-60999 accept", chain);
    }
}

static void advise_out(struct co_advice *advice, const struct co_reach_told *told, const struct co_reach_finding *one)
{
    char rule[160];
    const char *host = name(told, one->host), *what = datagrams[one->of];
    print_rule(rule, sizeof rule, one->of, "output");
    if (one->seen == CO_REACH_SEEN_REFUSED) {
        co_advise(advice, "%s: it may send no %s (%s), as by a firewall's rules for output: %s", host, what,
                  strerror(one->error), rule);
    } else {
        co_advise(
            advice,
            "%s: no %s that leaves it comes to any other host, which hear each other: its firewall (output), or a "
            "filter at its port of the switch",
            host, what);
    }
}

static void advise_in(struct co_advice *advice, const struct co_reach_told *told, const struct co_reach_finding *one)
{
    char rule[160];
    const char *host = name(told, one->host), *what = datagrams[one->of], *interface = interface_of(told, one->host);
    print_rule(rule, sizeof rule, one->of, "input");
    switch (one->seen) {
    case CO_REACH_SEEN_FILTERED:
        co_advise(advice,
                  "%s: rp_filter dropped what came, for the way back is by another interface: sysctl -w "
                  "net.ipv4.conf.%s.rp_filter=2, and that of conf.all",
                  host, interface);
        break;
    case CO_REACH_SEEN_DROPPED:
        co_advise(advice, "%s: %s come to it and are dropped there, as by a firewall's rules for input: %s", host,
                  many[one->of], rule);
        break;
    default:
        if (one->seen == CO_REACH_SEEN_UNKNOWN) {
            co_advise(
                advice,
                "%s: whether any %s comes to it could not be seen (/proc/net/snmp): tcpdump -ni %s udp shows it; if "
                "so, its firewall drops it: %s",
                host, what, interface, rule);
        }
        if (one->of == CO_REACH_OF_MULTICAST) {
            co_advise(advice,
                      "%s: no multicast comes to it that comes to other hosts: IGMP has to get out of it to the "
                      "switch, and snooping wants a querier there; or a filter at its port",
                      host);
        } else if (one->seen != CO_REACH_SEEN_UNKNOWN) {
            co_advise(advice, "%s: no %s comes to it, others hear each other: a filter at its port of the switch", host,
                      what);
        }
    }
}

static void advise_path(struct co_advice *advice, const struct co_reach_told *told, const struct co_reach_finding *one)
{
    const char *from = name(told, one->host), *to = name(told, one->other), *what = datagrams[one->of];
    if (one->seen == CO_REACH_SEEN_REFUSED) {
        co_advise(advice, "%s to %s: %s may not send there (%s), as by a firewall's rule for output", from, to, from,
                  strerror(one->error));
    } else if (one->seen == CO_REACH_SEEN_FILTERED) {
        co_advise(advice,
                  "%s to %s: rp_filter of %s dropped what came, for its way to %s is by another interface: sysctl -w "
                  "net.ipv4.conf.%s.rp_filter=2, and that of conf.all",
                  from, to, to, from, interface_of(told, one->other));
    } else if (one->seen == CO_REACH_SEEN_DROPPED) {
        co_advise(advice, "%s to %s: %s come to %s and are dropped there, as by a firewall's rule for input", from, to,
                  many[one->of], to);
    } else if (told->table->count == 2) {
        co_advise(advice,
                  "%s to %s: no %s arrives, and of two hosts it cannot be told at which it ends: a firewall of %s "
                  "(output), of %s (input), or between; with a third host --check can",
                  from, to, what, from, to);
    } else {
        co_advise(advice,
                  "%s to %s: no %s arrives, though %s is heard by others and %s hears others: a rule of a firewall "
                  "for these two, at %s (output), at %s (input) or between",
                  from, to, what, from, to, from, to);
    }
}

static void advise_nobody(struct co_advice *advice, const struct co_reach_told *told,
                          const struct co_reach_finding *one)
{
    const char *group = co_setting_text(CO_SET_UDP_GROUP);
    if (one->of == CO_REACH_OF_MULTICAST) {
        co_advise(advice,
                  "firewalls of the hosts: IGMP and UDP to %s have to come in, as by: nft insert rule inet filter "
                  "input ip daddr %s accept",
                  group, group);
        co_advise(advice,
                  "the network: IGMP snooping of switches wants a querier; most clouds carry no multicast at all. "
                  "tcpdump -ni %s udp on a host shows whether any comes",
                  interface_of(told, 0));
    } else {
        co_advise(advice,
                  "firewalls of the hosts, or between them: UDP has to come in, as by: nft insert rule inet filter "
                  "input udp dport 20000-60999 accept");
    }
}

static void advise_size(struct co_advice *advice, const struct co_reach_told *told, const struct co_reach_finding *one)
{
    char where[200];
    const struct co_host_facts *at = &told->by_rank[one->what == CO_REACH_PATH ? one->other : one->host];
    if (one->what == CO_REACH_NOBODY) {
        snprintf(where, sizeof where, "between all hosts");
    } else if (one->what == CO_REACH_PATH) {
        snprintf(where, sizeof where, "from %s to %s", name(told, one->host), name(told, one->other));
    } else {
        snprintf(where, sizeof where, "%s %s", one->what == CO_REACH_OUT ? "out of" : "into", name(told, one->host));
    }
    if (one->of == CO_REACH_OF_LARGE) {
        co_advise(advice,
                  "%s: packets as large as the interfaces' MTU of %lld are lost, those of %zu come: TCP, and with it "
                  "MPI, stands still; ip link set dev %s mtu %zu on the hosts, or switches that carry what the "
                  "interfaces send",
                  where, (long long)at->mtu, told->table->full_bytes, at->interface, told->table->full_bytes);
    } else if (one->fits > 0) {
        co_advise(
            advice,
            "%s: packets of %zu bytes are lost, those of %zu come, as by tunnels: CASTOFF_UDP_MTU=%zu, and an MTU "
            "of the interfaces that the network carries, or TCP stands still",
            where, told->table->full_bytes, one->fits, one->fits);
    } else {
        co_advise(advice,
                  "%s: packets of %zu bytes are lost, small ones come: the MTU of interfaces, switches and tunnels",
                  where, told->table->full_bytes);
    }
}

// What to look at is where the cable ends: both of what the host knows of it and of what the switch does.
static void advise_volley(struct co_advice *advice, const struct co_reach_told *told,
                          const struct co_reach_finding *one)
{
    const struct co_volley_plan *volleys = &told->table->volleys;
    const char *interface = interface_of(told, one->host);
    bool is_path = one->what == CO_REACH_PATH;
    int from = one->what == CO_REACH_IN ? -1 : one->host;
    int to = one->what == CO_REACH_OUT ? -1 : is_path ? one->other : one->host;
    char what[200];
    if (is_path) {
        snprintf(what, sizeof what, "%s to %s: what is sent there", name(told, one->host), name(told, one->other));
    } else {
        snprintf(what, sizeof what, "%s: what %s", name(told, one->host),
                 one->what == CO_REACH_OUT ? "it sends" : "comes to it");
    }
    if (one->of == CO_REACH_OF_QUICK) {
        co_advise(advice,
                  "%s comes at %.1f Mbit/s, between others at %.1f, and no broadcast %s is faster: %s (ethtool %s: "
                  "Speed, Duplex) or a limit (tc -s qdisc show dev %s; of a virtual machine)",
                  what, (double)co_volley_usual_kbits(volleys, from, to) / 1e3,
                  (double)co_volley_usual_kbits(volleys, -1, -1) / 1e3, to >= 0 ? "to it" : "of it",
                  is_path ? "a link between the two" : "its link, cable or port of the switch", interface, interface);
    } else {
        co_advise(advice,
                  "%s is lost to %.1f %%, between others to %.1f %%: %s (ip -s link show %s, ethtool -S %s: errors, "
                  "dropped; the counters of the switch)",
                  what, 100 * co_volley_usual_loss(volleys, from, to), 100 * co_volley_usual_loss(volleys, -1, -1),
                  is_path ? "a link between the two" : "its cable, interface or port of the switch", interface,
                  interface);
    }
}

static void advise_one(struct co_advice *advice, const struct co_reach_told *told, const struct co_reach_finding *one)
{
    if (one->what == CO_REACH_SAME_IP) {
        struct in_addr ip = {.s_addr = htonl(told->table->hosts[one->host].ip)};
        char text[INET_ADDRSTRLEN] = "";
        inet_ntop(AF_INET, &ip, text, sizeof text);
        co_advise(advice, "%s and %s both have the address %s: another for one of them, or CASTOFF_UDP_INTERFACE",
                  name(told, one->host), name(told, one->other), text);
    } else if (one->of >= CO_REACH_OF_WHOLE) {
        advise_volley(advice, told, one);
    } else if (one->of >= CO_REACH_OF_FULL) {
        advise_size(advice, told, one);
    } else if (one->what == CO_REACH_OUT) {
        advise_out(advice, told, one);
    } else if (one->what == CO_REACH_IN) {
        advise_in(advice, told, one);
    } else if (one->what == CO_REACH_PATH) {
        advise_path(advice, told, one);
    } else {
        advise_nobody(advice, told, one);
    }
}

// What is not heard of a host that is elsewhere needs no firewall to be so.
static void advise_ways(struct co_advice *advice, const struct co_reach_told *told)
{
    struct in_addr near = {.s_addr = htonl(told->near_ip)};
    char text[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &near, text, sizeof text);
    if (told->near_ip == 0) {
        co_advise(
            advice,
            "no network of %s is one of all hosts: CASTOFF_UDP_INTERFACE names the interface, or give one all are "
            "on",
            name(told, 0));
    }
    for (int rank = 1; rank < told->table->count && told->near_ip != 0; rank++) {
        if (told->table->hosts[rank].way == CO_UDP_WAY_ROUTED) {
            co_advise(advice,
                      "%s: it gets to %s of %s by a router, which has to carry multicast, and CASTOFF_UDP_TTL=%d or "
                      "more; or name an interface by CASTOFF_UDP_INTERFACE",
                      name(told, rank), text, name(told, 0), 2);
        }
    }
}

void co_reach_advise(struct co_advice *advice, const struct co_reach_told *told)
{
    const struct co_reach_verdict *verdict = told->verdict;
    if (!co_reach_passes(verdict)) {
        advise_ways(advice, told);
    }
    for (int i = 0; i < verdict->count; i++) {
        advise_one(advice, told, &verdict->findings[i]);
    }
}

bool co_reach_carries_large(const struct co_reach_told *told)
{
    const struct co_reach_table *table = told->table;
    bool is_tried = false;
    for (int from = 0; from < table->count; from++) {
        for (int to = 0; to < table->count; to++) {
            if (from != to && !co_reach_heard(table, CO_REACH_LARGE, from, to)) {
                return false;
            }
            is_tried = is_tried || from != to;
        }
    }
    return is_tried;
}
