// SPDX-License-Identifier: BSD-3-Clause
//
// Life of the verbs transport: opening, connecting, describing, closing. Cold.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "transport/verbs/verbs_state.h"

static int join(struct co_transport *transport, unsigned index)
{
    struct co_verbs *verbs = (struct co_verbs *)transport;
    if (index >= verbs->group_count) {
        return -EINVAL;
    }
    verbs->rings[index].queue.is_wanted = true;
    return 0;
}

static void leave(struct co_transport *transport, unsigned index)
{
    struct co_verbs *verbs = (struct co_verbs *)transport;
    if (index < verbs->group_count) {
        verbs->rings[index].queue.is_wanted = false;
    }
}

static uint64_t next_event_ns(struct co_transport *transport)
{
    return co_verbs_health_due_ns((struct co_verbs *)transport); // all else that happens wakes a descriptor
}

static int dead_peer(struct co_transport *transport)
{
    (void)transport; // datagrams tell nothing of a process that has ended (transport/transport_liveness.h)
    return -1;
}

// All that is the device's, which may be waiting for that to be taken away.
static void let_go(struct co_verbs *verbs)
{
    for (int i = 0; verbs->peers != NULL && i < verbs->peer_count; i++) {
        if (verbs->peers[i].to != NULL) {
            ibv_destroy_ah(verbs->peers[i].to);
            verbs->peers[i].to = NULL;
        }
    }
    co_verbs_groups_leave(verbs);
    co_verbs_rc_close(verbs);
    co_verbs_rings_close_queues(verbs);
    if (verbs->registrations != NULL) {
        co_registration_drop_all(verbs->registrations);
    }
    co_verbs_rings_close(verbs);
    co_verbs_device_close(verbs);
}

static void hang_up(struct co_transport *transport)
{
    struct co_verbs *verbs = (struct co_verbs *)transport;
    if (verbs->broken != 0 && !verbs->has_let_go && co_verbs_is_own(verbs)) {
        verbs->has_let_go = true;
        let_go(verbs);
    }
}

static void close_verbs(struct co_transport *transport)
{
    struct co_verbs *verbs = (struct co_verbs *)transport;
    bool is_own = co_verbs_is_own(verbs);
    if (is_own && !verbs->has_let_go) {
        let_go(verbs);
    }
    if (is_own && verbs->registrations != NULL) {
        co_registration_cache_close(verbs->registrations);
    }
    co_descriptor_drop(&verbs->woken);
    free(verbs->peers);
    free(verbs);
}

static const struct co_transport_ops ops = {.name = "verbs",
                                            .join = join,
                                            .leave = leave,
                                            .send = co_verbs_send,
                                            .region_open = co_verbs_region_open,
                                            .region_is_busy = co_verbs_region_is_busy,
                                            .region_close = co_verbs_region_close,
                                            .poll = co_verbs_poll,
                                            .land = NULL,
                                            .descriptors = co_verbs_descriptors,
                                            .next_event_ns = next_event_ns,
                                            .dead_peer = dead_peer,
                                            .hang_up = hang_up,
                                            .close = close_verbs};

static int open_parts(struct co_verbs *verbs, char *why, size_t why_room)
{
    co_descriptor_keep(&verbs->woken, eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    if (verbs->woken.fd < 0) {
        snprintf(why, why_room, "no descriptor for verbs: %s", strerror(errno));
        return -errno;
    }
    if (co_verbs_regions_open(verbs) != 0) {
        snprintf(why, why_room, "no memory for verbs");
        return -ENOMEM;
    }
    int error = co_verbs_device_open(verbs, why, why_room);
    error = error == 0 ? co_verbs_rings_open(verbs, why, why_room) : error;
    return error == 0 ? co_verbs_groups_join(verbs, why, why_room) : error;
}

static size_t receive_bytes_of(const struct co_verbs *verbs)
{
    size_t least = verbs->rings[0].count;
    for (unsigned i = 1; i < verbs->group_count; i++) {
        least = verbs->rings[i].count < least ? verbs->rings[i].count : least;
    }
    return least * verbs->mtu;
}

static int open_verbs(struct co_transport **out, const struct co_verbs_config *config, struct co_verbs_address *mine,
                      char *why, size_t why_room)
{
    if (config->subgroups < 1 || config->subgroups > CO_VERBS_GROUPS_MAX) {
        return -EINVAL;
    }
    struct co_verbs *verbs = calloc(1, sizeof *verbs);
    if (verbs == NULL) {
        snprintf(why, why_room, "no memory for verbs");
        return -ENOMEM;
    }
    verbs->config = *config;
    verbs->group_count = config->subgroups;
    int error = open_parts(verbs, why, why_room);
    if (error != 0) {
        close_verbs(&verbs->transport);
        return error;
    }
    verbs->transport = (struct co_transport){.ops = &ops,
                                             .max_datagram_bytes = verbs->mtu,
                                             .has_immediate = true,
                                             .holds_back = true,
                                             .max_batch = CO_VERBS_BATCH,
                                             .receive_buffer_bytes = receive_bytes_of(verbs)};
    *mine = (struct co_verbs_address){.queue_pair = co_verbs_own_ring(verbs)->queue_pair->qp_num, .lid = verbs->lid};
    memcpy(mine->gid, &verbs->gid, sizeof mine->gid);
    co_verbs_rc_open(verbs, mine);
    *out = &verbs->transport;
    return 0;
}

static int connect_verbs(struct co_transport *transport, const struct co_verbs_address *peers, int count, int self,
                         const int neighbours[CO_VERBS_NEIGHBOURS])
{
    struct co_verbs *verbs = (struct co_verbs *)transport;
    if (count < 1 || self < 0 || self >= count || verbs->peers != NULL) {
        return -EINVAL;
    }
    verbs->peers = calloc((size_t)count, sizeof *verbs->peers);
    if (verbs->peers == NULL) {
        return -ENOMEM;
    }
    for (int i = 0; i < count; i++) {
        verbs->peers[i].address = peers[i];
    }
    verbs->peer_count = count;
    co_verbs_rc_connect(verbs, neighbours);
    return 0;
}

static void describe(const struct co_transport *transport, char *text, size_t room)
{
    const struct co_verbs *verbs = (const struct co_verbs *)transport;
    char neighbours[60];
    co_verbs_rc_describe(verbs, neighbours, sizeof neighbours);
    snprintf(text, room, "%s port %u, %u group%s from %u.%u.%u.%u, mtu %zu, %u slots each%s", verbs->device,
             verbs->port, verbs->group_count, verbs->group_count > 1 ? "s" : "", verbs->config.first_group_ip >> 24,
             verbs->config.first_group_ip >> 16 & 255, verbs->config.first_group_ip >> 8 & 255,
             verbs->config.first_group_ip & 255, verbs->mtu, verbs->rings[0].count, neighbours);
}

static void tell_port(const struct co_transport *transport, struct co_verbs_port *port)
{
    const struct co_verbs *verbs = (const struct co_verbs *)transport;
    *port = (struct co_verbs_port){.port = verbs->port, .gid_index = verbs->gid_index};
    memcpy(port->device, verbs->device, sizeof port->device);
}

const struct co_verbs_module *co_verbs_module(void)
{
    static const struct co_verbs_module module = {.version = CO_VERBS_MODULE_VERSION,
                                                  .open = open_verbs,
                                                  .connect = connect_verbs,
                                                  .describe = describe,
                                                  .port = tell_port,
                                                  .list = co_verbs_device_list};
    return &module;
}
