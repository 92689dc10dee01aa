// SPDX-License-Identifier: BSD-3-Clause
//
// The datapath kernel's first stage, see verbs_completions.h. What is unlikely is behind one comparison: a completion's
// status and operation are one word, and queues hardly change within a batch. Freestanding; compiled for an adapter's
// processor as it is here.
#include "transport/verbs/verbs_completions.h"

#define unlikely(condition) __builtin_expect((condition), 0)

// Words at addresses that are multiples of their size.
typedef uint64_t __attribute__((may_alias)) word64;

static inline struct co_receive *receive_of(const struct co_completion *completion)
{
    return (struct co_receive *)(uintptr_t)completion->id;
}

unsigned co_verbs_completions_read(const struct co_completion *completions, unsigned count, struct co_arrival *arrivals)
{
    struct co_arrival *arrival = arrivals;
    const struct co_completion *completion = completions, *end = completions + count;
    while (completion != end) {
        struct co_receive *receive = receive_of(completion);
        struct co_receive_queue *queue = receive->queue;
        struct co_receive **link = queue->end;
        const uint64_t right = *(const word64 *)&queue->status;
        const size_t skip_bytes = queue->is_wanted ? queue->skip_bytes : SIZE_MAX;
        const struct co_completion *first = completion;
        uint32_t failed = 0;
        do {
            bool is_right = *(const word64 *)&completion->status == right;
            if (unlikely(!is_right && completion->status != 0)) {
                failed++;
                continue;
            }
            *link = receive;
            link = &receive->next;
            size_t bytes = completion->bytes;
            if (unlikely(!is_right || bytes < skip_bytes)) {
                queue->strays += !is_right || bytes < queue->skip_bytes;
                continue;
            }
            arrival->data = receive->data;
            arrival->bytes = bytes - skip_bytes;
            arrival->immediate = completion->immediate;
            arrival++;
        } while (++completion != end && (receive = receive_of(completion))->queue == queue);
        queue->end = link;
        queue->free += (uint32_t)(completion - first) - failed;
        queue->failed += failed;
    }
    return (unsigned)(arrival - arrivals);
}
