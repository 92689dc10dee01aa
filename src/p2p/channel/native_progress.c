// SPDX-License-Identifier: BSD-3-Clause
//
// The side of the channel between hosts that calls the MPI below. Packets are received in the order in which their
// receives were posted, so that each sender's stay in order. Native calls may come back here through the progress loop;
// then somebody is at it already. A packet is known to be there by its mark, without a call: in the progress loop that
// costs a look at one line. Hot.
#include <errno.h>

#include "base/log.h"
#include "p2p/channel/native_channel_state.h"

#define COLLECT_EVERY 16 // turns, where nothing urgent hangs on it
#define LOOK_EVERY 256   // turns in which the mark alone is believed

static void operation_end(struct co_native_channel *self, unsigned number, int result)
{
    bool is_packet = number < self->packets, is_stuck = self->operations[number].is_stuck;
    self->operations[number].result = result;
    self->under_way[number] = false;
    self->stuck -= is_stuck;
    co_index_queue_put(is_packet ? &self->ended_packets : &self->ended_transfers, number);
    if (!is_stuck) {
        co_sub_relaxed(is_packet ? &self->packets_out : &self->transfers, 1); // relaxed: a hint
    }
}

static size_t operation_next_part(const struct co_native_channel *self, const struct co_native_operation *operation)
{
    size_t left = operation->bytes - operation->done_bytes;
    return left < self->native.bytes_most ? left : self->native.bytes_most;
}

static void operation_start_part(struct co_native_channel *self, unsigned number)
{
    struct co_native_operation *operation = &self->operations[number];
    const struct co_native *native = &self->native;
    char *address = (char *)operation->address + operation->done_bytes;
    size_t bytes = operation_next_part(self, operation);
    unsigned slot = co_native_slot(self, number);
    int error = operation->is_receive
                    ? native->receive(native->arg, slot, address, bytes, operation->peer, operation->tag)
                    : native->send(native->arg, slot, address, bytes, operation->peer, operation->tag);
    if (error != 0) {
        operation_end(self, number, error);
    }
}

static void advances_note(struct co_native_channel *self)
{
    co_store_relaxed(&self->advances, co_load_relaxed(&self->advances) + 1); // relaxed: one writer, a hint
}

static void operation_part_is_done(struct co_native_channel *self, unsigned number, const struct co_native_done *done)
{
    struct co_native_operation *operation = &self->operations[number];
    size_t bytes = operation_next_part(self, operation);
    int error = done->result != 0 ? done->result : operation->is_receive && done->bytes != bytes ? -EIO : 0;
    error = error == 0 && operation->is_stuck ? -ECANCELED : error; // no further part
    operation->done_bytes += bytes;
    advances_note(self);
    if (error == 0 && operation->done_bytes < operation->bytes) {
        operation_start_part(self, number);
    } else {
        operation_end(self, number, error);
    }
}

static int operations_start(struct co_native_channel *self)
{
    unsigned number;
    int count = 0;
    while (co_index_queue_take(&self->starts, &number)) {
        self->under_way[number] = true;
        operation_start_part(self, number);
        count++;
    }
    return count;
}

static int operations_collect(struct co_native_channel *self, unsigned first, unsigned count)
{
    const struct co_native *native = &self->native;
    unsigned done = native->collect(native->arg, co_native_slot(self, first), count, self->done);
    for (unsigned i = 0; i < done; i++) {
        operation_part_is_done(self, self->done[i].slot - self->packets, &self->done[i]);
    }
    return (int)done;
}

static void channel_abort(struct co_native_channel *self, int error)
{
    co_log(CO_LOG_ERROR, CO_SUBSYS_P2P, "the MPI below does not receive (error %d): messages between hosts fail",
           -error);
    co_store_relaxed(&self->broken, error); // relaxed: nothing else hangs on it
}

