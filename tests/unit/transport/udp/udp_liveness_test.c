// SPDX-License-Identifier: BSD-3-Clause
//
// What a host's kernel says of it by TCP: a closed port and a stranger's open one are signs of life, silence and the
// own host's word are none. In a network namespace of its own, with neighbours that are not there.
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/descriptors.h"
#include "udp_namespace.h"
#include "udp_on_loopback.h"

enum { PEERS = 13, SILENT = 2, GONE = 12 }; // 0 and 1 are this host, 2 ... 11 say nothing, to 12 there is no way

static const char *const links[] = {
    "ip link set lo up",
    "ip link add fabric type veth peer name switch",
    "ip addr add 10.1.0.1/24 dev fabric",
    "ip link set fabric up",
    "ip link set switch up",
    "for i in 02 03 04 05 06 07 08 09 10 11; do ip neigh add 10.1.0.1$i lladdr 02:00:00:00:00:$i dev fabric || exit 1; done",
    "ip route add unreachable 10.1.0.112",
    NULL,
};

static int descriptors_left(void)
{
    struct rlimit limit = {.rlim_cur = 100, .rlim_max = 100};
    namespace_require(setrlimit(RLIMIT_NOFILE, &limit) == 0, "a limit to count up to");
    return co_descriptors_left(100);
}

static struct co_transport *opened(uint16_t *port)
{
    struct co_udp_config config = udp_on_loopback(udp_fresh_tag());
    struct co_transport *udp = NULL;
    struct co_udp_address addresses[PEERS];
    char why[256];
    config.interface = "fabric";
    namespace_require(co_udp_open(&udp, &config, &addresses[0], why, sizeof why) == 0, "open");
    *port = addresses[0].port;
    for (int i = 1; i < PEERS; i++) {
        addresses[i] = addresses[0];
        addresses[i].ip = i == 1 ? addresses[0].ip : htonl(0x0a010064 + (uint32_t)i); // 10.1.0.100 + i
    }
    namespace_require(co_udp_connect(udp, addresses, PEERS, 0) == 0, "connect");
    return udp;
}

static int await_answer(struct co_transport *udp)
{
    int rank;
    while ((rank = udp->ops->host_told(udp)) < 0) { // the harness ends a test that hangs
    }
    return rank;
}

static int closed_and_open_ports_answer(void)
{
    uint16_t port;
    struct co_transport *udp = opened(&port);
    int left = descriptors_left();
    namespace_require(udp->ops->host_told(udp) == -1, "nobody was asked");
    namespace_require(udp->ops->host_ask(udp, 1) == 1, "a probe");
    namespace_require(await_answer(udp) == 1, "a closed port");
    namespace_require(udp->ops->host_told(udp) == -1, "told once");
    int stranger = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(0x0a010001)};
    namespace_require(bind(stranger, (struct sockaddr *)&address, sizeof address) == 0 && listen(stranger, 1) == 0,
                      "a stranger's service");
    namespace_require(udp->ops->host_ask(udp, 1) == 1, "another probe");
    namespace_require(await_answer(udp) == 1, "an open port");
    close(stranger);
    namespace_require(descriptors_left() == left, "descriptors are given back");
    udp->ops->close(udp);
    return 0;
}

static int silence_is_no_answer(void)
{
    uint16_t port;
    struct co_transport *udp = opened(&port);
    namespace_require(udp->ops->host_ask(udp, GONE) == 1, "refused here, so it is a probe without an answer");
    namespace_require(udp->ops->host_ask(udp, SILENT) == 1, "a probe");
    while (udp->ops->host_ask(udp, SILENT) == 0) { // an open one, until it is worth another
        namespace_require(udp->ops->host_told(udp) == -1, "nobody is there");
    }
    namespace_require(udp->ops->host_told(udp) == -1, "nobody is there");
    udp->ops->close(udp);
    return 0;
}

// Who is silent. Each is a new probe, or, with `least` 0, may be open.
static void ask_all(struct co_transport *udp, int least)
{
    for (int i = 0; i < CO_TRANSPORT_HOSTS_ASKED; i++) {
        namespace_require(udp->ops->host_ask(udp, SILENT + i) >= least, "a probe");
    }
}

// Of more hosts than probes may be open each gets time to answer; who has had it makes room.
static int questions_make_room(void)
{
    uint16_t port;
    struct co_transport *udp = opened(&port);
    int left = descriptors_left(), asked = 0;
    ask_all(udp, 1);
    namespace_require(descriptors_left() == left - CO_TRANSPORT_HOSTS_ASKED, "a descriptor for each");
    // Where the machine keeps this process waiting in between the first of them has had its time.
    for (int again = 0; again < 100 && (asked = udp->ops->host_ask(udp, 1)) != -EAGAIN; again++) {
        namespace_require(asked == 1 && await_answer(udp) == 1, "an answer");
        ask_all(udp, 0);
    }
    namespace_require(asked == -EAGAIN, "no room for another");
    while ((asked = udp->ops->host_ask(udp, 1)) == -EAGAIN) {
    }
    namespace_require(asked == 1 && await_answer(udp) == 1, "room in the end, and an answer");
    udp->ops->close(udp);
    namespace_require(descriptors_left() >= left, "all are given back");
    return 0;
}

static void a_kernel_answers_for_its_host(void **state)
{
    (void)state;
    namespace_enter_and(links, closed_and_open_ports_answer);
}

static void who_is_silent_does_not(void **state)
{
    (void)state;
    namespace_enter_and(links, silence_is_no_answer);
}

static void few_questions_are_open(void **state)
{
    (void)state;
    namespace_enter_and(links, questions_make_room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_answers_for_its_host),
        cmocka_unit_test(who_is_silent_does_not),
        cmocka_unit_test(few_questions_are_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
