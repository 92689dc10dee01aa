// SPDX-License-Identifier: BSD-3-Clause
//
// Parts of the verbs module over a device that is no device: datagrams and their credit between two ends, and ways
// that are found again in more than one try.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "transport/verbs/verbs_state.h"

enum { STEPS = 200000, QUEUE = 512, BYTES_MOST = CO_VERBS_RC_DATAGRAM_BYTES };

// What both ends have of the device. A send arrives at once, and its end is told to who polls.
struct end {
    struct co_verbs verbs;
    struct ibv_qp queue_pair;
    struct ibv_cq queue;
    struct ibv_wc done[QUEUE]; // a ring
    unsigned done_first, done_count;
    struct ibv_recv_wr receives[CO_VERBS_RC_DATAGRAMS]; // a ring; their pieces are beside them
    struct ibv_sge places[CO_VERBS_RC_DATAGRAMS];
    unsigned receives_first, receives_count;
    uint32_t said, heard; // datagrams that were taken by the transport, and that came
    uint8_t memory[2 * CO_VERBS_RC_DATAGRAMS * CO_VERBS_RC_DATAGRAM_BYTES];
};

static struct ibv_context context;
static struct ibv_mr region;
static struct end *ends;
static unsigned destroyed, ways_made, ways_ended, ways_fail_at;

static void tell_end(struct end *end, struct ibv_wc done)
{
    assert_true(end->done_count < QUEUE);
    end->done[(end->done_first + end->done_count++) % QUEUE] = done;
}

static int post_send(struct ibv_qp *queue_pair, struct ibv_send_wr *request, struct ibv_send_wr **bad)
{
    struct end *from = &ends[queue_pair == &ends[1].queue_pair], *to = &ends[from == &ends[0]];
    (void)bad;
    assert_true(to->receives_count > 0); // nobody is ever told to wait
    unsigned first = to->receives_first++ % CO_VERBS_RC_DATAGRAMS;
    uint32_t bytes = request->num_sge > 0 ? request->sg_list->length : 0;
    to->receives_count--;
    assert_true(bytes <= to->places[first].length);
    if (bytes > 0) {
        memcpy((void *)(uintptr_t)to->places[first].addr, (void *)(uintptr_t)request->sg_list->addr, bytes);
    }
    tell_end(from, (struct ibv_wc){.wr_id = request->wr_id});
    tell_end(to, (struct ibv_wc){.wr_id = to->receives[first].wr_id, .byte_len = bytes, .imm_data = request->imm_data});
    return 0;
}

static int post_recv(struct ibv_qp *queue_pair, struct ibv_recv_wr *request, struct ibv_recv_wr **bad)
{
    struct end *end = &ends[queue_pair == &ends[1].queue_pair];
    unsigned last = (end->receives_first + end->receives_count++) % CO_VERBS_RC_DATAGRAMS;
    (void)bad;
    assert_true(end->receives_count <= CO_VERBS_RC_DATAGRAMS);
    end->receives[last] = *request;
    end->places[last] = *request->sg_list;
    return 0;
}

static int poll_cq(struct ibv_cq *queue, int most, struct ibv_wc *done)
{
    struct end *end = &ends[queue == &ends[1].queue];
    int count = 0;
    for (; count < most && end->done_count > 0; count++) {
        done[count] = end->done[end->done_first++ % QUEUE];
        end->done_count--;
    }
    return count;
}

int ibv_destroy_qp(struct ibv_qp *queue_pair)
{
    (void)queue_pair;
    destroyed++;
    return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *domain, struct ibv_ah_attr *way)
{
    (void)domain, (void)way;
    if (++ways_made == ways_fail_at) {
        errno = ENOMEM;
        return NULL;
    }
    return calloc(1, sizeof(struct ibv_ah));
}

int ibv_destroy_ah(struct ibv_ah *way)
{
    ways_ended++;
    free(way);
    return 0;
}

