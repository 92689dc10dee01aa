// SPDX-License-Identifier: BSD-3-Clause
//
// Sends that the own kernel refuses: lost at first, told with reason and destination, and in the end the peer is given
// up, or a group's datagrams count as sent. In a network namespace of its own, with every kind of refusal.
#define _GNU_SOURCE // struct mmsghdr in udp_state.h
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/poll.h"
#include "base/settings.h"
#include "udp_namespace.h"
#include "transport/udp/udp_state.h"
#include "udp_on_loopback.h"

// Stands in for the C library's: the host may have stood still for a while.
static long stood_still_s;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    now->tv_sec += stood_still_s;
    return failed;
}

static const char *const links[] = {
    "ip link set lo up",
    "ip link add fabric type veth peer name switch",
    "ip addr add 10.1.0.1/24 dev fabric",
    "ip link set fabric up",
    "ip link set switch up",
    "ip neigh add 10.1.0.7 lladdr 02:00:00:00:00:07 dev fabric",
    "ip neigh add 10.1.0.8 lladdr 02:00:00:00:00:08 dev fabric",
    "tc qdisc add dev fabric root pfifo",
    NULL,
};

static struct co_transport *opened(uint64_t give_up_ns)
{
    struct co_udp_config config = udp_on_loopback(udp_fresh_tag());
    struct co_transport *udp = NULL;
    struct co_udp_address addresses[3];
    char why[256];
    config.interface = "fabric";
    config.give_up_ns = give_up_ns;
    namespace_require(co_udp_open(&udp, &config, &addresses[0], why, sizeof why) == 0, "open");
    for (int i = 1; i < 3; i++) {
        addresses[i] = addresses[0];
        addresses[i].ip += (uint32_t)(5 + i) << 24; // 10.1.0.7 and 10.1.0.8
    }
    namespace_require(co_udp_connect(udp, addresses, 3, 0) == 0, "connect");
    return udp;
}

static int send_to(struct co_transport *udp, int kind, unsigned index)
{
    struct co_tx_datagram datagram = {.head = "12345", .head_bytes = 5};
    return udp->ops->send(udp, (struct co_destination){kind, index}, &datagram, 1);
}

static const struct refusal {
    const char *begin, *end, *reason;
    int taken; // while it may pass
} refusals[] = {
    {"ip route add prohibit 10.1.0.7", "ip route del prohibit 10.1.0.7", "Permission denied", 1},
    {"ip route add unreachable 10.1.0.7", "ip route del unreachable 10.1.0.7", "No route to host", 1},
    {"ip route add blackhole 10.1.0.7", "ip route del blackhole 10.1.0.7", "Invalid argument", 1},
    {"ip route del 10.1.0.0/24 dev fabric", "ip route add 10.1.0.0/24 dev fabric", "Network is unreachable", 1},
    {"tc qdisc replace dev fabric root bfifo limit 1", "tc qdisc replace dev fabric root pfifo",
     "No buffer space available", 0},
};

static void require_line(const char *path, const char *reason)
{
    char line[400] = "", more[400];
    FILE *log = fopen(path, "r");
    namespace_require(log != NULL && fgets(line, sizeof line, log) != NULL, "a line of the log");
    namespace_require(strstr(line, "rank 1 (10.1.0.7)") != NULL && strstr(line, reason) != NULL, line);
    namespace_require(fgets(more, sizeof more, log) == NULL, "one line only");
    fclose(log);
}

static void log_to(const char *path)
{
    setenv("CASTOFF_LOG_FILE", path, 1);
    co_settings_forget();
    co_settings_load();
    co_log_open(0);
}

