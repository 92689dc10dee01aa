// SPDX-License-Identifier: BSD-3-Clause
//
// Opening the UDP transport: groups and ports from a job's tag, choice of the interface, limits, description, and the
// reasons of refusal.
#define _GNU_SOURCE // recvmmsg
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "udp_on_loopback.h"

static bool is_forbidden;

// Instead of the C library's: as a sandbox that has it not on its list.
int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout)
{
    if (is_forbidden) {
        errno = EPERM;
        return -1;
    }
    return (int)syscall(SYS_recvmmsg, fd, messages, count, flags, timeout);
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

static void tags_choose_groups_and_ports(void **state)
{
    (void)state;
    unsigned different = 0;

    for (unsigned i = 0; i < 20; i++) {
        struct co_udp_config config = udp_on_loopback(udp_fresh_tag());
        struct co_udp_address address;
        struct co_transport *one = udp_opened(&config, &address), *two = udp_opened(&config, &address);
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
        one = udp_opened(&config, &address);
        where(one, &other, &other_port);
        different += other.s_addr != group.s_addr || other_port != port;
        one->ops->close(one);
    }
    assert_true(different >= 19);
}

static void narrow_ranges_are_kept(void **state)
{
    (void)state;
    struct co_udp_config config = udp_on_loopback(udp_fresh_tag());
    struct co_udp_address address;
    struct in_addr group;
    unsigned port;

    config.group_range = "239.255.77.8/30";
    struct co_transport *udp = udp_opened(&config, &address);
    where(udp, &group, &port);
    assert_string_equal(inet_ntoa(group), "239.255.77.8");
    udp->ops->close(udp);
    config.group_range = "239.255.77.9";
    config.subgroups = 1;
    udp = udp_opened(&config, &address);
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
    struct co_udp_config config = udp_on_loopback(1);

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
    assert_non_null(strstr(why, "only 2 addresses for 4 groups (CASTOFF_UDP_GROUP)"));
}

static void missing_interfaces_are_explained(void **state)
{
    (void)state;
    struct co_udp_config config = udp_on_loopback(1);
    char why[256] = "";

    config.interface = "no-such-0";
    assert_int_equal(refusal(&config, why, sizeof why), -ENODEV);
    assert_non_null(strstr(why, "no-such-0"));
    assert_non_null(strstr(why, "(CASTOFF_UDP_INTERFACE)"));
    why[0] = 'x';
    assert_int_equal(refusal(&config, why, 0), -ENODEV); // no room for a reason
    assert_int_equal(why[0], 'x');
}

static void taken_ports_are_explained(void **state)
{
    (void)state;
    struct co_udp_config config = udp_on_loopback(udp_fresh_tag());
    struct co_udp_address address;
    struct co_transport *udp = udp_opened(&config, &address);
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
    struct co_udp_config config = udp_on_loopback(udp_fresh_tag());
    struct co_udp_address address;
    struct co_transport *udp = udp_opened(&config, &address);

    assert_int_equal(udp->max_datagram_bytes, 1472);
    assert_int_equal(udp->max_batch, 44); // 64 KiB of them
    assert_true(address.ip == htonl(INADDR_LOOPBACK));
    assert_true(address.port != 0);
    udp->ops->close(udp);
    config.mtu_bytes = 9000;
    udp = udp_opened(&config, &address);
    assert_int_equal(udp->max_datagram_bytes, 8972);
    assert_int_equal(udp->max_batch, 7);
    udp->ops->close(udp);
    config.plain = true;
    udp = udp_opened(&config, &address);
    assert_int_equal(udp->max_batch, 64);
    udp->ops->close(udp);
}

static void granted_buffer_is_told(void **state)
{
    (void)state;
    struct co_udp_config config = udp_on_loopback(udp_fresh_tag());
    struct co_udp_address address;
    size_t granted[2];

    for (int i = 0; i < 2; i++) {
        config.receive_buffer_bytes = i ? 100000 : 50000; // below every limit
        struct co_transport *udp = udp_opened(&config, &address);
        granted[i] = udp->receive_buffer_bytes;
        udp->ops->close(udp);
    }
    assert_int_equal(granted[0], 50000);
    assert_int_equal(granted[1], 100000);
}

static void description_names_everything(void **state)
{
    (void)state;
    struct co_udp_config config = udp_on_loopback(udp_fresh_tag());
    struct co_udp_address address;
    char text[256];

    config.plain = true;
    struct co_transport *udp = udp_opened(&config, &address);
    co_udp_describe(udp, text, sizeof text);
    assert_int_equal(strncmp(text, "lo 127.0.0.1, groups 239.192.", 29), 0);
    assert_non_null(strstr(text, "gso no, gro no, rcvbuf 1048576"));
    co_udp_describe(udp, text, 10);
    assert_string_equal(text, "lo 127.0.");
    udp->ops->close(udp);
}

static void an_interface_is_found(void **state)
{
    (void)state;
    struct co_udp_config config = udp_on_loopback(udp_fresh_tag());
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

static void forbidden_receiving_is_explained(void **state)
{
    (void)state;
    struct co_udp_config config = udp_on_loopback(udp_fresh_tag());
    char why[256] = "";

    is_forbidden = true;
    int result = refusal(&config, why, sizeof why);
    is_forbidden = false;
    assert_int_equal(result, -EPERM);
    assert_non_null(strstr(why, "recvmmsg cannot be called here: Operation not permitted"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_choose_groups_and_ports), cmocka_unit_test(narrow_ranges_are_kept),
        cmocka_unit_test(wrong_ranges_are_explained),   cmocka_unit_test(missing_interfaces_are_explained),
        cmocka_unit_test(taken_ports_are_explained),    cmocka_unit_test(datagrams_fit_the_smaller_mtu),
        cmocka_unit_test(granted_buffer_is_told),       cmocka_unit_test(description_names_everything),
        cmocka_unit_test(an_interface_is_found),        cmocka_unit_test(forbidden_receiving_is_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