static void count(enum co_verbs_count what, uint64_t number)
{
    (void)what, (void)number;
}

static void warn(const char *text)
{
    (void)text;
}

static int open_ends(void **state)
{
    (void)state;
    ends = calloc(2, sizeof *ends);
    assert_non_null(ends);
    context.ops = (struct ibv_context_ops){.post_send = post_send, .post_recv = post_recv, .poll_cq = poll_cq};
    destroyed = 0;
    for (int i = 0; i < 2; i++) {
        struct co_verbs *verbs = &ends[i].verbs;
        struct co_verbs_rc *rc = &verbs->reads.rc[0];
        ends[i].queue_pair.context = ends[i].queue.context = &context;
        verbs->config.count = count;
        verbs->config.warn = warn;
        verbs->reads.verbs = verbs;
        verbs->reads.region = &region;
        verbs->reads.done = &ends[i].queue;
        verbs->reads.free_count = CO_VERBS_READS;
        *rc = (struct co_verbs_rc){.queue_pair = &ends[i].queue_pair, .peer = 1 - i};
        assert_int_equal(co_verbs_rc_datagrams_open(verbs, rc, ends[i].memory), 0);
        rc->is_up = true;
    }
    return 0;
}

static int close_ends(void **state)
{
    (void)state;
    free(ends);
    return 0;
}

static uint32_t length_of(uint32_t number)
{
    return 4 + number * 37 % (BYTES_MOST - 3);
}

static bool say(struct end *end)
{
    uint8_t bytes[BYTES_MOST];
    uint32_t number = end->said, length = length_of(number);
    memset(bytes, (int)(number & 255), sizeof bytes);
    memcpy(bytes, &number, sizeof number);
    struct co_tx_datagram datagram = {
        .head = bytes, .payload = bytes + 4, .head_bytes = 4, .payload_bytes = length - 4, .by_connection = true};
    bool is_said = co_verbs_rc_datagram_send(&end->verbs, end == &ends[0], &datagram);
    end->said += is_said;
    return is_said;
}

static void hear(void *arg, const struct co_arrival *arrivals, unsigned number_of_them)
{
    struct end *end = arg;
    for (unsigned i = 0; i < number_of_them; i++) {
        const uint8_t *bytes = arrivals[i].data;
        uint32_t number;
        memcpy(&number, bytes, sizeof number);
        assert_int_equal(number, end->heard);
        assert_int_equal(arrivals[i].bytes, length_of(number));
        assert_int_equal(bytes[arrivals[i].bytes - 1], arrivals[i].bytes > 4 ? number & 255 : number >> 24);
        end->heard++;
    }
}

static unsigned look(struct end *end)
{
    co_verbs_reads_reap(&end->verbs);
    return co_verbs_rc_datagrams_deliver(&end->verbs, hear, end);
}

static void look_until_silent(void)
{
    do {
        look(&ends[0]);
        look(&ends[1]);
    } while (ends[0].done_count + ends[1].done_count > 0);
}

static void datagrams_come_once_in_order_and_nobody_waits(void **state)
{
    uint32_t random = 1;
    (void)state;
    for (int step = 0; step < STEPS; step++) {
        random = random * 1664525 + 1013904223;
        struct end *end = &ends[random >> 31];
        if ((random >> 24 & 15) < 12) {
            say(end);
        } else {
            look(end);
        }
    }
    look_until_silent();
    assert_true(ends[0].said > STEPS / 100 && ends[1].said > STEPS / 100);
    assert_int_equal(ends[0].heard, ends[1].said);
    assert_int_equal(ends[1].heard, ends[0].said);
    assert_int_equal(destroyed, 0);
}

