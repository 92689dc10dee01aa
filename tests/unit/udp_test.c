// SPDX-License-Identifier: BSD-3-Clause
//
// What only the UDP transport has: groups and ports from a job's tag, choice of the interface, reasons of refusal,
// offload in system calls, processes of one host, and jobs that must not hear each other. What it shares with the
// other transports is in transport_contract.c.
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/counters.h"
#include "mcast/transport/udp.h"

#define WAIT_MS 10000

static uint64_t fresh_tag(void)
{
    static uint64_t jobs;
    return ((uint64_t)getpid() << 32) + 1000000 + jobs++; // tests may run side by side
}

static struct co_udp_config on_loopback(uint64_t tag)
{
    return (struct co_udp_config){.interface = "lo",
                                  .group_range = "239.192.0.0/16",
                                  .job_tag = tag,
                                  .subgroups = 4,
                                  .ttl = 0,
                                  .mtu_bytes = 1500,
                                  .receive_buffer_bytes = 1 << 20,
                                  .send_buffer_bytes = 1 << 18};
}

static struct co_transport *opened(const struct co_udp_config *config, struct co_udp_address *address)
{
    struct co_transport *udp = NULL;
    char why[256] = "";

    if (co_udp_open(&udp, config, address, why, sizeof why) != 0) {
        fail_msg("%s", why);
    }
    return udp;
}

static int refusal(const struct co_udp_config *config, char *why, size_t room)
{
    struct co_transport *udp = NULL;
    struct co_udp_address address;
    int result = co_udp_open(&udp, config, &address, why, room);

    assert_null(udp);
    return result;
}

// "239.192.7.4 port 41234" out of the description.
static void where(const struct co_transport *udp, struct in_addr *group, unsigned *port)
{
    char text[256], ip[64];

    co_udp_describe(udp, text, sizeof text);
    assert_int_equal(sscanf(strstr(text, "group"), "group%*[s ]%63[0-9.]", ip), 1);
    assert_int_equal(inet_pton(AF_INET, ip, group), 1);
    *port = (unsigned)strtoul(strstr(text, "port ") + 5, NULL, 10);
}

static void count_bytes(void *arg, const uint8_t *data, size_t size)
{
    (void)data;
    *(size_t *)arg += size;
}

static bool sleep_on(struct co_transport *udp)
{
    struct pollfd fds[32];
    int count = udp->ops->descriptors(udp, fds, 32, 0);

    return poll(fds, (nfds_t)count, WAIT_MS) > 0;
}

static void tags_choose_groups_and_ports(void **state)
{
    (void)state;
    unsigned different = 0;

    for (unsigned i = 0; i < 20; i++) {
        struct co_udp_config config = on_loopback(fresh_tag());
        struct co_udp_address address;
        struct co_transport *one = opened(&config, &address), *two = opened(&config, &address);
        struct in_addr group, again, other;
        unsigned port, port_again, other_port;
        where(one, &group, &port);
        where(two, &again, &port_again);
        assert_int_equal(group.s_addr, again.s_addr); // every host computes the same
        assert_int_equal(port, port_again);
        assert_in_range(port, 20000, 32767); // not among the ports of clients
        assert_int_equal(ntohl(group.s_addr) >> 16, 0xefc0);
        one->ops->close(one);
        two->ops->close(two);
        config.job_tag++;
        one = opened(&config, &address);
        where(one, &other, &other_port);
        different += other.s_addr != group.s_addr || other_port != port;
        one->ops->close(one);
    }
    assert_true(different >= 19);
}

static void narrow_ranges_are_kept(void **state)
{
    (void)state;
    struct co_udp_config config = on_loopback(fresh_tag());
    struct co_udp_address address;
    struct in_addr group;
    unsigned port;

    config.group_range = "239.255.77.8/30";
    struct co_transport *udp = opened(&config, &address);
    where(udp, &group, &port);
    assert_string_equal(inet_ntoa(group), "239.255.77.8");
    udp->ops->close(udp);
    config.group_range = "239.255.77.9";
    config.subgroups = 1;
    udp = opened(&config, &address);
    where(udp, &group, &port);
    assert_string_equal(inet_ntoa(group), "239.255.77.9");
    udp->ops->close(udp);
}

