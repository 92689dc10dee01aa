// SPDX-License-Identifier: BSD-3-Clause
//
// Packets stand in the receiver's inbox in order; a read copies when its reader polls.
#include "fake_rc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { INBOX = 4 * FAKE_RC_PACKETS, READS = 32, REGIONS = 64 };

struct packet {
    int from;
    size_t bytes;
    unsigned char data[FAKE_PACKET_BYTES] __attribute__((aligned(64)));
};

struct read {
    bool is_under_way;
    int peer;
    unsigned char *buffer;
    size_t bytes;
    struct co_rc_key from;
    void *owner;
};

struct region {
    const unsigned char *data;
    size_t bytes;
};

struct rank {
    struct co_rc rc;
    int number;
    struct packet inbox[INBOX], places[FAKE_RC_PACKETS];
    unsigned inbox_count;
    bool place_is_out[FAKE_RC_PACKETS];
    unsigned sent_to[FAKE_RC]; // packets in their inboxes
    struct read reads[READS];
    struct region exported[REGIONS];
    bool is_broken[FAKE_RC], is_told[FAKE_RC], has_let_go;
    unsigned wanted_for[FAKE_RC]; // polls
    bool is_wanted[FAKE_RC];
};

struct fake_rc_net fake_rc_net;
static struct rank ranks[FAKE_RC];

static void check(bool holds)
{
    if (!holds) {
        abort();
    }
}

static struct rank *rank_of(struct co_rc *rc)
{
    return (struct rank *)rc;
}

static void set_peer(struct co_rc *rc, int peer, const struct co_rc_address *address)
{
    (void)rc;
    (void)peer;
    (void)address;
}

static bool send_packet(struct co_rc *rc, int peer, const void *head, size_t head_bytes, const void *first,
                        size_t first_bytes, const void *second, size_t second_bytes)
{
    struct rank *self = rank_of(rc), *other = &ranks[peer];
    check(peer != self->number && head_bytes + first_bytes + second_bytes <= FAKE_PACKET_BYTES);
    if (self->is_broken[peer]) {
        return true;
    }
    self->is_wanted[peer] = true;
    if (self->wanted_for[peer] < fake_rc_net.polls_to_connect || self->sent_to[peer] >= FAKE_RC_PACKETS / 2 ||
        (fake_rc_net.has_room != NULL && !fake_rc_net.has_room())) {
        return false;
    }
    struct packet *packet = &other->inbox[other->inbox_count++];
    packet->from = self->number;
    packet->bytes = head_bytes + first_bytes + second_bytes;
    memcpy(packet->data, head, head_bytes);
    if (first_bytes > 0) {
        memcpy(packet->data + head_bytes, first, first_bytes);
    }
    if (second_bytes > 0) {
        memcpy(packet->data + head_bytes + first_bytes, second, second_bytes);
    }
    self->sent_to[peer]++;
    fake_rc_net.packets++;
    return true;
}

static int free_place(const struct rank *self)
{
    for (int i = 0; i < FAKE_RC_PACKETS; i++) {
        if (!self->place_is_out[i]) {
            return i;
        }
    }
    return -1;
}

static bool take_packet(struct rank *self, struct co_rc_event *event)
{
    int place = free_place(self);
    if (place < 0 || self->inbox_count == 0) {
        return false;
    }
    self->places[place] = self->inbox[0];
    memmove(&self->inbox[0], &self->inbox[1], --self->inbox_count * sizeof self->inbox[0]);
    self->place_is_out[place] = true;
    const struct packet *packet = &self->places[place];
    ranks[packet->from].sent_to[self->number]--;
    *event = (struct co_rc_event){.kind = CO_RC_PACKET,
                                  .peer = packet->from,
                                  .packet = (unsigned)place,
                                  .data = packet->data,
                                  .bytes = packet->bytes};
    return true;
}

static int end_read(struct rank *self, struct read *read)
{
    if (self->is_broken[read->peer]) {
        return -ECONNRESET;
    }
    const struct region *region = &ranks[read->peer].exported[read->from.place];
    check(read->from.place < REGIONS && region->data == (const unsigned char *)(uintptr_t)read->from.address &&
          region->bytes == read->bytes && read->from.key == read->from.place + 1);
    memcpy(read->buffer, region->data, read->bytes);
    return 0;
}

static int poll_rc(struct co_rc *rc, struct co_rc_event *events, int most)
{
    struct rank *self = rank_of(rc);
    int count = 0;
    for (int peer = 0; peer < fake_rc_net.size; peer++) {
        self->wanted_for[peer] += self->is_wanted[peer];
    }
    while (count < most && take_packet(self, &events[count])) {
        count++;
    }
    for (int i = 0; i < READS && count < most; i++) {
        struct read *read = &self->reads[i];
        if (read->is_under_way && (!fake_rc_net.holds_reads[self->number] || self->is_broken[read->peer])) {
            read->is_under_way = false;
            events[count++] = (struct co_rc_event){
                .kind = CO_RC_READ, .peer = read->peer, .result = end_read(self, read), .owner = read->owner};
        }
    }
    for (int peer = 0; peer < fake_rc_net.size && count < most; peer++) {
        if (self->is_broken[peer] && !self->is_told[peer]) {
            self->is_told[peer] = true;
            events[count++] = (struct co_rc_event){.kind = CO_RC_LOST, .peer = peer, .result = -ECONNRESET};
        }
    }
    return count;
}

