// SPDX-License-Identifier: BSD-3-Clause
//
// Frames from the ports to the hop and back; see the header. What goes out refers to the frames that came in, so all of
// it is sent before the next batch is taken. Opening is cold, and says what is missing.
#define _GNU_SOURCE
#include "onesided/hop_ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    HOP_BATCH = 32,
    HOP_FRAME_MAX = 65536 + 14, // a superpacket
    HOP_VLAN_BYTES = 4,         // room in front of the frame to put its tag back
    HOP_CONTROL_BYTES = 64,     // packet_auxdata
    HOP_OUT_MAX = 256,          // frames that wait to be sent at a port
    HOP_OUT_PARTS = 4
};

// A frame that has come.
struct hop_slot {
    _Alignas(struct cmsghdr) uint8_t control[HOP_CONTROL_BYTES];
    struct virtio_net_hdr device;
    uint8_t frame[HOP_VLAN_BYTES + HOP_FRAME_MAX];
};

// A frame to send: parts of it lie in a slot.
struct hop_out {
    struct iovec parts[HOP_OUT_PARTS];
    uint8_t head[CO_ROCE_HEAD_MAX], icrc[CO_ROCE_ICRC_BYTES];
};

struct hop_port {
    int socket;
    unsigned out_count;
    struct co_hop_port_totals totals;
    struct hop_out out[HOP_OUT_MAX];
    struct mmsghdr out_messages[HOP_OUT_MAX];
};

struct co_hop_ports {
    unsigned count;
    struct hop_port *ports;
    struct hop_slot *slots; // HOP_BATCH of them
    struct mmsghdr messages[HOP_BATCH];
    struct iovec parts[HOP_BATCH][2];
    struct virtio_net_hdr nothing; // of frames that need nothing of a device
    struct hop_slot *current;      // the frame that the hop has in hand,
    size_t current_bytes;          // its length,
    uint8_t *current_frame;        // and where it begins, with its tag
};

static int set_option(int socket, int option, int value)
{
    return setsockopt(socket, SOL_PACKET, option, &value, sizeof value);
}

// What the options are for is in the comments; without the first three the hop would do harm.
static int set_options(int socket, const char *name, char *why, size_t why_room)
{
    const char *missing = NULL;
    if (set_option(socket, PACKET_IGNORE_OUTGOING, 1) != 0) { // or it would take its own frames in again
        missing = "PACKET_IGNORE_OUTGOING (Linux 4.20)";
    } else if (set_option(socket, PACKET_VNET_HDR, 1) != 0) { // superpackets stay what they are
        missing = "PACKET_VNET_HDR";
    } else if (set_option(socket, PACKET_AUXDATA, 1) != 0) { // the kernel has cut VLAN tags out
        missing = "PACKET_AUXDATA";
    }
    if (missing != NULL) {
        int error = errno;
        snprintf(why, why_room, "interface %s: this kernel lacks %s: %s", name, missing, strerror(error));
        return -error;
    }
    return 0;
}

static void ask_for_room(int socket, const char *name, unsigned room_mib, char *warning, size_t warning_room)
{
    int bytes = (int)room_mib << 20, granted = 0;
    socklen_t size = sizeof granted;
    if (setsockopt(socket, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) == 0) {
        return;
    }
    setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    getsockopt(socket, SOL_SOCKET, SO_RCVBUF, &granted, &size);
    if (granted / 2 < bytes) {
        snprintf(
            warning, warning_room,
            "interface %s: a receive buffer of %d KiB instead of %d: bursts may be lost; CAP_NET_ADMIN, or a larger "
            "net.core.rmem_max, gives more",
            name, granted / 2 / 1024, bytes / 1024);
    }
}

static int bind_to(int socket, const char *name, unsigned index, char *why, size_t why_room)
{
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)index};
    struct packet_mreq all = {.mr_ifindex = (int)index, .mr_type = PACKET_MR_PROMISC};
    if (bind(socket, (struct sockaddr *)&address, sizeof address) != 0 ||
        setsockopt(socket, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all) != 0) {
        int error = errno;
        snprintf(why, why_room, "interface %s cannot be a port: %s", name, strerror(error));
        return -error;
    }
    return 0;
}

static int open_port(struct hop_port *port, const char *name, unsigned room_mib, char *why, size_t why_room,
                     char *warning, size_t warning_room)
{
    unsigned index = if_nametoindex(name);
    if (index == 0 || strlen(name) >= sizeof port->totals.name) {
        snprintf(why, why_room, "there is no interface %s", name);
        return -ENODEV;
    }
    // Protocol 0: nothing comes before all is set.
    port->socket = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (port->socket < 0) {
        int error = errno;
        snprintf(why, why_room, "interface %s: no packet socket: %s%s", name, strerror(error),
                 error == EPERM
                     ? " (CAP_NET_RAW is missing; root has it, or: setcap cap_net_raw,cap_net_admin+ep castoff)"
                     : "");
        return -error;
    }
    snprintf(port->totals.name, sizeof port->totals.name, "%s", name);
    port->totals.is_up = true;
    int error = set_options(port->socket, name, why, why_room);
    if (error == 0) {
        ask_for_room(port->socket, name, room_mib, warning, warning_room);
        error = bind_to(port->socket, name, index, why, why_room);
    }
    return error;
}

