// SPDX-License-Identifier: BSD-3-Clause
//
// Frames stand in the receiver's inbox in order; a read copies when its reader polls.
#include "fake_links.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { INBOX = 4 * FAKE_LINK_FRAMES, READS = 32, REGIONS = 64 };

struct frame {
    int from;
    size_t bytes;
    unsigned char data[FAKE_FRAME_BYTES] __attribute__((aligned(64)));
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
    struct co_rc links;
    int number;
    struct frame inbox[INBOX], places[FAKE_LINK_FRAMES];
    unsigned inbox_count;
    bool place_is_lent[FAKE_LINK_FRAMES];
    unsigned sent_to[FAKE_LINKS]; // frames in their inboxes
    struct read reads[READS];
    struct region lent[REGIONS];
    bool is_broken[FAKE_LINKS], is_told[FAKE_LINKS], has_let_go;
    unsigned wanted_for[FAKE_LINKS]; // polls
    bool is_wanted[FAKE_LINKS];
};

struct fake_links_net fake_links_net;
static struct rank ranks[FAKE_LINKS];

static void check(bool holds)
{
    if (!holds) {
        abort();
    }
}

static struct rank *rank_of(struct co_rc *links)
{
    return (struct rank *)links;
}

static void set_peer(struct co_rc *links, int peer, const struct co_rc_address *address)
{
    (void)links;
    (void)peer;
    (void)address;
}

static bool send_frame(struct co_rc *links, int peer, const void *head, size_t head_bytes, const void *first,
                       size_t first_bytes, const void *second, size_t second_bytes)
{
    struct rank *self = rank_of(links), *other = &ranks[peer];
    check(peer != self->number && head_bytes + first_bytes + second_bytes <= FAKE_FRAME_BYTES);
    if (self->is_broken[peer]) {
        return true;
    }
    self->is_wanted[peer] = true;
    if (self->wanted_for[peer] < fake_links_net.polls_to_connect || self->sent_to[peer] >= FAKE_LINK_FRAMES / 2 ||
        (fake_links_net.has_room != NULL && !fake_links_net.has_room())) {
        return false;
    }
    struct frame *frame = &other->inbox[other->inbox_count++];
    frame->from = self->number;
    frame->bytes = head_bytes + first_bytes + second_bytes;
    memcpy(frame->data, head, head_bytes);
    if (first_bytes > 0) {
        memcpy(frame->data + head_bytes, first, first_bytes);
    }
    if (second_bytes > 0) {
        memcpy(frame->data + head_bytes + first_bytes, second, second_bytes);
    }
    self->sent_to[peer]++;
    fake_links_net.frames++;
    return true;
}

static int free_place(const struct rank *self)
{
    for (int i = 0; i < FAKE_LINK_FRAMES; i++) {
        if (!self->place_is_lent[i]) {
            return i;
        }
    }
    return -1;
}

static bool take_frame(struct rank *self, struct co_rc_event *event)
{
    int place = free_place(self);
    if (place < 0 || self->inbox_count == 0) {
        return false;
    }
    self->places[place] = self->inbox[0];
    memmove(&self->inbox[0], &self->inbox[1], --self->inbox_count * sizeof self->inbox[0]);
    self->place_is_lent[place] = true;
    const struct frame *frame = &self->places[place];
    ranks[frame->from].sent_to[self->number]--;
    *event = (struct co_rc_event){.kind = CO_RC_PACKET,
                                  .peer = frame->from,
                                  .packet = (unsigned)place,
                                  .data = frame->data,
                                  .bytes = frame->bytes};
    return true;
}

static int end_read(struct rank *self, struct read *read)
{
    if (self->is_broken[read->peer]) {
        return -ECONNRESET;
    }
    const struct region *region = &ranks[read->peer].lent[read->from.place];
    check(read->from.place < REGIONS && region->data == (const unsigned char *)(uintptr_t)read->from.address &&
          region->bytes == read->bytes && read->from.key == read->from.place + 1);
    memcpy(read->buffer, region->data, read->bytes);
    return 0;
}

static int poll_links(struct co_rc *links, struct co_rc_event *events, int most)
{
    struct rank *self = rank_of(links);
    int count = 0;
    for (int peer = 0; peer < fake_links_net.size; peer++) {
        self->wanted_for[peer] += self->is_wanted[peer];
    }
    while (count < most && take_frame(self, &events[count])) {
        count++;
    }
    for (int i = 0; i < READS && count < most; i++) {
        struct read *read = &self->reads[i];
        if (read->is_under_way && (!fake_links_net.holds_reads[self->number] || self->is_broken[read->peer])) {
            read->is_under_way = false;
            events[count++] = (struct co_rc_event){
                .kind = CO_RC_READ, .peer = read->peer, .result = end_read(self, read), .owner = read->owner};
        }
    }
    for (int peer = 0; peer < fake_links_net.size && count < most; peer++) {
        if (self->is_broken[peer] && !self->is_told[peer]) {
            self->is_told[peer] = true;
            events[count++] = (struct co_rc_event){.kind = CO_RC_LOST, .peer = peer, .result = -ECONNRESET};
        }
    }
    return count;
}

