// SPDX-License-Identifier: BSD-3-Clause
//
// Rules from facts to advice; each is a function that prints one line for each thing to change, or nothing. Cold.
#include "check_verdict.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain_text.h"
#include "base/settings.h"

#define JUMBO_BYTES 9000
#define MIB (1024.0 * 1024)
#define STANDARD_MTU 1500
// Below, losses cost nothing that one would look for.
#define AGAIN_NOTABLE 0.005
#define FADES_TIMES 1.5
// Of measured broadcasts, and what one may take: there are ten rounds at least.
enum { LEAST_BYTES = 16384, MOST_BYTES = 1 << 20 };
#define BROADCAST_NS 1e9

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median_of(const double *values, size_t count)
{
    double *sorted = malloc(count * sizeof *sorted);
    if (sorted == NULL || count == 0) {
        free(sorted);
        return 0;
    }
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    double middle = sorted[count / 2];
    free(sorted);
    return middle;
}

// Where the values leave one side of `middle` for the other, with the fewest on the wrong side.
static size_t find_step(const double *values, size_t count, double middle)
{
    size_t step = 0, above = 0, fewest = SIZE_MAX, below_behind = 0;
    for (size_t i = 0; i < count; i++) {
        below_behind += values[i] <= middle;
    }
    for (size_t i = 0; i <= count; i++) {
        if (above + below_behind < fewest) {
            fewest = above + below_behind;
            step = i;
        }
        if (i < count) {
            above += values[i] > middle;
            below_behind -= values[i] <= middle;
        }
    }
    return step;
}

double co_check_fades_after(const double *castoff, const double *stock, size_t count, int batch)
{
    size_t quarter = count / 4;
    if (quarter < 2) {
        return 0;
    }
    double before = median_of(castoff, quarter), after = median_of(castoff + count - quarter, quarter);
    double before_stock = median_of(stock, quarter), after_stock = median_of(stock + count - quarter, quarter);
    if (after < FADES_TIMES * before || after * before_stock < FADES_TIMES * before * after_stock) {
        return 0;
    }
    size_t step = find_step(castoff, count, (before + after) / 2);
    double ns = 0;
    for (size_t i = 0; i < step; i++) {
        ns += (castoff[i] + stock[i]) * batch;
    }
    return ns > 0 ? ns / 1e9 : CO_CHECK_UNKNOWN_S;
}

// More than one broadcast holds, and so at least one of which nothing was heard.
void co_check_judge_end(struct co_check_result *result, uint64_t unheard_bytes)
{
    if (unheard_bytes <= result->bytes) {
        result->fades_after_s = 0; // slower, but what came was multicast
    } else if (result->fades_after_s == 0) {
        result->fades_after_s = CO_CHECK_UNKNOWN_S; // not so much slower that the times would show when
    }
}

size_t co_check_bytes(const struct co_check_result *trial)
{
    double slower_ns = trial->castoff_ns > trial->stock_ns ? trial->castoff_ns : trial->stock_ns;
    size_t bytes = MOST_BYTES;
    while (bytes > LEAST_BYTES && slower_ns * (double)bytes > BROADCAST_NS * (double)trial->bytes) {
        bytes /= 2;
    }
    return bytes;
}

static void advise_installation(struct co_advice *advice, const struct co_check_result *result)
{
    for (int i = 0; i < result->host_count; i++) {
        const struct co_host_facts *host = &result->hosts[i], *first = &result->hosts[0];
        if (!host->has_library) {
            co_advise(advice, "%s: libcastoff.so is not where the castoff command looks for it", host->host);
        }
        if (strcmp(host->version, first->version) != 0) {
            co_advise(advice, "%s has castoff %s, %s has %s: one installation for all", first->host, first->version,
                      host->host, host->version);
        }
        if (!host->has_multicast) {
            co_advise(advice, "%s: %s", host->host, host->why);
        }
    }
}

