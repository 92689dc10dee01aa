// SPDX-License-Identifier: BSD-3-Clause
//
// The side of the channel between hosts that calls the MPI below. Frames are received in the order in which their
// receives were posted, so that each sender's stay in order. Native calls may come back here through the progress loop;
// then somebody is at it already. A frame is known to be there by its mark, without a call: in the progress loop that
// costs a look at one line. Hot.
#include <errno.h>

#include "base/log.h"
#include "p2p/channel/carrier_state.h"

#define COLLECT_EVERY 16 // turns, where nothing urgent hangs on it
#define LOOK_EVERY 256   // turns in which the mark alone is believed

static void end(struct co_carrier *carrier, unsigned number, int result)
{
    bool is_frame = number < carrier->frames, is_stuck = carrier->operations[number].is_stuck;
    carrier->operations[number].result = result;
    carrier->under_way[number] = false;
    carrier->stuck -= is_stuck;
    co_index_queue_put(is_frame ? &carrier->ended_frames : &carrier->ended_bodies, number);
    if (!is_stuck) {
        co_sub_relaxed(is_frame ? &carrier->frames_out : &carrier->bodies, 1); // relaxed: a hint
    }
}

static size_t next_part(const struct co_carrier *carrier, const struct co_carrier_operation *operation)
{
    size_t left = operation->bytes - operation->done_bytes;
    return left < carrier->native.bytes_most ? left : carrier->native.bytes_most;
}

static void start_part(struct co_carrier *carrier, unsigned number)
{
    struct co_carrier_operation *operation = &carrier->operations[number];
    const struct co_native *native = &carrier->native;
    char *address = (char *)operation->address + operation->done_bytes;
    size_t bytes = next_part(carrier, operation);
    unsigned slot = co_carrier_slot(carrier, number);
    int error = operation->is_receive
                    ? native->receive(native->arg, slot, address, bytes, operation->peer, operation->tag)
                    : native->send(native->arg, slot, address, bytes, operation->peer, operation->tag);
    if (error != 0) {
        end(carrier, number, error);
    }
}

static void note_advance(struct co_carrier *carrier)
{
    co_store_relaxed(&carrier->advances, co_load_relaxed(&carrier->advances) + 1); // relaxed: one writer, a hint
}

static void part_is_done(struct co_carrier *carrier, unsigned number, const struct co_native_done *done)
{
    struct co_carrier_operation *operation = &carrier->operations[number];
    size_t bytes = next_part(carrier, operation);
    int error = done->result != 0 ? done->result : operation->is_receive && done->bytes != bytes ? -EIO : 0;
    error = error == 0 && operation->is_stuck ? -ECANCELED : error; // no further part
    operation->done_bytes += bytes;
    note_advance(carrier);
    if (error == 0 && operation->done_bytes < operation->bytes) {
        start_part(carrier, number);
    } else {
        end(carrier, number, error);
    }
}

static int start_waiting(struct co_carrier *carrier)
{
    unsigned number;
    int count = 0;
    while (co_index_queue_take(&carrier->starts, &number)) {
        carrier->under_way[number] = true;
        start_part(carrier, number);
        count++;
    }
    return count;
}

static int collect(struct co_carrier *carrier, unsigned first, unsigned count)
{
    const struct co_native *native = &carrier->native;
    unsigned done = native->collect(native->arg, co_carrier_slot(carrier, first), count, carrier->done);
    for (unsigned i = 0; i < done; i++) {
        part_is_done(carrier, carrier->done[i].slot - carrier->frames, &carrier->done[i]);
    }
    return (int)done;
}

static void give_up(struct co_carrier *carrier, int error)
{
    co_log(CO_LOG_ERROR, CO_SUBSYS_P2P, "the MPI below does not receive (error %d): messages between hosts fail",
           -error);
    co_store_relaxed(&carrier->broken, error); // relaxed: nothing else hangs on it
}

