// SPDX-License-Identifier: BSD-3-Clause
//
// Opens the ports of a hop, and says what is missing. Cold.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "onesided/hop_ports_state.h"

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
