// SPDX-License-Identifier: BSD-3-Clause
//
// Tells whether two outputs are equal without keeping them: one digest of the bytes as they came, one that does not
// depend on the order of lines (ranks print as they please). Pure. Cold.
#ifndef CASTOFF_TOOLS_AB_DIGEST_H
#define CASTOFF_TOOLS_AB_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct co_digest {
    uint64_t ordered, unordered; // the second is a sum over lines
    uint64_t line;               // of the line under way
    uint64_t bytes;
    bool in_line;
};

enum co_digest_match { CO_DIGEST_SAME, CO_DIGEST_SAME_LINES, CO_DIGEST_DIFFERENT };

void co_digest_start(struct co_digest *digest);
void co_digest_add(struct co_digest *digest, const char *bytes, size_t count);
void co_digest_end(struct co_digest *digest);
enum co_digest_match co_digest_compare(const struct co_digest *a, const struct co_digest *b);

#endif
