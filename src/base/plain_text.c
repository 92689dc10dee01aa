// SPDX-License-Identifier: BSD-3-Clause
//
// One character at a time, by the table of well-formed UTF-8 (Unicode 15, table 3-7). Cold.
#include "base/plain_text.h"

#include <stdbool.h>
#include <stdint.h>

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

void co_plain_put(FILE *stream, const char *text)
{
    while (*text != '\0') {
        unsigned bytes = co_plain_bytes(text);
        if (bytes == 0) {
            fprintf(stream, "\\x%02x", (unsigned char)*text++);
            continue;
        }
        fwrite(text, 1, bytes, stream);
        text += bytes;
    }
}
