// SPDX-License-Identifier: BSD-3-Clause
//
// Life of the UDP transport: choosing, opening, joining, connecting, describing, closing. Cold; the hot paths are
// udp_send.c and udp_receive.c.
#define _GNU_SOURCE // struct mmsghdr in udp_state.h
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/udp/udp_state.h"

static int udp_join(struct co_transport *transport, unsigned index)
{
    struct co_udp *udp = (struct co_udp *)transport;
    if (index >= udp->groups.count) {
        return -EINVAL;
    }
    if (udp->group_fds[index] >= 0) {
        return 0;
    }
    int fd = co_udp_socket_group(udp, index);
    if (fd < 0) {
        return fd;
    }
    if (udp->has_gro) {
        int on = 1;
        setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on); // refused: datagrams come one by one
    }
    int error = co_udp_socket_become_member(udp, fd, index);
    if (error) {
        close(fd);
        return error;
    }
    fd = co_descriptor_raise(fd);
    co_descriptor_note(fd, &udp->group_files[index]);
    udp->group_fds[index] = fd;
    return 0;
}

static void udp_leave(struct co_transport *transport, unsigned index)
{
    struct co_udp *udp = (struct co_udp *)transport;
    if (index < udp->groups.count) {
        co_descriptor_close(&udp->group_fds[index], &udp->group_files[index]);
    }
}

static int udp_descriptors(struct co_transport *transport, struct pollfd *fds, int room, int want_write)
{
    struct co_udp *udp = (struct co_udp *)transport;
    bool tells = want_write && co_udp_pause_ends_ns(udp) == 0;
    bool is_own = co_udp_is_own(udp, CO_UDP_UNICAST);
    int count = 0;
    if (room > 0 && !is_own) { // poll(2) passes over it
        fds[0] = (struct pollfd){.fd = -1, .events = (short)(POLLIN | (tells ? POLLOUT : 0))};
        return 1;
    }
    if (room > 0) {
        fds[count++] = (struct pollfd){.fd = udp->unicast_fd, .events = (short)(POLLIN | (tells ? POLLOUT : 0))};
    }
    for (unsigned i = 0; i < udp->groups.count && count < room; i++) {
        if (udp->group_fds[i] >= 0) {
            fds[count++] = (struct pollfd){.fd = udp->group_fds[i], .events = POLLIN};
        }
    }
    return count;
}

static uint64_t udp_next_event_ns(struct co_transport *transport)
{
    return co_udp_pause_ends_ns((struct co_udp *)transport); // everything else that happens wakes a descriptor
}

static void udp_close(struct co_transport *transport)
{
    struct co_udp *udp = (struct co_udp *)transport;
    co_udp_forked_leave(udp);
    for (unsigned i = 0; i < CO_UDP_GROUPS_MAX; i++) {
        co_descriptor_close(&udp->group_fds[i], &udp->group_files[i]);
        co_udp_lane_close(udp, i);
    }
    co_descriptor_close(&udp->unicast_fd, &udp->unicast_file);
    co_udp_liveness_close(udp);
    free(udp->receiver.slots);
    free(udp->peers);
    co_udp_told_close(&udp->unreachable);
    free((void *)udp->quotes);
    co_udp_told_close(&udp->given_up);
    free(udp->refusals);
    free(udp);
}

static const struct co_transport_ops udp_ops = {
    .name = "udp",
    .join = udp_join,
    .leave = udp_leave,
    .send = co_udp_send,
    .poll = co_udp_poll,
    .land = co_udp_land,
    .lane_open = co_udp_lane_open,
    .lane_receive = co_udp_lane_receive,
    .lane_descriptor = co_udp_lane_descriptor,
    .lane_is_quiet = co_udp_lane_is_quiet,
    .descriptors = udp_descriptors,
    .woken = co_udp_woken,
    .next_event_ns = udp_next_event_ns,
    .dead_peer = co_udp_given_up_tell,
    .refused_peer = co_udp_unreachable_tell,
    .peer_text = co_udp_peer_text,
    .host_ask = co_udp_liveness_query,
    .host_told = co_udp_liveness_poll,
    .close = udp_close,
};

static void point_messages(struct co_udp_receiver *receiver)
{
    receiver->datagrams_per_message = 1;
    receiver->busy = CO_UDP_NOBODY;
    receiver->landings.most = 1;
    for (unsigned i = 0; i < CO_UDP_RECEIVE_SLOTS; i++) {
        receiver->pieces[i] =
            (struct iovec){.iov_base = receiver->slots + (size_t)i * CO_UDP_SLOT_BYTES, .iov_len = CO_UDP_SLOT_BYTES};
        receiver->messages[i].msg_hdr =
            (struct msghdr){.msg_iov = &receiver->pieces[i], .msg_iovlen = 1, .msg_control = &receiver->controls[i]};
    }
}

