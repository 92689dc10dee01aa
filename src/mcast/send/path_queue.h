// SPDX-License-Identifier: BSD-3-Clause
//
// How long what a sender sends may queue on its way, by what is lost. Halves when certainly more than two in a hundred
// chunks were lost, grows back as long as they get through: loss by overrun shortens the queue, sparse random loss
// does not. Nor does dense random loss: when half the queue loses no smaller a share, the queue was not the cause. But
// only if it was half: what stands on the way is measured, and halved on until it is shorter. Where nothing was
// measured, as of very many senders who repair nearly every chunk for somebody, it counts as shorter. Pure.
#ifndef CASTOFF_MCAST_SEND_PATH_QUEUE_H
#define CASTOFF_MCAST_SEND_PATH_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#define CO_PATH_QUEUE_MOST 8000 // microseconds, where members report in time
#define CO_PATH_QUEUE_LATE_MOST 90000
#define CO_PATH_QUEUE_BORNE_MORE 64000 // where no shorter queue has cured the loss: words are lost, too, and come late
#define CO_PATH_QUEUE_LEAST 300
#define CO_PATH_QUEUE_JUDGED 1024 // chunks: of fewer, loss says little
#define CO_PATH_QUEUE_LOSS 200    // of 10000 chunks
#define CO_PATH_QUEUE_NO_CEILING (UINT32_MAX / 2)

struct co_path_queue {
    uint32_t now;         // microseconds
    uint32_t late;        // so much later than expected did the members' word come lately
    uint32_t ceiling;     // where there was too much loss the last time
    uint32_t lost_before; // of 10000 chunks, just before it was halved; 0: it was not
    uint32_t borne;       // loss of 10000 chunks that no shorter queue has cured
    uint32_t halved_from; // how long it was before it was first halved in search of the cause
    uint64_t stood_sum;   // microseconds that chunks stood in queues, since the last judgement
    uint32_t stood_count;
    uint32_t stood_before; // on average, when the loss was lost_before
};

static inline void co_path_queue_open(struct co_path_queue *queue)
{
    *queue = (struct co_path_queue){.now = CO_PATH_QUEUE_MOST, .ceiling = CO_PATH_QUEUE_NO_CEILING};
}

// Nothing has shortened it yet, or it was not the queue.
static inline bool co_path_queue_is_untouched(const struct co_path_queue *queue)
{
    return queue->now >= CO_PATH_QUEUE_MOST && queue->ceiling == CO_PATH_QUEUE_NO_CEILING;
}

// The longest that is reasonable: a member that does not get the processor for so long finds work when it does.
static inline uint32_t co_path_queue_most(const struct co_path_queue *queue)
{
    return CO_PATH_QUEUE_MOST + queue->late + (queue->borne > CO_PATH_QUEUE_LOSS ? CO_PATH_QUEUE_BORNE_MORE : 0);
}

// Of it, what is there for lateness: so far ahead of its pace does a sender go whose own turn may come late.
static inline uint32_t co_path_queue_ahead(const struct co_path_queue *queue)
{
    return queue->now > CO_PATH_QUEUE_MOST ? queue->now - CO_PATH_QUEUE_MOST : 0;
}

// Of so many chunks, those that are left when loss has shortened the queue.
static inline uint32_t co_path_queue_part(const struct co_path_queue *queue, uint32_t chunks)
{
    return queue->now < CO_PATH_QUEUE_MOST ? (uint32_t)((uint64_t)chunks * queue->now / CO_PATH_QUEUE_MOST) : chunks;
}

static inline void co_path_queue_late(struct co_path_queue *queue, uint64_t late)
{
    uint32_t decayed = queue->late - queue->late / 64;
    queue->late = late < decayed ? decayed : late > CO_PATH_QUEUE_LATE_MOST ? CO_PATH_QUEUE_LATE_MOST : (uint32_t)late;
}

// Whether `more` chunks are more than `fewer` by what chance hardly does: two deviations of such a count.
static inline bool co_path_queue_is_certain(uint64_t more, uint64_t fewer)
{
    return more > fewer && (more - fewer) * (more - fewer) > 4 * more;
}

// Half the queue is a cure when it loses a smaller share, or gets clearly more through: of a queue that was far too
// long, that is what shows first. `lost` of 10000, as was counted on `judged` chunks.
static inline bool co_path_queue_is_cured(const struct co_path_queue *queue, uint32_t lost, uint64_t judged)
{
    uint64_t passed = 10000 - lost, passed_before = 10000 - queue->lost_before;
    bool is_less = (uint64_t)lost * 4 <= (uint64_t)queue->lost_before * 3 &&
                   co_path_queue_is_certain(queue->lost_before * judged / 10000, lost * judged / 10000);
    return queue->lost_before == 0 || is_less || passed * 4 >= passed_before * 5;
}

// What was heard now had been on its way for so much longer than the path takes.
static inline void co_path_queue_stand(struct co_path_queue *queue, uint64_t microseconds)
{
    queue->stood_sum += microseconds;
    queue->stood_count++;
}

// Of `judged` chunks, the member that lost most has lost `lost_chunks`.
static inline void co_path_queue_judge(struct co_path_queue *queue, uint64_t lost_chunks, uint64_t judged)
{
    uint32_t lost = lost_chunks < judged ? (uint32_t)(lost_chunks * 10000 / judged) : 10000;
    uint64_t most = (queue->borne + queue->borne / 4 + CO_PATH_QUEUE_LOSS) * judged / 10000;
    bool is_too_much = co_path_queue_is_certain(lost_chunks, most);
    uint32_t stood = queue->stood_count > 0 ? (uint32_t)(queue->stood_sum / queue->stood_count) : 0;
    queue->stood_sum = queue->stood_count = 0;
    // A queue that overflows before it is as long as allowed does not become shorter by half of that.
    bool is_shorter = (uint64_t)stood * 4 <= (uint64_t)queue->stood_before * 3 || queue->now == CO_PATH_QUEUE_LEAST;
    bool is_cured = co_path_queue_is_cured(queue, lost, judged);
    if (is_too_much && (is_cured || !is_shorter)) {
        queue->halved_from = queue->lost_before == 0 ? queue->now : queue->halved_from;
        queue->stood_before = is_cured ? stood : queue->stood_before;
        queue->lost_before = is_cured ? lost : queue->lost_before;
        queue->ceiling = queue->now;
        queue->now = queue->now / 2 < CO_PATH_QUEUE_LEAST ? CO_PATH_QUEUE_LEAST : queue->now / 2;
        return;
    }
    uint32_t quarter = queue->ceiling / 4; // around the ceiling it grows with care, beyond it the network has changed
    bool is_near = queue->now + quarter >= queue->ceiling && queue->now <= queue->ceiling + quarter;
    uint32_t grown = queue->now + queue->now / (is_near ? 64 : queue->borne > CO_PATH_QUEUE_LOSS ? 1 : 4) + 1;
    if (is_too_much) {
        queue->borne = lost;
        queue->ceiling = CO_PATH_QUEUE_NO_CEILING;
        grown = queue->halved_from;
    } else if (lost < queue->borne) {
        queue->borne -= (queue->borne - lost + 3) / 4;
    }
    queue->lost_before = 0;
    queue->now = grown > co_path_queue_most(queue) ? co_path_queue_most(queue) : grown;
}

#endif
