// SPDX-License-Identifier: BSD-3-Clause
//
// One character at a time, by the table of well-formed UTF-8 (Unicode 15, table 3-7). Cold.
#include "base/plain_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { SHOWN_MAX = 4 }; // \xNN, or the longest character

static bool is_tail(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

unsigned co_plain_bytes(const char *text)
{
    const uint8_t *at = (const uint8_t *)text;
    uint8_t first = at[0];
    if (first < 0x80) {
        return (first >= 0x20 && first != 0x7f) || first == '\n' || first == '\t';
    }
    if (first >= 0xc2 && first <= 0xdf && is_tail(at[1])) {
        return first == 0xc2 && at[1] < 0xa0 ? 0 : 2; // C1
    }
    if ((first & 0xf0) == 0xe0 && is_tail(at[1]) && is_tail(at[2])) {
        bool is_long = first == 0xe0 && at[1] < 0xa0, is_surrogate = first == 0xed && at[1] > 0x9f;
        return is_long || is_surrogate ? 0 : 3;
    }
    if (first >= 0xf0 && first <= 0xf4 && is_tail(at[1]) && is_tail(at[2]) && is_tail(at[3])) {
        bool is_long = first == 0xf0 && at[1] < 0x90, is_beyond = first == 0xf4 && at[1] > 0x8f;
        return is_long || is_beyond ? 0 : 4;
    }
    return 0;
}

// The next character as it is to be seen; returns how many bytes of `text` that took.
static unsigned show(const char *text, bool keeps_lines, char shown[SHOWN_MAX + 1])
{
    unsigned bytes = co_plain_bytes(text);
    if (bytes == 0 || (!keeps_lines && (*text == '\n' || *text == '\t'))) {
        snprintf(shown, SHOWN_MAX + 1, "\\x%02x", (unsigned char)*text);
        return 1;
    }
    memcpy(shown, text, bytes);
    shown[bytes] = '\0';
    return bytes;
}

static size_t put(FILE *stream, const char *text, bool keeps_lines)
{
    char shown[SHOWN_MAX + 1];
    size_t bytes = 0;
    while (*text != '\0') {
        text += show(text, keeps_lines, shown);
        bytes += strlen(shown);
        if (stream != NULL) {
            fputs(shown, stream);
        }
    }
    return bytes;
}

size_t co_plain_put(FILE *stream, const char *text)
{
    return put(stream, text, false);
}

void co_plain_put_lines(FILE *stream, const char *text)
{
    put(stream, text, true);
}

char *co_plain_line(char *line, size_t room, const char *text)
{
    char shown[SHOWN_MAX + 1];
    size_t used = 0;
    while (*text != '\0') {
        text += show(text, false, shown);
        size_t bytes = strlen(shown);
        if (used + bytes >= room) {
            break;
        }
        memcpy(line + used, shown, bytes);
        used += bytes;
    }
    line[used] = '\0';
    return line;
}

bool co_plain_begins(const char *text, const char *words)
{
    static const char blanks[] = " \t";
    while (*words != '\0') {
        size_t between = strspn(words, blanks), between_there = strspn(text, blanks);
        if ((between > 0) != (between_there > 0)) {
            return false;
        }
        words += between;
        text += between_there;
        if (*words != '\0' && *words++ != *text++) {
            return false;
        }
    }
    return true;
}