// As many as there are packets that the engine has seen.
static void packets_post(struct co_native_channel *self)
{
    const struct co_native *native = &self->native;
    uint64_t posted = co_load_relaxed(&self->posted);
    // acquire C2: a packet that has been consumed may be written over
    uint64_t most = co_load_acquire(&self->consumed) + self->packets;
    while (posted < most && co_load_relaxed(&self->broken) == 0) {
        struct co_native_packet *packet = co_native_packet_in(self, posted);
        co_store_relaxed(&packet->mark, 0);
        int error = native->receive(native->arg, (unsigned)(posted % self->packets), packet, self->packet_bytes,
                                    CO_NATIVE_ANYBODY, CO_NATIVE_TAG_PACKET);
        if (error != 0) {
            channel_abort(self, error);
        } else {
            co_store_relaxed(&self->posted, ++posted); // relaxed: a hint for others
        }
    }
}

static bool packet_has_mark(const struct co_native_channel *self)
{
    uint64_t arrived = co_load_relaxed(&self->arrived), posted = co_load_relaxed(&self->posted);
    return arrived < posted && co_load_relaxed(&co_native_packet_in(self, arrived)->mark) != 0; // relaxed: a hint
}

static int packets_take(struct co_native_channel *self, bool must_look)
{
    const struct co_native *native = &self->native;
    uint64_t arrived = co_load_relaxed(&self->arrived);
    int count = 0;
    while (co_load_relaxed(&self->broken) == 0 && arrived < co_load_relaxed(&self->posted) &&
           (packet_has_mark(self) || must_look)) {
        unsigned slot = (unsigned)(arrived % self->packets);
        if (native->collect(native->arg, slot, 1, self->done) == 0) {
            break;
        }
        if (self->done[0].result != 0) {
            channel_abort(self, self->done[0].result);
            break;
        }
        self->arrivals[slot] = (struct co_native_arrival){self->done[0].peer, self->done[0].bytes};
        co_store_release(&self->arrived, ++arrived); // release C1
        advances_note(self);
        count++;
    }
    return count;
}

// Of a receive that a message has: its place is taken until native has done with it, for ever if the sender is dead.
static void operation_leave_stuck(struct co_native_channel *self, struct co_native_operation *operation)
{
    operation->is_stuck = true;
    self->stuck++;
    co_sub_relaxed(&self->transfers, 1); // relaxed: a hint, for who would not sleep before it is there
}

// Receives whose owners are gone must not be written to, as far as that can be prevented.
static void operations_cancel_forgotten(struct co_native_channel *self)
{
    if (atomic_exchange_explicit(&self->forgotten, 0, memory_order_acquire) == 0) { // acquire C3
        return;
    }
    for (unsigned i = self->packets; i < co_native_operation_count(self); i++) {
        struct co_native_operation *operation = &self->operations[i];
        if (!self->under_way[i] || !operation->is_receive || operation->is_stuck ||
            !co_load_relaxed(&operation->is_forgotten)) {
            continue;
        }
        if (self->native.cancel(self->native.arg, co_native_slot(self, i))) {
            operation_end(self, i, -ECANCELED);
        } else {
            operation_leave_stuck(self, operation);
        }
    }
}

static int transfers_collect(struct co_native_channel *self)
{
    return operations_collect(self, self->packets, 2 * CO_NATIVE_TRANSFERS);
}

// From a call of the program: native is moved, by the looks at transfers if there are any.
static int native_poll_outside(struct co_native_channel *self, unsigned turn)
{
    int events = 0;
    if (co_load_relaxed(&self->transfers) > 0 || (self->stuck > 0 && turn % COLLECT_EVERY == 0)) {
        events += transfers_collect(self);
    } else {
        self->native.progress();
    }
    if (co_load_relaxed(&self->packets_out) > self->packets / 4 || turn % COLLECT_EVERY == 0) {
        events += co_load_relaxed(&self->packets_out) > 0 ? operations_collect(self, 0, self->packets) : 0;
    }
    return events;
}

// From native's own progress loop: only what is over anyway is asked for, and now and then what tells nobody.
static int native_poll_inside(struct co_native_channel *self, unsigned turn)
{
    int events = 0;
    if (turn % COLLECT_EVERY == 0) {
        events += co_load_relaxed(&self->transfers) > 0 ? transfers_collect(self) : 0;
        events += co_load_relaxed(&self->packets_out) > 0 ? operations_collect(self, 0, self->packets) : 0;
    }
    return events;
}

