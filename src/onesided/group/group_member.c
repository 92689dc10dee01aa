// SPDX-License-Identifier: BSD-3-Clause
//
// A member: its memory is written while it sleeps. When the sender says that all has been written, it looks at what has
// come (one completion for each chunk, and none for a chunk of which a packet was lost) and says what is missing.
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/chunk_bitmap.h"
#include "onesided/group/group_state.h"

// The sender's word comes by another way than its writes, and may be faster: so long nothing must have come before
// something is missing. Too short costs a chunk that is written twice.
enum { GRACE_MS = 20, STEP_MS = 5, BATCH = 64 };

// Marks what has come; the number of completions, or -errno.
static int look(struct castoff_group *group)
{
    struct ibv_wc done[BATCH];
    int count, total = 0;
    while ((count = ibv_poll_cq(group->queue, BATCH, done)) > 0) {
        for (int i = 0; i < count; i++) {
            uint32_t chunk;
            if (done[i].status != IBV_WC_SUCCESS) {
                return co_onesided_fail(-EIO, "a receive has failed: %s", ibv_wc_status_str(done[i].status));
            }
            if (co_transfer_take_immediate(be32toh(done[i].imm_data), group->transfer, group->chunks, &chunk)) {
                co_chunk_bitmap_set(group->bitmap, chunk);
            }
        }
        group->consumed += (unsigned)count;
        total += count;
    }
    group->counts.chunks_received += (uint64_t)total;
    return count < 0 ? co_onesided_fail(-EIO, "completions cannot be read") : total;
}

static uint32_t missing(const struct castoff_group *group)
{
    return co_chunk_bitmap_count_clear(group->bitmap, 0, group->chunks);
}

static int look_patiently(struct castoff_group *group)
{
    int count = look(group), waited_ms = 0;
    while (count >= 0 && missing(group) > 0 && waited_ms < GRACE_MS) {
        poll(NULL, 0, STEP_MS);
        count = look(group);
        waited_ms = count > 0 ? 0 : waited_ms + STEP_MS;
    }
    return count < 0 ? count : 0;
}

static int report(struct castoff_group *group, uint32_t round)
{
    struct co_coordination_missing *what = &group->message.missing;
    int error = look_patiently(group);
    if (error == 0) { // before the sender may write again
        error = missing(group) > 0 ? co_onesided_pair_revive(group) : co_onesided_receives_post(group, group->consumed);
        group->consumed = 0;
    }
    if (error != 0) {
        return error;
    }
    memcpy(what->name, group->own_name, sizeof what->name);
    what->transfer = group->transfer;
    what->round = round;
    co_transfer_list_missing(what, group->bitmap, group->chunks);
    group->counts.rounds++;
    return co_onesided_send(group, CO_SAY_MISSING);
}

// The next message. A sender that writes for longer than anybody waits says nothing meanwhile, but what it writes
// comes.
static int await_word(struct castoff_group *group)
{
    for (;;) {
        int error = co_onesided_await(group, co_clock_now_ns() + group->patience_ns);
        if (error != -ETIMEDOUT || group->is_over) {
            return error;
        }
        int came = look(group);
        if (came <= 0) {
            return came < 0 ? came : co_onesided_fail(error, "group %s: nothing comes", group->name);
        }
    }
}

int co_onesided_member_complete(struct castoff_group *group)
{
    for (;;) {
        int error = await_word(group);
        if (error != 0) {
            return error;
        }
        // What the sender writes again for others is no business of a member that has everything.
        if (group->message.kind != CO_SAY_ROUND || group->message.round.transfer != group->transfer) {
            continue;
        }
        if (group->message.round.chunks != group->chunks ||
            group->message.round.chunk_bytes != co_transfer_chunk_bytes(group->bytes)) {
            return co_onesided_fail(-EPROTO, "group %s: the sender counts %u chunks, and there are %u", group->name,
                                    group->message.round.chunks, group->chunks);
        }
        error = report(group, group->message.round.round);
        if (error != 0) {
            return error;
        }
        if (missing(group) == 0) {
            group->transfer++;
            memset(group->bitmap, 0, sizeof group->bitmap);
            return 0;
        }
    }
}