static void refuse(const struct refusal *refusal)
{
    char path[] = "/tmp/castoff-refused-test.XXXXXX";
    close(mkstemp(path));
    log_to(path);
    struct co_transport *udp = opened(1); // ns: the second one in a row is one too many
    uint64_t refused = co_counter_read(CO_COUNT_SEND_REFUSED);
    namespace_require(send_to(udp, CO_TO_PEER, 1) == 1, "a send that succeeds");
    for (int i = 0; i < 2; i++) { // single ones are forgotten as soon as one succeeds
        namespace_run(refusal->begin);
        namespace_require(send_to(udp, CO_TO_PEER, 1) == refusal->taken, refusal->reason);
        namespace_run(refusal->end);
        namespace_require(send_to(udp, CO_TO_PEER, 1) == 1, "it succeeds again");
    }
    namespace_require(refusal->taken == 0 || co_counter_read(CO_COUNT_SEND_REFUSED) > refused, "the counter");
    namespace_require(udp->ops->dead_peer(udp) == -1, "alive so far");
    namespace_run(refusal->begin);
    for (int i = 0; i < 3; i++) {
        send_to(udp, CO_TO_PEER, 1);
    }
    namespace_require(udp->ops->dead_peer(udp) == 1, "given up");
    namespace_require(udp->ops->dead_peer(udp) == -1, "told once");
    namespace_run(refusal->end);
    namespace_require(send_to(udp, CO_TO_PEER, 2) == 1, "others are not concerned");
    udp->ops->close(udp);
    require_line(path, refusal->reason);
    unlink(path);
}

static int every_kind(void)
{
    for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
        refuse(&refusals[i]);
    }
    return 0;
}

// Members ask for what a group did not get, so its datagrams may be counted as sent, or its sender would try for ever.
static int a_group_without_a_queue(void)
{
    struct co_transport *udp = opened(1);
    namespace_run("tc qdisc replace dev fabric root bfifo limit 1");
    namespace_require(send_to(udp, CO_TO_GROUP, 0) == 0, "to be tried again");
    namespace_require(send_to(udp, CO_TO_GROUP, 0) == 1, "to be asked for");
    namespace_require(udp->ops->dead_peer(udp) == -1, "nobody is gone");
    udp->ops->close(udp);
    return 0;
}

static bool tells_of_room(struct co_transport *udp)
{
    struct pollfd descriptor = {.fd = -1};
    namespace_require(udp->ops->descriptors(udp, &descriptor, 1, 1) == 1, "a descriptor");
    return (descriptor.events & POLLOUT) != 0;
}

// The socket has room all the time: who waited for that tried again at once, as often as it could.
static int a_full_interface_is_waited_for_by_time(void)
{
    struct co_transport *udp = opened(UINT64_MAX);
    namespace_require(tells_of_room(udp) && udp->ops->next_event_ns(udp) == 0, "the socket tells");
    namespace_run("tc qdisc replace dev fabric root bfifo limit 1");
    bool is_paused = false;
    for (int i = 0; i < 100 && !is_paused; i++) { // it is over before we look where the machine is busy
        namespace_require(send_to(udp, CO_TO_PEER, 1) == 0, "full");
        uint64_t until_ns = udp->ops->next_event_ns(udp);
        is_paused = !tells_of_room(udp) && until_ns > 0 && until_ns < co_clock_now_ns() + CO_NS_PER_S;
    }
    namespace_require(is_paused, "a pause");
    for (uint64_t until_ns; (until_ns = udp->ops->next_event_ns(udp)) != 0;) { // it passes by itself
        uint64_t now_ns = co_clock_now_ns();
        co_poll(NULL, 0, until_ns > now_ns ? until_ns - now_ns : 0);
    }
    namespace_require(tells_of_room(udp), "it may be tried again");
    udp->ops->close(udp);
    return 0;
}

// Black holes and interfaces that cannot segment are refused by one and the same errno.
static int a_black_hole_that_goes(void)
{
    struct co_transport *udp = opened(UINT64_MAX);
    char text[256];
    struct co_tx_datagram batch[2] = {{.head = "12345", .head_bytes = 5}, {.head = "123", .head_bytes = 3}};
    struct co_destination to = {CO_TO_PEER, 1};
    co_udp_describe(udp, text, sizeof text);
    if (strstr(text, "gso yes") == NULL) {
        return 77;
    }
    namespace_run("ip route add blackhole 10.1.0.7");
    namespace_require(udp->ops->send(udp, to, batch, 2) == 2, "lost");
    namespace_run("ip route del blackhole 10.1.0.7");
    namespace_require(udp->ops->send(udp, to, batch, 2) == 2, "sent");
    co_udp_describe(udp, text, sizeof text);
    namespace_require(strstr(text, "gso yes") != NULL, text);
    udp->ops->close(udp);
    return 0;
}

