// SPDX-License-Identifier: BSD-3-Clause
//
// Bad days of a device. A queue pair that fails loses what was on its way and is set up anew: the protocol above
// repairs losses. Where it fails again at once, as without a route, it waits longer and longer before the next try. A
// port that is down may come back, and until then whatever is sent is lost. A device that is taken away, and what lasts
// for the deadline, break the transport, which whoever polls is told. A look at the device from time to time; the rest
// is rare.
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "transport/verbs/verbs_state.h"

#define LOOK_EVERY 64                         // polls of one who never sleeps
#define PORT_NS (UINT64_C(50) * CO_NS_PER_MS) // between two looks at a port that is down
#define STEADY_NS CO_NS_PER_S                 // who runs so long has recovered
#define AWAY_NS CO_NS_PER_S                   // without a look: a process that was stopped, or a machine that slept
#define WAIT_LEAST_NS CO_NS_PER_MS            // before what has failed again is started anew, doubled each time
#define WAIT_MOST_NS (UINT64_C(100) * CO_NS_PER_MS)

static void look_at_port(struct co_verbs *verbs, uint64_t now_ns)
{
    struct ibv_port_attr facts;
    char text[120];
    int error = ibv_query_port(verbs->context, verbs->port, &facts);
    if (error != 0) {
        co_verbs_break(verbs, -EIO, "its port cannot be asked any more");
        return;
    }
    bool is_down = facts.state != IBV_PORT_ACTIVE;
    if (is_down != (verbs->down_since_ns != 0)) {
        verbs->down_since_ns = is_down ? now_ns : 0;
        snprintf(text, sizeof text, "verbs on %s: port %u is %s", verbs->device, verbs->port,
                 is_down ? "down: what is sent is lost" : "active again");
        verbs->config.warn(text);
    }
    if (is_down && now_ns - verbs->down_since_ns >= verbs->config.give_up_ns) {
        co_verbs_break(verbs, -ENETDOWN, "its port stays down (CASTOFF_DEADLINE_S)");
    }
}

static struct co_verbs_ring *ring_of(struct co_verbs *verbs, const struct ibv_qp *queue_pair)
{
    for (unsigned i = 0; i <= verbs->group_count; i++) {
        if (verbs->rings[i].queue_pair == queue_pair) {
            return &verbs->rings[i];
        }
    }
    return NULL;
}

static void take_event(struct co_verbs *verbs, const struct ibv_async_event *event)
{
    struct co_verbs_ring *ring = NULL;
    struct co_verbs_rc *rc = NULL;
    switch (event->event_type) {
    case IBV_EVENT_DEVICE_FATAL:
        co_verbs_break(verbs, -ENODEV, ibv_event_type_str(event->event_type));
        break;
    case IBV_EVENT_CQ_ERR:
        co_verbs_break(verbs, -EIO, ibv_event_type_str(event->event_type));
        break;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
        ring = ring_of(verbs, event->element.qp);
        rc = co_verbs_rc_of(verbs, event->element.qp);
        break;
    default: // the port is asked for its state, others say nothing of us
        break;
    }
    if (ring != NULL) {
        co_verbs_ring_fail(verbs, ring);
    }
    if (rc != NULL) {
        rc->bad_news =
            ibv_event_type_str(event->event_type); // its queue pair cannot go before the event is acknowledged
    }
}

static bool has_something(int descriptor)
{
    struct pollfd fd = {.fd = descriptor, .events = POLLIN};
    return poll(&fd, 1, 0) > 0;
}

// What the fabric says of our memberships. It is the only one who tells of some devices that they are to go.
static void hear_manager(struct co_verbs *verbs)
{
    struct rdma_cm_event *event;
    while (verbs->broken == 0 && rdma_get_cm_event(verbs->events, &event) == 0) {
        enum rdma_cm_event_type type = event->event;
        verbs->config.count(CO_VERBS_EVENTS, 1);
        rdma_ack_cm_event(event);
        if (type == RDMA_CM_EVENT_DEVICE_REMOVAL) {
            co_verbs_break(verbs, -ENODEV, "the device is taken away");
        } else if (type == RDMA_CM_EVENT_MULTICAST_ERROR) {
            co_verbs_break(verbs, -ENETDOWN, "the fabric has ended the membership of a group");
        }
    }
}

static void hear_device(struct co_verbs *verbs, uint64_t now_ns)
{
    struct ibv_async_event event;
    bool has_news = false;
    while (verbs->broken == 0 && has_something(verbs->context->async_fd) &&
           ibv_get_async_event(verbs->context, &event) == 0) {
        verbs->config.count(CO_VERBS_EVENTS, 1);
        take_event(verbs, &event);
        ibv_ack_async_event(&event);
        has_news = true;
    }
    hear_manager(verbs);
    if (has_news && verbs->broken == 0) {
        look_at_port(verbs, now_ns);
    }
}

// Who was away has not waited: when he comes back the link may need a moment, too.
static void leave_out_absence(struct co_verbs *verbs, uint64_t now_ns)
{
    uint64_t apart_ns = now_ns - verbs->looked_ns, away_ns = apart_ns > AWAY_NS ? apart_ns - AWAY_NS : 0;
    verbs->looked_ns = now_ns;
    verbs->down_since_ns += verbs->down_since_ns != 0 ? away_ns : 0;
    verbs->failing_since_ns += verbs->is_failing ? away_ns : 0;
}

