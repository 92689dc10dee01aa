// SPDX-License-Identifier: BSD-3-Clause
//
// Each host has two ends, out and in. An end is to blame when nothing passes it, but for what other ends that are to
// blame explain. Of those that could be, the one first that alone explains most, and before it whose own counters speak
// against it. What is left over is a path. Cold.
#include "reach_verdict.h"

#include <errno.h>
#include <stdlib.h>

enum { OUT, IN, ENDS };

struct search {
    const struct co_reach_table *table;
    int kinds[2], kind_count; // not heard in one of them is not heard
    bool *blamed[ENDS];
    const bool *known[ENDS]; // to blame for other kinds
};

static bool lacks(const struct search *search, int from, int to)
{
    for (int i = 0; i < search->kind_count; i++) {
        if (co_reach_lacks(search->table, search->kinds[i], from, to)) {
            return true;
        }
    }
    return false;
}

static bool is_tried(const struct search *search, int from, int to)
{
    for (int i = 0; i < search->kind_count; i++) {
        if (search->table->wanted[co_reach_at(search->table, search->kinds[i], from, to)]) {
            return true;
        }
    }
    return false;
}

static bool lacks_at(const struct search *search, int end, int host, int other)
{
    return end == OUT ? lacks(search, host, other) : lacks(search, other, host);
}

static bool is_tried_at(const struct search *search, int end, int host, int other)
{
    return end == OUT ? is_tried(search, host, other) : is_tried(search, other, host);
}

// How much of what is not explained would be so by this end; 0: something passes it.
static int count_explained(const struct search *search, int end, int host)
{
    int explained = 0;
    if (search->blamed[end][host]) {
        return 0;
    }
    for (int other = 0; other < search->table->count; other++) {
        if (search->blamed[1 - end][other] || !is_tried_at(search, end, host, other)) {
            continue;
        }
        if (!lacks_at(search, end, host, other)) {
            return 0;
        }
        explained++;
    }
    return explained;
}

// Of that, what no other end could explain.
static int count_alone(const struct search *search, int end, int host)
{
    int alone = 0;
    for (int other = 0; other < search->table->count; other++) {
        alone += !search->blamed[1 - end][other] && lacks_at(search, end, host, other) &&
                 count_explained(search, 1 - end, other) == 0;
    }
    return alone;
}

static int count_pairs(const struct search *search, int end, int host)
{
    int pairs = 0;
    for (int other = 0; other < search->table->count; other++) {
        pairs += is_tried_at(search, end, host, other) && lacks_at(search, end, host, other);
    }
    return pairs;
}

static int send_error(const struct search *search, int host)
{
    const struct co_reach_evidence *own = &search->table->hosts[host];
    return search->kinds[0] == CO_REACH_MULTICAST ? own->multicast_error
           : search->kinds[0] == CO_REACH_UNICAST ? own->unicast_error
                                                  : 0;
}

// What came to the host while so many datagrams for it were not heard. Other traffic is counted there, too, so that
// it is no evidence either way where it is much more.
static enum co_reach_seen seen_coming(const struct search *search, int host)
{
    const struct co_reach_evidence *own = &search->table->hosts[host];
    int64_t expected = 0;
    if (search->kinds[0] > CO_REACH_MULTICAST) {
        return CO_REACH_SEEN_NOTHING; // was not looked for
    }
    for (int from = 0; from < search->table->count; from++) {
        for (int kind = CO_REACH_UNICAST; kind <= CO_REACH_MULTICAST; kind++) {
            const struct co_reach_evidence *sender = &search->table->hosts[from];
            int error = kind == CO_REACH_UNICAST ? sender->unicast_error : sender->multicast_error;
            expected += co_reach_lacks(search->table, kind, from, host) && error == 0 ? search->table->rounds : 0;
        }
    }
    if (expected > 0 && own->filtered >= expected / 2 + 1) {
        return CO_REACH_SEEN_FILTERED;
    }
    if (own->dropped < 0) {
        return CO_REACH_SEEN_UNKNOWN;
    }
    return expected > 0 && own->dropped >= expected * 3 / 4 + 1 && own->dropped <= expected * 4 + 100
               ? CO_REACH_SEEN_DROPPED
               : CO_REACH_SEEN_NOTHING;
}

static enum co_reach_seen seen_at(const struct search *search, int end, int host)
{
    if (end == IN) {
        return seen_coming(search, host);
    }
    return send_error(search, host) != 0 ? CO_REACH_SEEN_REFUSED : CO_REACH_SEEN_NOTHING;
}

static bool speaks_against(enum co_reach_seen seen)
{
    return seen == CO_REACH_SEEN_REFUSED || seen == CO_REACH_SEEN_DROPPED || seen == CO_REACH_SEEN_FILTERED;
}