static int with_patience(void)
{
    struct co_transport *udp = opened(UINT64_C(3600000000000));
    namespace_run("ip route add prohibit 10.1.0.7");
    for (int i = 0; i < 100; i++) {
        namespace_require(send_to(udp, CO_TO_PEER, 1) == 1, "lost");
    }
    namespace_require(udp->ops->dead_peer(udp) == -1, "it may pass");
    udp->ops->close(udp);
    return 0;
}

// The socket's queue is full at every look, but the host has stood still between them. By as many looks in time it is
// a queue that takes nothing.
static int a_host_that_stands_still(void)
{
    struct co_transport *transport = opened(CO_NS_PER_S);
    struct co_udp *udp = (struct co_udp *)transport;
    struct co_destination group = {CO_TO_GROUP, 0};
    struct sockaddr_in address = {.sin_family = AF_INET};
    char path[] = "/tmp/castoff-refused-test.XXXXXX";
    int log = mkstemp(path);
    log_to(path);
    co_udp_refused(udp, group, &address, EAGAIN);
    stood_still_s++;
    namespace_require(!co_udp_refused(udp, group, &address, EAGAIN), "the queue had no time to drain");
    namespace_require(lseek(log, 0, SEEK_END) == 0, "and nothing is told");
    bool is_given_up = false;
    for (int i = 0; i < 8 && !is_given_up; i++) {
        stood_still_s++;
        is_given_up = co_udp_refused(udp, group, &address, EAGAIN);
    }
    namespace_require(is_given_up, "a queue that takes nothing");
    namespace_require(lseek(log, 0, SEEK_END) > 0, "which is told");
    close(log);
    unlink(path);
    transport->ops->close(transport);
    return 0;
}

// Which has begun the row since our look at the clock, and has not written its second word, or we have not read it: no
// time has passed, and nobody is given up, nor is anything told.
static int a_second_sender_at_the_same_time(void)
{
    struct co_transport *transport = opened(CO_NS_PER_S);
    struct co_udp *udp = (struct co_udp *)transport;
    struct sockaddr_in address = {.sin_family = AF_INET};
    for (int words = 0; words < 2; words++) {
        uint64_t before_ns = co_clock_now_ns(), later_ns = before_ns + 3600 * CO_NS_PER_S;
        atomic_store(&udp->full.since_ns, later_ns);
        atomic_store(&udp->full.last_ns, words == 0 ? before_ns : later_ns);
        namespace_require(!co_udp_refused(udp, (struct co_destination){CO_TO_PEER, 1}, &address, EAGAIN), "refused");
        namespace_require(transport->ops->dead_peer(transport) == -1, "nobody is gone");
    }
    namespace_require(!atomic_load(&udp->has_told_refusal), "nothing is told");
    transport->ops->close(transport);
    return 0;
}

static void a_peer_is_given_up_in_the_end(void **state)
{
    (void)state;
    namespace_enter_and(links, every_kind);
}

static void a_group_is_not(void **state)
{
    (void)state;
    namespace_enter_and(links, a_group_without_a_queue);
}

static void a_pause(void **state)
{
    (void)state;
    namespace_enter_and(links, a_full_interface_is_waited_for_by_time);
}

static void offload_outlives_a_black_hole(void **state)
{
    (void)state;
    namespace_enter_and(links, a_black_hole_that_goes);
}

static void a_stall_of_the_host_is_no_refusal(void **state)
{
    (void)state;
    namespace_enter_and(links, a_host_that_stands_still);
}

static void two_senders_give_nobody_up_by_each_others_time(void **state)
{
    (void)state;
    namespace_enter_and(links, a_second_sender_at_the_same_time);
}

static void the_deadline_counts(void **state)
{
    (void)state;
    namespace_enter_and(links, with_patience);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peer_is_given_up_in_the_end),
        cmocka_unit_test(a_group_is_not),
        cmocka_unit_test(a_pause),
        cmocka_unit_test(the_deadline_counts),
        cmocka_unit_test(a_stall_of_the_host_is_no_refusal),
        cmocka_unit_test(two_senders_give_nobody_up_by_each_others_time),
        cmocka_unit_test(offload_outlives_a_black_hole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
