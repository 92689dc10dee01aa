// SPDX-License-Identifier: BSD-3-Clause
//
// Loss detection for one block. Two ways to a request: a gap below the highest PSN seen that has aged past the
// reorder time, or silence past the cutoff (then the tail counts as lost too). While later chunks stream in, gaps
// gather, so that many go into one request. Both ways keep at most the budget of chunks outstanding, so that
// black-holed blocks stream from the neighbour at the pace of its answers. Of blocks that only wait for their sources
// to begin one alone is asked for again by the clock: they are many where somebody is late, and have one patience.
#include "mcast/repair/loss_detector.h"

#include "base/chunk_bitmap.h"
#include "mcast/wire/serial.h"

// A block of which nothing has come is more often late than lost: its sender may not have begun.
#define SILENT_START_FACTOR 5
#define ANNOUNCED_FACTOR 20
#define ACK_REQUESTED_FACTOR 10 // the request for an ACK may have overtaken chunks that wait in queues
#define GATHER_FACTOR 8         // reorder times that a gap waits for company
#define PATIENT_RETRIES 4       // requests or answers are lost too: the first retries come at an even pace
#define DEFERRED_FACTOR 2       // times the time of an answer, that what waits at the neighbour is given
#define DEFERRED_DEAF_FACTOR 8
#define OTHERS_FACTOR 8 // times the time of an answer, that repairs of other blocks hold one of this one up
#define RETRY_DOUBLINGS_MAX 7
#define LATE_RETRY_MOST_NS UINT64_C(100000000)
#define LOST_RETRY_MOST_NS UINT64_C(50000000)

// Silence is the source's, not the block's: who is heard sending something else will come to this block, or has lost
// it, which must not go unnoticed for ever. Where many send short blocks one is silent because the others have their
// turns: as long as anything comes here by multicast, what is missing may stand behind that. A turn is told by what has
// come, and not by the clock, which knows no link.
static uint64_t silent_since(const struct co_receive_block *block, const struct co_loss_timing *timing)
{
    uint64_t most = block->last_ns + ANNOUNCED_FACTOR * timing->cutoff_ns;
    uint64_t heard = timing->heard_ns;
    if (!co_receive_block_is_long(block) && timing->busy_ns > heard) {
        heard = timing->busy_ns;
        most = timing->is_in_turn ? UINT64_MAX : most;
    }
    heard = heard < most ? heard : most;
    return heard > block->last_ns ? heard : block->last_ns;
}

// Blocks whose end is announced can afford patience: their tails do not depend on the cutoff.
static uint64_t cutoff_at(const struct co_receive_block *block, const struct co_loss_timing *timing)
{
    if (timing->is_deaf && !block->is_heard) {
        return block->last_ns;
    }
    if (!timing->is_next) {
        return UINT64_MAX;
    }
    if (timing->is_doubtful && block->count == 0) {
        return block->last_ns + timing->cutoff_ns;
    }
    bool is_suspect = timing->is_suspect && !block->is_heard;
    if (block->is_ack_requested && !is_suspect) {
        return silent_since(block, timing) + ACK_REQUESTED_FACTOR * timing->cutoff_ns;
    }
    uint64_t cutoff = timing->cutoff_ns, most = ANNOUNCED_FACTOR * cutoff;
    if (co_receive_block_is_long(block) && !is_suspect) {
        cutoff *= ANNOUNCED_FACTOR;
    } else if (!block->is_heard || timing->is_in_turn) {
        cutoff *= SILENT_START_FACTOR;
    }
    uint64_t silence = 2 * block->widest_gap_ns; // bounded: what others wait for what they lost is a gap here
    silence = silence < most ? silence : most;
    return silent_since(block, timing) + (silence > cutoff ? silence : cutoff);
}