static void give_back(struct co_rc *links, unsigned frame)
{
    struct rank *self = rank_of(links);
    check(self->place_is_lent[frame]);
    self->place_is_lent[frame] = false;
}

static bool refuses(unsigned *times)
{
    *times -= *times > 0;
    return *times > 0;
}

static int lend(struct co_rc *links, const void *data, size_t bytes, struct co_rc_key *key)
{
    struct rank *self = rank_of(links);
    if (refuses(&fake_links_net.refuses_lending[self->number])) {
        return -ENOMEM;
    }
    for (uint32_t place = 0; place < REGIONS; place++) {
        if (self->lent[place].data == NULL) {
            self->lent[place] = (struct region){data, bytes};
            *key = (struct co_rc_key){(uintptr_t)data, place + 1, place};
            fake_links_net.lent++;
            return 0;
        }
    }
    return -EAGAIN;
}

static void take_back(struct co_rc *links, const struct co_rc_key *key)
{
    struct rank *self = rank_of(links);
    check(key->place < REGIONS && self->lent[key->place].data != NULL);
    self->lent[key->place] = (struct region){NULL, 0};
}

static int read_peer(struct co_rc *links, int peer, void *buffer, size_t bytes, const struct co_rc_key *from,
                     void *owner)
{
    struct rank *self = rank_of(links);
    if (self->is_broken[peer]) {
        return -ECONNRESET;
    }
    if (refuses(&fake_links_net.refuses_reading[self->number])) {
        return -ENOMEM;
    }
    for (int i = 0; i < READS; i++) {
        if (!self->reads[i].is_under_way) {
            self->reads[i] = (struct read){true, peer, buffer, bytes, *from, owner};
            fake_links_net.reads++;
            return 0;
        }
    }
    return -EAGAIN;
}

static void cut(struct co_rc *links, int peer)
{
    struct rank *self = rank_of(links);
    fake_links_break(self->number, peer);
    self->is_told[peer] = true;
    for (int i = 0; i < READS; i++) {
        self->reads[i].is_under_way = self->reads[i].is_under_way && self->reads[i].peer != peer;
    }
}

static bool is_idle(const struct co_rc *links)
{
    const struct rank *self = (const struct rank *)links;
    bool is_idle = true;
    for (int peer = 0; peer < fake_links_net.size; peer++) {
        is_idle = is_idle && self->sent_to[peer] == 0;
    }
    for (int i = 0; i < READS; i++) {
        is_idle = is_idle && !self->reads[i].is_under_way;
    }
    return is_idle;
}

static void let_go(struct co_rc *links)
{
    struct rank *self = rank_of(links);
    for (int peer = 0; peer < fake_links_net.size; peer++) {
        if (peer != self->number) {
            fake_links_break(self->number, peer);
        }
    }
    self->has_let_go = true;
}

bool fake_links_has_let_go(int rank)
{
    return ranks[rank].has_let_go;
}

static void close_links(struct co_rc *links)
{
    (void)links;
}

static const struct co_rc_ops ops = {set_peer,  send_frame, poll_links, give_back, lend,       take_back,
                                     read_peer, cut,        is_idle,    let_go,    close_links};

void fake_links_open(int size)
{
    memset(ranks, 0, sizeof ranks);
    fake_links_net = (struct fake_links_net){.size = size};
    for (int i = 0; i < FAKE_LINKS; i++) {
        ranks[i].links.ops = &ops;
        ranks[i].number = i;
    }
}

void fake_links_close(void)
{
    for (int i = 0; i < fake_links_net.size; i++) {
        for (unsigned place = 0; place < REGIONS; place++) {
            check(ranks[i].lent[place].data == NULL);
        }
    }
}

struct co_rc *fake_links(int rank)
{
    return &ranks[rank].links;
}

void fake_links_upset(int rank, unsigned how)
{
    fake_links_net.refuses_lending[rank] = how % 3;
    fake_links_net.refuses_reading[rank] = how / 3 % 3;
    fake_links_net.holds_reads[rank] = how / 9 % 2 != 0;
    fake_links_net.polls_to_connect = how % 5;
}

void fake_links_calm(void)
{
    for (int rank = 0; rank < FAKE_LINKS; rank++) {
        fake_links_upset(rank, 0);
    }
}

void fake_links_break(int rank, int peer)
{
    ranks[rank].is_broken[peer] = ranks[peer].is_broken[rank] = true;
}
