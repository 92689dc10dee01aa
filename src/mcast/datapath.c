// SPDX-License-Identifier: BSD-3-Clause
//
// The datapath kernel, see datapath.h. What is unlikely is behind one comparison: a completion's status and operation
// are one word, a datagram's length tells which PSNs it may have, and queues hardly change within a batch.
// Freestanding; compiled for an adapter's processor as it is here.
#include "mcast/datapath.h"

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

unsigned co_datapath_read(const struct co_completion *completions, unsigned count, struct co_arrival *arrivals)
{
    struct co_receive_queue none = {.end = &none.first}, *queue = &none;
    struct co_receive **link = none.end;
    uint64_t right = 0;
    uint32_t free = 0, skip_bytes = 0;
    bool is_wanted = false;
    struct co_arrival *arrival = arrivals;
    const struct co_completion *end = completions + count;
    for (const struct co_completion *completion = completions; completion != end; completion++) {
        struct co_receive *receive = (struct co_receive *)(uintptr_t)completion->id;
        if (unlikely(receive->queue != queue)) {
            queue->end = link;
            queue->free += free;
            queue = receive->queue;
            link = queue->end;
            right = *(const word64 *)&queue->status;
            skip_bytes = queue->skip_bytes;
            is_wanted = queue->is_wanted;
            free = 0;
        }
        bool is_right = *(const word64 *)&completion->status == right;
        if (unlikely(!is_right && completion->status != 0)) {
            queue->failed++;
            continue;
        }
        *link = receive;
        link = &receive->next;
        free++;
        uint32_t bytes = completion->bytes;
        if (unlikely(!is_right || bytes < skip_bytes)) {
            queue->strays++;
            continue;
        }
        if (unlikely(!is_wanted)) {
            continue;
        }
        arrival->data = receive->data;
        arrival->bytes = bytes - skip_bytes;
        arrival->immediate = completion->flags & CO_COMPLETION_HAS_IMMEDIATE ? completion->immediate : 0;
        arrival++;
    }
    queue->end = link;
    queue->free += free;
    return (unsigned)(arrival - arrivals);
}

// Of datagrams that are not as long as all but the last one, or not where those may be: whether it is the last chunk.
static bool is_last(const struct co_flow *flow, uint32_t bytes, uint32_t psn)
{
    return bytes == flow->last_bytes && psn == flow->full_chunks && psn < flow->chunks;
}

static inline bool is_head_of(const struct co_flow *flow, const uint8_t *data)
{
    const word64 *words = (const word64 *)data;
    const word32 *halves = (const word32 *)data;
    return words[0] == flow->head_begin && halves[2] == flow->operation && words[2] == flow->head_end;
}

static inline uint32_t psn_of(const uint8_t *data)
{
    return little(((const word32 *)data)[CO_FLOW_PSN_AT / sizeof(word32)]);
}

// Who has tags to verify pays much more for that than for the registers that are saved around it.
static inline bool is_forged(const struct co_flow *flow, const struct co_arrival *arrival)
{
    return unlikely(flow->is_genuine != NULL) && !flow->is_genuine(flow->arg, arrival);
}

static void end_flow(struct co_flow *flow, const struct co_chunk_marks *marks, enum co_flow_end why)
{
    flow->placed += marks->count - flow->marks.count;
    flow->marks = *marks;
    flow->ends[why]++;
}

unsigned co_datapath_place(struct co_flow *flow, const struct co_arrival *arrivals, unsigned count,
                           struct co_copy *copies)
{
    const uint32_t full_bytes = flow->full_bytes, full_chunks = flow->full_chunks;
    struct co_chunk_marks marks = flow->marks;
    enum co_flow_end why = CO_FLOW_ALL;
    const struct co_arrival *arrival = arrivals, *end = arrivals + count;
    for (; arrival != end; arrival++) {
        const uint8_t *data = arrival->data;
        uint32_t bytes = arrival->bytes;
        if (unlikely(bytes != full_bytes && bytes != flow->last_bytes)) { // first: only now are there bytes to look at
            why = CO_FLOW_LENGTH;
            break;
        }
        if (unlikely((uintptr_t)data % sizeof(word64) != 0 || !is_head_of(flow, data))) {
            why = CO_FLOW_HEAD;
            break;
        }
        uint32_t psn = psn_of(data);
        if (unlikely(bytes != full_bytes || psn >= full_chunks) && !is_last(flow, bytes, psn)) {
            why = CO_FLOW_RANGE;
            break;
        }
        if (is_forged(flow, arrival)) {
            why = CO_FLOW_TAG;
            break;
        }
        if (unlikely(!co_datapath_mark_chunk(&marks, psn))) {
            flow->duplicates++;
            continue;
        }
        copies->from = data + CO_FLOW_HEAD_BYTES;
        copies->to = flow->to + (size_t)psn * flow->chunk_bytes;
        copies->bytes = bytes - flow->beside_bytes;
        copies++;
    }
    end_flow(flow, &marks, why);
    return (unsigned)(arrival - arrivals);
}

unsigned co_datapath_mark(struct co_flow *flow, const struct co_arrival *arrivals, unsigned count)
{
    const uint32_t full_bytes = flow->full_bytes, full_chunks = flow->full_chunks;
    const uint32_t first_immediate = flow->first_immediate;
    struct co_chunk_marks marks = flow->marks;
    enum co_flow_end why = CO_FLOW_ALL;
    const struct co_arrival *arrival = arrivals, *end = arrivals + count;
    for (; arrival != end; arrival++) {
        uint32_t psn = arrival->immediate - first_immediate;
        if (unlikely(arrival->bytes != full_bytes || psn >= full_chunks) && !is_last(flow, arrival->bytes, psn)) {
            why = CO_FLOW_RANGE;
            break;
        }
        if (is_forged(flow, arrival)) {
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