static void who_only_speaks_hears_that_there_is_room_again(void **state)
{
    (void)state;
    for (int step = 0; step < 1000; step++) {
        unsigned said = 0;
        while (said < CO_VERBS_RC_DATAGRAMS && say(&ends[0])) {
            said++;
        }
        assert_true(said > 0 && said < CO_VERBS_RC_DATAGRAMS); // one is left for an empty datagram
        look_until_silent();
    }
    assert_int_equal(ends[1].heard, ends[0].said);
}

static void a_false_number_of_datagrams_taken_costs_datagrams_and_no_memory(void **state)
{
    static const uint32_t numbers[] = {1, 77, UINT32_MAX, 1u << 31, 0};
    struct co_verbs_rc_datagrams *datagrams = &ends[0].verbs.reads.rc[0].datagrams;
    (void)state;
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct ibv_wc done = {.wr_id = ends[0].receives[ends[0].receives_first++ % CO_VERBS_RC_DATAGRAMS].wr_id,
                              .imm_data = htonl(numbers[i])};
        ends[0].receives_count--;
        co_verbs_rc_datagram_take(&ends[0].verbs, &done);
        for (int k = 0; k < 3 * CO_VERBS_RC_DATAGRAMS && ends[1].receives_count > 0; k++) {
            say(&ends[0]);
            assert_true(datagrams->sent - datagrams->left <= CO_VERBS_RC_DATAGRAMS);
        }
    }
}

static void what_had_come_before_a_connection_failed_is_heard(void **state)
{
    (void)state;
    assert_true(say(&ends[0]));
    tell_end(&ends[1], (struct ibv_wc){.wr_id = CO_VERBS_RC_DATAGRAM, .status = IBV_WC_RETRY_EXC_ERR});
    assert_int_equal(look(&ends[1]), 1);
    assert_int_equal(destroyed, 1);
    assert_false(say(&ends[1]));
    tell_end(&ends[1], (struct ibv_wc){.wr_id = CO_VERBS_RC_DATAGRAM, .status = IBV_WC_WR_FLUSH_ERR});
    assert_int_equal(look(&ends[1]), 0);
    assert_int_equal(destroyed, 1);
}

static void ways_that_could_not_be_made_are_made_by_the_next_try(void **state)
{
    enum { GROUPS = 3 };
    struct co_verbs *verbs = &ends[0].verbs;
    (void)state;
    verbs->group_count = GROUPS;
    verbs->gid_index = 2;
    ways_made = ways_ended = 0;
    for (int i = 0; i < GROUPS; i++) {
        verbs->groups[i] = (struct co_verbs_group){.to = calloc(1, sizeof(struct ibv_ah))};
        verbs->groups[i].way.grh.sgid_index = 1;
    }
    ways_fail_at = 2;
    assert_int_equal(co_verbs_groups_find_ways(verbs), -ENOMEM);
    assert_int_equal(ways_ended, 1);
    assert_int_equal(co_verbs_groups_find_ways(verbs), 0);
    assert_int_equal(ways_made, 2 + GROUPS - 1); // each once, and one in vain
    assert_int_equal(ways_ended, GROUPS);
    assert_int_equal(co_verbs_groups_find_ways(verbs), 0);
    assert_int_equal(ways_ended, GROUPS);
    for (int i = 0; i < GROUPS; i++) {
        assert_int_equal(verbs->groups[i].way.grh.sgid_index, 2);
        free(verbs->groups[i].to);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(datagrams_come_once_in_order_and_nobody_waits, open_ends, close_ends),
        cmocka_unit_test_setup_teardown(who_only_speaks_hears_that_there_is_room_again, open_ends, close_ends),
        cmocka_unit_test_setup_teardown(a_false_number_of_datagrams_taken_costs_datagrams_and_no_memory, open_ends,
                                        close_ends),
        cmocka_unit_test_setup_teardown(what_had_come_before_a_connection_failed_is_heard, open_ends, close_ends),
        cmocka_unit_test_setup_teardown(ways_that_could_not_be_made_are_made_by_the_next_try, open_ends, close_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