int co_hop_ports_open(struct co_hop_ports **out, const char *const names[], unsigned count, unsigned room_mib,
                      char *why, size_t why_room, char *warning, size_t warning_room)
{
    struct co_hop_ports *ports = calloc(1, sizeof *ports);
    *warning = '\0';
    if (ports != NULL) {
        ports->ports = calloc(count, sizeof *ports->ports);
        ports->slots = calloc(HOP_BATCH, sizeof *ports->slots);
    }
    if (ports == NULL || ports->ports == NULL || ports->slots == NULL) {
        snprintf(why, why_room, "no memory for %u ports", count);
        co_hop_ports_close(ports);
        return -ENOMEM;
    }
    ports->count = count;
    for (unsigned i = 0; i < count; i++) {
        ports->ports[i].socket = -1;
    }
    for (unsigned i = 0; i < count; i++) {
        int error = open_port(&ports->ports[i], names[i], room_mib, why, why_room, warning, warning_room);
        if (error != 0) {
            co_hop_ports_close(ports);
            return error;
        }
    }
    *out = ports;
    return 0;
}

// How long a full queue is waited for: a switch drops, but a queue that moves is not worth a loss.
enum { PATIENCE_MS = 2 };

static void send_waiting(struct hop_port *port)
{
    unsigned sent = 0;
    bool has_waited = false;
    while (sent < port->out_count) {
        int now = sendmmsg(port->socket, port->out_messages + sent, port->out_count - sent, 0);
        if (now > 0) {
            sent += (unsigned)now;
            port->totals.frames_out += (unsigned)now;
            continue;
        }
        if (errno == EINTR) {
            continue;
        }
        if ((errno == EAGAIN || errno == ENOBUFS) && !has_waited) {
            struct pollfd entry = {.fd = port->socket, .events = POLLOUT};
            has_waited = true;
            poll(&entry, 1, PATIENCE_MS);
            continue;
        }
        port->totals.unsent++; // this one; the next may be smaller, or find room
        sent++;
    }
    port->out_count = 0;
}

static struct hop_out *next_out(struct hop_port *port)
{
    if (port->out_count == HOP_OUT_MAX) {
        send_waiting(port);
    }
    return &port->out[port->out_count];
}

static void queue_out(struct hop_port *port, struct hop_out *out, int parts)
{
    struct msghdr *message = &port->out_messages[port->out_count++].msg_hdr;
    *message = (struct msghdr){.msg_iov = out->parts, .msg_iovlen = (size_t)parts};
    for (int i = 1; i < parts; i++) {
        port->totals.bytes_out += out->parts[i].iov_len;
    }
}

static void forward(void *context, unsigned port)
{
    struct co_hop_ports *ports = context;
    struct hop_out *out = next_out(&ports->ports[port]);
    out->parts[0] = (struct iovec){&ports->current->device, sizeof ports->current->device};
    out->parts[1] = (struct iovec){ports->current_frame, ports->current_bytes};
    queue_out(&ports->ports[port], out, 2);
}

static void copy(void *context, unsigned port, const struct co_hop_copy *what)
{
    struct co_hop_ports *ports = context;
    struct hop_out *out = next_out(&ports->ports[port]);
    memcpy(out->head, what->head, what->head_bytes);
    memcpy(out->icrc, what->icrc, sizeof out->icrc);
    out->parts[0] = (struct iovec){&ports->nothing, sizeof ports->nothing};
    out->parts[1] = (struct iovec){out->head, what->head_bytes};
    out->parts[2] = (struct iovec){(void *)(uintptr_t)what->payload, what->payload_bytes};
    out->parts[3] = (struct iovec){out->icrc, sizeof out->icrc};
    queue_out(&ports->ports[port], out, 4);
}

struct co_hop_output co_hop_ports_output(struct co_hop_ports *ports)
{
    return (struct co_hop_output){.context = ports, .forward = forward, .copy = copy};
}

// The tag that the kernel has cut out, or NULL.
static const struct tpacket_auxdata *tag_of(const struct msghdr *message)
{
    struct cmsghdr *control = CMSG_FIRSTHDR(message);
    if (control == NULL || control->cmsg_level != SOL_PACKET || control->cmsg_type != PACKET_AUXDATA) {
        return NULL;
    }
    const struct tpacket_auxdata *facts = (const void *)CMSG_DATA(control);
    return facts->tp_status & TP_STATUS_VLAN_VALID ? facts : NULL;
}