static void advise_receive_buffer(struct co_advice *advice, const struct co_host_facts *host, int64_t overflows)
{
    if (overflows > 0) {
        char text[96];
        snprintf(text, sizeof text, "%lld datagrams found no room", (long long)overflows);
        if (host->receive_bytes < host->wanted_bytes) {
            co_advise(advice, "%s: %s: sysctl -w net.core.rmem_max=%lld", host->host, text,
                      2 * (long long)host->wanted_bytes);
        } else {
            co_advise(advice, "%s: %s: a larger CASTOFF_UDP_RCVBUF, or fewer processes for its cores", host->host,
                      text);
        }
    } else if (host->receive_bytes > 0 && host->receive_bytes < host->wanted_bytes) {
        co_advise(advice,
                  "%s: a receive buffer of %.1f MiB was granted, %.1f asked for: sysctl -w net.core.rmem_max=%lld",
                  host->host, (double)host->receive_bytes / MIB, (double)host->wanted_bytes / MIB,
                  2 * (long long)host->wanted_bytes);
    }
}

static void advise_mtu(struct co_advice *advice, const struct co_check_result *result)
{
    const struct co_host_facts *least = NULL, *most = NULL;
    for (int i = 0; i < result->host_count; i++) {
        const struct co_host_facts *host = &result->hosts[i];
        if (host->mtu > 0) {
            least = least == NULL || host->mtu < least->mtu ? host : least;
            most = most == NULL || host->mtu > most->mtu ? host : most;
        }
    }
    if (least == NULL) {
        return;
    }
    if (least->mtu != most->mtu) {
        co_advise(advice,
                  "%s has an MTU of %lld at %s, %s one of %lld at %s: the same on all hosts, or what is larger is lost",
                  least->host, (long long)least->mtu, least->interface, most->host, (long long)most->mtu,
                  most->interface);
    } else if (least->mtu >= JUMBO_BYTES && co_setting_number(CO_SET_UDP_MTU) <= STANDARD_MTU &&
               (result->reach == NULL ||
                (result->reach->verdict->count == 0 && co_reach_carries_large(result->reach)))) {
        co_advise(advice, "CASTOFF_UDP_MTU=9000 takes fewer packets%s",
                  result->reach == NULL ? ", if the switches carry them as the interfaces do"
                                        : ", and the network carries them");
    }
}

// Where the host's own counters do not say whether it was that.
static void advise_reverse_path(struct co_advice *advice, const struct co_check_result *result,
                                const struct co_host_facts *host)
{
    bool is_told = result->reach != NULL;
    for (int i = 0; is_told && i < result->reach->verdict->count; i++) {
        const struct co_reach_finding *one = &result->reach->verdict->findings[i];
        is_told = one->what != CO_REACH_IN || one->seen != CO_REACH_SEEN_UNKNOWN ||
                  strcmp(result->reach->by_rank[one->host].host, host->host) != 0;
    }
    if (result->has_multicast || !host->has_multicast || is_told) {
        return;
    }
    if (host->reverse_path == 1) {
        co_advise(advice,
                  "%s: rp_filter is strict, so multicast is dropped whose way back is by another interface: sysctl -w "
                  "net.ipv4.conf.%s.rp_filter=2, and that of conf.all",
                  host->host, host->interface);
    } else if (host->reverse_path < 0) {
        co_advise(advice, "%s: whether rp_filter is strict could not be read", host->host);
    }
}

static void advise_host_network(struct co_advice *advice, const struct co_check_result *result)
{
    for (int i = 0; i < result->host_count; i++) {
        const struct co_host_facts *host = &result->hosts[i];
        if (host->bridge[0] != '\0') {
            co_advise(
                advice,
                "%s: the bridge %s snoops and no one asks for members: ip link set %s type bridge mcast_querier 1",
                host->host, host->bridge, host->bridge);
        }
        advise_reverse_path(advice, result, host);
        advise_receive_buffer(advice, host, result->overflows[i]);
    }
}

