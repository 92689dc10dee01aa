// SPDX-License-Identifier: BSD-3-Clause
//
// Stages: all say which addresses they have; by which ways they get to those of the first host; open a socket on the
// network that follows, as a job would; learn of each other; and then rounds of sending and telling, first of small
// datagrams, then of full and large ones where small ones came, then of those in between where full ones did not. Who
// was not heard sends again. Cold.
#include "reach_session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/udp/udp.h"

enum { HELLO, WAYS, FACTS, MET, SENT, HEARD, VOLLEY };
enum { PHASES = 3, WORDS_MOST = 1 << 17, SINGLES_MOST = 1 << 16 };

static const struct {
    const char *kinds;
    int patience; // rounds in which nobody hears more
} phases[PHASES] = {{"01", 8}, {"234", 8}, {"567", 4}};

static void end(struct co_reach_session *session, const char *why)
{
    session->is_over = true;
    snprintf(session->why, sizeof session->why, "%s", why);
}

static void enter(struct co_reach_session *session, int stage)
{
    session->stage = stage;
    session->answered = 0;
    memset(session->has_answered, 0, sizeof session->has_answered);
}

// Each host answers once a stage. A number that a host has written may be any.
static bool takes_answer(struct co_reach_session *session, int64_t rank)
{
    if (rank < 0 || rank >= session->table.count || session->has_answered[rank]) {
        return false;
    }
    session->has_answered[rank] = true;
    session->answered++;
    return true;
}

static bool all_have(const struct co_reach_session *session)
{
    return session->answered == session->table.count;
}

static void say_list(struct co_reach_session *session, const char *word)
{
    char words[32 + CO_REACH_ADDRESSES_MAX * 9];
    size_t used = (size_t)snprintf(words, sizeof words, "%s ", word);
    for (int i = 0; i < session->address_count; i++) {
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%08" PRIx32, i > 0 ? "," : "",
                                 session->addresses[i]);
    }
    snprintf(words + used, sizeof words - used, "%s\n", session->address_count == 0 ? "-" : "");
    session->say(session->arg, words);
}

static void take_addresses(struct co_reach_session *session, const char *list)
{
    char *end_of;
    session->address_count = 0;
    while (session->address_count < CO_REACH_ADDRESSES_MAX && *list != '\0') {
        uint32_t ip = (uint32_t)strtoul(list, &end_of, 16);
        if (end_of == list) {
            return;
        }
        session->addresses[session->address_count] = ip;
        session->ways[session->address_count++] = CO_UDP_WAY_DIRECT;
        list = *end_of == ',' ? end_of + 1 : end_of;
    }
}

static void take_hello(struct co_reach_session *session, const char *rest)
{
    int rank, size;
    uint64_t machine;
    char list[CO_REACH_ADDRESSES_MAX * 9 + 1];
    if (sscanf(rest, "%d %d %" SCNx64 " %144s", &rank, &size, &machine, list) != 4) {
        return;
    }
    if (rank < 0 || size < 1 || rank >= size) {
        end(session, "the launcher does not tell its ranks who they are");
        return;
    }
    if (size > CO_REACH_HOSTS_MAX) {
        end(session, "there are more than 512 hosts");
        return;
    }
    if (session->table.count == 0 && co_reach_table_make(&session->table, size) != 0) {
        end(session, "out of memory");
        return;
    }
    if (!takes_answer(session, rank)) {
        return;
    }
    session->table.hosts[rank].machine = machine;
    if (rank == 0) {
        take_addresses(session, list);
    }
    if (all_have(session)) {
        enter(session, WAYS);
        say_list(session, "ways");
    }
}

// As jobs do: the first address to which all hosts have a way without routers, or else one.
static uint32_t pick_network(struct co_reach_session *session)
{
    for (int wanted = CO_UDP_WAY_DIRECT; wanted > CO_UDP_NO_WAY; wanted--) {
        for (int i = 0; i < session->address_count; i++) {
            if (session->ways[i] < wanted) {
                continue;
            }
            for (int rank = 0; rank < session->table.count; rank++) {
                int own = session->own_ways[rank][i] - '0';
                session->table.hosts[rank].way = rank == 0 ? CO_UDP_WAY_DIRECT : own;
            }
            return session->addresses[i];
        }
    }
    return 0; // no one has any: each takes its first interface
}