// Does the kernel know both options? It may still refuse a send later, on an interface that cannot: see udp_send.c.
static void probe_offload(struct co_udp *udp)
{
    int segment = 0, join = 1;
    udp->has_gso = setsockopt(udp->unicast_fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof segment) == 0;
    udp->has_gro = setsockopt(udp->unicast_fd, IPPROTO_UDP, UDP_GRO, &join, sizeof join) == 0;
}

static void set_limits(struct co_udp *udp, const struct co_udp_config *config)
{
    size_t mtu = config->mtu_bytes < udp->interface.mtu_bytes ? config->mtu_bytes : udp->interface.mtu_bytes;
    size_t largest = mtu > 65535 ? CO_UDP_PAYLOAD_MAX : mtu - CO_UDP_HEADERS_BYTES;
    unsigned segments = (unsigned)(CO_UDP_PAYLOAD_MAX / largest);
    udp->transport.max_datagram_bytes = largest;
    udp->transport.max_batch = !udp->has_gso || segments > CO_UDP_SEGMENTS_MAX ? CO_UDP_SEGMENTS_MAX : segments;
    udp->transport.receive_buffer_bytes = co_udp_socket_receive_buffer(udp->unicast_fd);
}

// Finds out now, with a reason, what would otherwise fail in the middle of setting up a communicator.
static int try_group(const struct co_udp *udp, char *why, size_t why_room)
{
    int fd = co_udp_socket_group(udp, 0), error = fd < 0 ? fd : co_udp_socket_become_member(udp, fd, 0);
    if (fd >= 0) {
        close(fd);
    }
    if (error == -EADDRINUSE) {
        snprintf(why, why_room, "UDP port %u, which this job's tag picks, is held by another program",
                 (unsigned)udp->groups.port);
    } else if (error) {
        snprintf(why, why_room, "multicast group cannot be joined on %s: %s", udp->interface.name, strerror(-error));
    }
    return error;
}

// A sandbox may forbid the call that receives, which would look as if nobody had sent anything. Takes nothing.
static int try_receiving(struct co_udp *udp, char *why, size_t why_room)
{
    int error = recvmmsg(udp->unicast_fd, udp->receiver.messages, 0, MSG_DONTWAIT, NULL) < 0 ? -errno : 0;
    if (error) {
        snprintf(why, why_room, "recvmmsg cannot be called here: %s", strerror(-error));
    }
    return error;
}

static int open_sockets(struct co_udp *udp, const struct co_udp_config *config, struct co_udp_address *mine, char *why,
                        size_t why_room)
{
    struct sockaddr_in bound = {0};
    socklen_t length = sizeof bound;
    int fd = co_udp_socket_unicast(udp, config);
    if (fd < 0) {
        snprintf(why, why_room, "no UDP socket on %s: %s", udp->interface.name, strerror(-fd));
        return fd;
    }
    fd = co_descriptor_raise(fd);
    co_descriptor_note(fd, &udp->unicast_file);
    udp->unicast_fd = fd;
    if (getsockname(fd, (struct sockaddr *)&bound, &length) != 0) {
        int error = -errno;
        snprintf(why, why_room, "UDP socket on %s has no address: %s", udp->interface.name, strerror(-error));
        return error;
    }
    if (!config->plain) {
        probe_offload(udp);
    }
    set_limits(udp, config);
    size_t mtu = udp->interface.mtu_bytes < UINT16_MAX ? udp->interface.mtu_bytes : UINT16_MAX;
    *mine = (struct co_udp_address){.ip = bound.sin_addr.s_addr, .port = bound.sin_port, .mtu = (uint16_t)mtu};
    int error = try_receiving(udp, why, why_room);
    return error ? error : try_group(udp, why, why_room);
}