static void advise_network(struct co_advice *advice, const struct co_check_result *result)
{
    bool all_can = true;
    for (int i = 0; i < result->host_count; i++) {
        all_can = all_can && result->hosts[i].has_multicast;
    }
    if (result->fades_after_s > 0) {
        co_advise(
            advice,
            "a switch that snoops forgets members where no one asks them: switch on the IGMP querier of the switch or "
            "of its router, or snooping off");
    } else if (result->reach != NULL && result->reach->verdict->count > 0) {
        co_reach_advise(advice, result->reach);
    } else if (!result->has_multicast && all_can && result->reach != NULL) {
        co_advise(advice,
                  "every host heard every other one when this was tried alone, and the job's start did not: on busy "
                  "hosts CASTOFF_PROBE=5s gives it longer");
    } else if (!result->has_multicast && all_can) {
        co_advise(
            advice,
            "firewalls of the hosts: IGMP and UDP to %s have to come in, as by: nft insert rule inet filter input ip "
            "daddr %s accept",
            co_setting_text(CO_SET_UDP_GROUP), co_setting_text(CO_SET_UDP_GROUP));
        co_advise(advice,
                  "the network: IGMP snooping of switches wants a querier; most clouds carry no multicast at all. "
                  "tcpdump -ni %s udp on the host that hears nothing shows which",
                  result->hosts[0].interface);
    } else if (result->again > AGAIN_NOTABLE && result->has_multicast) {
        bool has_overflow = false;
        for (int i = 0; i < result->host_count; i++) {
            has_overflow = has_overflow || result->overflows[i] > 0;
        }
        if (!has_overflow) {
            co_advise(advice,
                      "packets are lost on the way: look at the counters of ports and cables (ip -s link, ethtool -S)");
        }
    }
}

static void print_rate(FILE *stream, const char *what, size_t bytes, double ns)
{
    double mbit = (double)bytes * 8 / ns * 1e3;
    fprintf(stream, mbit >= 10000 ? "%s%.1f Gbit/s" : "%s%.1f Mbit/s", what, mbit >= 10000 ? mbit / 1000 : mbit);
}

static void print_hosts(FILE *stream, const struct co_check_result *result)
{
    for (int i = 0; i < result->host_count; i++) {
        const struct co_host_facts *host = &result->hosts[i];
        char text[256];
        if (host->has_multicast) {
            snprintf(text, sizeof text, "%s: %s, MTU %lld, receive buffer %.1f MiB", host->host, host->interface,
                     (long long)host->mtu, (double)host->receive_bytes / MIB);
        } else {
            snprintf(text, sizeof text, "%s: no multicast", host->host);
        }
        fputs("host        ", stream);
        co_plain_put(stream, text);
        fputc('\n', stream);
    }
}

bool co_check_print(FILE *stream, const struct co_check_result *result)
{
    struct co_advice advice = {.stream = stream};
    print_hosts(stream, result);
    if (!result->has_multicast) {
        char found[600] = "";
        if (result->reach != NULL && result->why[0] == '\0') {
            co_reach_sum_up(found, sizeof found, result->reach);
        }
        fputs("multicast   does not pass: ", stream);
        co_plain_put(stream, found[0] != '\0' ? found : result->why);
        fputc('\n', stream);
    } else if (result->fades_after_s > 0) {
        char after[32] = "";
        if (result->fades_after_s > CO_CHECK_UNKNOWN_S) {
            snprintf(after, sizeof after, " after %.0f s", result->fades_after_s);
        }
        fprintf(stream, "multicast   passed between all %d hosts, and stopped%s\n", result->host_count, after);
    } else {
        fprintf(stream, "multicast   passes between all %d hosts\n", result->host_count);
    }
    if (result->castoff_ns > 0 && result->has_multicast) {
        print_rate(stream, "rate        ", result->bytes, result->castoff_ns);
        fprintf(stream, " for broadcasts of %zu KiB", result->bytes / 1024);
        if (result->stock_ns > 0) {
            print_rate(stream, ", by stock MPI ", result->bytes, result->stock_ns);
        }
        fprintf(stream, "\nloss        %.2f %% of what arrived had to be sent again\n", 100 * result->again);
    }
    advise_installation(&advice, result);
    advise_mtu(&advice, result);
    advise_host_network(&advice, result);
    advise_network(&advice, result);
    if (advice.count == 0) {
        fputs("to change   nothing\n", stream);
    }
    bool is_in_order = result->reach == NULL || result->reach->verdict->count == 0;
    return result->has_multicast && result->fades_after_s == 0 && is_in_order;
}
