// SPDX-License-Identifier: BSD-3-Clause
//
// FNV-1a over the bytes, and the sum of a mixed FNV-1a over each line. Guards against accidents, not against forgers.
// Pure. Cold.
#include "digest.h"

#include "base/fnv.h"

void co_digest_start(struct co_digest *digest)
{
    *digest = (struct co_digest){.ordered = CO_FNV_64, .line = CO_FNV_64};
}

static void end_line(struct co_digest *digest)
{
    // Mixed, so that sums of similar lines do not cancel.
    uint64_t x = digest->line;
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    digest->unordered += x ^ x >> 32;
    digest->line = CO_FNV_64;
    digest->in_line = false;
}

void co_digest_add(struct co_digest *digest, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t byte = (uint8_t)bytes[i];
        digest->ordered = co_fnv_64_byte(digest->ordered, byte);
        if (byte == '\n') {
            end_line(digest);
        } else {
            digest->line = co_fnv_64_byte(digest->line, byte);
            digest->in_line = true;
        }
    }
    digest->bytes += count;
}

void co_digest_end(struct co_digest *digest)
{
    if (digest->in_line) {
        end_line(digest);
    }
}

enum co_digest_match co_digest_compare(const struct co_digest *a, const struct co_digest *b)
{
    if (a->bytes != b->bytes || a->unordered != b->unordered) {
        return CO_DIGEST_DIFFERENT;
    }
    return a->ordered == b->ordered ? CO_DIGEST_SAME : CO_DIGEST_SAME_LINES;
}
