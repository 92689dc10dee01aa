// SPDX-License-Identifier: BSD-3-Clause
//
// Sent messages stand in one list in the order of their sends; a receive takes the first that fits it, a message the
// receive that was posted first.
#include "fake_native.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum state { FREE, ACTIVE, MATCHED, OVER };

struct operation {
    enum state state;
    bool is_receive;
    unsigned char *buffer;
    size_t bytes;
    int peer, tag;
    uint64_t number; // order of posting
    struct co_native_done done;
};

struct letter {
    struct letter *next;
    int from, to, tag;
    size_t bytes;
    unsigned char *copy;       // NULL: still with its sender
    struct operation *send;    // NULL: over, or abandoned
    struct operation *receive; // NULL: not matched
    bool is_dropped;           // its receive was abandoned
};

struct rank {
    struct co_native native;
    int number;
    unsigned slots;
    struct operation *operations;
};

struct fake_net fake_net;

static struct rank ranks[FAKE_RANKS];
static struct letter *first, **last = &first;
static uint64_t posted;

static void check(bool is_right)
{
    if (!is_right) {
        abort();
    }
}

static int reserve(void *arg, unsigned slots)
{
    struct rank *rank = arg;
    check(rank->operations == NULL);
    rank->operations = calloc(slots, sizeof(*rank->operations));
    rank->slots = slots;
    return rank->operations == NULL ? -ENOMEM : 0;
}

static struct operation *start(struct rank *rank, unsigned slot, const struct operation *what)
{
    check(slot < rank->slots && rank->operations[slot].state == FREE && what->bytes <= rank->native.bytes_most);
    rank->operations[slot] = *what;
    rank->operations[slot].state = ACTIVE;
    rank->operations[slot].number = ++posted;
    rank->operations[slot].done.slot = slot;
    return &rank->operations[slot];
}

static void finish(struct operation *operation, int result, int peer, size_t bytes)
{
    operation->state = OVER;
    operation->done.result = result;
    operation->done.peer = peer;
    operation->done.bytes = bytes;
}

static int send(void *arg, unsigned slot, const void *data, size_t bytes, int peer, int tag)
{
    struct rank *rank = arg;
    check(peer >= 0 && peer < fake_net.size && peer != rank->number);
    if (fake_net.refuses[peer]) {
        return -EIO;
    }
    struct operation *operation = start(
        rank, slot,
        &(struct operation){.buffer = (unsigned char *)(uintptr_t)data, .bytes = bytes, .peer = peer, .tag = tag});
    if (fake_net.breaks[peer]) {
        finish(operation, -EIO, 0, 0);
        return 0;
    }
    struct letter *letter = calloc(1, sizeof(*letter));
    check(letter != NULL);
    *letter = (struct letter){.from = rank->number, .to = peer, .tag = tag, .bytes = bytes, .send = operation};
    if (bytes <= fake_net.buffered) {
        letter->copy = malloc(bytes + 1);
        check(letter->copy != NULL);
        memcpy(letter->copy, data, bytes);
        letter->send = NULL;
        finish(operation, 0, 0, 0);
    }
    *last = letter;
    last = &letter->next;
    return 0;
}

static int receive(void *arg, unsigned slot, void *buffer, size_t bytes, int peer, int tag)
{
    start(arg, slot,
          &(struct operation){.is_receive = true, .buffer = buffer, .bytes = bytes, .peer = peer, .tag = tag});
    return 0;
}

static struct operation *find_receive(const struct letter *letter)
{
    struct rank *rank = &ranks[letter->to];
    struct operation *found = NULL;
    for (unsigned i = 0; i < rank->slots; i++) {
        struct operation *receive = &rank->operations[i];
        if (receive->state == ACTIVE && receive->is_receive && receive->tag == letter->tag &&
            (receive->peer == CO_NATIVE_ANYBODY || receive->peer == letter->from) &&
            (found == NULL || receive->number < found->number)) {
            found = receive;
        }
    }
    return found;
}

static void match(struct letter *letter)
{
    if (letter->receive == NULL && !letter->is_dropped && !fake_net.is_stopped[letter->to]) {
        letter->receive = find_receive(letter);
        if (letter->receive != NULL) {
            letter->receive->state = MATCHED;
        }
    }
}

