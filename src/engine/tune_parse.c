// SPDX-License-Identifier: BSD-3-Clause
//
// Reads the text form of the tune table. The file comes from a user: every word is checked, the first mistake is
// named with its line, and a table that does not parse whole changes nothing. Set-up only; any thread.
#include "engine/tune_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 1 << 18, WORDS = 7, WORD_SHOWN = 32 };

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

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

// Cuts a line, without its comment, into words; returns their number, one too many standing for "more".
static int cut(const char *line, size_t bytes, struct word words[WORDS + 1])
{
    const char *comment = memchr(line, '#', bytes);
    const char *end = comment ? comment : line + bytes;
    int count = 0;
    while (count <= WORDS) {
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

static int parse_row(const struct word *words, int count, const struct place *place, struct co_tune_row *row)
{
    static const char *const calls[] = {"bcast", "allgather", "iallgather", NULL};
    static const char *const wheres[] = {"node", "hosts", "mixed", NULL};
    static const char *const verdicts[] = {"decline", "take", NULL};
    if (count != WORDS) {
        return refuse(place, "a row is: CALL WHERE ranks A-B bytes C-D decline|take");
    }
    int call = word_in(&words[0], calls);
    int where = word_in(&words[1], wheres);
    int verdict = word_in(&words[6], verdicts);
    if (call < 0) {
        return refuse(place, "'%.*s' is not bcast, allgather or iallgather", shown(&words[0]), words[0].text);
    }
    if (where < 0) {
        return refuse(place, "'%.*s' is not node, hosts or mixed", shown(&words[1]), words[1].text);
    }
    if (!word_is(&words[2], "ranks") || !word_is(&words[4], "bytes")) {
        return refuse(place, "the words 'ranks' and 'bytes' stand before their ranges");
    }
    uint64_t ranks[2], bytes[2];
    if (!take_range(&words[3], INT32_MAX, &ranks[0], &ranks[1])) {
        return refuse(place, "'%.*s' is not a range of ranks such as 2-16 or 2-", shown(&words[3]), words[3].text);
    }
    if (!take_range(&words[5], SIZE_MAX, &bytes[0], &bytes[1])) {
        return refuse(place, "'%.*s' is not a range of bytes such as 1-4096 or 65536-", shown(&words[5]),
                      words[5].text);
    }
    if (verdict < 0) {
        return refuse(place, "'%.*s' is neither decline nor take", shown(&words[6]), words[6].text);
    }
    *row = (struct co_tune_row){
        (enum co_call)call, (enum co_tune_where)where, (int)ranks[0], (int)ranks[1], bytes[0], bytes[1], verdict == 1};
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
        struct word words[WORDS + 1] = {{0}};
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

int co_tune_table_parse(struct co_tune_table *table, const char *text, size_t bytes, char *why, size_t why_room)
{
    struct co_tune_table *read = calloc(1, sizeof *read);
    if (!read) {
        snprintf(why, why_room, "out of memory");
        return -ENOMEM;
    }
    int failed = parse_all(read, text, bytes, why, why_room);
    if (!failed) {
        *table = *read;
    }
    free(read);
    return failed;
}

// Whole content of a file of at most FILE_BYTES_MAX bytes into `text`; returns how many, or -errno.
static ssize_t read_whole(const char *path, char *text)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a fifo must not hold the job up
    if (fd < 0) {
        return -errno;
    }
    size_t used = 0;
    ssize_t got;
    do {
        got = read(fd, text + used, FILE_BYTES_MAX + 1 - used);
        used += got > 0 ? (size_t)got : 0;
    } while ((got > 0 && used <= FILE_BYTES_MAX) || (got < 0 && errno == EINTR));
    ssize_t result = got < 0 ? -errno : (ssize_t)used;
    close(fd);
    return used > FILE_BYTES_MAX ? -EFBIG : result;
}

int co_tune_table_load(struct co_tune_table *table, const char *path, char *why, size_t why_room)
{
    char *text = malloc(FILE_BYTES_MAX + 1);
    if (!text) {
        snprintf(why, why_room, "out of memory");
        return -ENOMEM;
    }
    ssize_t bytes = read_whole(path, text);
    int result = (int)bytes;
    if (bytes < 0) {
        snprintf(why, why_room, "%s: %s", path, strerror((int)-bytes));
    } else {
        char cause[160];
        result = co_tune_table_parse(table, text, (size_t)bytes, cause, sizeof cause);
        if (result) {
            snprintf(why, why_room, "%s: %s", path, cause);
        }
    }
    free(text);
    return result;
}
