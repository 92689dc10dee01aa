// SPDX-License-Identifier: BSD-3-Clause
//
// TCP carriers on a link that is down for 2 s while they talk, and while they connect: everything arrives, and nobody
// is lost. In a network namespace, whose loopback device is the link.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "tcp_carrier_rig.h"
#include "udp_namespace.h"

enum { MANY = 400, FEW = 60, DOWN_S = 2 };

static uint8_t record[CO_CARRIER_BULK_BYTES_MAX];
static unsigned records, sent, words, came, words_came;
static uint64_t until_ns;

static bool time_is_over(void)
{
    return co_clock_now_ns() >= until_ns;
}

static void link_is_down(void)
{
    namespace_run("ip link set lo down");
    until_ns = co_clock_now_ns() + DOWN_S * CO_NS_PER_S;
    tcp_rig_until(time_is_over);
    namespace_run("ip link set lo up");
}

static void say(void)
{
    for (; sent < records && tcp_rig_has_room(0, 1); sent++) {
        memcpy(record, &sent, sizeof sent);
        tcp_rig_bulk(0, 1, record, sizeof record);
    }
    for (; words < sent; words++) {
        tcp_rig_control(1, 0, &words, sizeof words);
    }
}

static void hear(int at, enum co_carrier_connection connection, unsigned *count)
{
    for (unsigned number; tcp_rig_take(at, 1 - at, connection, record) > 0; ++*count) {
        memcpy(&number, record, sizeof number);
        namespace_require(number == *count, "in order, and once");
    }
}

static bool all_has_come(void)
{
    say();
    hear(1, CO_CARRIER_BULK, &came);
    hear(0, CO_CARRIER_CONTROL, &words_came);
    return came == records && words_came == records;
}

static bool some_has_come(void)
{
    return all_has_come() || came >= records / 10;
}

static bool are_connected(void)
{
    return co_carrier_tcp_is_connected(tcp_rig.ends[0].tcp) && co_carrier_tcp_is_connected(tcp_rig.ends[1].tcp);
}

static void begin(unsigned how_many)
{
    records = how_many;
    tcp_rig_begin(2);
    tcp_rig.config.connect_ns = 30 * CO_NS_PER_S;
    tcp_rig.config.silent_ns = 30 * CO_NS_PER_S;
    tcp_rig.is_waiting = true;
    tcp_rig_open(0);
    tcp_rig_open(1);
}

static int end(void)
{
    namespace_require(!tcp_rig.ends[0].is_lost[1] && !tcp_rig.ends[1].is_lost[0], "nobody is lost");
    tcp_rig_end();
    return 0;
}

static int talk_over_it(void)
{
    begin(MANY);
    link_is_down();
    tcp_rig_until(are_connected);
    tcp_rig_until(some_has_come);
    namespace_require(came < records, "they are in the middle of it");
    link_is_down();
    tcp_rig_until(all_has_come);
    return end();
}

static int talk_and_lose(void)
{
    begin(FEW);
    tcp_rig_until(are_connected);
    tcp_rig_until(all_has_come);
    namespace_run("nft list counter ip lossy lost | grep -q 'packets [1-9]'");
    return end();
}

static void down_and_up(void **state)
{
    static const char *const commands[] = {"ip link set lo up", NULL};
    (void)state;
    namespace_enter_and(commands, talk_over_it);
}

static void one_of_twenty_is_lost(void **state)
{
    static const char *const commands[] = {
        "ip link set lo up mtu 1500 gso_max_segs 1",
        "nft add table ip lossy",
        "nft add counter ip lossy lost",
        "nft add chain ip lossy arrive '{ type filter hook input priority 0; }'",
        "nft add rule ip lossy arrive meta l4proto tcp numgen random mod 1000 '<' 50 counter name lost drop",
        NULL};
    (void)state;
    namespace_enter_and(commands, talk_and_lose);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(down_and_up), cmocka_unit_test(one_of_twenty_is_lost)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
