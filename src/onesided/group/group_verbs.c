// SPDX-License-Identifier: BSD-3-Clause
//
// The RDMA device of a group's end: its address, the registered buffer, one queue pair of an unreliable connection. A
// member's is connected to the sender's address, the sender's to that of the group; neither knows of the hop.
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "onesided/group/group_state.h"

enum { SEND_DEPTH = 32, RECEIVE_DEPTH = 2 * CO_TRANSFER_CHUNKS_MAX, HOPS = 64 };

static void make_gid(union ibv_gid *gid, uint32_t ip)
{
    uint32_t address = htonl(ip);
    memset(gid, 0, sizeof *gid);
    gid->raw[10] = gid->raw[11] = 0xff;
    memcpy(gid->raw + 12, &address, sizeof address);
}

static bool is_ipv4(const union ibv_gid *gid)
{
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(gid->raw, prefix, sizeof prefix) == 0;
}

static int read_mac(struct castoff_group *group, unsigned interface)
{
    char name[IF_NAMESIZE], path[64];
    uint8_t *mac = group->end.mac;
    FILE *file = NULL;
    if (if_indextoname(interface, name) != NULL && snprintf(path, sizeof path, "/sys/class/net/%s/address", name) > 0) {
        file = fopen(path, "re");
    }
    int count = file != NULL ? fscanf(file, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx", mac, mac + 1, mac + 2, mac + 3,
                                      mac + 4, mac + 5)
                             : 0;
    if (file != NULL) {
        fclose(file);
    }
    return count == CO_ROCE_MAC_BYTES ? 0 : -ENODEV;
}

// The first IPv4 address of the port, or the one that is asked for.
static int find_address(struct castoff_group *group, uint8_t port, int entries, uint32_t wanted_ip)
{
    for (int i = 0; i < entries && i <= UINT8_MAX; i++) {
        struct ibv_gid_entry entry;
        uint32_t address;
        if (ibv_query_gid_ex(group->context, port, (uint32_t)i, &entry, 0) != 0 ||
            entry.gid_type != IBV_GID_TYPE_ROCE_V2 || !is_ipv4(&entry.gid)) {
            continue;
        }
        memcpy(&address, entry.gid.raw + 12, sizeof address);
        if ((wanted_ip == 0 || ntohl(address) == wanted_ip) && read_mac(group, entry.ndev_ifindex) == 0) {
            group->gid = entry.gid;
            group->gid_index = (uint8_t)i;
            group->port = port;
            group->end.ip = ntohl(address);
            return 0;
        }
    }
    return -ENODEV;
}

static int try_device(struct castoff_group *group, struct ibv_device *device, uint32_t wanted_ip)
{
    struct ibv_device_attr facts;
    struct ibv_port_attr port_facts;
    group->context = ibv_open_device(device);
    if (group->context == NULL) {
        return -ENODEV;
    }
    if (ibv_query_device(group->context, &facts) == 0) {
        for (uint8_t port = 1; port <= facts.phys_port_cnt; port++) {
            if (ibv_query_port(group->context, port, &port_facts) == 0 && port_facts.state == IBV_PORT_ACTIVE &&
                find_address(group, port, port_facts.gid_tbl_len, wanted_ip) == 0) {
                group->end.mtu = 128u << port_facts.active_mtu;
                return 0;
            }
        }
    }
    ibv_close_device(group->context);
    group->context = NULL;
    return -ENODEV;
}

int co_onesided_device_open(struct castoff_group *group, const struct castoff_group_options *options)
{
    struct in_addr wanted = {0};
    int count = 0, error = -ENODEV;
    if (options->address != NULL && inet_pton(AF_INET, options->address, &wanted) != 1) {
        return co_onesided_fail(-EINVAL, "'%s' is no IPv4 address", options->address);
    }
    struct ibv_device **devices = ibv_get_device_list(&count);
    for (int i = 0; devices != NULL && i < count && error != 0; i++) {
        if (options->device == NULL || strcmp(ibv_get_device_name(devices[i]), options->device) == 0) {
            error = try_device(group, devices[i], ntohl(wanted.s_addr));
        }
    }
    if (devices != NULL) {
        ibv_free_device_list(devices);
    }
    if (error != 0) {
        return co_onesided_fail(error, "no RDMA device%s%s with an active port and %s%s (RoCEv2), of %d here",
                                options->device != NULL ? " " : "", options->device != NULL ? options->device : "",
                                options->address != NULL ? "the IPv4 address " : "an IPv4 address",
                                options->address != NULL ? options->address : "", count);
    }
    return 0;
}

int co_onesided_receives_post(struct castoff_group *group, unsigned count)
{
    struct ibv_recv_wr request = {.num_sge = 0}, *bad; // immediate data needs no memory
    for (unsigned i = 0; i < count; i++) {
        int error = ibv_post_recv(group->pair, &request, &bad);
        if (error != 0) {
            return co_onesided_fail(-error, "no more receives can be posted: %s", strerror(error));
        }
    }
    return 0;
}

