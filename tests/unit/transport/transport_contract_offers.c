// SPDX-License-Identifier: BSD-3-Clause
//
// The contract of datagram transports as tests: what a transport may offer beyond bytes. Where it does not, it must say
// so.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "transport_contract.h"

static void immediates_arrive_where_they_are_carried(void **state)
{
    struct transport_rig *rig = *state;

    rig_join(rig, 1, 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(rig_send(rig, 0, i == 0 ? rig_group(2) : rig_peer(1), 40, 8, 64, 32), 8);
        rig_receive(rig, 1, 8);
        for (unsigned k = 0; k < 8; k++) {
            bool is_carried = rig->ends[1]->has_immediate;
            assert_int_equal(rig_inbox.immediates[k], is_carried ? rig_immediate(rig_inbox.numbers[k]) : 0);
        }
    }
}

static struct co_region *region_of(struct co_transport *end, const void *start, size_t bytes, bool may_write)
{
    struct co_region *region = NULL;
    int error = end->ops->region_open == NULL ? -ENOTSUP : end->ops->region_open(end, &region, start, bytes, may_write);
    assert_int_equal(error == 0, region != NULL);
    return region;
}

static int send_from(struct co_transport *end, const struct co_region *region, const uint8_t *payload, uint32_t bytes)
{
    struct co_tx_datagram datagram = {.payload = payload, .payload_bytes = bytes, .region = region};
    return end->ops->send(end, rig_peer(1), &datagram, 1);
}

static void what_stands_in_a_region_is_the_callers_again_when_it_is_idle(void **state)
{
    struct transport_rig *rig = *state;
    struct co_transport *end = rig->ends[0];
    uint8_t bytes[1024];

    rig_fill(bytes, 5, sizeof bytes);
    struct co_region *region = region_of(end, bytes, sizeof bytes, true);
    assert_int_equal(send_from(end, region, bytes, sizeof bytes), 1);
    while (region && end->ops->region_is_busy(end, region)) {
        assert_true(rig_wait(rig, 0));
        rig_poll(rig, 0, 8);
    }
    memset(bytes, 0xee, sizeof bytes);
    rig_receive(rig, 1, 1);
    assert_true(rig_received(5));
    if (region) {
        assert_int_equal(send_from(end, region, bytes, 1), 1); // good for more than one
        end->ops->region_close(end, region);                   // and need not be idle at the end
    }
}

static void a_payload_outside_its_region_is_refused(void **state)
{
    struct transport_rig *rig = *state;
    struct co_transport *end = rig->ends[0];
    uint8_t bytes[1024];

    rig_fill(bytes, 6, sizeof bytes);
    struct co_region *region = region_of(end, bytes + 100, 500, false);
    if (region) {
        assert_int_equal(send_from(end, region, bytes + 99, 1), -EFAULT);
        assert_int_equal(send_from(end, region, bytes + 99, 501), -EFAULT);
        assert_int_equal(send_from(end, region, bytes + 100, 501), -EFAULT);
        assert_int_equal(send_from(end, region, bytes + 600, 1), -EFAULT);
        assert_false(end->ops->region_is_busy(end, region));
        end->ops->region_close(end, region);
    }
    assert_int_equal(send_from(end, NULL, bytes, sizeof bytes), 1); // without a region it may stand anywhere
    memset(bytes, 0xee, sizeof bytes);
    rig_receive(rig, 1, 1);
    assert_int_equal(rig_inbox.count, 1);
    assert_true(rig_received(6));
}

static void hosts_answer_for_their_processes(void **state)
{
    struct transport_rig *rig = *state;
    struct co_transport *end = rig->ends[0];
    int first = -1, second = -1;

    if (end->ops->host_ask == NULL || end->ops->host_ask(end, 1) == -ENOTSUP) {
        skip(); // nothing to learn there
    }
    assert_int_equal(end->ops->host_ask(end, RIG_ENDS), -EINVAL);
    assert_int_equal(end->ops->host_ask(end, -1), -EINVAL);
    rig->ends[2]->ops->close(rig->ends[2]); // the host is there
    rig->ends[2] = NULL;
    assert_true(end->ops->host_ask(end, 2) >= 0);
    while ((first = end->ops->host_told(end)) == -1) {
    }
    while ((second = end->ops->host_told(end)) == -1) {
    }
    assert_int_equal(first + second, 1 + 2);
    assert_int_not_equal(first, second);
    assert_int_equal(end->ops->host_told(end), -1);
}

int transport_contract_offers_run(struct transport_rig *rig)
{
    const struct CMUnitTest tests[] = {
        ON_RIG(immediates_arrive_where_they_are_carried),
        ON_RIG(what_stands_in_a_region_is_the_callers_again_when_it_is_idle),
        ON_RIG(a_payload_outside_its_region_is_refused),
        ON_RIG(hosts_answer_for_their_processes),
    };
    return cmocka_run_group_tests_name(rig->name, tests, NULL, NULL);
}