static void give_back(struct co_rc *rc, unsigned packet)
{
    struct rank *self = rank_of(rc);
    check(self->place_is_out[packet]);
    self->place_is_out[packet] = false;
}

static bool refuses(unsigned *times)
{
    *times -= *times > 0;
    return *times > 0;
}

static int export_region(struct co_rc *rc, const void *data, size_t bytes, struct co_rc_key *key)
{
    struct rank *self = rank_of(rc);
    if (refuses(&fake_rc_net.refuses_export[self->number])) {
        return -ENOMEM;
    }
    for (uint32_t place = 0; place < REGIONS; place++) {
        if (self->exported[place].data == NULL) {
            self->exported[place] = (struct region){data, bytes};
            *key = (struct co_rc_key){(uintptr_t)data, place + 1, place};
            fake_rc_net.exported++;
            return 0;
        }
    }
    return -EAGAIN;
}

static void release_region(struct co_rc *rc, const struct co_rc_key *key)
{
    struct rank *self = rank_of(rc);
    check(key->place < REGIONS && self->exported[key->place].data != NULL);
    self->exported[key->place] = (struct region){NULL, 0};
}

static int read_peer(struct co_rc *rc, int peer, void *buffer, size_t bytes, const struct co_rc_key *from, void *owner)
{
    struct rank *self = rank_of(rc);
    if (self->is_broken[peer]) {
        return -ECONNRESET;
    }
    if (refuses(&fake_rc_net.refuses_reading[self->number])) {
        return -ENOMEM;
    }
    for (int i = 0; i < READS; i++) {
        if (!self->reads[i].is_under_way) {
            self->reads[i] = (struct read){true, peer, buffer, bytes, *from, owner};
            fake_rc_net.reads++;
            return 0;
        }
    }
    return -EAGAIN;
}

static void cut(struct co_rc *rc, int peer)
{
    struct rank *self = rank_of(rc);
    fake_rc_break(self->number, peer);
    self->is_told[peer] = true;
    for (int i = 0; i < READS; i++) {
        self->reads[i].is_under_way = self->reads[i].is_under_way && self->reads[i].peer != peer;
    }
}

static bool is_idle(const struct co_rc *rc)
{
    const struct rank *self = (const struct rank *)rc;
    bool is_idle = true;
    for (int peer = 0; peer < fake_rc_net.size; peer++) {
        is_idle = is_idle && self->sent_to[peer] == 0;
    }
    for (int i = 0; i < READS; i++) {
        is_idle = is_idle && !self->reads[i].is_under_way;
    }
    return is_idle;
}

static void let_go(struct co_rc *rc)
{
    struct rank *self = rank_of(rc);
    for (int peer = 0; peer < fake_rc_net.size; peer++) {
        if (peer != self->number) {
            fake_rc_break(self->number, peer);
        }
    }
    self->has_let_go = true;
}

bool fake_rc_has_let_go(int rank)
{
    return ranks[rank].has_let_go;
}

static void close_rc(struct co_rc *rc)
{
    (void)rc;
}

static void query(struct co_rc *rc, int peer)
{
    struct rank *self = rank_of(rc);
    fake_rc_net.queries++;
    if (fake_rc_net.is_dead[peer]) {
        fake_rc_break(self->number, peer);
    }
}

static const struct co_rc_ops ops = {set_peer,  send_packet, poll_rc, give_back, export_region, release_region,
                                     read_peer, query,       cut,     is_idle,   let_go,        close_rc};

void fake_rc_open(int size)
{
    memset(ranks, 0, sizeof ranks);
    fake_rc_net = (struct fake_rc_net){.size = size};
    for (int i = 0; i < FAKE_RC; i++) {
        ranks[i].rc.ops = &ops;
        ranks[i].number = i;
    }
}

void fake_rc_close(void)
{
    for (int i = 0; i < fake_rc_net.size; i++) {
        for (unsigned place = 0; place < REGIONS; place++) {
            check(ranks[i].exported[place].data == NULL);
        }
    }
}

struct co_rc *fake_rc(int rank)
{
    return &ranks[rank].rc;
}

void fake_rc_upset(int rank, unsigned how)
{
    fake_rc_net.refuses_export[rank] = how % 3;
    fake_rc_net.refuses_reading[rank] = how / 3 % 3;
    fake_rc_net.holds_reads[rank] = how / 9 % 2 != 0;
    fake_rc_net.polls_to_connect = how % 5;
}

void fake_rc_calm(void)
{
    for (int rank = 0; rank < FAKE_RC; rank++) {
        fake_rc_upset(rank, 0);
    }
}

void fake_rc_break(int rank, int peer)
{
    ranks[rank].is_broken[peer] = ranks[peer].is_broken[rank] = true;
}