static int say_registration(int error, uint64_t bytes)
{
    struct rlimit limit = {0};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    if (error == ENOMEM && limit.rlim_cur < bytes) {
        return co_onesided_fail(-error, "%llu bytes cannot be registered: ulimit -l allows %llu KiB of locked memory",
                                (unsigned long long)bytes, (unsigned long long)limit.rlim_cur / 1024);
    }
    return co_onesided_fail(-error, "%llu bytes cannot be registered: %s", (unsigned long long)bytes, strerror(error));
}

static int make_queue(struct castoff_group *group, int depth)
{
    if (group->is_sender) {
        group->channel = ibv_create_comp_channel(group->context);
        if (group->channel == NULL) {
            return -errno;
        }
    }
    group->queue = ibv_create_cq(group->context, depth, NULL, group->channel, 0);
    return group->queue != NULL ? 0 : -errno;
}

static int begin_pair(struct castoff_group *group)
{
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT,
                               .port_num = group->port,
                               .qp_access_flags = group->is_sender ? 0 : IBV_ACCESS_REMOTE_WRITE};
    return -ibv_modify_qp(group->pair, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int make_pair(struct castoff_group *group, unsigned depth)
{
    struct ibv_qp_init_attr wanted = {.send_cq = group->queue,
                                      .recv_cq = group->queue,
                                      .qp_type = IBV_QPT_UC,
                                      .cap = {.max_send_wr = group->is_sender ? depth : 1,
                                              .max_recv_wr = group->is_sender ? 1 : depth,
                                              .max_send_sge = 1,
                                              .max_recv_sge = 1}};
    group->pair = ibv_create_qp(group->domain, &wanted);
    if (group->pair == NULL) {
        return -errno;
    }
    return begin_pair(group);
}

int co_onesided_pair_make(struct castoff_group *group)
{
    int access = group->is_sender ? 0 : IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    unsigned depth = group->is_sender ? SEND_DEPTH : RECEIVE_DEPTH;
    group->domain = ibv_alloc_pd(group->context);
    if (group->domain == NULL) {
        return co_onesided_fail(-errno, "no protection domain: %s", strerror(errno));
    }
    group->region = ibv_reg_mr(group->domain, group->buffer, group->buffer_bytes, access);
    if (group->region == NULL) {
        return say_registration(errno, group->buffer_bytes);
    }
    int error = make_queue(group, (int)depth);
    error = error != 0 ? error : make_pair(group, depth);
    if (error != 0) {
        return co_onesided_fail(error, "no queue pair with %u work requests: %s", depth, strerror(-error));
    }
    group->end.qpn = group->pair->qp_num;
    group->end.psn = randombytes_uniform(CO_ROCE_PSN_MASK + 1);
    group->end.rkey = group->region->rkey;
    group->end.address = (uint64_t)(uintptr_t)group->buffer;
    return group->is_sender ? 0 : co_onesided_receives_post(group, depth);
}

static enum ibv_mtu mtu_of(uint32_t bytes)
{
    enum ibv_mtu mtu = IBV_MTU_256;
    while (mtu < IBV_MTU_4096 && 128u << mtu < bytes) {
        mtu++;
    }
    return mtu;
}

int co_onesided_pair_connect(struct castoff_group *group)
{
    struct ibv_qp_attr ready = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = mtu_of(group->setup.mtu),
        .dest_qp_num = group->setup.qpn,
        .rq_psn = group->end.psn,
        .ah_attr = {.is_global = 1,
                    .port_num = group->port,
                    .grh = {.sgid_index = group->gid_index, .hop_limit = HOPS}},
    };
    struct ibv_qp_attr send = {.qp_state = IBV_QPS_RTS, .sq_psn = group->end.psn};
    make_gid(&ready.ah_attr.grh.dgid, group->setup.ip);
    int error = ibv_modify_qp(group->pair, &ready,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);
    if (error == 0 && group->is_sender) {
        error = ibv_modify_qp(group->pair, &send, IBV_QP_STATE | IBV_QP_SQ_PSN);
    }
    return error == 0 ? 0
                      : co_onesided_fail(-error, "the queue pair cannot be connected: %s%s", strerror(error),
                                         group->is_sender ? " (is there a route to the group's address?)" : "");
}

int co_onesided_pair_revive(struct castoff_group *group)
{
    struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
    int error = -ibv_modify_qp(group->pair, &reset, IBV_QP_STATE);
    error = error != 0 ? error : begin_pair(group);
    if (error != 0) {
        return co_onesided_fail(error, "the queue pair cannot begin anew: %s", strerror(-error));
    }
    error = co_onesided_receives_post(group, RECEIVE_DEPTH);
    return error != 0 ? error : co_onesided_pair_connect(group);
}

int co_onesided_device_close(struct castoff_group *group)
{
    int error = group->pair != NULL ? ibv_destroy_qp(group->pair) : 0;
    if (group->queue != NULL) {
        ibv_destroy_cq(group->queue);
    }
    if (group->channel != NULL) {
        ibv_destroy_comp_channel(group->channel);
    }
    if (group->region != NULL) {
        int kept = ibv_dereg_mr(group->region);
        error = error != 0 ? error : kept;
    }
    if (group->domain != NULL) {
        ibv_dealloc_pd(group->domain);
    }
    if (group->context != NULL) {
        ibv_close_device(group->context);
    }
    return error == 0 ? 0 : co_onesided_fail(-error, "the RDMA device keeps something: %s", strerror(error));
}