static void wrong_ranges_are_explained(void **state)
{
    (void)state;
    static const char *const ranges[] = {"",           "192.168.0.0/16", "239.192.0.0/33", "239.192.0.0/",
                                         "239.192/16", "239.192.0.0/3",  "239.192.0.0/-1", "239.192.0.0/x",
                                         "ff02::1/16", "239.192.0.0/16x"};
    struct co_udp_config config = on_loopback(1);

    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        char why[256] = "";
        config.group_range = ranges[i];
        assert_int_equal(refusal(&config, why, sizeof why), -EINVAL);
        assert_non_null(strstr(why, "multicast addresses"));
        assert_non_null(strstr(why, ranges[i]));
    }
    char why[256] = "";
    config.group_range = "239.192.0.0/31";
    assert_int_equal(refusal(&config, why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "only 2 addresses for 4 groups"));
}

static void missing_interfaces_are_explained(void **state)
{
    (void)state;
    struct co_udp_config config = on_loopback(1);
    char why[256] = "";

    config.interface = "no-such-0";
    assert_int_equal(refusal(&config, why, sizeof why), -ENODEV);
    assert_non_null(strstr(why, "no-such-0"));
    why[0] = 'x';
    assert_int_equal(refusal(&config, why, 0), -ENODEV); // no room for a reason
    assert_int_equal(why[0], 'x');
}

static void taken_ports_are_explained(void **state)
{
    (void)state;
    struct co_udp_config config = on_loopback(fresh_tag());
    struct co_udp_address address;
    struct co_transport *udp = opened(&config, &address);
    struct in_addr group;
    unsigned port;
    char why[256] = "", text[32];

    where(udp, &group, &port);
    udp->ops->close(udp);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    assert_int_equal(bind(fd, (struct sockaddr *)&any, sizeof any), 0);
    assert_int_equal(refusal(&config, why, sizeof why), -EADDRINUSE);
    snprintf(text, sizeof text, "%u", port);
    assert_non_null(strstr(why, text));
    close(fd);
}

static void datagrams_fit_the_smaller_mtu(void **state)
{
    (void)state;
    struct co_udp_config config = on_loopback(fresh_tag());
    struct co_udp_address address;
    struct co_transport *udp = opened(&config, &address);

    assert_int_equal(udp->max_datagram_bytes, 1472);
    assert_int_equal(udp->max_batch, 44); // 64 KiB of them
    assert_true(address.ip == htonl(INADDR_LOOPBACK));
    assert_true(address.port != 0);
    udp->ops->close(udp);
    config.mtu_bytes = 9000;
    udp = opened(&config, &address);
    assert_int_equal(udp->max_datagram_bytes, 8972);
    assert_int_equal(udp->max_batch, 7);
    udp->ops->close(udp);
    config.plain = true;
    udp = opened(&config, &address);
    assert_int_equal(udp->max_batch, 64);
    udp->ops->close(udp);
}

static void granted_buffer_is_told(void **state)
{
    (void)state;
    struct co_udp_config config = on_loopback(fresh_tag());
    struct co_udp_address address;
    size_t granted[2];

    for (int i = 0; i < 2; i++) {
        config.receive_buffer_bytes = i ? 100000 : 50000; // below every limit
        struct co_transport *udp = opened(&config, &address);
        granted[i] = udp->receive_buffer_bytes;
        udp->ops->close(udp);
    }
    assert_int_equal(granted[0], 50000);
    assert_int_equal(granted[1], 100000);
}

static void description_names_everything(void **state)
{
    (void)state;
    struct co_udp_config config = on_loopback(fresh_tag());
    struct co_udp_address address;
    char text[256];

    config.plain = true;
    struct co_transport *udp = opened(&config, &address);
    co_udp_describe(udp, text, sizeof text);
    assert_int_equal(strncmp(text, "lo 127.0.0.1, groups 239.192.", 29), 0);
    assert_non_null(strstr(text, "gso no, gro no, rcvbuf 1048576"));
    co_udp_describe(udp, text, 10);
    assert_string_equal(text, "lo 127.0.");
    udp->ops->close(udp);
}

