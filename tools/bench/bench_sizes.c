// SPDX-License-Identifier: BSD-3-Clause
//
// Reads lists and ranges of message sizes and depths, and lists of rank counts, as written behind --sizes, --depths and
// -n; writes a command line. Pure. Cold.
#include "bench.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t largest = UINT64_C(1) << 31; // counts of MPI calls are int

// "64K" from *at on; 0 when it is none.
static uint64_t take_size(const char **at)
{
    static const char suffixes[] = "KMG";
    char *end;
    if (**at < '0' || **at > '9') {
        return 0;
    }
    unsigned long long value = strtoull(*at, &end, 10);
    const char *suffix = *end ? strchr(suffixes, *end) : NULL;
    if (suffix) {
        unsigned shift = 10 * (unsigned)(suffix - suffixes + 1);
        value = value > largest ? largest : value << shift;
        end++;
    }
    *at = end;
    return value < largest ? value : 0;
}

static int put(size_t *sizes, int room, int count, uint64_t value)
{
    if (count == room) {
        return -EINVAL;
    }
    sizes[count] = value;
    return count + 1;
}

// One element: SIZE, or FIRST:LAST with an optional :FACTOR.
static int take_element(const char **at, size_t *sizes, int room, int count)
{
    uint64_t first = take_size(at), last = first, factor = 4;
    if (first && **at == ':') {
        (*at)++;
        last = take_size(at);
        if (last && **at == ':') {
            (*at)++;
            factor = take_size(at);
        }
    }
    if (first == 0 || last < first || factor < 2) {
        return -EINVAL;
    }
    for (uint64_t size = first; size < last && count >= 0; size *= factor) {
        count = put(sizes, room, count, size);
    }
    return count < 0 ? count : put(sizes, room, count, last);
}

int co_bench_sizes_parse(const char *text, size_t *sizes, int room)
{
    int count = 0;
    for (;;) {
        count = take_element(&text, sizes, room, count);
        if (count < 0 || *text == '\0') {
            return count;
        }
        if (*text++ != ',') {
            return -EINVAL;
        }
    }
}

int co_bench_depths_parse(const char *text, size_t *depths, int room)
{
    if (*text != '0' || (text[1] != ',' && text[1] != '\0')) {
        return co_bench_sizes_parse(text, depths, room);
    }
    *depths = 0;
    int rest = text[1] == '\0' ? 0 : co_bench_sizes_parse(text + 2, depths + 1, room - 1);
    return rest < 0 ? rest : rest + 1;
}

int co_bench_ranks_parse(const char *text, int *ranks, int room)
{
    int count = 0;
    while (count < room) {
        char *end;
        long value = strtol(text, &end, 10);
        if (end == text || value < 1 || value > 65536) {
            return -EINVAL;
        }
        ranks[count++] = (int)value;
        if (*end == '\0') {
            return count;
        }
        if (*end != ',') {
            return -EINVAL;
        }
        text = end + 1;
    }
    return -EINVAL;
}

void co_bench_command_print(char *text, size_t room, int count, char **words)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < count && used < room; i++) {
        const char *quote = i > 0 && (*words[i] == '\0' || strpbrk(words[i], " \t'\"*?$&;|<>()#")) ? "'" : "";
        used += (size_t)snprintf(text + used, room - used, "%s%s%s%s", i ? " " : "", quote, words[i], quote);
    }
}