// As many as there are frames that the engine has seen.
static void post_frames(struct co_carrier *carrier)
{
    const struct co_native *native = &carrier->native;
    uint64_t posted = co_load_relaxed(&carrier->posted);
    // acquire C2: a frame that has been consumed may be written over
    uint64_t most = co_load_acquire(&carrier->consumed) + carrier->frames;
    while (posted < most && co_load_relaxed(&carrier->broken) == 0) {
        struct co_carrier_frame *frame = co_carrier_frame_in(carrier, posted);
        co_store_relaxed(&frame->mark, 0);
        int error = native->receive(native->arg, (unsigned)(posted % carrier->frames), frame, carrier->frame_bytes,
                                    CO_NATIVE_ANYBODY, CO_CARRIER_TAG_FRAME);
        if (error != 0) {
            give_up(carrier, error);
        } else {
            co_store_relaxed(&carrier->posted, ++posted); // relaxed: a hint for others
        }
    }
}

static bool has_mark(const struct co_carrier *carrier)
{
    uint64_t arrived = co_load_relaxed(&carrier->arrived), posted = co_load_relaxed(&carrier->posted);
    return arrived < posted && co_load_relaxed(&co_carrier_frame_in(carrier, arrived)->mark) != 0; // relaxed: a hint
}

static int take_arrived(struct co_carrier *carrier, bool must_look)
{
    const struct co_native *native = &carrier->native;
    uint64_t arrived = co_load_relaxed(&carrier->arrived);
    int count = 0;
    while (co_load_relaxed(&carrier->broken) == 0 && arrived < co_load_relaxed(&carrier->posted) &&
           (has_mark(carrier) || must_look)) {
        unsigned slot = (unsigned)(arrived % carrier->frames);
        if (native->collect(native->arg, slot, 1, carrier->done) == 0) {
            break;
        }
        if (carrier->done[0].result != 0) {
            give_up(carrier, carrier->done[0].result);
            break;
        }
        carrier->arrivals[slot] = (struct co_carrier_arrival){carrier->done[0].peer, carrier->done[0].bytes};
        co_store_release(&carrier->arrived, ++arrived); // release C1
        note_advance(carrier);
        count++;
    }
    return count;
}

// Of a receive that a message has: its place is taken until native has done with it, for ever if the sender is dead.
static void leave_stuck(struct co_carrier *carrier, struct co_carrier_operation *operation)
{
    operation->is_stuck = true;
    carrier->stuck++;
    co_sub_relaxed(&carrier->bodies, 1); // relaxed: a hint, for who would not sleep before it is there
}

// Receives whose owners are gone must not be written to, as far as that can be prevented.
static void cancel_forgotten(struct co_carrier *carrier)
{
    if (atomic_exchange_explicit(&carrier->forgotten, 0, memory_order_acquire) == 0) {
        return;
    }
    for (unsigned i = carrier->frames; i < co_carrier_operation_count(carrier); i++) {
        struct co_carrier_operation *operation = &carrier->operations[i];
        if (!carrier->under_way[i] || !operation->is_receive || operation->is_stuck ||
            !co_load_relaxed(&operation->is_forgotten)) {
            continue;
        }
        if (carrier->native.cancel(carrier->native.arg, co_carrier_slot(carrier, i))) {
            end(carrier, i, -ECANCELED);
        } else {
            leave_stuck(carrier, operation);
        }
    }
}

static int collect_bodies(struct co_carrier *carrier)
{
    return collect(carrier, carrier->frames, 2 * CO_CARRIER_BODIES);
}

// From a call of the program: native is moved, by the looks at bodies if there are any.
static int look_outside(struct co_carrier *carrier, unsigned turn)
{
    int events = 0;
    if (co_load_relaxed(&carrier->bodies) > 0 || (carrier->stuck > 0 && turn % COLLECT_EVERY == 0)) {
        events += collect_bodies(carrier);
    } else {
        carrier->native.progress();
    }
    if (co_load_relaxed(&carrier->frames_out) > carrier->frames / 4 || turn % COLLECT_EVERY == 0) {
        events += co_load_relaxed(&carrier->frames_out) > 0 ? collect(carrier, 0, carrier->frames) : 0;
    }
    return events;
}

// From native's own progress loop: only what is over anyway is asked for, and now and then what tells nobody.
static int look_inside(struct co_carrier *carrier, unsigned turn)
{
    int events = 0;
    if (turn % COLLECT_EVERY == 0) {
        events += co_load_relaxed(&carrier->bodies) > 0 ? collect_bodies(carrier) : 0;
        events += co_load_relaxed(&carrier->frames_out) > 0 ? collect(carrier, 0, carrier->frames) : 0;
    }
    return events;
}