// Patience doubles when tries go without an answer, but not at once: requests and answers are lost too.
static uint64_t backed_off_ns(const struct co_receive_block *block, uint64_t wait_ns)
{
    uint32_t doublings = block->retries > PATIENT_RETRIES ? block->retries - PATIENT_RETRIES : 0;
    uint64_t wait = wait_ns << (doublings < RETRY_DOUBLINGS_MAX ? doublings : RETRY_DOUBLINGS_MAX);
    uint64_t most = block->count == 0 ? LATE_RETRY_MOST_NS : LOST_RETRY_MOST_NS;
    return wait < most ? wait : wait_ns > most ? wait_ns : most;
}

// How long what waits at the neighbour is waited for. Who is deaf waits until the source has sent it.
static uint64_t deferred_ns(const struct co_receive_block *block, const struct co_loss_timing *timing)
{
    bool is_deaf = timing->is_deaf && !block->is_heard;
    return backed_off_ns(block, (is_deaf ? DEFERRED_DEAF_FACTOR : DEFERRED_FACTOR) * timing->retry_ns);
}

// When what is watched counts as lost again since a later request has been answered. What waits at the neighbour is not
// asked for as fast.
static uint64_t overtaken_at(const struct co_receive_block *block, const struct co_loss_timing *timing)
{
    if (block->check_psn == 0 || timing->is_choked || !co_serial_before(block->check_request, timing->answered)) {
        return UINT64_MAX;
    }
    return block->check_ns + (block->is_deferred ? deferred_ns(block, timing) : timing->rtt_ns + timing->reorder_ns);
}

// Repairs of other blocks, that come by the same way. They may be of another group, of which there is no end, and tell
// nothing of this request then.
static uint64_t since_repair_of_others(const struct co_receive_block *block, const struct co_loss_timing *timing)
{
    uint64_t answers_ns = OTHERS_FACTOR * timing->rtt_ns;
    uint64_t most = block->requested_ns + (answers_ns > LOST_RETRY_MOST_NS ? answers_ns : LOST_RETRY_MOST_NS);
    uint64_t since = timing->repaired_ns == 0 ? 0 : timing->repaired_ns + timing->probe_ns;
    return since < most ? since : most;
}

static uint64_t retry_at(const struct co_receive_block *block, const struct co_loss_timing *timing)
{
    if (timing->is_behind && co_receive_block_is_awaited(block)) {
        return block->is_deferred ? UINT64_MAX : overtaken_at(block, timing);
    }
    uint64_t since_busy = timing->rtt_ns == 0 ? timing->busy_ns + timing->retry_ns : 0;
    uint64_t busy_most = block->requested_ns + LOST_RETRY_MOST_NS; // what keeps coming may be others'
    since_busy = since_busy < busy_most ? since_busy : busy_most;
    uint64_t since_repair = block->repaired_ns == 0 ? 0 : block->repaired_ns + timing->probe_ns;
    uint64_t since_others = since_repair_of_others(block, timing);
    since_repair = since_others > since_repair ? since_others : since_repair;
    uint64_t retry_ns = since_repair > block->retry_ns ? since_repair : block->retry_ns;
    retry_ns = since_busy > retry_ns ? since_busy : retry_ns;
    uint64_t undeferred_ns = block->is_deferred ? block->requested_ns + deferred_ns(block, timing) : 0;
    uint64_t overtaken_ns = overtaken_at(block, timing);
    retry_ns = undeferred_ns > retry_ns ? undeferred_ns : retry_ns;
    return overtaken_ns < retry_ns ? overtaken_ns : retry_ns;
}

static bool has_unasked_gap(const struct co_receive_block *block)
{
    return co_chunk_bitmap_find(block->arrived, block->asked_below, block->next_psn, false) < block->next_psn;
}

// When the gaps noticed at `since_ns` are asked for: as soon as no more of them can be expected, or soon enough.
static uint64_t gathered_at(const struct co_receive_block *block, const struct co_loss_timing *timing,
                            uint64_t since_ns)
{
    uint64_t soonest = since_ns + timing->reorder_ns;
    if (block->next_psn == block->chunks) {
        return soonest;
    }
    uint64_t quiet = block->last_ns + timing->reorder_ns, latest = since_ns + GATHER_FACTOR * timing->reorder_ns;
    uint64_t wanted = quiet > soonest ? quiet : soonest;
    return wanted < latest ? wanted : latest;
}