static void complete(struct letter *letter)
{
    struct operation *to = letter->receive;
    check(letter->bytes <= to->bytes);
    if (letter->bytes > 0) {
        memcpy(to->buffer, letter->copy != NULL ? letter->copy : letter->send->buffer, letter->bytes);
    }
    finish(to, fake_net.breaks_receives[letter->to] ? -EIO : 0, letter->from, letter->bytes);
    if (letter->send != NULL) {
        finish(letter->send, 0, 0, 0);
    }
}

static void move(void)
{
    struct letter **link = &first, *letter;
    while ((letter = *link) != NULL) {
        match(letter);
        if (letter->receive == NULL || fake_net.is_slow[letter->from]) {
            link = &letter->next;
            continue;
        }
        complete(letter);
        *link = letter->next;
        free(letter->copy);
        free(letter);
    }
    last = link;
}

static void progress(void)
{
    move();
    for (int rank = 0; fake_net.on_move != NULL && rank < fake_net.size; rank++) {
        fake_net.on_move(rank);
    }
}

static unsigned tell_over(struct rank *rank, unsigned first_slot, unsigned count, struct co_native_done *done)
{
    unsigned found = 0;
    for (unsigned i = first_slot; i < first_slot + count; i++) {
        if (rank->operations[i].state == OVER) {
            rank->operations[i].state = FREE;
            done[found++] = rank->operations[i].done;
        }
    }
    return found;
}

static unsigned collect(void *arg, unsigned first_slot, unsigned count, struct co_native_done *done)
{
    struct rank *rank = arg;
    check(first_slot + count <= rank->slots);
    unsigned found = tell_over(rank, first_slot, count, done);
    if (found == 0) {
        progress();
        found = tell_over(rank, first_slot, count, done);
    }
    return found;
}

static bool cancel(void *arg, unsigned slot)
{
    struct operation *operation = &((struct rank *)arg)->operations[slot];
    check(operation->is_receive);
    if (operation->state == MATCHED) { // cannot be undone
        return false;
    }
    fake_net.cancelled += operation->state == ACTIVE;
    operation->state = FREE;
    return true;
}

static void abandon(void *arg, unsigned slot)
{
    struct operation *operation = &((struct rank *)arg)->operations[slot];
    check(!operation->is_receive || operation->state == MATCHED);
    for (struct letter *letter = first; letter != NULL; letter = letter->next) {
        if (letter->receive == operation) {
            letter->receive = NULL;
            letter->is_dropped = true;
        }
        if (letter->send == operation) {
            letter->copy = malloc(letter->bytes + 1);
            check(letter->copy != NULL);
            memcpy(letter->copy, operation->buffer, letter->bytes);
            letter->send = NULL;
        }
    }
    fake_net.abandoned += operation->state == ACTIVE || operation->state == MATCHED;
    operation->state = FREE;
}

void fake_net_open(int size)
{
    fake_net = (struct fake_net){.size = size, .buffered = 1 << 16, .bytes_most = (size_t)1 << 30};
    for (int i = 0; i < size; i++) {
        ranks[i] = (struct rank){.number = i};
    }
}

const struct co_native *fake_native(int number)
{
    struct rank *rank = &ranks[number];
    rank->native = (struct co_native){reserve, send, receive, collect, cancel, abandon, progress, fake_net.bytes_most,
                                      false,   rank};
    return &rank->native;
}

void fake_net_close(void)
{
    for (int i = 0; i < fake_net.size; i++) {
        for (unsigned slot = 0; slot < ranks[i].slots; slot++) {
            check(ranks[i].operations[slot].state == FREE || ranks[i].operations[slot].state == OVER);
        }
        free(ranks[i].operations);
        ranks[i].operations = NULL;
    }
    while (first != NULL) {
        struct letter *letter = first;
        first = letter->next;
        free(letter->copy);
        free(letter);
    }
    last = &first;
}

static unsigned count(int rank, bool are_receives)
{
    unsigned found = 0;
    for (unsigned i = 0; i < ranks[rank].slots; i++) {
        const struct operation *operation = &ranks[rank].operations[i];
        found += operation->is_receive == are_receives && operation->state == ACTIVE;
    }
    return found;
}

unsigned fake_net_receives(int rank)
{
    return count(rank, true);
}

unsigned fake_net_sends(int rank)
{
    return count(rank, false);
}