static void blame_known(const struct search *search, bool by_others)
{
    for (int end = OUT; end < ENDS; end++) {
        for (int host = 0; host < search->table->count; host++) {
            bool is_known = by_others ? search->known[end] != NULL && search->known[end][host]
                                      : speaks_against(seen_at(search, end, host));
            if (is_known && count_explained(search, end, host) > 0) {
                search->blamed[end][host] = true;
            }
        }
    }
}

// False: nothing is left that one end alone would explain.
static bool blame_next(const struct search *search)
{
    int best = 0, best_end = 0, best_host = 0;
    for (int end = OUT; end < ENDS; end++) {
        for (int host = 0; host < search->table->count; host++) {
            int alone = count_explained(search, end, host) > 0 ? count_alone(search, end, host) : 0;
            // Of one pair nobody knows which of its ends it is, unless the others show that it is none of theirs.
            if (alone > best && count_pairs(search, end, host) > 1) {
                best = alone;
                best_end = end;
                best_host = host;
            }
        }
    }
    if (best > 0) {
        search->blamed[best_end][best_host] = true;
    }
    return best > 0;
}

static void put(struct co_reach_verdict *verdict, struct co_reach_finding finding)
{
    if (verdict->count < CO_REACH_FINDINGS_MAX) {
        verdict->findings[verdict->count++] = finding;
    } else {
        verdict->left_out++;
    }
}

static bool is_unexplained(const struct search *search, int from, int to)
{
    return lacks(search, from, to) && !search->blamed[OUT][from] && !search->blamed[IN][to];
}

// Pairs that are known to be cut for other datagrams, too, are told with those.
static void put_paths(struct co_reach_verdict *verdict, const struct search *search, enum co_reach_of of,
                      const struct search *other)
{
    int count = search->table->count, unexplained = 0;
    for (int i = 0; i < count * count; i++) {
        unexplained += is_unexplained(search, i / count, i % count);
    }
    if (unexplained > 0 && unexplained == count * (count - 1)) {
        put(verdict, (struct co_reach_finding){.what = CO_REACH_NOBODY, .of = of});
        return;
    }
    for (int i = 0; i < count * count; i++) {
        int from = i / count, to = i % count;
        if (is_unexplained(search, from, to) && (other == NULL || !is_unexplained(other, from, to))) {
            int error = send_error(search, from);
            enum co_reach_seen seen = error != 0 ? CO_REACH_SEEN_REFUSED : seen_coming(search, to);
            put(verdict, (struct co_reach_finding){
                             .what = CO_REACH_PATH, .of = of, .seen = seen, .host = from, .other = to, .error = error});
        }
    }
}

static void search_ends(const struct search *search)
{
    blame_known(search, true);
    blame_known(search, false);
    while (blame_next(search)) {
    }
}

static int search_open(struct search *search, const struct co_reach_table *table, int kind,
                       const bool *const known[ENDS])
{
    bool *blamed = calloc((size_t)table->count * ENDS, sizeof *blamed);
    *search = (struct search){.table = table, .kinds = {kind}, .kind_count = 1, .blamed = {blamed, blamed}};
    if (blamed == NULL) {
        return -ENOMEM;
    }
    search->blamed[IN] = blamed + table->count;
    search->known[OUT] = known != NULL ? known[OUT] : NULL;
    search->known[IN] = known != NULL ? known[IN] : NULL;
    return 0;
}

static void put_end(struct co_reach_verdict *verdict, const struct search *search, int end, int host,
                    enum co_reach_of of)
{
    put(verdict, (struct co_reach_finding){.what = end == OUT ? CO_REACH_OUT : CO_REACH_IN,
                                           .of = of,
                                           .seen = seen_at(search, end, host),
                                           .host = host,
                                           .error = end == OUT ? send_error(search, host) : 0});
}

// Of small datagrams: what is true of both kinds is told once.
static void judge_small(struct co_reach_verdict *verdict, const struct co_reach_table *table)
{
    struct search unicast, multicast;
    if (search_open(&unicast, table, CO_REACH_UNICAST, NULL) != 0) {
        return;
    }
    search_ends(&unicast);
    const bool *const known[ENDS] = {unicast.blamed[OUT], unicast.blamed[IN]};
    if (search_open(&multicast, table, CO_REACH_MULTICAST, known) == 0) {
        search_ends(&multicast);
        for (int end = OUT; end < ENDS; end++) {
            for (int host = 0; host < table->count; host++) {
                bool is_unicast = unicast.blamed[end][host], is_multicast = multicast.blamed[end][host];
                if (is_unicast || is_multicast) {
                    put_end(verdict, is_unicast ? &unicast : &multicast, end, host,
                            is_unicast && is_multicast ? CO_REACH_OF_UDP
                            : is_unicast               ? CO_REACH_OF_UNICAST
                                                       : CO_REACH_OF_MULTICAST);
                }
            }
        }
        int unicast_from = verdict->count;
        put_paths(verdict, &unicast, CO_REACH_OF_UNICAST, NULL);
        for (int i = unicast_from; i < verdict->count; i++) {
            struct co_reach_finding *one = &verdict->findings[i];
            bool is_both = one->what == CO_REACH_PATH && is_unexplained(&multicast, one->host, one->other);
            one->of = is_both ? CO_REACH_OF_UDP : one->of;
        }
        put_paths(verdict, &multicast, CO_REACH_OF_MULTICAST, &unicast);
        for (int i = unicast_from; i + 1 < verdict->count; i++) {
            if (verdict->findings[i].what == CO_REACH_NOBODY && verdict->findings[i + 1].what == CO_REACH_NOBODY) {
                verdict->findings[i].of = CO_REACH_OF_UDP;
                verdict->count--;
            }
        }
    }
    free(unicast.blamed[OUT]);
    free(multicast.blamed[OUT]);
}