static int turn(struct co_carrier *carrier, unsigned number, bool inside)
{
    post_frames(carrier);
    int events = start_waiting(carrier);
    cancel_forgotten(carrier);
    events += inside ? look_inside(carrier, number) : look_outside(carrier, number);
    return events + take_arrived(carrier, !inside && number % LOOK_EVERY == 0);
}

// Nothing is left behind by who comes while somebody is at it: one queues and then asks for the lock, the other drops
// it and then looks at the queue, and in between both step here, of whom the second sees what the first has done.
static void meet(struct co_carrier *carrier)
{
    co_add_acq_rel(&carrier->meetings, 1); // acq_rel C3
}

static bool has_more(struct co_carrier *carrier)
{
    meet(carrier);
    return !co_index_queue_is_empty(&carrier->starts);
}

static bool take_mover(struct co_carrier *carrier)
{
    meet(carrier);
    return co_trylock_take(&carrier->mover);
}

void co_carrier_flush(struct co_channel *channel)
{
    struct co_carrier *carrier = co_carrier_of(channel);
    while (!co_index_queue_is_empty(&carrier->starts) && take_mover(carrier)) {
        start_waiting(carrier);
        co_trylock_drop(&carrier->mover);
        meet(carrier);
    }
}

// Whether a turn in native's progress loop has something to do.
static bool has_cause(struct co_carrier *carrier, unsigned number)
{
    return has_mark(carrier) || !co_index_queue_is_empty(&carrier->starts) ||
           co_load_relaxed(&carrier->posted) - co_load_relaxed(&carrier->consumed) < carrier->frames ||
           (number % COLLECT_EVERY == 0 &&
            co_load_relaxed(&carrier->bodies) + co_load_relaxed(&carrier->frames_out) > 0) ||
           co_load_relaxed(&carrier->forgotten) > 0;
}

int co_carrier_channel_move(struct co_channel *channel, bool inside)
{
    struct co_carrier *carrier = co_carrier_of(channel);
    // Counted apart: an outer call moves native, which calls back in vain, and with one count for both all outer calls
    // could have odd numbers, and never look.
    _Atomic unsigned *calls = &carrier->calls[inside];
    unsigned number = co_load_relaxed(calls) + 1; // relaxed: a lost count delays a look
    co_store_relaxed(calls, number);
    if ((inside && !has_cause(carrier, number)) || !take_mover(carrier)) {
        return 0;
    }
    int events = turn(carrier, number, inside);
    co_trylock_drop(&carrier->mover);
    if (has_more(carrier)) {
        co_carrier_flush(channel);
    }
    return events;
}

bool co_carrier_channel_is_idle(const struct co_channel *channel)
{
    const struct co_carrier *carrier = (const struct co_carrier *)channel;
    return co_load_relaxed(&carrier->frames_out) + co_load_relaxed(&carrier->bodies) == 0; // relaxed: a hint
}

uint64_t co_carrier_channel_advances(const struct co_channel *channel)
{
    return co_load_relaxed(&((const struct co_carrier *)channel)->advances); // relaxed: a hint
}

bool co_carrier_end(struct co_carrier *carrier)
{
    const struct co_native *native = &carrier->native;
    bool is_over = true;
    co_trylock_wait(&carrier->mover);
    for (uint64_t i = co_load_relaxed(&carrier->arrived); i < co_load_relaxed(&carrier->posted); i++) {
        unsigned slot = (unsigned)(i % carrier->frames);
        if (!native->cancel(native->arg, slot)) {
            native->abandon(native->arg, slot);
            is_over = false;
        }
    }
    while (co_load_relaxed(&carrier->frames_out) > 0 && collect(carrier, 0, carrier->frames) > 0) {
    }
    for (unsigned i = 0; i < co_carrier_operation_count(carrier); i++) {
        bool is_receive = carrier->operations[i].is_receive;
        if (carrier->under_way[i] && !(is_receive && native->cancel(native->arg, co_carrier_slot(carrier, i)))) {
            native->abandon(native->arg, co_carrier_slot(carrier, i));
            is_over = is_over && i >= carrier->frames; // bodies are the program's
        }
    }
    co_trylock_drop(&carrier->mover);
    return is_over;
}