static bool has_budget(const struct co_receive_block *block, const struct co_loss_timing *timing)
{
    return !timing->is_choked && timing->under_way + block->asked_missing <= timing->budget / 2;
}

uint64_t co_loss_detector_due_ns(const struct co_receive_block *block, const struct co_loss_timing *timing)
{
    if (co_receive_block_is_complete(block)) {
        return UINT64_MAX;
    }
    uint64_t due = UINT64_MAX;
    if (block->asked_missing > 0) {
        due = retry_at(block, timing);
    }
    if (!block->in_tail) {
        uint64_t cutoff = cutoff_at(block, timing);
        due = cutoff < due ? cutoff : due;
    }
    if (has_budget(block, timing)) {
        if (block->in_tail && block->asked_below < block->chunks) {
            return block->last_ns; // the budget has room: at once
        }
        if (has_unasked_gap(block)) {
            uint64_t since_ns = block->gap_since_ns != 0 ? block->gap_since_ns : block->last_ns;
            uint64_t aged = gathered_at(block, timing, since_ns);
            due = aged < due ? aged : due;
        }
    }
    return due;
}

// Collects missing ranges in [from, limit), at most `budget` chunks; returns how far the search came.
static uint32_t collect(const struct co_receive_block *block, uint32_t from, uint32_t limit, uint32_t budget,
                        struct co_nack *request, uint32_t *collected)
{
    request->count = 0;
    *collected = 0;
    while (request->count < request->room && *collected < budget) {
        uint32_t first = co_chunk_bitmap_find(block->arrived, from, limit, false);
        if (first == limit) {
            from = limit;
            break;
        }
        uint32_t last = co_chunk_bitmap_find(block->arrived, first, limit, true);
        uint32_t length = last - first;
        if (length > budget - *collected) {
            length = budget - *collected;
        }
        request->ranges[request->count++] = (struct co_nack_range){first, length};
        *collected += length;
        from = first + length;
    }
    request->is_proven = from <= block->next_psn;
    return from;
}

// Patience is for a sender that may not have begun; what is missing of a block under way is lost, and the next request
// may be lost too.
static uint64_t patience(const struct co_receive_block *block, const struct co_loss_timing *timing)
{
    if (block->retries < CO_LOSS_DETECTOR_PROBES) {
        return timing->probe_ns;
    }
    return backed_off_ns(block, timing->retry_ns);
}

// All that has been asked for is watched, by its latest request.
static void watch(struct co_receive_block *block)
{
    block->check_psn = block->asked_below;
    block->check_request = block->last_request;
    block->check_ns = block->requested_ns;
    block->check_missing = block->asked_missing;
}

static void note_request(struct co_receive_block *block, const struct co_loss_timing *timing, uint64_t now_ns)
{
    block->last_request = timing->request;
    block->requested_ns = now_ns;
}

// As much as may be asked for at once; the rest is yet to be asked for, unless other requests for it are under way.
static uint32_t ask_part(struct co_receive_block *block, const struct co_loss_timing *timing, uint32_t limit,
                         bool is_all, struct co_nack *request)
{
    uint32_t collected, budget = timing->budget > timing->under_way ? timing->budget - timing->under_way : 1;
    uint32_t end = collect(block, 0, limit, budget, request, &collected);
    if (collected > 0 && end < limit && is_all) {
        block->asked_below = end;
        block->asked_missing = collected;
    }
    return collected;
}

