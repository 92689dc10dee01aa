// SPDX-License-Identifier: BSD-3-Clause
//
// The node's staging, lent in parts of CO_SHM_LOAN_BYTES to members that write much, or, where ranks share cores,
// often: more slots let a writer run further ahead. Who gets nothing goes on in its own lane, so nobody ever waits for
// a loan. A loan outlives the operation, for the next one, but anybody may take it over in between once the readers are
// done; the end of the team returns it. A member that is killed keeps what it has until the segment goes. Once for each
// operation through the bulk ring.
#include "base/counters.h"
#include "shm/shm_team.h"

// The word of a loan: state, the entry and the size of the team that has it, and a number that each change of hands
// makes new, so that a compare-and-swap fails if anything has happened since the word was read.
#define STATE_BITS 2
#define ENTRY_BITS 12
#define COUNT_BITS 16
#define ENTRY_SHIFT STATE_BITS
#define COUNT_SHIFT (ENTRY_SHIFT + ENTRY_BITS)
#define NUMBER_SHIFT (COUNT_SHIFT + COUNT_BITS)
#define FIELD(word, shift, bits) ((word) >> (shift) & ((UINT64_C(1) << (bits)) - 1))

_Static_assert(CO_SHM_ENTRIES_MAX <= 1 << ENTRY_BITS, "an entry fits its field");

#define SHORT_SLOTS 128 // for blocks that would do with the lane's own: fewer pages to be made
#define SHORTAGES 16    // looks in vain, each a turn of the core given away, before a loan is worth making its pages

enum { STATE_FREE, STATE_IN_USE, STATE_KEPT };

static unsigned state_of(uint64_t word)
{
    return (unsigned)FIELD(word, 0, STATE_BITS);
}

static uint64_t successor(uint64_t word, unsigned state, uint32_t entry, int count)
{
    uint64_t number = (word >> NUMBER_SHIFT) + 1;

    return number << NUMBER_SHIFT | (uint64_t)count << COUNT_SHIFT | (uint64_t)entry << ENTRY_SHIFT | state;
}

static char *memory_of(const struct co_shm_node *node, uint32_t index)
{
    return (char *)node->segment.base + node->plan.staging_offset + (size_t)index * CO_SHM_LOAN_ROOM;
}

// Does nobody read there any more? When the word has changed meanwhile the answer is about nothing, and not used.
static bool readers_are_done(const struct co_shm_node *node, uint32_t index, uint64_t word)
{
    const char *area = co_shm_node_area(node, (uint32_t)FIELD(word, ENTRY_SHIFT, ENTRY_BITS));
    int count = (int)FIELD(word, COUNT_SHIFT, COUNT_BITS);
    uint64_t end = co_load_relaxed(&node->loans[index].end); // relaxed: before release L1 of the word
    struct co_shm_shape shape;

    co_shm_shape_compute(&shape, count, node->config.team_bytes);
    for (int member = 0; member < count; member++) {
        const struct co_shm_control *control = (const void *)(area + (size_t)member * shape.lane_bytes);
        if (co_load_acquire(&control->consumed[CO_SHM_BULK]) < end) { // acquire R2: the member's reads
            return false;
        }
    }
    return true;
}

static bool swap(struct co_shm_loan *loan, uint64_t from, uint64_t to)
{
    // acquire L1: what was written there before it was free or kept.
    return atomic_compare_exchange_strong_explicit(&loan->word, &from, to, memory_order_acquire, memory_order_relaxed);
}

static bool take(struct co_shm_team *team, uint32_t index, unsigned state)
{
    struct co_shm_node *node = team->node;
    struct co_shm_loan *loan = &node->loans[index];
    uint64_t word = co_load_acquire(&loan->word); // acquire L1: `end`
    uint64_t ours = successor(word, STATE_IN_USE, team->entry, team->count);

    if (state_of(word) != state || (state == STATE_KEPT && !readers_are_done(node, index, word)) ||
        !swap(loan, word, ours)) {
        return false;
    }
    team->loan = (int)index;
    team->loan_word = ours;
    return true;
}

static size_t own_bytes(const struct co_shm_team *team)
{
    return (size_t)(team->shape.ring[CO_SHM_BULK].mask + 1) * CO_SHM_FRAGMENT;
}

static void count_lent(const struct co_shm_node *node)
{
    uint64_t lent = 0;

    for (uint32_t i = 0; i < node->plan.loans; i++) {
        lent += state_of(co_load_relaxed(&node->loans[i].word)) != STATE_FREE; // relaxed: a statistic
    }
    co_counter_raise(CO_COUNT_SHM_LENT_HIGH, lent * CO_SHM_LOAN_BYTES);
}