// The largest packets of those in between that came wherever full ones did not.
static size_t find_fitting(const struct co_reach_table *table)
{
    static const struct {
        int kind;
        size_t bytes;
    } between[] = {{CO_REACH_1450, 1450}, {CO_REACH_1400, 1400}, {CO_REACH_1280, 1280}};
    for (size_t i = 0; i < sizeof between / sizeof between[0]; i++) {
        int lacking = 0, tried = 0;
        for (int from = 0; from < table->count; from++) {
            for (int to = 0; to < table->count; to++) {
                size_t at = co_reach_at(table, between[i].kind, from, to);
                tried += table->wanted[at];
                lacking += table->wanted[at] && !table->heard[at];
            }
        }
        if (tried > 0 && lacking == 0) {
            return between[i].bytes;
        }
    }
    return 0;
}

static void judge_size(struct co_reach_verdict *verdict, const struct co_reach_table *table, int kind, int other_kind,
                       enum co_reach_of of)
{
    struct search search;
    int first = verdict->count;
    if (search_open(&search, table, kind, NULL) != 0) {
        return;
    }
    if (other_kind != kind) {
        search.kinds[search.kind_count++] = other_kind;
    }
    search_ends(&search);
    for (int end = OUT; end < ENDS; end++) {
        for (int host = 0; host < table->count; host++) {
            if (search.blamed[end][host]) {
                put_end(verdict, &search, end, host, of);
            }
        }
    }
    put_paths(verdict, &search, of, NULL);
    for (int i = first; i < verdict->count; i++) {
        verdict->findings[i].fits = of == CO_REACH_OF_FULL ? find_fitting(table) : 0;
    }
    free(search.blamed[OUT]);
}

// Where most of what there is would be to blame it is the network, and nobody in it.
static void judge_volleys(struct co_reach_verdict *verdict, const struct co_reach_table *table, int kind,
                          enum co_reach_of of)
{
    int first = verdict->count, left_out = verdict->left_out;
    judge_size(verdict, table, kind, kind, of);
    bool is_nobody = verdict->count > first && verdict->findings[first].what == CO_REACH_NOBODY;
    if (is_nobody || verdict->left_out > left_out || verdict->count - first > table->count) {
        verdict->count = first;
        verdict->left_out = left_out;
    }
}

static void judge_addresses(struct co_reach_verdict *verdict, const struct co_reach_table *table)
{
    for (int host = 0; host < table->count; host++) {
        for (int other = 0; other < host && table->hosts[host].ip != 0; other++) {
            if (table->hosts[host].ip == table->hosts[other].ip) {
                put(verdict, (struct co_reach_finding){
                                 .what = CO_REACH_SAME_IP, .of = CO_REACH_OF_UDP, .host = other, .other = host});
                break;
            }
        }
    }
}

void co_reach_judge(struct co_reach_verdict *verdict, const struct co_reach_table *table)
{
    *verdict = (struct co_reach_verdict){.count = 0};
    judge_addresses(verdict, table);
    judge_small(verdict, table);
    judge_size(verdict, table, CO_REACH_UNICAST_FULL, CO_REACH_MULTICAST_FULL, CO_REACH_OF_FULL);
    judge_size(verdict, table, CO_REACH_LARGE, CO_REACH_LARGE, CO_REACH_OF_LARGE);
    judge_volleys(verdict, table, CO_REACH_QUICK, CO_REACH_OF_QUICK);
    judge_volleys(verdict, table, CO_REACH_WHOLE, CO_REACH_OF_WHOLE);
}

bool co_reach_is_fit_to_measure(const struct co_reach_verdict *verdict)
{
    for (int i = 0; i < verdict->count; i++) {
        if (verdict->findings[i].of < CO_REACH_OF_WHOLE) {
            return false;
        }
    }
    return true;
}

bool co_reach_passes(const struct co_reach_verdict *verdict)
{
    for (int i = 0; i < verdict->count; i++) {
        if (verdict->findings[i].of < CO_REACH_OF_LARGE) {
            return false;
        }
    }
    return true;
}
