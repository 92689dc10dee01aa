// SPDX-License-Identifier: BSD-3-Clause
//
// The decision to take a call, and the words of the report for calls and reasons. Pure: the same facts give the
// same answer on every rank, which is what keeps a collective from being taken by some members only. Called
// for every collective by src/pmpi through the engine; any thread; tens of nanoseconds.
//
// An Allgatherv is decided by the sum of its blocks and by the largest of them. Of the arguments these are what all
// members have alike: each is given the counts of all ranks, but in units of a type of its own, so it is bytes that
// they agree about; places and the sending side are each member's own affair. Equal blocks (the largest is the mean)
// are an Allgather, and a largest one that is the sum is a Bcast: those rows hold. For all else it is the mean that
// tells: what a member's link carries is the sum, however it is divided, while stock's time grows with the largest
// block, which goes round as often as there are ranks; rows are measured with blocks of up to twice the mean.
#include "engine/decide/decide.h"

#include <string.h>

#include "base/settings.h"
#include "engine/decide/tune_table.h"

#define REASON_TEXT(id, text) text,
static const char *const reason_texts[CO_REASON_COUNT] = {CO_REASONS(REASON_TEXT)};
#undef REASON_TEXT

static const char *const transport_texts[CO_TRANSPORT_COUNT] = {"any", "shm", "udp", "verbs", "proxy"};

#define CALL_TEXT(id, text, word) text,
#define CALL_WORD(id, text, word) word,
static const char *const call_texts[CO_CALL_COUNT] = {CO_CALLS(CALL_TEXT)};
static const char *const call_words[CO_CALL_COUNT] = {CO_CALLS(CALL_WORD)};
#undef CALL_TEXT
#undef CALL_WORD

static bool result_fits(const struct co_team_facts *facts, enum co_call call, size_t bytes)
{
    size_t blocks = co_call_has_root(call) ? 1 : (size_t)facts->ranks;
    return bytes <= PTRDIFF_MAX / blocks;
}

// What no setting can overrule.
static enum co_reason obstacle(const struct co_team_facts *facts, enum co_call call, size_t bytes, bool by_proxies)
{
    if (facts->ranks < 2) {
        return CO_ONE_RANK;
    }
    if (by_proxies && !facts->has_proxies) {
        return CO_NO_PROXY;
    }
    if (bytes == 0) {
        return CO_ZERO_BYTES;
    }
    if (by_proxies) {
        return result_fits(facts, call, bytes) ? CO_TAKE : CO_TOO_LARGE;
    }
    if (facts->nodes > 1 && !facts->has_multicast) {
        return CO_NO_MULTICAST;
    }
    if (facts->max_ranks_per_node > 1 && !facts->has_shm) {
        return CO_NO_TRANSPORT;
    }
    return result_fits(facts, call, bytes) ? CO_TAKE : CO_TOO_LARGE;
}

static bool transport_fits(const struct co_tune_row *row, const struct co_team_facts *facts, enum co_call call)
{
    if (row->transport == CO_TRANSPORT_ANY) {
        return true;
    }
    if (row->transport != CO_TRANSPORT_PROXY) {
        return row->transport == facts->transport && !co_call_is_proxied(call);
    }
    return co_call_is_proxied(call) || (facts->has_proxies && call == co_call_started(call));
}

// Of a row of this call, for communicators on as many nodes.
static bool row_fits(const struct co_tune_row *row, const struct co_team_facts *facts, enum co_call call, size_t bytes)
{
    return facts->ranks >= row->ranks_min && facts->ranks <= row->ranks_max &&
           facts->max_ranks_per_node >= row->per_node_min && facts->max_ranks_per_node <= row->per_node_max &&
           transport_fits(row, facts, call) && bytes >= row->bytes_min && bytes <= row->bytes_max;
}

