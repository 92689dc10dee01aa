// SPDX-License-Identifier: BSD-3-Clause
//
// Devices: which of them an interface's address leads to, whether it can be used, and what there is. Cold.
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "transport/verbs/verbs_state.h"

static bool port_is_usable(struct ibv_context *context, uint8_t port, struct ibv_port_attr *facts)
{
    return ibv_query_port(context, port, facts) == 0 && facts->state == IBV_PORT_ACTIVE;
}

static int find_gid(struct co_verbs *verbs, int entries)
{
    return co_verbs_gid_find(verbs->context, verbs->port, entries, verbs->config.own_ip, &verbs->gid_index,
                             &verbs->gid);
}

static const char *address_text(uint32_t ip, char text[INET_ADDRSTRLEN])
{
    struct in_addr address = {.s_addr = ip};
    return inet_ntop(AF_INET, &address, text, INET_ADDRSTRLEN);
}

// A context of our own: librdmacm shares its own with the program.
static int open_found(struct co_verbs *verbs, const struct rdma_cm_id *id, char *why, size_t why_room)
{
    struct ibv_port_attr facts;
    snprintf(verbs->device, sizeof verbs->device, "%s", ibv_get_device_name(id->verbs->device));
    verbs->port = id->port_num;
    if (verbs->config.device[0] != '\0' && strcmp(verbs->config.device, verbs->device) != 0) {
        snprintf(why, why_room, "the network's device is %s, not %s (CASTOFF_VERBS_DEVICE)", verbs->device,
                 verbs->config.device);
        return -ENODEV;
    }
    verbs->context = co_verbs_device_named(verbs->device);
    if (verbs->context == NULL) {
        int error = errno != 0 ? errno : ENODEV;
        snprintf(why, why_room, "device %s cannot be opened: %s", verbs->device, strerror(error));
        return -error;
    }
    if (!port_is_usable(verbs->context, verbs->port, &facts)) {
        snprintf(why, why_room, "port %u of %s is not active", verbs->port, verbs->device);
        return -ENETDOWN;
    }
    verbs->mtu = (size_t)128 << facts.active_mtu;
    verbs->lid = facts.link_layer == IBV_LINK_LAYER_ETHERNET ? 0 : facts.lid;
    int error = find_gid(verbs, facts.gid_tbl_len);
    if (error != 0) {
        snprintf(why, why_room, "%s has no address (GID) for its interface", verbs->device);
    }
    return error;
}

int co_verbs_device_find_address(struct co_verbs *verbs)
{
    struct ibv_port_attr facts;
    uint8_t before = verbs->gid_index;
    if (ibv_query_port(verbs->context, verbs->port, &facts) != 0) {
        return -EIO;
    }
    int error = find_gid(verbs, facts.gid_tbl_len);
    return error != 0 ? error : verbs->gid_index != before;
}

int co_verbs_device_open(struct co_verbs *verbs, char *why, size_t why_room)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = verbs->config.own_ip};
    struct rdma_cm_id *id = NULL;
    char text[INET_ADDRSTRLEN] = "";
    verbs->events = rdma_create_event_channel();
    if (verbs->events == NULL) {
        int error = errno != 0 ? errno : ENODEV;
        snprintf(why, why_room, "no connection manager (librdmacm: %s)", strerror(error));
        return -error;
    }
    if (rdma_create_id(verbs->events, &id, NULL, RDMA_PS_UDP) != 0 ||
        rdma_bind_addr(id, (struct sockaddr *)&own) != 0 || id->verbs == NULL) {
        snprintf(why, why_room, "no RDMA device on %s", address_text(verbs->config.own_ip, text));
        if (id != NULL) {
            rdma_destroy_id(id);
        }
        return -ENODEV;
    }
    int error = open_found(verbs, id, why, why_room);
    rdma_destroy_id(id);
    return error;
}

void co_verbs_device_close(struct co_verbs *verbs)
{
    if (verbs->context != NULL) {
        ibv_close_device(verbs->context);
    }
    if (verbs->events != NULL) {
        rdma_destroy_event_channel(verbs->events);
    }
}

static size_t list_port(struct ibv_context *context, uint8_t port, char *text, size_t room)
{
    struct ibv_port_attr facts;
    if (ibv_query_port(context, port, &facts) != 0) {
        return (size_t)snprintf(text, room, "; port %u cannot be asked", port);
    }
    bool is_ethernet = facts.link_layer == IBV_LINK_LAYER_ETHERNET;
    return (size_t)snprintf(text, room, "; port %u %s, %s, mtu %d", port, is_ethernet ? "RoCE" : "InfiniBand",
                            facts.state == IBV_PORT_ACTIVE ? "active" : "not active: not usable",
                            128 << facts.active_mtu);
}

static size_t list_device(struct ibv_device *device, char *text, size_t room)
{
    struct ibv_device_attr facts;
    struct ibv_context *context = ibv_open_device(device);
    size_t used = (size_t)snprintf(text, room, "%s", ibv_get_device_name(device));
    if (context == NULL || ibv_query_device(context, &facts) != 0) {
        used += (size_t)snprintf(text + used, used < room ? room - used : 0, ": not usable, cannot be opened (%s)",
                                 strerror(errno));
    } else {
        if (facts.max_mcast_grp == 0) {
            used += (size_t)snprintf(text + used, used < room ? room - used : 0, ": not usable, no multicast");
        }
        for (uint8_t port = 1; port <= facts.phys_port_cnt && used < room; port++) {
            used += list_port(context, port, text + used, room - used);
        }
    }
    if (context != NULL) {
        ibv_close_device(context);
    }
    used += (size_t)snprintf(text + (used < room ? used : room), used < room ? room - used : 0, "\n");
    return used < room ? used : room;
}

int co_verbs_device_list(char *text, size_t room)
{
    int count = 0;
    size_t used = 0;
    struct ibv_device **devices = ibv_get_device_list(&count);
    text[0] = '\0';
    for (int i = 0; devices != NULL && i < count; i++) {
        used += list_device(devices[i], text + used, room - used);
    }
    if (devices != NULL) {
        ibv_free_device_list(devices);
    }
    return count;
}
