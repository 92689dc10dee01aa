// SPDX-License-Identifier: BSD-3-Clause
//
// What somebody on the same network may send to a group whose key he does not know: frames that are cut short, are
// damaged, come from another address, have another key, another opcode, or claim to go on with a write that is under
// way; and noise. Arguments: interface, the group's address and queue pair number, the sender's address, how many
// frames, a seed. Needs CAP_NET_RAW. Status 0 when all were sent.
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "onesided/roce_packet.h"
#include "roce_frames.h"

enum { USAGE = 2, SEND_ONLY = 0x24, PAYLOAD_MAX = 1024 };

enum forgery { CUT, DAMAGED, FOREIGN, KEY, OPCODE, MIDDLE, NOISE, FORGERIES };

static uint64_t chance;

// SplitMix64.
static uint64_t draw(void)
{
    uint64_t mixed = chance += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

static size_t make_noise(uint8_t frame[ROCE_FRAME_ROOM])
{
    size_t bytes = 15 + draw() % 200;
    for (size_t i = 0; i < bytes; i++) {
        frame[i] = (uint8_t)draw();
    }
    return bytes;
}

static size_t forge(uint8_t frame[ROCE_FRAME_ROOM], enum forgery kind, const struct roce_frame_spec *sender)
{
    struct roce_frame_spec spec = *sender;
    spec.psn = (uint32_t)draw() & CO_ROCE_PSN_MASK;
    spec.rkey = (uint32_t)draw();
    spec.payload_bytes = spec.message_bytes = 4 + (uint32_t)(draw() % PAYLOAD_MAX);
    spec.source_ip = kind == FOREIGN ? (uint32_t)draw() : spec.source_ip;
    spec.opcode = kind == OPCODE ? SEND_ONLY : kind == MIDDLE ? CO_ROCE_WRITE_MIDDLE : CO_ROCE_WRITE_ONLY;
    if (kind == NOISE) {
        return make_noise(frame);
    }
    size_t bytes = roce_frame_make(frame, &spec);
    if (kind == DAMAGED) {
        frame[bytes - 1] ^= 0x10;
    } else if (kind == CUT) {
        bytes = CO_ROCE_BTH_AT + draw() % (bytes - CO_ROCE_BTH_AT); // shorter than its headers say
    }
    return bytes;
}

static int open_interface(const char *name)
{
    struct sockaddr_ll place = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(name)};
    int out = socket(AF_PACKET, SOCK_RAW, 0);
    if (place.sll_ifindex == 0 || out < 0 || bind(out, (struct sockaddr *)&place, sizeof place) != 0) {
        perror(name);
        exit(1);
    }
    return out;
}

static void send_one(int out, const uint8_t *frame, size_t bytes)
{
    while (send(out, frame, bytes, 0) != (ssize_t)bytes) {
        if (errno != ENOBUFS && errno != EINTR) {
            perror("send");
            exit(1);
        }
        poll(NULL, 0, 1);
    }
}

int main(int argc, char **argv)
{
    struct in_addr group, sender;
    if (argc != 7 || inet_pton(AF_INET, argv[2], &group) != 1 || inet_pton(AF_INET, argv[4], &sender) != 1) {
        fprintf(stderr, "usage: forge_frames INTERFACE GROUP QPN SENDER FRAMES SEED\n");
        return USAGE;
    }
    struct roce_frame_spec spec = {.destination = {0x01, 0x00, 0x5e, 0, 0, 1},
                                   .source = {0x02, 0xf0, 0, 0, 0, 1},
                                   .source_ip = ntohl(sender.s_addr),
                                   .destination_ip = ntohl(group.s_addr),
                                   .qpn = (uint32_t)strtoul(argv[3], NULL, 0)};
    unsigned long frames = strtoul(argv[5], NULL, 10);
    static uint8_t frame[ROCE_FRAME_ROOM];
    int out = open_interface(argv[1]);
    chance = strtoull(argv[6], NULL, 10);
    for (unsigned long i = 0; i < frames; i++) {
        send_one(out, frame, forge(frame, (enum forgery)(i % FORGERIES), &spec));
    }
    printf("%lu frames sent\n", frames);
    return 0;
}
