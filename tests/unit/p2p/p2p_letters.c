// SPDX-License-Identifier: BSD-3-Clause
//
// One world, one message payload, and what must have become of it.
#include "p2p_letters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "pattern.h"

static const struct co_matcher_config small_tables = {64, 64, 16};
struct p2p_world world;
unsigned char sent[LARGE], received[LARGE];

void lay_out_payload(void)
{
    static bool is_filled;

    if (!is_filled) {
        pattern_fill(sent, LARGE, 0);
        is_filled = true;
    }
    memset(received, 0xee, LARGE);
}

void open_world(int size, size_t eager_most, size_t credit, bool may_read)
{
    struct p2p_world_options options = {
        .size = size, .eager_most = eager_most, .credit = credit, .may_read = may_read, .matcher = small_tables};
    p2p_world_open(&world, &options);
    lay_out_payload();
}

struct co_p2p_send send_of(int from, int to, int tag, size_t bytes)
{
    return (struct co_p2p_send){
        .context = world.contexts[from], .data = sent, .bytes = bytes, .destination = to, .tag = tag};
}

struct co_p2p_receive receive_at(int rank, size_t room)
{
    return (struct co_p2p_receive){.context = world.contexts[rank], .buffer = received, .room = room};
}

void check_received(const struct co_p2p_receive *receive, int source, int tag, size_t bytes)
{
    assert_true(co_p2p_receive_is_done(receive));
    assert_int_equal(receive->result, 0);
    assert_int_equal(receive->source, source);
    assert_int_equal(receive->tag, tag);
    assert_int_equal(receive->bytes, bytes);
    size_t kept = bytes < receive->room ? bytes : receive->room;
    assert_memory_equal(received, sent, kept);
    if (kept < LARGE) {
        assert_int_equal(received[kept], 0xee); // not a byte more
    }
}