static void take_ways(struct co_reach_session *session, const char *rest)
{
    int rank;
    char list[CO_REACH_ADDRESSES_MAX + 1];
    if (sscanf(rest, "%d %16s", &rank, list) != 2 || !takes_answer(session, rank)) {
        return;
    }
    memcpy(session->own_ways[rank], list, sizeof list);
    for (int i = 0; rank != 0 && i < session->address_count; i++) {
        int way = (int)strlen(list) > i && list[i] >= '0' && list[i] <= '2' ? list[i] - '0' : CO_UDP_NO_WAY;
        session->own_ways[rank][i] = (char)('0' + way);
        session->ways[i] = way < session->ways[i] ? way : session->ways[i];
    }
    if (all_have(session)) {
        char words[96];
        uint32_t near_ip = pick_network(session);
        session->near_ip = near_ip;
        enter(session, FACTS);
        snprintf(words, sizeof words, "open %016" PRIx64 " %016" PRIx64 " %08" PRIx32 "\n", session->tag,
                 session->nonce, near_ip);
        session->say(session->arg, words);
    }
}

static void introduce(struct co_reach_session *session)
{
    static char words[CO_REACH_HOSTS_MAX * 40 + 8];
    size_t used = (size_t)snprintf(words, sizeof words, "meet ");
    struct co_reach_table *table = &session->table;
    table->full_bytes = session->largest_bytes;
    for (int rank = 0; rank < table->count; rank++) {
        const struct co_host_facts *facts = &session->facts[rank];
        int64_t mtu = facts->mtu > 0 ? facts->mtu : 0;
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%08" PRIx32 ":%u:%" PRId64, rank > 0 ? "," : "",
                                 (uint32_t)facts->ip, (unsigned)(uint16_t)facts->port, mtu);
        if (mtu > 0 && (size_t)mtu < table->full_bytes) {
            table->full_bytes = (size_t)mtu;
        }
        table->hosts[rank].mtu = mtu;
        table->hosts[rank].ip = (uint32_t)facts->ip;
    }
    snprintf(words + used, sizeof words - used, "\n");
    session->say(session->arg, words);
}

static void take_facts(struct co_reach_session *session, const char *line)
{
    struct co_host_facts facts;
    if (!co_host_facts_parse(&facts, line) || !takes_answer(session, facts.rank)) {
        return;
    }
    session->facts[facts.rank] = facts;
    if (all_have(session)) {
        enter(session, MET);
        introduce(session);
    }
}

// "FROM.KIND.TO,..." of whom nobody has heard yet; how many.
static int list_lacking(const struct co_reach_session *session, char *words, size_t room)
{
    const struct co_reach_table *table = &session->table;
    int count = 0;
    size_t used = 0;
    *words = '\0';
    for (const char *kind = phases[session->phase].kinds; *kind != '\0'; kind++) {
        for (int from = 0; from < table->count; from++) {
            for (int to = 0; to < table->count && used + 24 < room; to++) {
                if (co_reach_lacks(table, *kind - '0', from, to)) {
                    used += (size_t)snprintf(words + used, room - used, "%s%d.%c.%d", count++ > 0 ? "," : "", from,
                                             *kind, to);
                    to = co_reach_is_multicast(*kind - '0') ? table->count : to; // one is for all
                }
            }
        }
    }
    return count;
}

static void start_round(struct co_reach_session *session)
{
    static char words[WORDS_MOST], single[SINGLES_MOST];
    bool is_first = session->idle_rounds == 0 && session->fresh < 0 && session->phase < PHASES - 1;
    list_lacking(session, single, sizeof single);
    snprintf(words, sizeof words, "send %zu %s %s\n", session->table.full_bytes,
             is_first ? phases[session->phase].kinds : "-", is_first ? "" : single);
    session->table.rounds += session->phase == 0;
    session->fresh = 0;
    enter(session, SENT);
    session->say(session->arg, words);
}

static bool lacks_any(const struct co_reach_session *session)
{
    char some[64];
    return list_lacking(session, some, sizeof some) > 0;
}

static void start_volley(struct co_reach_session *session)
{
    struct co_reach_table *table = &session->table;
    const struct co_volley *now = &table->volleys.now;
    char words[128];
    if (!co_volley_plan_next(&table->volleys, table->full_bytes)) {
        co_reach_grade_volleys(table);
        session->is_over = true;
        return;
    }
    snprintf(words, sizeof words, "volley %d %d %d %zu %" PRId64 "\n", now->number, now->from, now->count, now->bytes,
             now->kbits);
    enter(session, VOLLEY);
    session->say(session->arg, words);
}