// False: everything that was watched is here. The answer that all is deferred makes others count as overtaken, whose
// own answer does the same again: of what is deferred, tries count however they came about.
static bool ask_again(struct co_receive_block *block, const struct co_loss_timing *timing, uint64_t now_ns,
                      struct co_nack *request)
{
    bool is_overdue = now_ns < overtaken_at(block, timing); // else the way is open, and needs no patience
    bool is_probe = is_overdue && block->retries < CO_LOSS_DETECTOR_PROBES, was_deferred = block->is_deferred;
    uint32_t collected, limit = is_overdue ? block->asked_below : block->check_psn;
    uint32_t certain = limit < block->next_psn ? limit : block->next_psn;
    request->lost = was_deferred || block->is_loss_told ? 0 : co_chunk_bitmap_count_clear(block->arrived, 0, limit);
    request->is_cut = request->lost < block->check_missing;
    // A guess about a long block is answered by a word, so what is certain goes first, in a request of its own.
    if (co_receive_block_is_long(block) && co_chunk_bitmap_find(block->arrived, 0, certain, false) < certain) {
        limit = certain;
    }
    if (is_probe) {
        collect(block, 0, limit, 1, request, &collected);
    } else {
        collected = ask_part(block, timing, limit, is_overdue || block->check_psn == block->asked_below, request);
    }
    if (collected > 0 && !is_probe) {
        note_request(block, timing, now_ns);
        block->is_deferred = false;
    }
    watch(block);
    if (collected > 0) {
        note_request(block, timing, now_ns);
        block->is_loss_told = is_probe;
        block->retries += is_overdue || was_deferred;
        block->retry_ns = now_ns + patience(block, timing);
    }
    return collected > 0;
}

// How far the block may be asked for now; asked_below when there is nothing new to ask.
static uint32_t askable_limit(struct co_receive_block *block, const struct co_loss_timing *timing, uint64_t now_ns)
{
    if (!block->in_tail && now_ns >= cutoff_at(block, timing)) {
        block->in_tail = true;
    }
    if (block->in_tail) {
        return co_receive_block_is_long(block) && has_unasked_gap(block) ? block->next_psn : block->chunks;
    }
    if (!has_unasked_gap(block)) {
        block->gap_since_ns = 0;
        block->asked_below = block->next_psn > block->asked_below ? block->next_psn : block->asked_below;
        return block->asked_below;
    }
    if (block->gap_since_ns == 0) {
        block->gap_since_ns = now_ns;
    }
    return now_ns >= gathered_at(block, timing, block->gap_since_ns) ? block->next_psn : block->asked_below;
}

unsigned co_loss_detector_find(struct co_receive_block *block, const struct co_loss_timing *timing, uint64_t now_ns,
                               struct co_nack *request)
{
    request->is_retry = false;
    request->count = request->lost = 0;
    if (co_receive_block_is_complete(block)) {
        return 0;
    }
    if (block->asked_missing > 0 && now_ns >= retry_at(block, timing) && ask_again(block, timing, now_ns, request)) {
        request->is_retry = true;
        return request->count;
    }
    uint32_t limit = askable_limit(block, timing, now_ns);
    if (limit <= block->asked_below || !has_budget(block, timing)) {
        return 0;
    }
    uint32_t collected, budget = timing->budget - timing->under_way - block->asked_missing;
    uint32_t end = collect(block, block->asked_below, limit, budget, request, &collected);
    bool is_first = block->asked_missing == 0;
    if (collected > 0) {
        note_request(block, timing, now_ns);
    }
    if (collected > 0 && is_first) {
        block->retry_ns = now_ns + patience(block, timing);
    }
    block->asked_below = end;
    block->asked_missing += collected;
    block->gap_since_ns = 0;
    if (is_first) {
        watch(block);
    }
    return request->count;
}

uint32_t co_loss_detector_count_lost(struct co_receive_block *block, uint64_t reorder_ns, uint64_t now_ns)
{
    uint32_t lost = 0;
    if (block->noticed_below > block->counted_below && now_ns >= block->noticed_ns + reorder_ns) {
        lost = co_chunk_bitmap_count_clear(block->arrived, block->counted_below, block->noticed_below);
        block->counted_below = block->noticed_below;
    }
    if (block->noticed_below == block->counted_below && block->next_psn > block->noticed_below) {
        block->noticed_below = block->next_psn;
        block->noticed_ns = now_ns;
    }
    return lost;
}
