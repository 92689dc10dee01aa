// SPDX-License-Identifier: BSD-3-Clause
//
// Other proxies; see the header.
#include "offload/proxy/proxy_peers.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

// For what is still on its way to others, whose link may be down for a while.
#define LEAVE_NS (10 * CO_NS_PER_S)
// A proxy whose connection ends while others have not connected may have given up on one of those: that is named.
#define OTHERS_NS CO_NS_PER_S
// Words that may wait for a peer: of each rank of the job so many, and some.
enum { CONTROL_BYTES_A_RANK = 8 << 20, CONTROL_BYTES = 16 << 20 };

// To a proxy of the same job, of which there is none.
static void nobody_control(struct co_carrier *carrier, int peer, const void *record, size_t bytes)
{
    (void)carrier, (void)peer, (void)record, (void)bytes;
    assert(false);
}

static bool nobody_has_room(struct co_carrier *carrier, int peer)
{
    (void)carrier, (void)peer;
    return false;
}

static const struct co_carrier_ops nobody_ops = {
    .name = "none", .control = nobody_control, .has_room = nobody_has_room, .bulk = nobody_control};
static struct co_carrier nobody = {.ops = &nobody_ops};

static int record_take(void *context, int peer, enum co_carrier_connection connection, const uint8_t *record,
                       size_t bytes)
{
    struct co_proxy_peers *peers = context;
    // Before it is served nobody has a rank that could have said anything.
    return peers->service == NULL
               ? -EPROTO
               : co_proxy_take(co_proxy_service_core(peers->service), peer, connection, record, bytes);
}

static void peer_lost(void *context, int peer, int error, const char *why)
{
    struct co_proxy_peers *peers = context;

    if (error != 0) {
        co_log(CO_LOG_WARN, CO_SUBSYS_BASE, "proxy: %s", why);
        if (peers->lost++ == 0 || (peers->error == -ECONNRESET && error != -ECONNRESET)) {
            snprintf(peers->why, sizeof peers->why, "%s", why);
            peers->error = error;
        }
    }
    if (peers->service != NULL) {
        co_proxy_peer_lost(co_proxy_service_core(peers->service), peer);
    }
}

static int carrier_open(struct co_proxy_peers *peers, const struct co_offload_job *job,
                        const struct co_offload_peer *list, int listener, uint64_t most_ns)
{
    struct co_carrier_tcp_peer *places = calloc(job->proxies, sizeof *places);
    if (places == NULL) {
        close(listener);
        snprintf(peers->why, sizeof peers->why, "no memory");
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < job->proxies; i++) {
        places[i] = (struct co_carrier_tcp_peer){.host = list[i].host, .place = list[i].place};
    }
    struct co_carrier_tcp_config config = {.self = (int)job->self,
                                           .proxies = (int)job->proxies,
                                           .peers = places,
                                           .key = job->key,
                                           .bulk_form = (enum co_auth_form)job->auth,
                                           .connect_ns = most_ns,
                                           .silent_ns = job->deadline_ns,
                                           .control_bytes_max =
                                               CONTROL_BYTES + (size_t)job->ranks * CONTROL_BYTES_A_RANK};
    int error = co_carrier_tcp_open(
        &peers->tcp, &config, &(struct co_carrier_tcp_output){.context = peers, .take = record_take, .lost = peer_lost},
        listener, co_clock_now_ns(), peers->why);
    free(places);
    return error;
}

// Sleeps until the carrier has something to do, or most_ns have gone by.
static void carrier_await(const struct co_proxy_peers *peers, uint64_t now_ns, uint64_t most_ns)
{
    uint64_t due_ns = co_carrier_tcp_deadline(peers->tcp);
    uint64_t rest_ns = due_ns > now_ns ? due_ns - now_ns : 0;

    if (rest_ns > 0) {
        (void)co_local_await(co_carrier_tcp_descriptor(peers->tcp), rest_ns < most_ns ? rest_ns : most_ns);
    }
}

int co_proxy_peers_open(struct co_proxy_peers *peers, const struct co_offload_job *job,
                        const struct co_offload_peer *list, int listener, uint64_t most_ns)
{
    *peers = (struct co_proxy_peers){.tcp = NULL};
    if (job->proxies == 1) {
        return 0;
    }
    int error = carrier_open(peers, job, list, listener, most_ns);
    uint64_t now_ns = co_clock_now_ns(), until_ns = UINT64_MAX;
    while (error == 0 && now_ns < until_ns && !co_carrier_tcp_is_connected(peers->tcp)) {
        if (!co_carrier_tcp_turn(peers->tcp, now_ns, false)) {
            carrier_await(peers, now_ns, OTHERS_NS);
        }
        now_ns = co_clock_now_ns();
        if (peers->lost > 0 && until_ns == UINT64_MAX) {
            until_ns = now_ns + OTHERS_NS;
        }
        until_ns = peers->lost > 0 && peers->error != -ECONNRESET ? 0 : until_ns;
    }
    if (error == 0 && peers->lost > 0) {
        co_carrier_tcp_close(peers->tcp);
        peers->tcp = NULL;
        error = -EHOSTUNREACH;
    }
    return error;
}

void co_proxy_peers_close(struct co_proxy_peers *peers)
{
    if (peers->tcp == NULL) {
        return;
    }
    uint64_t now_ns = co_clock_now_ns(), until_ns = now_ns + LEAVE_NS;
    co_carrier_tcp_leave(peers->tcp, now_ns);
    while (!co_carrier_tcp_has_left(peers->tcp) && now_ns < until_ns) {
        if (!co_carrier_tcp_turn(peers->tcp, now_ns, false)) {
            carrier_await(peers, now_ns, until_ns - now_ns);
        }
        now_ns = co_clock_now_ns();
    }
    co_carrier_tcp_close(peers->tcp);
    peers->tcp = NULL;
}

struct co_carrier *co_proxy_peers_carrier(struct co_proxy_peers *peers)
{
    return peers->tcp != NULL ? co_carrier_tcp_base(peers->tcp) : &nobody;
}

int co_proxy_peers_descriptor(const struct co_proxy_peers *peers)
{
    return peers->tcp != NULL ? co_carrier_tcp_descriptor(peers->tcp) : -1;
}

uint64_t co_proxy_peers_due_ns(const struct co_proxy_peers *peers)
{
    return peers->tcp != NULL ? co_carrier_tcp_deadline(peers->tcp) : UINT64_MAX;
}

bool co_proxy_peers_turn(struct co_proxy_peers *peers, uint64_t now_ns)
{
    return peers->tcp != NULL &&
           co_carrier_tcp_turn(peers->tcp, now_ns, !co_proxy_is_idle(co_proxy_service_core(peers->service)));
}
