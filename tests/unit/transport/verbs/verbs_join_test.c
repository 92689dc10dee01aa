// SPDX-License-Identifier: BSD-3-Clause
//
// Joining groups over a fabric that is none: one that lets all in, never answers, refuses one of them, or has no
// multicast. Whatever it does the reason is said, and all that was joined is left.
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "transport/verbs/verbs_state.h"

enum { GROUPS = 3 };

static struct co_verbs *verbs;
static struct rdma_event_channel channel;
static struct ibv_qp pairs[GROUPS];
static struct rdma_cm_event answers[GROUPS];
static unsigned asked, answered, ids, attached, ways;
static unsigned answers_most, refused_at; // how many it gives; which of them is a refusal, from 1 on
static int join_error;                    // of the call itself

int rdma_create_id(struct rdma_event_channel *of, struct rdma_cm_id **id, void *context, enum rdma_port_space space)
{
    assert_ptr_equal(of, &channel);
    assert_int_equal(space, RDMA_PS_UDP);
    *id = calloc(1, sizeof **id);
    (*id)->context = context;
    ids++;
    return 0;
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *address)
{
    (void)id;
    assert_int_equal(((struct sockaddr_in *)(void *)address)->sin_addr.s_addr, htonl(0x0a000001));
    return 0;
}

int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *address, void *context)
{
    assert_ptr_equal(id->context, context);
    assert_int_equal(((struct sockaddr_in *)(void *)address)->sin_addr.s_addr, htonl(0xefc00000 + asked));
    if (join_error != 0) {
        errno = join_error;
        return -1;
    }
    answers[asked] = (struct rdma_cm_event){.id = id, .event = RDMA_CM_EVENT_MULTICAST_JOIN};
    answers[asked].param.ud.qp_num = 0xffffff;
    answers[asked].param.ud.qkey = 7;
    if (++asked == refused_at) {
        answers[asked - 1].event = RDMA_CM_EVENT_MULTICAST_ERROR;
        answers[asked - 1].status = -ENETUNREACH;
    }
    return 0;
}

int rdma_get_cm_event(struct rdma_event_channel *of, struct rdma_cm_event **event)
{
    (void)of;
    if (answered == answers_most) {
        errno = EAGAIN;
        return -1;
    }
    *event = &answers[answered++];
    return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
    (void)event;
    return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
    free(id);
    ids--;
    return 0;
}

int ibv_modify_qp(struct ibv_qp *pair, struct ibv_qp_attr *state, int what)
{
    (void)pair, (void)what;
    assert_int_equal(state->qkey, 7);
    return 0;
}

int ibv_attach_mcast(struct ibv_qp *pair, const union ibv_gid *gid, uint16_t lid)
{
    (void)pair, (void)gid, (void)lid;
    attached++;
    return 0;
}

int ibv_detach_mcast(struct ibv_qp *pair, const union ibv_gid *gid, uint16_t lid)
{
    (void)pair, (void)gid, (void)lid;
    attached--;
    return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *domain, struct ibv_ah_attr *way)
{
    (void)domain;
    assert_int_equal(way->grh.sgid_index, 3);
    ways++;
    return calloc(1, sizeof(struct ibv_ah));
}

int ibv_destroy_ah(struct ibv_ah *way)
{
    ways--;
    free(way);
    return 0;
}

static int open_fabric(void **state)
{
    (void)state;
    verbs = calloc(1, sizeof *verbs);
    assert_non_null(verbs);
    channel.fd = eventfd(0, EFD_CLOEXEC); // never readable: who waits does so for the deadline
    assert_true(channel.fd >= 0);
    verbs->events = &channel;
    verbs->group_count = GROUPS;
    verbs->gid_index = 3;
    verbs->config.own_ip = htonl(0x0a000001);
    verbs->config.first_group_ip = 0xefc00000;
    verbs->config.join_ns = 20000000;
    memcpy(verbs->device, "none0", sizeof "none0");
    for (int i = 0; i < GROUPS; i++) {
        verbs->rings[i].queue_pair = &pairs[i];
    }
    asked = answered = ids = attached = ways = refused_at = 0;
    answers_most = GROUPS;
    join_error = 0;
    return 0;
}

static int close_fabric(void **state)
{
    (void)state;
    co_verbs_groups_leave(verbs);
    assert_int_equal(ids, 0);
    assert_int_equal(attached, 0);
    assert_int_equal(ways, 0);
    close(channel.fd);
    free(verbs);
    return 0;
}

static void expect(int error, const char *why)
{
    char said[200] = "";
    assert_int_equal(co_verbs_groups_join(verbs, said, sizeof said), error);
    assert_string_equal(said, why);
}

static void all_groups_are_joined(void **state)
{
    (void)state;
    expect(0, "");
    assert_int_equal(attached, GROUPS);
    for (int i = 0; i < GROUPS; i++) {
        assert_int_equal(verbs->groups[i].queue_pair, 0xffffff);
        assert_int_equal(verbs->groups[i].key, 7);
    }
}

static void a_fabric_that_never_answers(void **state)
{
    (void)state;
    answers_most = 0;
    expect(-ETIMEDOUT, "multicast cannot be joined on none0: the fabric does not answer");
}

static void a_fabric_that_answers_once(void **state)
{
    (void)state;
    answers_most = 1;
    expect(-ETIMEDOUT, "multicast cannot be joined on none0: the fabric does not answer");
    assert_int_equal(attached, 1);
}

static void a_fabric_that_refuses_one(void **state)
{
    (void)state;
    refused_at = 2;
    expect(-ENETUNREACH, "multicast cannot be joined on none0: Network is unreachable");
    assert_int_equal(attached, 1);
}

static void a_device_without_multicast(void **state)
{
    (void)state;
    join_error = EOPNOTSUPP;
    expect(-EOPNOTSUPP, "multicast cannot be joined on none0: Operation not supported");
    assert_int_equal(asked, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_groups_are_joined, open_fabric, close_fabric),
        cmocka_unit_test_setup_teardown(a_fabric_that_never_answers, open_fabric, close_fabric),
        cmocka_unit_test_setup_teardown(a_fabric_that_answers_once, open_fabric, close_fabric),
        cmocka_unit_test_setup_teardown(a_fabric_that_refuses_one, open_fabric, close_fabric),
        cmocka_unit_test_setup_teardown(a_device_without_multicast, open_fabric, close_fabric),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
