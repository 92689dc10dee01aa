// SPDX-License-Identifier: BSD-3-Clause
//
// Devices, GIDs, paths and the states of queue pairs, see verbs_queue_pair_states.h. Cold.
#include "transport/verbs/verbs_queue_pair_states.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define READS_MOST 16    // of one queue pair at a time
#define RETRIES 7        // the most there are; Soft-RoCE takes that for no end of them
#define WAITS_FOR_EVER 7 // of a peer that has no receive
#define WAIT_LEAST 12    // 0.64 ms, before it is asked again

struct ibv_context *co_verbs_device_named(const char *name)
{
    int count = 0;
    struct ibv_device **devices = ibv_get_device_list(&count);
    struct ibv_context *context = NULL;
    for (int i = 0; devices != NULL && i < count && context == NULL; i++) {
        if (strcmp(ibv_get_device_name(devices[i]), name) == 0) {
            context = ibv_open_device(devices[i]);
        }
    }
    if (devices != NULL) {
        ibv_free_device_list(devices);
    }
    return context;
}

uint8_t co_verbs_reads_at_once(struct ibv_context *context)
{
    struct ibv_device_attr device;
    if (ibv_query_device(context, &device) != 0) {
        return 1;
    }
    int reads = device.max_qp_rd_atom < device.max_qp_init_rd_atom ? device.max_qp_rd_atom : device.max_qp_init_rd_atom;
    return (uint8_t)(reads < 1 ? 1 : reads > READS_MOST ? READS_MOST : reads);
}

int co_verbs_gid_find(struct ibv_context *context, uint8_t port, int entries, uint32_t own_ip, uint8_t *gid_index,
                      union ibv_gid *gid)
{
    union ibv_gid wanted = {.raw = {[10] = 0xff, [11] = 0xff}};
    int found = -1;
    memcpy(wanted.raw + 12, &own_ip, sizeof own_ip);
    for (int i = 0; i < entries && i <= UINT8_MAX; i++) {
        struct ibv_gid_entry entry;
        if (ibv_query_gid_ex(context, port, (uint32_t)i, &entry, 0) != 0) {
            continue;
        }
        bool is_own = entry.gid_type == IBV_GID_TYPE_ROCE_V2 && memcmp(&entry.gid, &wanted, sizeof wanted) == 0;
        if (is_own || (entry.gid_type == IBV_GID_TYPE_IB && found < 0)) {
            found = i;
            *gid = entry.gid;
        }
        if (is_own) {
            break;
        }
    }
    if (found < 0) {
        return -EADDRNOTAVAIL;
    }
    *gid_index = (uint8_t)found;
    return 0;
}

struct ibv_ah_attr co_verbs_path_to(uint8_t port, uint8_t gid_index, const uint8_t gid[16], uint16_t lid)
{
    struct ibv_ah_attr path = {
        .grh = {.sgid_index = gid_index, .hop_limit = UINT8_MAX}, .dlid = lid, .is_global = 1, .port_num = port};
    memcpy(&path.grh.dgid, gid, sizeof path.grh.dgid);
    return path;
}

int co_verbs_datagrams_init(struct ibv_qp *queue_pair, uint8_t port, uint32_t key)
{
    struct ibv_qp_attr state = {.qp_state = IBV_QPS_INIT, .port_num = port, .qkey = key};
    return -ibv_modify_qp(queue_pair, &state, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
}

int co_verbs_datagrams_start(struct ibv_qp *queue_pair)
{
    struct ibv_qp_attr state = {.qp_state = IBV_QPS_RTR};
    int error = ibv_modify_qp(queue_pair, &state, IBV_QP_STATE);
    state = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .sq_psn = 0};
    return error != 0 ? -error : -ibv_modify_qp(queue_pair, &state, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

int co_verbs_connection_init(struct ibv_qp *queue_pair, uint8_t port, unsigned access)
{
    struct ibv_qp_attr state = {.qp_state = IBV_QPS_INIT, .port_num = port, .qp_access_flags = access};
    return -ibv_modify_qp(queue_pair, &state, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

int co_verbs_connection_start(struct ibv_qp *queue_pair, const struct co_verbs_connection *connection)
{
    struct ibv_qp_attr state = {.qp_state = IBV_QPS_RTR,
                                .path_mtu = connection->mtu,
                                .dest_qp_num = connection->peer & CO_VERBS_NUMBER_MASK,
                                .rq_psn = connection->peer_number & CO_VERBS_NUMBER_MASK,
                                .max_dest_rd_atomic = connection->reads,
                                .min_rnr_timer = WAIT_LEAST,
                                .ah_attr = connection->path};
    int error = ibv_modify_qp(queue_pair, &state,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    state = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                                 .timeout = connection->timeout,
                                 .retry_cnt = RETRIES,
                                 .rnr_retry = WAITS_FOR_EVER,
                                 .sq_psn = connection->number,
                                 .max_rd_atomic = connection->reads};
    return error != 0 ? -error
                      : -ibv_modify_qp(queue_pair, &state,
                                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                           IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}