static void take_volley(struct co_reach_session *session, const char *rest)
{
    int rank, number;
    struct co_volley_seen seen;
    if (sscanf(rest, "%d %d %d %d %d %" SCNd64, &rank, &number, &seen.sent, &seen.arrived, &seen.overflowed,
               &seen.kbits) != 6 ||
        number != session->table.volleys.now.number || !takes_answer(session, rank)) {
        return;
    }
    co_volley_plan_take(&session->table.volleys, rank, &seen);
    if (all_have(session)) {
        start_volley(session);
    }
}

// What is lacking is to be mended first; so few hosts that it does not take minutes.
static void start_volleys(struct co_reach_session *session)
{
    struct co_reach_table *table = &session->table;
    if (table->count < 2 || table->count > CO_VOLLEY_HOSTS_MAX || !co_reach_lacks_nothing(table) ||
        co_volley_plan_make(&table->volleys, table->count) != 0) {
        session->is_over = true;
        return;
    }
    start_volley(session);
}

// The next phase in which there is anything to try; past the last one come volleys.
static void start_phase(struct co_reach_session *session)
{
    for (; session->phase < PHASES; session->phase++) {
        co_reach_want(&session->table, phases[session->phase].kinds);
        if (lacks_any(session)) {
            session->idle_rounds = 0;
            session->fresh = -1;
            start_round(session);
            return;
        }
    }
    start_volleys(session);
}

static void end_round(struct co_reach_session *session)
{
    session->idle_rounds = session->fresh > 0 ? 0 : session->idle_rounds + 1;
    if (lacks_any(session) && session->idle_rounds < phases[session->phase].patience) {
        start_round(session);
        return;
    }
    session->phase++;
    start_phase(session);
}

static void take_word(struct co_reach_session *session, const char *rest)
{
    if (!takes_answer(session, atoi(rest)) || !all_have(session)) {
        return;
    }
    if (session->stage == MET) {
        start_phase(session);
    } else {
        char words[32];
        snprintf(words, sizeof words, "tell %s\n", phases[session->phase].kinds);
        enter(session, HEARD);
        session->say(session->arg, words);
    }
}

// " K0110..." for each kind.
static void take_kind(struct co_reach_session *session, int rank, const char *text)
{
    struct co_reach_table *table = &session->table;
    int kind = text[0] - '0';
    if (kind < 0 || kind >= CO_REACH_KINDS || strspn(text + 1, "01") < (size_t)table->count) {
        return;
    }
    for (int from = 0; from < table->count; from++) {
        uint8_t *heard = &table->heard[co_reach_at(table, kind, from, rank)];
        if (text[1 + from] == '1' && !*heard) {
            *heard = 1;
            session->fresh++;
        }
    }
}

static void take_heard(struct co_reach_session *session, const char *rest)
{
    int rank, at = 0;
    struct co_reach_evidence told = {0};
    if (sscanf(rest, "%d %d %d %" SCNd64 " %" SCNd64 "%n", &rank, &told.unicast_error, &told.multicast_error,
               &told.dropped, &told.filtered, &at) != 5 ||
        !takes_answer(session, rank)) {
        return;
    }
    struct co_reach_evidence *known = &session->table.hosts[rank];
    if (session->phase == 0) {
        known->unicast_error = told.unicast_error;
        known->multicast_error = told.multicast_error;
        known->dropped = told.dropped;
        known->filtered = told.filtered;
    }
    for (const char *next = strchr(rest + at, ' '); next != NULL; next = strchr(next + 1, ' ')) {
        take_kind(session, rank, next + 1);
    }
    if (all_have(session)) {
        end_round(session);
    }
}

void co_reach_session_line(struct co_reach_session *session, const char *line)
{
    static const char prefix[] = "castoff_reach ";
    static const char *const words[] = {[HELLO] = "hello ", [WAYS] = "ways ",   [MET] = "met ",
                                        [SENT] = "sent ",   [HEARD] = "heard ", [VOLLEY] = "volley "};
    if (session->is_over) {
        return;
    }
    if (session->stage == FACTS) {
        take_facts(session, line);
        return;
    }
    const char *word = words[session->stage];
    if (strncmp(line, prefix, strlen(prefix)) != 0 || strncmp(line + strlen(prefix), word, strlen(word)) != 0) {
        return;
    }
    const char *rest = line + strlen(prefix) + strlen(word);
    switch (session->stage) {
    case HELLO:
        take_hello(session, rest);
        break;
    case WAYS:
        take_ways(session, rest);
        break;
    case HEARD:
        take_heard(session, rest);
        break;
    case VOLLEY:
        take_volley(session, rest);
        break;
    default:
        take_word(session, rest);
    }
}

int co_reach_session_missing(const struct co_reach_session *session)
{
    return session->table.count == 0 ? -1 : session->table.count - session->answered;
}