int co_udp_open(struct co_transport **out, const struct co_udp_config *config, struct co_udp_address *mine, char *why,
                size_t why_room)
{
    if (config->mtu_bytes <= CO_UDP_HEADERS_BYTES || config->ttl < 0 || config->ttl > 255) {
        snprintf(why, why_room, "packets of %zu bytes with a time to live of %d cannot be sent", config->mtu_bytes,
                 config->ttl);
        return -EINVAL;
    }
    struct co_udp *udp = calloc(1, sizeof *udp);
    uint8_t *slots = malloc((size_t)CO_UDP_RECEIVE_SLOTS * CO_UDP_SLOT_BYTES);
    if (!udp || !slots) {
        free(udp);
        free(slots);
        snprintf(why, why_room, "no memory for receive buffers");
        return -ENOMEM;
    }
    udp->transport.ops = &udp_ops;
    udp->unicast_fd = -1;
    co_udp_liveness_open(udp);
    udp->give_up_ns = config->give_up_ns > 0 ? config->give_up_ns : UINT64_MAX;
    udp->receive_buffer_asked = config->receive_buffer_bytes;
    udp->receiver.slots = slots;
    memset(udp->group_fds, 0xff, sizeof udp->group_fds);
    point_messages(&udp->receiver);
    co_udp_forked_enter(udp);
    int error = co_udp_interface_choose(&udp->interface, config->interface, config->near_ip, why, why_room);
    if (!error) {
        error =
            co_udp_groups_derive(&udp->groups, config->group_range, config->job_tag, config->subgroups, why, why_room);
    }
    struct co_udp_address address;
    if (!error) {
        error = open_sockets(udp, config, &address, why, why_room);
    }
    if (error) {
        udp_close(&udp->transport);
        return error;
    }
    *mine = address;
    *out = &udp->transport;
    return 0;
}

// Multicast comes back to this host only where another rank of the job sits on it: each copy costs a receiver.
static int hear_own_host(struct co_udp *udp)
{
    bool wanted = false;
    for (int i = 0; i < udp->peer_count; i++) {
        wanted = wanted || (i != udp->self && udp->peers[i].sin_addr.s_addr == udp->peers[udp->self].sin_addr.s_addr);
    }
    return co_udp_socket_loop(udp->unicast_fd, wanted);
}

static int allocate_by_rank(struct co_udp *udp, size_t count)
{
    udp->quotes = calloc(count, sizeof *udp->quotes);
    udp->refusals = calloc(count, sizeof *udp->refusals);
    bool is_there = udp->quotes != NULL && udp->refusals != NULL;
    return is_there && co_udp_told_open(&udp->unreachable, (int)count) == 0 &&
                   co_udp_told_open(&udp->given_up, (int)count) == 0
               ? 0
               : -ENOMEM;
}

int co_udp_connect(struct co_transport *transport, const struct co_udp_address *peers, int count, int self)
{
    struct co_udp *udp = (struct co_udp *)transport;
    if (count < 1 || self < 0 || self >= count || udp->peers) {
        return -EINVAL;
    }
    if (allocate_by_rank(udp, (size_t)count) != 0) {
        return -ENOMEM; // closing frees
    }
    struct sockaddr_in *addresses = calloc((size_t)count, sizeof *addresses);
    if (!addresses) {
        return -ENOMEM;
    }
    for (int i = 0; i < count; i++) {
        addresses[i] =
            (struct sockaddr_in){.sin_family = AF_INET, .sin_port = peers[i].port, .sin_addr.s_addr = peers[i].ip};
    }
    udp->peers = addresses;
    udp->peer_count = count;
    udp->self = self;
    return hear_own_host(udp);
}

uint32_t co_udp_first_group(const struct co_transport *transport)
{
    return ((const struct co_udp *)transport)->groups.first_ip;
}

void co_udp_describe(const struct co_transport *transport, char *text, size_t room)
{
    const struct co_udp *udp = (const struct co_udp *)transport;
    struct in_addr first = {.s_addr = htonl(udp->groups.first_ip)}, own = {.s_addr = udp->interface.ip};
    char first_text[INET_ADDRSTRLEN] = "", own_text[INET_ADDRSTRLEN] = "", last[8] = "";
    inet_ntop(AF_INET, &first, first_text, sizeof first_text);
    inet_ntop(AF_INET, &own, own_text, sizeof own_text);
    if (udp->groups.count > 1) {
        snprintf(last, sizeof last, "-%u", (udp->groups.first_ip + udp->groups.count - 1) & 0xff);
    }
    snprintf(text, room, "%s %s, group%s %s%s port %u, gso %s, gro %s, rcvbuf %zu", udp->interface.name, own_text,
             udp->groups.count > 1 ? "s" : "", first_text, last, (unsigned)udp->groups.port,
             udp->has_gso ? "yes" : "no", udp->has_gro ? "yes" : "no", udp->transport.receive_buffer_bytes);
}