static void look_at_patience(struct co_verbs *verbs, uint64_t now_ns)
{
    if (now_ns - verbs->failing_since_ns >= verbs->config.give_up_ns) {
        co_verbs_break(verbs, -EIO, "queue pairs fail again and again (CASTOFF_DEADLINE_S)");
    }
}

static void note_failure(struct co_verbs *verbs, uint64_t now_ns)
{
    bool is_again = verbs->revived_ns != 0 && now_ns - verbs->revived_ns < STEADY_NS;
    uint64_t longer_ns = 2 * verbs->wait_ns < WAIT_MOST_NS ? 2 * verbs->wait_ns : WAIT_MOST_NS;
    verbs->is_failing = true;
    verbs->failing_since_ns = is_again ? verbs->failing_since_ns : now_ns;
    verbs->wait_ns = is_again ? longer_ns : WAIT_LEAST_NS;
    verbs->retry_ns = is_again ? now_ns + verbs->wait_ns : now_ns;
    look_at_patience(verbs, now_ns);
}

static void try_later(struct co_verbs *verbs, uint64_t now_ns)
{
    verbs->retry_ns = now_ns + WAIT_MOST_NS;
    look_at_patience(verbs, now_ns);
}

// At once, since work requests of a failed one may still hold memory of the program's. True: some was stopped.
static bool stop_failed(struct co_verbs *verbs)
{
    bool has_stopped = false;
    for (unsigned i = 0; i <= verbs->group_count; i++) {
        if (verbs->rings[i].state == CO_VERBS_RING_FAILED) {
            co_verbs_ring_stop(verbs, &verbs->rings[i]);
            verbs->rings[i].state = CO_VERBS_RING_STOPPED;
            has_stopped = true;
        }
    }
    return has_stopped;
}

// An address that was taken away and given again may have another place in the device's table. False: it is not there.
static bool find_ways(struct co_verbs *verbs)
{
    int moved = co_verbs_device_find_address(verbs);
    for (int i = 0; moved > 0 && i < verbs->peer_count; i++) {
        struct co_verbs_peer *peer = &verbs->peers[i];
        if (peer->to != NULL) {
            ibv_destroy_ah(peer->to);
            peer->to = NULL; // made again when it is next sent to
            peer->unreachable = 0;
        }
    }
    return moved >= 0 &&
           co_verbs_groups_find_ways(verbs) == 0; // of an earlier move, too, if some could not be made then
}

static void start_stopped(struct co_verbs *verbs, uint64_t now_ns)
{
    for (unsigned i = 0; i <= verbs->group_count && verbs->broken == 0; i++) {
        struct co_verbs_ring *ring = &verbs->rings[i];
        if (ring->state != CO_VERBS_RING_STOPPED) {
            continue;
        }
        int error = co_verbs_ring_start(verbs, ring);
        if (error != 0) {
            co_verbs_break(verbs, error, "a failed queue pair cannot be started again");
            return;
        }
        ring->state = CO_VERBS_RING_RUNS;
        verbs->failed_rings--;
        verbs->config.count(CO_VERBS_REVIVED, 1);
    }
    verbs->revived_ns = now_ns;
}

// Started when all completions of the former life have been taken, at a later look: its receives are posted anew, and
// must not come back from before.
static void mend(struct co_verbs *verbs, bool is_drained, uint64_t now_ns)
{
    bool has_stopped = stop_failed(verbs);
    if (has_stopped || verbs->broken != 0 || now_ns < verbs->retry_ns) {
        return;
    }
    look_at_port(verbs, now_ns);
    if (verbs->down_since_ns != 0) {
        verbs->retry_ns = now_ns + PORT_NS;
    } else if (is_drained && verbs->broken == 0 && verbs->failed_rings > 0) {
        if (find_ways(verbs)) {
            start_stopped(verbs, now_ns);
        } else {
            try_later(verbs, now_ns);
        }
    }
}

static bool is_well(const struct co_verbs *verbs)
{
    return verbs->failed_rings == 0 && verbs->down_since_ns == 0;
}

void co_verbs_health_progress(struct co_verbs *verbs, bool must_look, bool is_drained)
{
    if (is_well(verbs) && !must_look && ++verbs->polls % LOOK_EVERY != 0) {
        return;
    }
    uint64_t now_ns = co_clock_now_ns();
    leave_out_absence(verbs, now_ns);
    co_registration_sweep(verbs->registrations);
    hear_device(verbs, now_ns);
    co_verbs_reads_poll(verbs, now_ns);
    if (verbs->broken == 0 && !is_well(verbs)) {
        if (!verbs->is_failing) {
            note_failure(verbs, now_ns);
        }
        mend(verbs, is_drained, now_ns);
    }
    verbs->is_failing = verbs->is_failing && !is_well(verbs);
}

uint64_t co_verbs_health_due_ns(const struct co_verbs *verbs)
{
    uint64_t look_ns = is_well(verbs) ? 0 : verbs->is_failing ? verbs->retry_ns : 1;
    uint64_t read_ns = verbs->broken != 0 ? 0 : co_verbs_reads_due_ns(verbs);
    bool is_read = look_ns == 0 || (read_ns != 0 && read_ns < look_ns);
    return verbs->broken != 0 ? 0 : is_read ? read_ns : look_ns;
}
