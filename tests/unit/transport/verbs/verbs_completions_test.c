// SPDX-License-Identifier: BSD-3-Clause
//
// The datapath kernel's first stage beside a plain one: random completions, right ones, errors, other lengths and
// operations. What it has read, linked and counted is what the plain one says.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "transport/verbs/verbs_completions.h"

enum { QUEUES = 3, RECEIVES = 40, BATCH = 64, TURNS = 3000, SKIP = 40 };

static uint64_t state_of_dice = UINT64_C(88172645463325252);

static uint32_t dice(uint32_t sides)
{
    state_of_dice ^= state_of_dice << 13;
    state_of_dice ^= state_of_dice >> 7;
    state_of_dice ^= state_of_dice << 17;
    return (uint32_t)(state_of_dice >> 33) % sides;
}

struct queues {
    struct co_receive_queue queues[QUEUES];
    struct co_receive receives[QUEUES][RECEIVES];
    uint8_t memory[QUEUES][RECEIVES];
};

static void open_queues(struct queues *all)
{
    *all = (struct queues){0};
    for (unsigned q = 0; q < QUEUES; q++) {
        all->queues[q] = (struct co_receive_queue){.end = &all->queues[q].first,
                                                   .operation = q == 2 ? CO_COMPLETION_WRITTEN : CO_COMPLETION_RECEIVED,
                                                   .skip_bytes = q == 2 ? 0 : SKIP,
                                                   .is_wanted = q != 1};
        for (unsigned r = 0; r < RECEIVES; r++) {
            struct co_receive *receive = &all->receives[q][r];
            *receive =
                (struct co_receive){.id = (uintptr_t)receive, .queue = &all->queues[q], .data = &all->memory[q][r]};
        }
    }
}

// What a plain reading gives.
struct expected {
    struct co_arrival arrivals[BATCH];
    unsigned count;
    struct co_receive *free[QUEUES][BATCH];
    unsigned free_count[QUEUES], failed[QUEUES], strays[QUEUES];
};

static void expect(struct expected *expected, const struct co_completion *completion, struct queues *all)
{
    struct co_receive *receive = (struct co_receive *)(uintptr_t)completion->id;
    unsigned q = (unsigned)(receive->queue - all->queues);
    if (completion->status != 0) {
        expected->failed[q]++;
        return;
    }
    expected->free[q][expected->free_count[q]++] = receive;
    if (completion->operation != receive->queue->operation || completion->bytes < receive->queue->skip_bytes) {
        expected->strays[q]++;
    } else if (receive->queue->is_wanted) {
        struct co_arrival *arrival = &expected->arrivals[expected->count++];
        arrival->data = receive->data;
        arrival->bytes = completion->bytes - receive->queue->skip_bytes;
        arrival->immediate = completion->immediate;
    }
}

static struct co_completion random_completion(struct queues *all, unsigned used[QUEUES])
{
    unsigned q = dice(3) > 0 ? 0 : dice(QUEUES);
    q = used[q] < RECEIVES ? q : used[0] < RECEIVES ? 0 : used[1] < RECEIVES ? 1 : 2;
    struct co_receive *receive = &all->receives[q][used[q]++];
    return (struct co_completion){.id = receive->id,
                                  .status = dice(20) == 0 ? 1 + dice(20) : 0,
                                  .operation = dice(20) == 0 ? 127 + dice(4) : receive->queue->operation,
                                  .vendor_error = dice(1000),
                                  .bytes = dice(10) == 0 ? dice(SKIP + 2) : SKIP + dice(4000),
                                  .immediate = dice(UINT32_MAX),
                                  .queue_pair = dice(1000),
                                  .flags = dice(4)};
}

static void completions_are_read(void **state)
{
    (void)state;
    for (unsigned turn = 0; turn < TURNS; turn++) {
        struct queues all;
        struct expected expected = {0};
        struct co_completion completions[BATCH];
        struct co_arrival arrivals[BATCH];
        unsigned used[QUEUES] = {0}, count = dice(BATCH + 1), done = 0, arrived = 0;
        open_queues(&all);
        for (unsigned i = 0; i < count; i++) {
            completions[i] = random_completion(&all, used);
            expect(&expected, &completions[i], &all);
        }
        while (done < count) { // in one batch or in many
            unsigned part = 1 + dice(count - done);
            arrived += co_verbs_completions_read(&completions[done], part, &arrivals[arrived]);
            done += part;
        }
        assert_int_equal(arrived, expected.count);
        for (unsigned i = 0; i < arrived; i++) {
            assert_ptr_equal(arrivals[i].data, expected.arrivals[i].data);
            assert_int_equal(arrivals[i].bytes, expected.arrivals[i].bytes);
            assert_int_equal(arrivals[i].immediate, expected.arrivals[i].immediate);
        }
        for (unsigned q = 0; q < QUEUES; q++) {
            assert_int_equal(all.queues[q].free, expected.free_count[q]);
            struct co_receive *receive = co_receive_queue_take(&all.queues[q]);
            for (unsigned i = 0; i < expected.free_count[q]; i++, receive = receive->next) {
                assert_ptr_equal(receive, expected.free[q][i]);
            }
            assert_null(receive);
            assert_int_equal(all.queues[q].free, 0);
            assert_ptr_equal(all.queues[q].end, &all.queues[q].first);
            assert_int_equal(all.queues[q].failed, expected.failed[q]);
            assert_int_equal(all.queues[q].strays, expected.strays[q]);
        }
    }
}

static void nothing_is_nothing(void **state)
{
    (void)state;
    assert_int_equal(co_verbs_completions_read(NULL, 0, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(completions_are_read),
        cmocka_unit_test(nothing_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