// The first that fits; NULL: none does.
static const struct co_tune_row *row_of(const struct co_tune_table *table, const struct co_team_facts *facts,
                                        enum co_call call, size_t bytes)
{
    enum co_tune_where where = facts->nodes == 1 ? CO_TUNE_NODE : CO_TUNE_HOSTS;
    for (unsigned i = table->first[co_call_started(call)][where]; i < table->count; i = table->rows[i].next) {
        if (row_fits(&table->rows[i], facts, call, bytes)) {
            return &table->rows[i];
        }
    }
    return NULL;
}

// A range that begins at the smallest message says "too small", one without end "too large".
static enum co_reason word_for(const struct co_tune_row *row)
{
    bool from_bottom = row->bytes_min <= 1;
    bool to_top = row->bytes_max == SIZE_MAX;
    if (from_bottom == to_top) {
        return CO_STOCK_FASTER;
    }
    return from_bottom ? CO_TOO_SMALL : CO_TOO_LARGE;
}

// The row that decides, NULL: none does; and who carries the call where it is taken.
static const struct co_tune_row *deciding_row(const struct co_tune_table *table, const struct co_team_facts *facts,
                                              enum co_call call, size_t bytes, int policy)
{
    return policy == CO_AUTO ? row_of(table, facts, call, bytes) : NULL;
}

static bool is_by_proxies(const struct co_tune_row *row, enum co_call call, int policy)
{
    return co_call_is_proxied(call) || policy == CO_BY_PROXIES || (row != NULL && row->transport == CO_TRANSPORT_PROXY);
}

bool co_decide_by_proxies(const struct co_tune_table *table, const struct co_team_facts *facts, enum co_call call,
                          size_t bytes, int policy)
{
    return is_by_proxies(facts->has_proxies ? deciding_row(table, facts, call, bytes, policy) : NULL, call, policy);
}

enum co_reason co_decide(const struct co_tune_table *table, const struct co_team_facts *facts, enum co_call call,
                         size_t bytes, int policy)
{
    if (policy == CO_NO) {
        return CO_DISABLED;
    }
    const struct co_tune_row *row = deciding_row(table, facts, call, bytes, policy);
    enum co_reason reason = obstacle(facts, call, bytes, is_by_proxies(row, call, policy));
    if (reason != CO_TAKE) {
        return reason;
    }
    if (row == NULL) {
        return policy == CO_AUTO && facts->nodes > 1 && facts->has_nearer_native ? CO_NATIVE_NEARER : CO_TAKE;
    }
    return row->take ? CO_TAKE : word_for(row);
}

enum co_reason co_decide_messages(const struct co_team_facts *facts, const struct co_message_ways *ways, int policy)
{
    if (policy == CO_NO) {
        return CO_DISABLED;
    }
    if (ways->on_devices) {
        return CO_DEVICE_MEMORY;
    }
    if (policy == CO_AUTO && facts->nodes > 1) {
        return CO_STOCK_FASTER;
    }
    if (facts->nodes > 1 && !ways->has_remote_channel) {
        return CO_SEVERAL_NODES;
    }
    return ways->is_open ? CO_TAKE : CO_NO_TRANSPORT;
}

const char *co_reason_text(enum co_reason reason)
{
    return (unsigned)reason < CO_REASON_COUNT ? reason_texts[reason] : "unknown_reason";
}

const char *co_call_text(enum co_call call)
{
    return (unsigned)call < CO_CALL_COUNT ? call_texts[call] : "unknown_call";
}

const char *co_call_word(enum co_call call)
{
    return (unsigned)call < CO_CALL_COUNT ? call_words[call] : "unknown_call";
}

const char *co_transport_kind_text(enum co_transport_kind transport)
{
    return (unsigned)transport < CO_TRANSPORT_COUNT ? transport_texts[transport] : "unknown_transport";
}

enum co_transport_kind co_transport_kind_named(const char *text, size_t bytes)
{
    int transport = 0;
    while (transport < CO_TRANSPORT_COUNT &&
           (strlen(transport_texts[transport]) != bytes || memcmp(transport_texts[transport], text, bytes) != 0)) {
        transport++;
    }
    return (enum co_transport_kind)transport;
}
