// SPDX-License-Identifier: BSD-3-Clause
// Patterns, digests, expectations and the final printout of the MPI test programs. Called from the
// programs' main thread; speed matters a little, because megabytes are checked after every call.
#include "oracle/verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAILURES_SHOWN 8

static struct {
    int rank;
    int size;
    uint64_t digest;
    unsigned long checks;
    unsigned long failures;
    char *text;
    size_t text_bytes;
} verdict;

static uint64_t mix(uint64_t value)
{
    value += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

uint64_t co_test_seed(int sender, int operation, size_t size)
{
    return mix(mix(mix((uint64_t)sender) + (uint64_t)operation) + size);
}

void co_test_pattern_fill(void *buffer, size_t bytes, uint64_t seed)
{
    unsigned char *target = buffer;
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word = mix(seed + at);
        size_t length = bytes - at < sizeof word ? bytes - at : sizeof word;
        memcpy(target + at, &word, length);
    }
}

size_t co_test_pattern_mismatch(const void *buffer, size_t bytes, uint64_t seed)
{
    const unsigned char *source = buffer;
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word = mix(seed + at);
        size_t length = bytes - at < sizeof word ? bytes - at : sizeof word;
        if (memcmp(source + at, &word, length) != 0) {
            const unsigned char *expected = (const unsigned char *)&word;
            size_t offset = 0;
            while (source[at + offset] == expected[offset]) {
                offset++;
            }
            return at + offset;
        }
    }
    return bytes;
}

int co_test_pattern_int(uint64_t seed, size_t index)
{
    uint64_t word = mix(seed + (index * sizeof(int)) / sizeof word * sizeof word);
    int value;
    memcpy(&value, (unsigned char *)&word + (index * sizeof(int)) % sizeof word, sizeof value);
    return value;
}

uint64_t co_test_digest(uint64_t state, const void *buffer, size_t bytes)
{
    const unsigned char *source = buffer;
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        size_t length = bytes - at < sizeof word ? bytes - at : sizeof word;
        memcpy(&word, source + at, length);
        state = (state ^ word) * 0x100000001b3u;
        state ^= state >> 29;
    }
    return mix(state + bytes);
}

void co_test_begin(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &verdict.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &verdict.size);
}

int co_test_rank(void)
{
    return verdict.rank;
}

int co_test_size(void)
{
    return verdict.size;
}

static void report_failure(const char *format, va_list arguments)
{
    verdict.failures++;
    if (verdict.failures > FAILURES_SHOWN) {
        return;
    }
    char line[512];
    vsnprintf(line, sizeof line, format, arguments);
    fprintf(stderr, "rank %d: FAILED: %s\n", verdict.rank, line);
}

void co_test_absorb(const void *buffer, size_t bytes)
{
    verdict.digest = co_test_digest(verdict.digest, buffer, bytes);
}

void co_test_received(const void *buffer, size_t bytes, uint64_t seed, const char *format, ...)
{
    verdict.checks++;
    co_test_absorb(buffer, bytes);
    size_t at = co_test_pattern_mismatch(buffer, bytes, seed);
    if (at < bytes) {
        va_list arguments;
        va_start(arguments, format);
        report_failure(format, arguments);
        va_end(arguments);
        fprintf(stderr, "rank %d:   byte %zu of %zu differs\n", verdict.rank, at, bytes);
    }
}

bool co_test_expect(bool holds, const char *format, ...)
{
    verdict.checks++;
    if (!holds) {
        va_list arguments;
        va_start(arguments, format);
        report_failure(format, arguments);
        va_end(arguments);
    }
    return holds;
}

void co_test_say(const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof line) {
        length = (int)sizeof line - 1;
    }
    char *grown = realloc(verdict.text, verdict.text_bytes + (size_t)length);
    if (grown == NULL) {
        abort();
    }
    memcpy(grown + verdict.text_bytes, line, (size_t)length);
    verdict.text = grown;
    verdict.text_bytes += (size_t)length;
}

// Rank 0 gets the text of all ranks, one after the other; `lengths` has the length of each.
static char *gather_text(int *lengths, int *offsets)
{
    int length = (int)verdict.text_bytes;
    MPI_Gather(&length, 1, MPI_INT, lengths, 1, MPI_INT, 0, MPI_COMM_WORLD);
    int total = 0;
    for (int r = 0; verdict.rank == 0 && r < verdict.size; r++) {
        offsets[r] = total;
        total += lengths[r];
    }
    char *all = malloc((size_t)total + 1);
    MPI_Gatherv(verdict.text, length, MPI_CHAR, all, lengths, offsets, MPI_CHAR, 0, MPI_COMM_WORLD);
    return all;
}

int co_test_print(void)
{
    size_t ranks = (size_t)verdict.size;
    int *lengths = calloc(ranks, sizeof *lengths);
    int *offsets = calloc(ranks, sizeof *offsets);
    uint64_t *digests = calloc(ranks, sizeof *digests);
    unsigned long failures = 0;
    // How many checks there were depends on timing in some programs, so it is not printed.
    co_test_expect(verdict.checks > 0, "nothing was checked");
    char *all = gather_text(lengths, offsets);
    MPI_Gather(&verdict.digest, 1, MPI_UINT64_T, digests, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    MPI_Allreduce(&verdict.failures, &failures, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (int r = 0; verdict.rank == 0 && r < verdict.size; r++) {
        printf("%.*s", lengths[r], all + offsets[r]);
        printf("rank %d: digest %016llx\n", r, (unsigned long long)digests[r]);
    }
    if (verdict.rank == 0 && failures > 0) {
        printf("%lu checks failed\n", failures);
    }
    fflush(stdout);
    free(all);
    free(digests);
    free(offsets);
    free(lengths);
    return failures > 0 ? 1 : 0;
}

int co_test_finish(void)
{
    int status = co_test_print();
    free(verdict.text);
    verdict.text = NULL;
    verdict.text_bytes = 0;
    MPI_Finalize();
    return status;
}

int co_test_skip(const char *reason)
{
    if (verdict.rank == 0) {
        fprintf(stderr, "skipped: %s\n", reason);
    }
    MPI_Finalize();
    return CO_TEST_SKIP;
}
