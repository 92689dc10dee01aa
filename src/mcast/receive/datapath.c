// SPDX-License-Identifier: BSD-3-Clause
//
// The datapath kernel's second stage, see datapath.h. What is unlikely is behind one comparison: a datagram's length
// tells which PSNs it may have. Freestanding; compiled for an adapter's processor as it is here.
#include "mcast/receive/datapath.h"

#define unlikely(condition) __builtin_expect((condition), 0)

// Words of foreign bytes, at addresses that are multiples of their size.
typedef uint64_t __attribute__((may_alias)) word64;
typedef uint32_t __attribute__((may_alias)) word32;

static inline uint32_t little(uint32_t value)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap32(value);
#else
    return value;
#endif
}

// Of datagrams that are not as long as all but the last one, or not where those may be: whether it is the last chunk.
static bool is_last(const struct co_flow *flow, size_t bytes, size_t psn)
{
    return bytes == flow->last_bytes && psn == flow->full_chunks && psn < flow->chunks;
}

static inline bool is_head_of(const struct co_flow *flow, const uint8_t *data)
{
    const word64 *words = (const word64 *)data;
    const word32 *halves = (const word32 *)data;
    return words[0] == flow->head_begin && halves[2] == flow->operation && words[2] == flow->head_end;
}

static inline size_t psn_of(const uint8_t *data)
{
    return little(((const word32 *)data)[CO_FLOW_PSN_AT / sizeof(word32)]);
}

// Looked at last: it costs more than all else.
static inline bool is_forged(const struct co_flow *flow, bool has_tags, const struct co_arrival *arrival)
{
    return has_tags && !flow->is_genuine(flow->arg, arrival);
}

static void end_flow(struct co_flow *flow, const struct co_chunk_marks *marks, enum co_flow_end why)
{
    flow->placed += (uint32_t)(marks->count - flow->marks.count);
    flow->marks = *marks;
    flow->ends[why]++;
}

unsigned co_datapath_place(struct co_flow *flow, const struct co_arrival *arrivals, unsigned count,
                           struct co_copy *copies)
{
    const bool has_tags = flow->is_genuine != NULL;
    const size_t full_bytes = flow->full_bytes;
    const size_t full_chunks = flow->full_chunks;
    struct co_chunk_marks marks = flow->marks;
    enum co_flow_end why = CO_FLOW_ALL;
    const struct co_arrival *arrival = arrivals, *end = arrivals + count;
    for (; arrival != end; arrival++) {
        const uint8_t *data = arrival->data;
        size_t bytes = arrival->bytes;
        if (unlikely(bytes != full_bytes && bytes != flow->last_bytes)) { // first: only now are there bytes to look at
            why = CO_FLOW_LENGTH;
            break;
        }
        if (unlikely((uintptr_t)data % sizeof(word64) != 0 || !is_head_of(flow, data))) {
            why = CO_FLOW_HEAD;
            break;
        }
        size_t psn = psn_of(data);
        if (unlikely(bytes != full_bytes || psn >= full_chunks) && !is_last(flow, bytes, psn)) {
            why = CO_FLOW_RANGE;
            break;
        }
        if (is_forged(flow, has_tags, arrival)) {
            why = CO_FLOW_TAG;
            break;
        }
        if (unlikely(!co_datapath_mark_chunk(&marks, psn))) {
            flow->duplicates++;
            continue;
        }
        copies->from = data + CO_FLOW_HEAD_BYTES;
        copies->to = flow->to + psn * flow->chunk_bytes;
        copies->bytes = (uint32_t)(bytes - flow->beside_bytes);
        copies++;
    }
    end_flow(flow, &marks, why);
    return (unsigned)(arrival - arrivals);
}

unsigned co_datapath_mark(struct co_flow *flow, const struct co_arrival *arrivals, unsigned count)
{
    const bool has_tags = flow->is_genuine != NULL;
    const size_t full_bytes = flow->full_bytes;
    const size_t full_chunks = flow->full_chunks;
    const int64_t first_immediate = flow->first_immediate;
    struct co_chunk_marks marks = flow->marks;
    enum co_flow_end why = CO_FLOW_ALL;
    const struct co_arrival *arrival = arrivals, *end = arrivals + count;
    for (; arrival != end; arrival++) {
        size_t psn = (size_t)(arrival->immediate - first_immediate);
        if (unlikely(arrival->bytes != full_bytes || psn >= full_chunks) && !is_last(flow, arrival->bytes, psn)) {
            why = CO_FLOW_RANGE;
            break;
        }
        if (is_forged(flow, has_tags, arrival)) {
            why = CO_FLOW_TAG;
            break;
        }
        if (unlikely(!co_datapath_mark_chunk(&marks, psn))) {
            flow->duplicates++;
        }
    }
    end_flow(flow, &marks, why);
    return (unsigned)(arrival - arrivals);
}
