// SPDX-License-Identifier: BSD-3-Clause
//
// Communicators whose ranks MPI was allowed to put in another order: MPI_Cart_create and MPI_Graph_create with
// reordering, MPI_Intercomm_merge where both groups said the same, and what was made of those. The order of the ranks
// before is taken. It is certain where all members were told their ranks; it is believed where each of them that sent
// or received anything met somebody by it, a message from exactly the source that was asked for or told, and nothing
// was left over: with another order all of that fits only by chance, as in a ring whose ranks have moved by half of it.
#include "tools/trace/replay/replay_state.h"

void co_replay_fit(struct co_replay *replay, struct co_replay_place *place, const struct co_queue_item *receive,
                   const struct co_queue_item *message)
{
    struct co_replay_comm *comm = place->comm;
    if (comm == NULL || !comm->may_be_reordered) {
        return;
    }
    int32_t wanted = receive->got_source != CO_CALL_NOT_KNOWN ? receive->got_source : receive->source;
    int32_t sender = co_replay_world_rank(co_replay_peers(comm), message->source);
    struct co_replay_place *from =
        sender < 0 ? NULL : co_hash_map_get(&replay->ranks[sender].by_comm, (uint64_t)co_replay_peers(comm)->id + 1);
    place->has_talked = true;
    if (wanted == message->source) {
        place->is_met = true;
        if (from != NULL) {
            from->is_met = true;
        }
    } else if (wanted != CO_CALL_ANY) {
        co_replay_misfit(comm);
    }
}

static bool is_told(const struct co_replay_comm *comm)
{
    while (comm != NULL && comm->may_be_reordered) {
        if (comm->told == comm->count) {
            return true;
        }
        if (comm->like == NULL) {
            return false;
        }
        comm = comm->like;
    }
    return true;
}

static void look_at_places(struct co_replay *replay)
{
    for (uint32_t i = 0; i < replay->place_count; i++) {
        const struct co_replay_place *place = replay->all[i];
        const struct co_queue *queue = &place->queue;
        if (place->comm != NULL && place->has_talked) {
            place->comm->is_used = true;
        }
        bool is_over = queue->posted.count + queue->unexpected.count + queue->held.count == 0;
        if (!is_over || (place->has_talked && !place->is_met && !place->is_told)) {
            co_replay_misfit(place->comm);
        }
    }
}

void co_replay_doubt_orders(struct co_replay *replay)
{
    look_at_places(replay);
    for (struct co_replay_comm *comm = replay->comms; comm != NULL; comm = comm->next) {
        if (!comm->may_be_reordered || comm->is_doubted || is_told(comm)) {
            continue;
        }
        if (comm->is_misfit) {
            co_replay_doubt(replay, CO_WHY_ORDER, comm->count == 0 ? 0 : (uint32_t)co_replay_world_rank(comm, 0),
                            comm->call);
        } else {
            replay->result->believed += comm->is_used;
        }
    }
}