static int channel_progress(struct co_native_channel *self, unsigned number, bool inside)
{
    packets_post(self);
    int events = operations_start(self);
    operations_cancel_forgotten(self);
    events += inside ? native_poll_inside(self, number) : native_poll_outside(self, number);
    return events + packets_take(self, !inside && number % LOOK_EVERY == 0);
}

// Nothing is left behind by who comes while somebody is at it: one queues and then asks for the lock, the other drops
// it and then looks at the queue, and in between both step here, of whom the second sees what the first has done.
static void mover_meet(struct co_native_channel *self)
{
    co_add_acq_rel(&self->meetings, 1); // acq_rel C3
}

static bool mover_has_more(struct co_native_channel *self)
{
    mover_meet(self);
    return !co_index_queue_is_empty(&self->starts);
}

static bool mover_take(struct co_native_channel *self)
{
    mover_meet(self);
    return co_trylock_take(&self->mover);
}

void co_native_channel_flush(struct co_channel *channel)
{
    struct co_native_channel *self = co_native_channel_of(channel);
    while (!co_index_queue_is_empty(&self->starts) && mover_take(self)) {
        operations_start(self);
        co_trylock_drop(&self->mover);
        mover_meet(self);
    }
}

// Whether a turn in native's progress loop has something to do.
static bool mover_has_cause(struct co_native_channel *self, unsigned number)
{
    return packet_has_mark(self) || !co_index_queue_is_empty(&self->starts) ||
           co_load_relaxed(&self->posted) - co_load_relaxed(&self->consumed) < self->packets ||
           (number % COLLECT_EVERY == 0 &&
            co_load_relaxed(&self->transfers) + co_load_relaxed(&self->packets_out) > 0) ||
           co_load_relaxed(&self->forgotten) > 0;
}

int co_native_channel_progress(struct co_channel *channel, bool inside)
{
    struct co_native_channel *self = co_native_channel_of(channel);
    // Counted apart: an outer call moves native, which calls back in vain, and with one count for both all outer calls
    // could have odd numbers, and never look.
    _Atomic unsigned *calls = &self->calls[inside];
    unsigned number = co_load_relaxed(calls) + 1; // relaxed: a lost count delays a look
    co_store_relaxed(calls, number);
    if ((inside && !mover_has_cause(self, number)) || !mover_take(self)) {
        return 0;
    }
    int events = channel_progress(self, number, inside);
    co_trylock_drop(&self->mover);
    if (mover_has_more(self)) {
        co_native_channel_flush(channel);
    }
    return events;
}

bool co_native_channel_is_idle(const struct co_channel *channel)
{
    const struct co_native_channel *self = (const struct co_native_channel *)channel;
    return co_load_relaxed(&self->packets_out) + co_load_relaxed(&self->transfers) == 0; // relaxed: a hint
}

uint64_t co_native_channel_advances(const struct co_channel *channel)
{
    return co_load_relaxed(&((const struct co_native_channel *)channel)->advances); // relaxed: a hint
}

bool co_native_channel_end(struct co_native_channel *self)
{
    const struct co_native *native = &self->native;
    bool is_over = true;
    co_trylock_wait(&self->mover);
    for (uint64_t i = co_load_relaxed(&self->arrived); i < co_load_relaxed(&self->posted); i++) {
        unsigned slot = (unsigned)(i % self->packets);
        if (!native->cancel(native->arg, slot)) {
            native->abandon(native->arg, slot);
            is_over = false;
        }
    }
    while (co_load_relaxed(&self->packets_out) > 0 && operations_collect(self, 0, self->packets) > 0) {
    }
    for (unsigned i = 0; i < co_native_operation_count(self); i++) {
        bool is_receive = self->operations[i].is_receive;
        if (self->under_way[i] && !(is_receive && native->cancel(native->arg, co_native_slot(self, i)))) {
            native->abandon(native->arg, co_native_slot(self, i));
            is_over = is_over && i >= self->packets; // transfers are the program's
        }
    }
    co_trylock_drop(&self->mover);
    return is_over;
}