static void put_tag_back(struct co_hop_ports *ports, const struct tpacket_auxdata *facts)
{
    uint16_t type = facts->tp_status & TP_STATUS_VLAN_TPID_VALID ? facts->tp_vlan_tpid : 0x8100;
    uint8_t *frame = ports->current_frame - HOP_VLAN_BYTES;
    memmove(frame, ports->current_frame, 12);
    frame[12] = (uint8_t)(type >> 8);
    frame[13] = (uint8_t)type;
    frame[14] = (uint8_t)(facts->tp_vlan_tci >> 8);
    frame[15] = (uint8_t)facts->tp_vlan_tci;
    ports->current_frame = frame;
    ports->current_bytes += HOP_VLAN_BYTES;
    if (ports->current->device.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) {
        ports->current->device.csum_start += HOP_VLAN_BYTES;
    }
    if (ports->current->device.gso_type != VIRTIO_NET_HDR_GSO_NONE) {
        ports->current->device.hdr_len += HOP_VLAN_BYTES;
    }
}

static void hand_over(struct co_hop_ports *ports, unsigned port, unsigned place, struct co_hop *hop, uint64_t now_ns)
{
    struct mmsghdr *message = &ports->messages[place];
    struct co_hop_port_totals *totals = &ports->ports[port].totals;
    size_t bytes = message->msg_len;
    if (bytes <= sizeof(struct virtio_net_hdr) || (message->msg_hdr.msg_flags & MSG_TRUNC)) {
        totals->unsent++;
        return;
    }
    bytes -= sizeof(struct virtio_net_hdr);
    totals->frames_in++;
    totals->bytes_in += bytes;
    ports->current = &ports->slots[place];
    ports->current_frame = ports->current->frame + HOP_VLAN_BYTES;
    ports->current_bytes = bytes;
    struct co_hop_frame frame = {.data = ports->current_frame, .bytes = bytes, .port = port};
    const struct tpacket_auxdata *facts = tag_of(&message->msg_hdr);
    uint8_t untagged[14];
    if (facts != NULL && bytes >= sizeof untagged) {
        // The hop looks at addresses and length alone, and the tag moves them.
        memcpy(untagged, ports->current_frame, sizeof untagged);
        put_tag_back(ports, facts);
        frame.data = untagged;
        frame.has_vlan = true;
        frame.vlan = facts->tp_vlan_tci & 0xfff;
    }
    co_hop_take(hop, &frame, now_ns);
}

static int receive(struct co_hop_ports *ports, struct hop_port *port)
{
    for (int i = 0; i < HOP_BATCH; i++) {
        struct hop_slot *slot = &ports->slots[i];
        ports->parts[i][0] = (struct iovec){&slot->device, sizeof slot->device};
        ports->parts[i][1] = (struct iovec){slot->frame + HOP_VLAN_BYTES, HOP_FRAME_MAX};
        ports->messages[i].msg_hdr = (struct msghdr){.msg_iov = ports->parts[i],
                                                     .msg_iovlen = 2,
                                                     .msg_control = slot->control,
                                                     .msg_controllen = sizeof slot->control};
    }
    int count = recvmmsg(port->socket, ports->messages, HOP_BATCH, MSG_DONTWAIT, NULL);
    if (count < 0) {
        // ENETDOWN is told once; frames come again when the interface is up.
        port->totals.is_up = port->totals.is_up && errno != ENETDOWN && errno != ENXIO && errno != ENODEV;
        return 0;
    }
    port->totals.is_up = port->totals.is_up || count > 0;
    return count;
}

unsigned co_hop_ports_progress(struct co_hop_ports *ports, struct co_hop *hop, uint64_t now_ns)
{
    unsigned moved = 0;
    for (unsigned port = 0; port < ports->count; port++) {
        int count = receive(ports, &ports->ports[port]);
        for (int i = 0; i < count; i++) {
            hand_over(ports, port, (unsigned)i, hop, now_ns);
        }
        for (unsigned i = 0; count > 0 && i < ports->count; i++) {
            send_waiting(&ports->ports[i]);
        }
        moved += (unsigned)count;
    }
    return moved;
}

unsigned co_hop_ports_watch(const struct co_hop_ports *ports, struct pollfd *entries)
{
    for (unsigned i = 0; i < ports->count; i++) {
        entries[i] = (struct pollfd){.fd = ports->ports[i].socket, .events = POLLIN};
    }
    return ports->count;
}

void co_hop_ports_count_overruns(struct co_hop_ports *ports)
{
    for (unsigned i = 0; i < ports->count; i++) {
        struct tpacket_stats since_last = {0}; // reading sets the kernel's to 0
        socklen_t size = sizeof since_last;
        if (getsockopt(ports->ports[i].socket, SOL_PACKET, PACKET_STATISTICS, &since_last, &size) == 0) {
            ports->ports[i].totals.overruns += since_last.tp_drops;
        }
    }
}

const struct co_hop_port_totals *co_hop_port_totals(const struct co_hop_ports *ports, unsigned port)
{
    return &ports->ports[port].totals;
}

unsigned co_hop_ports_count(const struct co_hop_ports *ports)
{
    return ports->count;
}

void co_hop_ports_close(struct co_hop_ports *ports)
{
    if (ports == NULL) {
        return;
    }
    for (unsigned i = 0; ports->ports != NULL && i < ports->count; i++) {
        if (ports->ports[i].socket >= 0) {
            close(ports->ports[i].socket);
        }
    }
    free(ports->ports);
    free(ports->slots);
    free(ports);
}