// A free one, or else, for what exceeds the own ring, one that another team keeps. Each entry begins its search
// elsewhere, so that teams which come back find their last one.
static bool take_any(struct co_shm_team *team, bool exceeds)
{
    uint32_t loans = team->node->plan.loans;
    uint32_t first = loans > 0 ? (team->entry * 16 + (uint32_t)team->self) % loans : 0;

    unsigned last = exceeds ? STATE_KEPT : STATE_FREE;

    for (unsigned state = STATE_FREE; state <= last; state += STATE_KEPT - STATE_FREE) {
        for (uint32_t i = 0; i < loans; i++) {
            if (take(team, (first + i) % loans, state)) {
                return true;
            }
        }
    }
    return false;
}

static void give_back(struct co_shm_team *team)
{
    uint64_t word = successor(team->loan_word, STATE_FREE, 0, 0);

    co_store_release(&team->node->loans[team->loan].word, word); // release L1: nothing of ours is there
    team->loan = CO_SHM_NO_LOAN;
}

// As many slots as the block is worth, if there were fewer. As for a lane: asked for, a full /dev/shm is an answer and
// not a signal.
static bool reach(struct co_shm_team *team, size_t bytes)
{
    uint32_t slots = bytes >= own_bytes(team) / 8 ? CO_SHM_LOAN_SLOTS : SHORT_SLOTS;

    if (slots <= team->lent_slots) {
        return true;
    }
    size_t length = slots * (CO_SHM_FRAGMENT + sizeof(struct co_shm_head));
    if (co_shm_segment_touch(memory_of(team->node, (uint32_t)team->loan), length) != 0) {
        return false;
    }
    team->lent_slots = slots;
    return true;
}

void co_shm_loan_begin(struct co_shm_team *team, size_t bytes)
{
    if (team->loan != CO_SHM_NO_LOAN) {
        struct co_shm_loan *loan = &team->node->loans[team->loan];
        uint64_t ours = successor(team->loan_word, STATE_IN_USE, team->entry, team->count);
        if (swap(loan, team->loan_word, ours)) {
            team->loan_word = ours;
            (void)reach(team, bytes); // or fewer slots
            return;
        }
        team->loan = CO_SHM_NO_LOAN; // somebody needed it more
        team->shortages = 0;
    }
    size_t own = own_bytes(team);
    bool is_short = team->node->shares_cores && team->shortages >= SHORTAGES;
    if ((bytes < own / 8 && !is_short) || own >= CO_SHM_LOAN_BYTES || team->count >= 1 << COUNT_BITS) {
        return;
    }
    team->lent_slots = 0;
    if (take_any(team, bytes > own || is_short) && !reach(team, bytes)) {
        give_back(team);
    }
    co_counter_add(team->loan != CO_SHM_NO_LOAN ? CO_COUNT_SHM_LOANS : CO_COUNT_SHM_LOANS_REFUSED, 1);
    count_lent(team->node);
}

char *co_shm_loan_memory(const struct co_shm_team *team)
{
    return team->loan == CO_SHM_NO_LOAN ? NULL : memory_of(team->node, (uint32_t)team->loan);
}

void co_shm_loan_rest(struct co_shm_team *team)
{
    if (team->loan != CO_SHM_NO_LOAN) {
        struct co_shm_loan *loan = &team->node->loans[team->loan];
        co_store_relaxed(&loan->end, team->stream_end); // relaxed: published by release L1
        team->loan_word = successor(team->loan_word, STATE_KEPT, team->entry, team->count);
        co_store_release(&loan->word, team->loan_word); // release L1: `end`, and our bytes come before another's
    }
}

void co_shm_loans_return(struct co_shm_node *node, uint32_t entry)
{
    for (uint32_t i = 0; i < node->plan.loans; i++) {
        uint64_t word = co_load_acquire(&node->loans[i].word); // acquire L1: what its pages hold is over
        uint64_t busy = successor(word, STATE_IN_USE, entry, 0);
        if (state_of(word) == STATE_FREE || FIELD(word, ENTRY_SHIFT, ENTRY_BITS) != entry ||
            !swap(&node->loans[i], word, busy)) {
            continue;
        }
        co_shm_segment_erase(memory_of(node, i), CO_SHM_LOAN_ROOM);                // ours alone until the next line
        co_store_release(&node->loans[i].word, successor(busy, STATE_FREE, 0, 0)); // release L1: likewise
    }
}
