// SPDX-License-Identifier: BSD-3-Clause
//
// Reads the text form of the tune table. The file comes from a user: every word is checked, the first mistake is
// named with its line, and a table that does not parse whole changes nothing. Set-up only; any thread.
#include "engine/decide/tune_table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MIN = 7, WORDS_MAX = 11, WORD_SHOWN = 32 };

struct word {
    const char *text;
    size_t bytes;
};

struct place {
    unsigned line;
    char *why;
    size_t why_room;
};

__attribute__((format(printf, 2, 3))) static int refuse(const struct place *place, const char *format, ...)
{
    char cause[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cause, sizeof cause, format, arguments);
    va_end(arguments);
    snprintf(place->why, place->why_room, "line %u: %s", place->line, cause);
    return -EINVAL;
}

// How much of a word may stand in a message: foreign bytes must not reach a terminal.
static int shown(const struct word *word)
{
    int count = 0;
    while (count < WORD_SHOWN && (size_t)count < word->bytes && word->text[count] > ' ' && word->text[count] < 127) {
        count++;
    }
    return count;
}

static bool word_is(const struct word *word, const char *text)
{
    return strlen(text) == word->bytes && memcmp(word->text, text, word->bytes) == 0;
}

// Position of `word` in a NULL-terminated list, or -1.
static int word_in(const struct word *word, const char *const list[])
{
    for (int i = 0; list[i]; i++) {
        if (word_is(word, list[i])) {
            return i;
        }
    }
    return -1;
}

