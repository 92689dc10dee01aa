// SPDX-License-Identifier: BSD-3-Clause
//
// Set-up probe: the prober announces itself on every subgroup until each member has answered each of them, then says
// that it is done. Who does not hear that waits to the end and then goes by what it has heard itself: whether all have,
// the prober knows, and the members compare their verdicts. A network that does not carry multicast shows here, before
// any operation depends on it. Cold.
//
// Patience is for silence: each new answer, and for members each word of the prober, begins it anew, so that many
// hosts, slow links and a busy machine make the probe longer, not its verdict another one. All members answer each
// time, by the prober's one link. So it does not ask again while answers come in, however slow that is, and less often
// each time.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mcast/state/endpoint.h"
#include "mcast/probe.h"
#include "mcast/send/control_send.h"

#define PROBE_FIRST_NS UINT64_C(3000000) // without an answer, then probe again
#define PROBES_LEAST 16                  // in the time of patience: some may be lost
#define DONE_REPEATS 3

void co_probe_close(struct co_mcast *mcast)
{
    struct co_probe *probe = &mcast->probe;
    free(probe->copy);
    free(probe->heard);
    free(probe->subgroups_heard);
    *probe = (struct co_probe){.state = -EAGAIN};
}

int co_mcast_probe_start(struct co_mcast *mcast, const int *members, int count, int prober, uint64_t patience_ns,
                         uint64_t now_ns)
{
    co_probe_close(mcast);
    struct co_probe *probe = &mcast->probe;
    size_t subgroups = mcast->config.subgroups;
    for (unsigned i = 0; i < subgroups; i++) {
        int status = mcast->transport->ops->join(mcast->transport, i);
        if (status < 0) {
            return status;
        }
    }
    probe->copy = calloc((size_t)count, sizeof(int));
    probe->heard = calloc((size_t)count * subgroups, sizeof(bool));
    probe->subgroups_heard = calloc(subgroups, sizeof(bool));
    if (probe->copy == NULL || probe->heard == NULL || probe->subgroups_heard == NULL) {
        co_probe_close(mcast);
        return -ENOMEM;
    }
    memcpy(probe->copy, members, (size_t)count * sizeof(int));
    probe->members = probe->copy;
    probe->count = count;
    probe->prober = prober;
    probe->patience_ns = patience_ns;
    probe->deadline_ns = now_ns + patience_ns;
    probe->interval_ns = PROBE_FIRST_NS;
    probe->next_ns = now_ns;
    probe->subgroups_missing = (unsigned)subgroups;
    probe->state = count > 1 ? 0 : 1;
    mcast->timer_ns = 0;
    return 0;
}

static void send_probe(struct co_mcast *mcast, struct co_destination to, enum co_control_type type, uint32_t subgroup)
{
    co_control_send(mcast, 0, mcast->config.world_rank, to, type, subgroup, 0, NULL, 0);
}

static int member_of_rank(const struct co_probe *probe, int rank)
{
    for (int i = 0; i < probe->count; i++) {
        if (probe->members[i] == rank) {
            return i;
        }
    }
    return -1;
}

static void take_reply(struct co_mcast *mcast, const struct co_control *control)
{
    struct co_probe *probe = &mcast->probe;
    int member = member_of_rank(probe, control->source);
    unsigned subgroups = mcast->config.subgroups;
    probe->is_answered = probe->is_answered || control->source == probe->pinged;
    if (probe->state != 0 || probe->prober != mcast->config.world_rank || member < 0 ||
        control->operation >= subgroups) {
        return;
    }
    bool *heard = &probe->heard[(size_t)member * subgroups + control->operation];
    probe->next_ns = mcast->now_ns + probe->interval_ns;
    if (!*heard) {
        *heard = true;
        probe->answered++;
        probe->deadline_ns = mcast->now_ns + probe->patience_ns;
    }
    if (probe->answered < (probe->count - 1) * (int)subgroups) {
        return;
    }
    for (int repeat = 0; repeat < DONE_REPEATS; repeat++) {
        for (int i = 0; i < probe->count; i++) {
            if (probe->members[i] != mcast->config.world_rank) {
                send_probe(mcast, (struct co_destination){CO_TO_PEER, (unsigned)probe->members[i]},
                           CO_CONTROL_PROBE_DONE, 0);
            }
        }
    }
    probe->state = 1;
}

static void note_heard(struct co_mcast *mcast, const struct co_control *control)
{
    struct co_probe *probe = &mcast->probe;
    if (probe->state == 0 && control->source == probe->prober && control->operation < mcast->config.subgroups) {
        probe->deadline_ns = mcast->now_ns + probe->patience_ns;
        probe->subgroups_missing -= !probe->subgroups_heard[control->operation];
        probe->subgroups_heard[control->operation] = true;
    }
}

void co_probe_take(struct co_mcast *mcast, const struct co_control *control)
{
    struct co_probe *probe = &mcast->probe;
    switch (control->type) {
    case CO_CONTROL_PROBE:
        note_heard(mcast, control);
        send_probe(mcast, (struct co_destination){CO_TO_PEER, control->source}, CO_CONTROL_PROBE_REPLY,
                   control->operation);
        break;
    case CO_CONTROL_PROBE_REPLY:
        take_reply(mcast, control);
        break;
    default:
        if (probe->state == 0 && control->source == probe->prober) {
            probe->state = 1;
        }
    }
}

void co_probe_progress(struct co_mcast *mcast)
{
    struct co_probe *probe = &mcast->probe;
    if (probe->state != 0) {
        return;
    }
    if (mcast->now_ns >= probe->deadline_ns) {
        probe->state = probe->subgroups_missing == 0 ? 1 : -ETIMEDOUT; // the prober hears itself not at all
        return;
    }
    if (probe->prober != mcast->config.world_rank || mcast->now_ns < probe->next_ns) {
        return;
    }
    for (unsigned i = 0; i < mcast->config.subgroups; i++) {
        send_probe(mcast, (struct co_destination){CO_TO_GROUP, i}, CO_CONTROL_PROBE, i);
    }
    probe->next_ns = mcast->now_ns + probe->interval_ns;
    if (probe->interval_ns < probe->patience_ns / (2 * PROBES_LEAST)) {
        probe->interval_ns *= 2;
    }
}

void co_mcast_ping(struct co_mcast *mcast, int rank, uint64_t now_ns)
{
    mcast->now_ns = now_ns;
    mcast->probe.pinged = rank;
    mcast->probe.is_answered = false;
    send_probe(mcast, (struct co_destination){CO_TO_PEER, (unsigned)rank}, CO_CONTROL_PROBE, 0);
}

bool co_mcast_ping_is_answered(const struct co_mcast *mcast)
{
    return mcast->probe.is_answered;
}

int co_mcast_probe_state(const struct co_mcast *mcast)
{
    return mcast->probe.state;
}

bool co_mcast_probe_is_deaf(const struct co_mcast *mcast, int member)
{
    const struct co_probe *probe = &mcast->probe;
    unsigned subgroups = mcast->config.subgroups;
    bool is_deaf = false;
    if (probe->heard == NULL || member < 0 || member >= probe->count || probe->members[member] == probe->prober) {
        return false;
    }
    for (unsigned i = 0; i < subgroups; i++) {
        is_deaf = is_deaf || !probe->heard[(size_t)member * subgroups + i];
    }
    return is_deaf;
}