static void connecting_is_checked(void **state)
{
    (void)state;
    struct co_udp_config config = on_loopback(fresh_tag());
    struct co_udp_address address;
    struct co_transport *udp = opened(&config, &address);
    struct co_tx_datagram datagram = {.head = "x", .head_bytes = 1};

    assert_int_equal(udp->ops->send(udp, (struct co_destination){CO_TO_PEER, 0}, &datagram, 1), -EINVAL);
    assert_int_equal(udp->ops->send(udp, (struct co_destination){CO_TO_GROUP, 3}, &datagram, 1), 1);
    assert_int_equal(udp->ops->send(udp, (struct co_destination){CO_TO_GROUP, 4}, &datagram, 1), -EINVAL);
    assert_int_equal(co_udp_connect(udp, &address, 0, 0), -EINVAL);
    assert_int_equal(co_udp_connect(udp, &address, 1, 1), -EINVAL);
    assert_int_equal(co_udp_connect(udp, &address, 1, 0), 0);
    assert_int_equal(co_udp_connect(udp, &address, 1, 0), -EINVAL);
    udp->ops->close(udp);
}

// One MiB of full datagrams in batches as large as the transport likes; counts the system calls of both sides.
static void transfer_mib(bool plain, uint64_t *send_calls, uint64_t *receive_calls)
{
    struct co_udp_config config = on_loopback(fresh_tag());
    struct co_udp_address addresses[2];
    struct co_tx_datagram batch[64];
    static uint8_t bytes[1472];
    size_t sent = 0, received = 0;

    config.plain = plain;
    struct co_transport *from = opened(&config, &addresses[0]), *to = opened(&config, &addresses[1]);
    for (int i = 0; i < 64; i++) {
        batch[i] = (struct co_tx_datagram){.head = bytes,
                                           .head_bytes = 40,
                                           .payload = bytes + 40,
                                           .payload_bytes = 1416,
                                           .tail = bytes,
                                           .tail_bytes = 16};
    }
    assert_int_equal(to->ops->join(to, 2), 0);
    *send_calls = co_counter_read(CO_COUNT_SEND_CALLS);
    *receive_calls = co_counter_read(CO_COUNT_RECEIVE_CALLS);
    while (received < 1 << 20) {
        int result = from->ops->send(from, (struct co_destination){CO_TO_GROUP, 2}, batch, from->max_batch);
        assert_true(result >= 0);
        sent += (size_t)result * 1472;
        while (received < sent) {
            assert_true(to->ops->poll(to, 256, count_bytes, &received) >= 0);
            if (received < sent) {
                assert_true(sleep_on(to));
            }
        }
    }
    *send_calls = co_counter_read(CO_COUNT_SEND_CALLS) - *send_calls;
    *receive_calls = co_counter_read(CO_COUNT_RECEIVE_CALLS) - *receive_calls;
    from->ops->close(from);
    to->ops->close(to);
}

static void a_mebibyte_takes_few_system_calls(void **state)
{
    (void)state;
    uint64_t send_calls, receive_calls;

    transfer_mib(false, &send_calls, &receive_calls);
    print_message("offload: %u sending, %u receiving calls\n", (unsigned)send_calls, (unsigned)receive_calls);
    assert_true(send_calls <= 17);
    transfer_mib(true, &send_calls, &receive_calls);
    print_message("plain: %u sending, %u receiving calls\n", (unsigned)send_calls, (unsigned)receive_calls);
    assert_true(send_calls <= 20);
}

static void other_jobs_are_not_heard(void **state)
{
    (void)state;
    struct co_udp_config mine = on_loopback(fresh_tag()), theirs = on_loopback(fresh_tag());
    struct co_udp_address addresses[2];
    struct co_tx_datagram datagram = {.head = "12345", .head_bytes = 5};
    struct co_transport *here = opened(&mine, &addresses[0]), *there = opened(&theirs, &addresses[1]);
    size_t received = 0;

    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(here->ops->join(here, i), 0);
        assert_int_equal(there->ops->send(there, (struct co_destination){CO_TO_GROUP, i}, &datagram, 1), 1);
    }
    assert_int_equal(co_udp_connect(there, addresses, 2, 1), 0);
    assert_int_equal(there->ops->send(there, (struct co_destination){CO_TO_PEER, 0}, &datagram, 1), 1);
    assert_true(sleep_on(here));
    while (here->ops->poll(here, 64, count_bytes, &received) > 0) {
    }
    assert_int_equal(received, 5); // the unicast one
    here->ops->close(here);
    there->ops->close(there);
}

