// SPDX-License-Identifier: BSD-3-Clause
//
// Joining: librdmacm asks the fabric, or on RoCE the network by IGMP, and answers with an address handle and a key;
// then the group's queue pair is attached. A fabric that never answers costs the deadline. Cold.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "transport/verbs/verbs_state.h"

static struct sockaddr_in address_of(const struct co_verbs *verbs, unsigned group)
{
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(verbs->config.first_group_ip + group)};
}

static int ask(struct co_verbs *verbs, unsigned index)
{
    struct co_verbs_group *group = &verbs->groups[index];
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = verbs->config.own_ip};
    struct sockaddr_in address = address_of(verbs, index);
    if (rdma_create_id(verbs->events, &group->id, group, RDMA_PS_UDP) != 0 ||
        rdma_bind_addr(group->id, (struct sockaddr *)&own) != 0 ||
        rdma_join_multicast(group->id, (struct sockaddr *)&address, group) != 0) {
        return errno != 0 ? -errno : -EIO;
    }
    return 0;
}

static int take_answer(struct co_verbs *verbs, const struct rdma_cm_event *event)
{
    struct co_verbs_group *group = event->id->context;
    unsigned index = (unsigned)(group - verbs->groups);
    if (event->event != RDMA_CM_EVENT_MULTICAST_JOIN) {
        return event->status < 0 ? event->status : event->status > 0 ? -event->status : -EIO;
    }
    struct ibv_ah_attr to = event->param.ud.ah_attr;
    group->queue_pair = event->param.ud.qp_num;
    group->key = event->param.ud.qkey;
    group->gid = to.grh.dgid;
    group->lid = to.dlid;
    to.grh.sgid_index = verbs->gid_index;
    struct ibv_qp_attr state = {.qp_state = IBV_QPS_RTS, .qkey = group->key};
    int error = ibv_modify_qp(verbs->rings[index].queue_pair, &state, IBV_QP_STATE | IBV_QP_QKEY);
    error = error != 0 ? error : ibv_attach_mcast(verbs->rings[index].queue_pair, &group->gid, group->lid);
    if (error != 0) {
        return -error;
    }
    group->is_attached = true;
    group->way = to;
    group->to = ibv_create_ah(verbs->domain, &to);
    return group->to != NULL ? 0 : errno != 0 ? -errno : -EIO;
}

// 1: an answer was taken; 0: none has come.
static int hear(struct co_verbs *verbs)
{
    struct rdma_cm_event *event;
    if (rdma_get_cm_event(verbs->events, &event) != 0) {
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    }
    int error = take_answer(verbs, event);
    rdma_ack_cm_event(event);
    return error == 0 ? 1 : error;
}

static int hear_all(struct co_verbs *verbs)
{
    struct pollfd fd = {.fd = verbs->events->fd, .events = POLLIN};
    uint64_t end_ns = co_clock_now_ns() + verbs->config.join_ns;
    for (unsigned joined = 0; joined < verbs->group_count;) {
        uint64_t before_ns = co_clock_now_ns();
        int heard = hear(verbs);
        if (heard < 0) {
            return heard;
        }
        joined += (unsigned)heard;
        if (heard == 0 && before_ns >= end_ns) {
            return -ETIMEDOUT;
        }
        if (heard == 0) {
            poll(&fd, 1, (int)((end_ns - before_ns) / CO_NS_PER_MS + 1));
        }
    }
    return 0;
}

int co_verbs_groups_join(struct co_verbs *verbs, char *why, size_t why_room)
{
    int error = fcntl(verbs->events->fd, F_SETFL, O_NONBLOCK) != 0 ? -errno : 0;
    for (unsigned i = 0; error == 0 && i < verbs->group_count; i++) {
        error = ask(verbs, i);
    }
    error = error == 0 ? hear_all(verbs) : error;
    if (error != 0) {
        snprintf(why, why_room, "multicast cannot be joined on %s: %s", verbs->device,
                 error == -ETIMEDOUT ? "the fabric does not answer" : strerror(-error));
    }
    return error;
}

int co_verbs_groups_find_ways(struct co_verbs *verbs)
{
    for (unsigned i = 0; i < verbs->group_count; i++) {
        struct co_verbs_group *group = &verbs->groups[i];
        struct ibv_ah_attr way = group->way;
        if (way.grh.sgid_index == verbs->gid_index) {
            continue;
        }
        way.grh.sgid_index = verbs->gid_index;
        struct ibv_ah *fresh = ibv_create_ah(verbs->domain, &way);
        if (fresh == NULL) {
            return errno != 0 ? -errno : -EIO;
        }
        ibv_destroy_ah(group->to);
        group->to = fresh;
        group->way = way;
    }
    return 0;
}

void co_verbs_groups_leave(struct co_verbs *verbs)
{
    for (unsigned i = 0; i < verbs->group_count; i++) {
        struct co_verbs_group *group = &verbs->groups[i];
        if (group->is_attached) {
            ibv_detach_mcast(verbs->rings[i].queue_pair, &group->gid, group->lid);
        }
        if (group->to != NULL) {
            ibv_destroy_ah(group->to);
        }
        if (group->id != NULL) { // leaves, too
            rdma_destroy_id(group->id);
        }
    }
}