// Of those that have rows of their own.
static int call_in(const struct word *word)
{
    for (int call = 0; call < CO_CALL_COUNT; call++) {
        enum co_call named = (enum co_call)call;
        if (co_call_started(named) == named && word_is(word, co_call_word(named))) {
            return call;
        }
    }
    return -1;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

// Cuts a line, without its comment, into words; returns their number, one too many standing for "more".
static int cut(const char *line, size_t bytes, struct word words[WORDS_MAX + 1])
{
    const char *comment = memchr(line, '#', bytes);
    const char *end = comment ? comment : line + bytes;
    int count = 0;
    while (count <= WORDS_MAX) {
        while (line < end && is_blank(*line)) {
            line++;
        }
        if (line == end) {
            break;
        }
        const char *start = line;
        while (line < end && !is_blank(*line)) {
            line++;
        }
        words[count++] = (struct word){start, (size_t)(line - start)};
    }
    return count;
}

// Decimal digits from *at on, no sign, no overflow. Moves *at behind them.
static bool take_number(const char **at, const char *end, uint64_t *number)
{
    const char *start = *at;
    uint64_t value = 0;
    while (*at < end && **at >= '0' && **at <= '9') {
        unsigned digit = (unsigned)(**at - '0');
        if (value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
        (*at)++;
    }
    *number = value;
    return *at > start;
}

// "8", "2-16" or "65536-" (to `highest`), within [1, highest].
static bool take_range(const struct word *word, uint64_t highest, uint64_t *low, uint64_t *high)
{
    const char *at = word->text;
    const char *end = at + word->bytes;
    if (!take_number(&at, end, low)) {
        return false;
    }
    *high = *low;
    if (at < end) {
        if (*at++ != '-') {
            return false;
        }
        *high = highest;
        if (at < end && (!take_number(&at, end, high) || at < end)) {
            return false;
        }
    }
    return *low >= 1 && *low <= *high && *high <= highest;
}

// The ranges of a row, named in any order.
enum dimension { RANKS, PER_NODE, TRANSPORT, BYTES, DIMENSIONS };
static const char *const dimension_words[] = {"ranks", "ranks_per_node", "transport", "bytes", NULL};

static int parse_transport(const struct word *value, const struct place *place, struct co_tune_row *row)
{
    row->transport = co_transport_kind_named(value->text, value->bytes);
    if (row->transport == CO_TRANSPORT_COUNT) {
        return refuse(place, "'%.*s' is not a transport: shm, udp, proxy or any", shown(value), value->text);
    }
    if (co_call_is_proxied(row->call) ? row->transport != CO_TRANSPORT_ANY && row->transport != CO_TRANSPORT_PROXY
                                      : row->transport == CO_TRANSPORT_PROXY && !co_call_is_nonblocking(row->call)) {
        return refuse(place, "%s is not carried by %s", co_call_word(row->call),
                      co_transport_kind_text(row->transport));
    }
    if (row->where == CO_TUNE_HOSTS && row->transport == CO_TRANSPORT_SHM) {
        return refuse(place, "shm is no transport between hosts");
    }
    if (row->where == CO_TUNE_NODE && row->transport != CO_TRANSPORT_SHM && row->transport != CO_TRANSPORT_PROXY &&
        row->transport != CO_TRANSPORT_ANY) {
        return refuse(place, "the transport of a node is shm, not %s", co_transport_kind_text(row->transport));
    }
    return 0;
}

static int parse_dimension(enum dimension dimension, const struct word *value, const struct place *place,
                           struct co_tune_row *row)
{
    uint64_t low, high;
    switch (dimension) {
    case RANKS:
        if (!take_range(value, INT32_MAX, &low, &high)) {
            return refuse(place, "'%.*s' is not a range of ranks such as 2-16 or 2-", shown(value), value->text);
        }
        row->ranks_min = (int)low;
        row->ranks_max = (int)high;
        return 0;
    case PER_NODE:
        if (!take_range(value, INT32_MAX, &low, &high)) {
            return refuse(place, "'%.*s' is not a range of ranks per node such as 1, 2-4 or 2-", shown(value),
                          value->text);
        }
        row->per_node_min = (int)low;
        row->per_node_max = (int)high;
        return 0;
    case TRANSPORT:
        return parse_transport(value, place, row);
    default:
        if (!take_range(value, SIZE_MAX, &low, &high)) {
            return refuse(place, "'%.*s' is not a range of bytes such as 1-4096 or 65536-", shown(value), value->text);
        }
        row->bytes_min = low;
        row->bytes_max = high;
        return 0;
    }
}

// The pairs of a name and a value between place and verdict.
static int parse_dimensions(const struct word *words, int count, const struct place *place, struct co_tune_row *row)
{
    bool has[DIMENSIONS] = {false};
    for (int i = 0; i + 1 < count; i += 2) {
        int dimension = word_in(&words[i], dimension_words);
        if (dimension < 0) {
            return refuse(place, "'%.*s' is not ranks, ranks_per_node, transport or bytes", shown(&words[i]),
                          words[i].text);
        }
        if (has[dimension]) {
            return refuse(place, "%s stands there twice", dimension_words[dimension]);
        }
        has[dimension] = true;
        int failed = parse_dimension((enum dimension)dimension, &words[i + 1], place, row);
        if (failed) {
            return failed;
        }
    }
    if (!has[RANKS] || !has[BYTES]) {
        return refuse(place, "%s and their range are missing", has[RANKS] ? "bytes" : "ranks");
    }
    return 0;
}

static int parse_row(const struct word *words, int count, const struct place *place, struct co_tune_row *row)
{
    static const char *const wheres[] = {"node", "hosts", "mixed", NULL};
    static const char *const verdicts[] = {"decline", "take", NULL};
    if (count < WORDS_MIN || count > WORDS_MAX || count % 2 == 0) {
        return refuse(place,
                      "a row is: CALL WHERE ranks A-B [ranks_per_node C-D] [transport NAME] bytes E-F decline|take");
    }
    int call = call_in(&words[0]);
    int where = word_in(&words[1], wheres);
    int verdict = word_in(&words[count - 1], verdicts);
    if (call < 0) {
        return refuse(place, "'%.*s' is no call of a tune table", shown(&words[0]), words[0].text);
    }
    if (where < 0) {
        return refuse(place, "'%.*s' is not node or hosts", shown(&words[1]), words[1].text);
    }
    // `mixed` is of older tables: several ranks on some host.
    bool is_mixed = where > CO_TUNE_HOSTS;
    *row = (struct co_tune_row){.call = (enum co_call)call,
                                .where = where == CO_TUNE_NODE ? CO_TUNE_NODE : CO_TUNE_HOSTS,
                                .per_node_min = is_mixed ? 2 : 1,
                                .per_node_max = INT32_MAX,
                                .take = verdict == 1};
    int failed = parse_dimensions(&words[2], count - 3, place, row);
    if (failed) {
        return failed;
    }
    if (is_mixed && row->per_node_min < 2) {
        return refuse(place, "mixed means several ranks on a host; write hosts");
    }
    if (row->per_node_min > row->ranks_max) {
        return refuse(place, "more ranks on a node than ranks");
    }
    if (verdict < 0) {
        const struct word *last = &words[count - 1];
        return refuse(place, "'%.*s' is neither decline nor take", shown(last), last->text);
    }
    return 0;
}

static int parse_all(struct co_tune_table *table, const char *text, size_t bytes, char *why, size_t why_room)
{
    struct place place = {0, why, why_room};
    const char *end = text + bytes;
    table->count = 0;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;
        struct word words[WORDS_MAX + 1] = {{0}};
        place.line++;
        int count = cut(text, (size_t)(stop - text), words);
        text = newline ? newline + 1 : end;
        if (count == 0) {
            continue;
        }
        if (table->count == CO_TUNE_ROWS_MAX) {
            return refuse(&place, "more than %d rows", CO_TUNE_ROWS_MAX);
        }
        int failed = parse_row(words, count, &place, &table->rows[table->count]);
        if (failed) {
            return failed;
        }
        table->count++;
    }
    return 0;
}

// From the last one on, so that each list is in the table's order.
static void link_rows(struct co_tune_table *table)
{
    for (int i = 0; i < CO_CALL_COUNT * CO_TUNE_WHERES; i++) {
        table->first[i / CO_TUNE_WHERES][i % CO_TUNE_WHERES] = (uint16_t)table->count;
    }
    for (unsigned i = table->count; i-- > 0;) {
        struct co_tune_row *row = &table->rows[i];
        row->next = table->first[row->call][row->where];
        table->first[row->call][row->where] = (uint16_t)i;
    }
}

int co_tune_table_parse(struct co_tune_table *table, const char *text, size_t bytes, char *why, size_t why_room)
{
    struct co_tune_table *read = calloc(1, sizeof *read);
    if (!read) {
        snprintf(why, why_room, "out of memory");
        return -ENOMEM;
    }
    int failed = parse_all(read, text, bytes, why, why_room);
    if (!failed) {
        link_rows(read);
        *table = *read;
    }
    free(read);
    return failed;
}