// Hears three datagrams in a process of its own; its status says whether they came.
static pid_t start_listener(const struct co_udp_config *config, int ready)
{
    pid_t pid = fork();

    if (pid == 0) {
        struct co_udp_address address;
        struct co_transport *udp = NULL;
        char why[256];
        size_t received = 0;
        bool is_up = co_udp_open(&udp, config, &address, why, sizeof why) == 0 && udp->ops->join(udp, 0) == 0;
        if (write(ready, is_up ? "y" : "n", 1) != 1 || !is_up) {
            _exit(2);
        }
        while (received < 3 * 5 && sleep_on(udp)) {
            udp->ops->poll(udp, 64, count_bytes, &received);
        }
        _exit(received == 3 * 5 ? 0 : 1);
    }
    return pid;
}

static void processes_of_a_host_each_get_a_copy(void **state)
{
    (void)state;
    enum { LISTENERS = 3 };
    struct co_udp_config config = on_loopback(fresh_tag());
    struct co_udp_address address;
    struct co_transport *udp = opened(&config, &address);
    struct co_tx_datagram datagrams[3];
    pid_t listeners[LISTENERS];
    int ready[2];

    assert_int_equal(pipe(ready), 0);
    for (int i = 0; i < LISTENERS; i++) {
        char answer = 'n';
        listeners[i] = start_listener(&config, ready[1]);
        assert_true(listeners[i] > 0);
        assert_int_equal(read(ready[0], &answer, 1), 1);
        assert_int_equal(answer, 'y');
        datagrams[i] = (struct co_tx_datagram){.head = "12345", .head_bytes = 5};
    }
    assert_int_equal(udp->ops->send(udp, (struct co_destination){CO_TO_GROUP, 0}, datagrams, 3), 3);
    for (int i = 0; i < LISTENERS; i++) {
        int status = -1;
        assert_int_equal(waitpid(listeners[i], &status, 0), listeners[i]);
        assert_int_equal(status, 0);
    }
    close(ready[0]);
    close(ready[1]);
    udp->ops->close(udp);
}

static void an_interface_is_found(void **state)
{
    (void)state;
    struct co_udp_config config = on_loopback(fresh_tag());
    struct co_udp_address address;
    struct co_transport *udp = NULL;
    char why[256] = "", text[256];

    config.interface = "";
    int result = co_udp_open(&udp, &config, &address, why, sizeof why);
    if (result == -ENODEV) {
        assert_non_null(strstr(why, "loopback"));
        skip(); // a host without a network
    }
    assert_int_equal(result, 0);
    co_udp_describe(udp, text, sizeof text);
    assert_true(strncmp(text, "lo ", 3) != 0);
    udp->ops->close(udp);
    config.near_ip = address.ip; // the way to an own address is loopback's: falls back to the first
    assert_int_equal(co_udp_open(&udp, &config, &address, why, sizeof why), 0);
    udp->ops->close(udp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_choose_groups_and_ports),
        cmocka_unit_test(narrow_ranges_are_kept),
        cmocka_unit_test(wrong_ranges_are_explained),
        cmocka_unit_test(missing_interfaces_are_explained),
        cmocka_unit_test(taken_ports_are_explained),
        cmocka_unit_test(datagrams_fit_the_smaller_mtu),
        cmocka_unit_test(granted_buffer_is_told),
        cmocka_unit_test(description_names_everything),
        cmocka_unit_test(connecting_is_checked),
        cmocka_unit_test(a_mebibyte_takes_few_system_calls),
        cmocka_unit_test(other_jobs_are_not_heard),
        cmocka_unit_test(processes_of_a_host_each_get_a_copy),
        cmocka_unit_test(an_interface_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
