// SPDX-License-Identifier: BSD-3-Clause
//
// What castoff info --check concludes: each thing that can be wrong has its line, and where nothing is wrong it says
// so.
#include "tools/info/check_verdict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/settings.h"

enum { HOSTS = 3 };
static struct co_host_facts hosts[HOSTS];
static int64_t overflows[HOSTS];
static struct co_check_result result;
static char *text;
static bool passes;

// Three hosts that hear each other at 800 Mbit/s.
static int set_up(void **state)
{
    (void)state;
    for (int i = 0; i < HOSTS; i++) {
        hosts[i] = (struct co_host_facts){.version = "0.2.0",
                                          .interface = "eth0",
                                          .has_library = true,
                                          .has_multicast = true,
                                          .mtu = 1500,
                                          .receive_bytes = 8 << 20,
                                          .wanted_bytes = 4 << 20};
        snprintf(hosts[i].host, sizeof hosts[i].host, "h%d", i);
        overflows[i] = 0;
    }
    result = (struct co_check_result){.hosts = hosts,
                                      .overflows = overflows,
                                      .host_count = HOSTS,
                                      .has_multicast = true,
                                      .bytes = 1 << 20,
                                      .castoff_ns = 8 * (1 << 20) / 0.8,
                                      .stock_ns = 8 * (1 << 20) / 0.2};
    co_settings_load();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(text);
    text = NULL;
    return 0;
}

static void judge(void)
{
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    passes = co_check_print(stream, &result);
    fclose(stream);
}

static int times(const char *what)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++) {
        count++;
    }
    return count;
}

static void nothing_is_to_be_changed(void **state)
{
    (void)state;
    judge();
    assert_true(passes);
    assert_int_equal(times("\nmulticast   passes between all 3 hosts\n"), 1);
    assert_int_equal(times("\nrate        800.0 Mbit/s for broadcasts of 1024 KiB, by stock MPI 200.0 Mbit/s\n"), 1);
    assert_int_equal(times("\nloss        0.00 % "), 1);
    assert_int_equal(times("to change   nothing\n"), 1);
    assert_int_equal(times("to change"), 1);
}

static void a_deaf_host(void **state)
{
    (void)state;
    result.has_multicast = false;
    result.castoff_ns = result.stock_ns;
    snprintf(result.why, sizeof result.why, "multicast is not heard by host h2 (rank 2) within 500ms");
    judge();
    assert_false(passes);
    assert_int_equal(times("multicast   does not pass: multicast is not heard by host h2"), 1);
    assert_int_equal(times("rate "), 0);
    assert_int_equal(times("to change   firewalls of the hosts: IGMP and UDP to 239.192.0.0/16"), 1);
    assert_int_equal(times("to change   the network: IGMP snooping"), 1);
    assert_int_equal(times("rp_filter"), 0);
}

static void a_strict_reverse_path(void **state)
{
    (void)state;
    hosts[1].reverse_path = 1;
    judge();
    assert_int_equal(times("rp_filter"), 0); // it passes
    free(text);
    result.has_multicast = false;
    judge();
    assert_int_equal(times("to change   h1: rp_filter is strict"), 1);
    assert_int_equal(times("net.ipv4.conf.eth0.rp_filter=2"), 1);
}

static void a_host_without_a_network(void **state)
{
    (void)state;
    result.has_multicast = hosts[2].has_multicast = false;
    snprintf(hosts[2].why, sizeof hosts[2].why, "no interface besides loopback");
    judge();
    assert_false(passes);
    assert_int_equal(times("host        h2: no multicast\n"), 1);
    assert_int_equal(times("to change   h2: no interface besides loopback\n"), 1);
    assert_int_equal(times("firewalls"), 0);
}

static void installations_that_differ(void **state)
{
    (void)state;
    snprintf(hosts[1].version, sizeof hosts[1].version, "0.1.0");
    hosts[2].has_library = false;
    judge();
    assert_int_equal(times("to change   h0 has castoff 0.2.0, h1 has 0.1.0: one installation for all\n"), 1);
    assert_int_equal(times("to change   h2: libcastoff.so is not where"), 1);
}

static void frames_that_differ(void **state)
{
    (void)state;
    hosts[1].mtu = 9000;
    judge();
    assert_int_equal(times("to change   h0 has an MTU of 1500 at eth0, h1 one of 9000 at eth0"), 1);
    free(text);
    hosts[0].mtu = hosts[2].mtu = 9000;
    judge();
    assert_int_equal(times("to change   CASTOFF_UDP_MTU=9000"), 1);
    assert_true(passes);
}

static void a_small_receive_buffer(void **state)
{
    (void)state;
    hosts[0].receive_bytes = 212992;
    judge();
    assert_int_equal(times("to change   h0: a receive buffer of 0.2 MiB was granted, 4.0 asked for: sysctl"), 1);
    free(text);
    overflows[0] = 77;
    result.again = 0.1;
    judge();
    assert_int_equal(times("to change   h0: 77 datagrams found no room: sysctl -w net.core.rmem_max=8388608"), 1);
    assert_int_equal(times("loss        10.00 %"), 1);
    assert_int_equal(times("packets are lost on the way"), 0);
}

static void losses_of_the_network(void **state)
{
    (void)state;
    result.again = 0.02;
    judge();
    assert_true(passes);
    assert_int_equal(times("to change   packets are lost on the way"), 1);
}

static void switches_that_forget(void **state)
{
    (void)state;
    result.fades_after_s = 261;
    result.again = 0.5;
    judge();
    assert_false(passes);
    assert_int_equal(times("multicast   passed between all 3 hosts, and stopped after 261 s\n"), 1);
    assert_int_equal(times("to change   a switch that snoops forgets members"), 1);
    free(text);
    result.fades_after_s = 0;
    snprintf(hosts[1].bridge, sizeof hosts[1].bridge, "br0");
    judge();
    assert_true(passes);
    assert_int_equal(times("ip link set br0 type bridge mcast_querier 1"), 1);
}

// Whether broadcasts became slower or not, and whatever was lost: what tells is whether any of it is heard at the end.
static void what_is_heard_at_the_end_has_not_stopped(void **state)
{
    (void)state;
    result.again = 0.0544;
    result.fades_after_s = 1; // by the times
    co_check_judge_end(&result, 1432);
    judge();
    assert_true(passes);
    assert_int_equal(times("\nmulticast   passes between all 3 hosts\n"), 1);
    assert_int_equal(times("to change   packets are lost on the way"), 1);
    assert_int_equal(times("snoops"), 0);
    free(text);
    result.again = 0.9; // nearly everything is lost, and still it passes
    result.fades_after_s = 20;
    co_check_judge_end(&result, result.bytes);
    judge();
    assert_true(passes);
}

static void what_is_heard_no_more_has_stopped(void **state)
{
    (void)state;
    result.again = 0.01; // late in a long job
    result.fades_after_s = 261;
    co_check_judge_end(&result, result.bytes + 1);
    judge();
    assert_false(passes);
    assert_int_equal(times("\nmulticast   passed between all 3 hosts, and stopped after 261 s\n"), 1);
    free(text);
    result.fades_after_s = 0; // the times show nothing
    co_check_judge_end(&result, 20 * result.bytes);
    judge();
    assert_false(passes);
    assert_int_equal(times("\nmulticast   passed between all 3 hosts, and stopped\n"), 1);
    assert_int_equal(times("to change   a switch that snoops forgets members"), 1);
}

// What a session found, and what each host saw of it, decides what is said; nothing general is.
static struct co_reach_evidence evidence[HOSTS];
static struct co_reach_table table = {.count = HOSTS, .hosts = evidence, .full_bytes = 1500};

static void told(struct co_reach_finding finding)
{
    static struct co_reach_verdict verdict;
    static struct co_reach_told reach;
    verdict = (struct co_reach_verdict){.findings = {finding}, .count = 1};
    reach = (struct co_reach_told){.verdict = &verdict, .table = &table, .by_rank = hosts, .near_ip = 0x0a4d0001};
    free(text);
    result.reach = &reach;
    result.has_multicast = co_reach_passes(&verdict);
    result.castoff_ns = 0;
    judge();
    assert_false(passes);
    assert_int_equal(times("to change"),
                     finding.of == CO_REACH_OF_MULTICAST && finding.what == CO_REACH_NOBODY ? 2 : 1);
}

static void what_a_session_found(void **state)
{
    (void)state;
    told((struct co_reach_finding){
        .what = CO_REACH_OUT, .of = CO_REACH_OF_UDP, .seen = CO_REACH_SEEN_REFUSED, .host = 2, .error = 1});
    assert_int_equal(times("\nmulticast   does not pass: no UDP datagram of h2 is heard\n"), 1);
    assert_int_equal(times("to change   h2: it may send no UDP datagram (Operation not permitted)"), 1);
    told((struct co_reach_finding){.what = CO_REACH_OUT, .of = CO_REACH_OF_MULTICAST, .host = 1});
    assert_int_equal(times("to change   h1: no multicast that leaves it comes to any other host"), 1);
    told((struct co_reach_finding){
        .what = CO_REACH_IN, .of = CO_REACH_OF_MULTICAST, .seen = CO_REACH_SEEN_DROPPED, .host = 0});
    assert_int_equal(times("to change   h0: multicast datagrams come to it and are dropped there"), 1);
    told((struct co_reach_finding){
        .what = CO_REACH_IN, .of = CO_REACH_OF_MULTICAST, .seen = CO_REACH_SEEN_FILTERED, .host = 1});
    assert_int_equal(times("to change   h1: rp_filter dropped what came"), 1);
    told((struct co_reach_finding){.what = CO_REACH_PATH, .of = CO_REACH_OF_UNICAST, .host = 0, .other = 2});
    assert_int_equal(times("does not pass: h2 hears no unicast UDP datagram of h0\n"), 1);
    assert_int_equal(times("to change   h0 to h2: no unicast UDP datagram arrives"), 1);
    told((struct co_reach_finding){.what = CO_REACH_NOBODY, .of = CO_REACH_OF_MULTICAST});
    assert_int_equal(times("to change   the network: IGMP snooping"), 1);
    told((struct co_reach_finding){.what = CO_REACH_IN, .of = CO_REACH_OF_FULL, .host = 1, .fits = 1400});
    assert_int_equal(times("to change   into h1: packets of 1500 bytes are lost, those of 1400 come"), 1);
    told((struct co_reach_finding){.what = CO_REACH_SAME_IP, .host = 0, .other = 2});
    assert_int_equal(times("to change   h0 and h2 both have the address"), 1);
}

// Multicast passes, and still MPI would stand still.
static void a_large_mtu_that_is_not_carried(void **state)
{
    (void)state;
    hosts[0].mtu = hosts[1].mtu = hosts[2].mtu = 9000;
    told((struct co_reach_finding){.what = CO_REACH_NOBODY, .of = CO_REACH_OF_LARGE});
    assert_int_equal(times("\nmulticast   passes between all 3 hosts\n"), 1);
    assert_int_equal(times("to change   between all hosts: packets as large as the interfaces' MTU of 9000 are lost"),
                     1);
}

// Multicast passes, and a host is named that all wait for.
static void a_host_that_is_unlike_the_others(void **state)
{
    static struct co_volley_pair pairs[HOSTS * HOSTS];
    struct co_volley_plan *volleys = &table.volleys;
    (void)state;
    for (int i = 0; i < HOSTS * HOSTS; i++) {
        pairs[i] = (struct co_volley_pair){.sent = 1000, .lost = i / HOSTS == 1 ? 31 : 0, .kbits = 200000};
        pairs[i].kbits = i % HOSTS == 2 ? 10000 : 200000;
    }
    *volleys = (struct co_volley_plan){.count = HOSTS, .pairs = pairs, .fast_kbits = 200000};
    told((struct co_reach_finding){.what = CO_REACH_OUT, .of = CO_REACH_OF_WHOLE, .host = 1});
    assert_int_equal(times("\nmulticast   passes between all 3 hosts\n"), 1);
    assert_int_equal(times("to change   h1: what it sends is lost to 3.1 %, between others to 0.0 %: its cable, "), 1);
    told((struct co_reach_finding){.what = CO_REACH_IN, .of = CO_REACH_OF_QUICK, .host = 2});
    assert_int_equal(times("to change   h2: what comes to it comes at 10.0 Mbit/s, between others at 200.0, and no "
                           "broadcast to it is faster: its link, "),
                     1);
    told((struct co_reach_finding){.what = CO_REACH_PATH, .of = CO_REACH_OF_QUICK, .host = 0, .other = 2});
    assert_int_equal(times("to change   h0 to h2: what is sent there comes at 10.0 Mbit/s, "), 1);
    *volleys = (struct co_volley_plan){.count = 0};
}

// Whose counters cannot be read, of that is said so, and what it may be.
static void what_could_not_be_seen_is_not_guessed(void **state)
{
    (void)state;
    struct co_reach_finding unseen = {
        .what = CO_REACH_IN, .of = CO_REACH_OF_UDP, .seen = CO_REACH_SEEN_UNKNOWN, .host = 1};
    told(unseen);
    assert_int_equal(times("to change   h1: whether any UDP datagram comes to it could not be seen"), 1);
}

// Names come from hosts: they may not write on the terminal what they like.
static void names_are_plain(void **state)
{
    (void)state;
    snprintf(hosts[1].host, sizeof hosts[1].host, "h\033[2J\n");
    snprintf(hosts[1].version, sizeof hosts[1].version, "\a");
    judge();
    assert_null(strchr(text, '\033'));
    assert_null(strchr(text, '\a'));
}

static void fading_wants_both_sides(void **state)
{
    double slow[32], even[32], short_one[4] = {1, 1, 9, 9};
    (void)state;
    for (int i = 0; i < 32; i++) {
        slow[i] = i < 16 ? 1e9 : 4e9;
        even[i] = 2e9;
    }
    assert_true(co_check_fades_after(slow, even, 32, 1) == 48);
    assert_true(co_check_fades_after(even, even, 32, 1) == 0);
    assert_true(co_check_fades_after(slow, slow, 32, 1) == 0); // the network became slower, for stock too
    assert_true(co_check_fades_after(short_one, short_one, 4, 1) == 0);
    assert_true(co_check_fades_after(slow, even, 0, 1) == 0);
}

// Ten rounds of both sides, at 1 Mbit/s and any other rate, in less than half a minute.
static void slow_links_get_less(void **state)
{
    (void)state;
    for (double mbit = 1; mbit < 1e5; mbit *= 2) {
        struct co_check_result trial = {
            .bytes = 8192, .castoff_ns = 8192 * 8e3 / mbit, .stock_ns = 2 * 8192 * 8e3 / mbit};
        double bytes = (double)co_check_bytes(&trial);
        assert_true(10 * 3 * bytes * 8 / mbit < 30e6);
        assert_true(bytes >= 16384);
        assert_true(mbit < 64 || bytes == 1 << 20);
    }
    assert_int_equal(co_check_bytes(&(struct co_check_result){.bytes = 8192}), 1 << 20); // no times, no reason
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_to_be_changed),
        TEST(a_deaf_host),
        TEST(a_strict_reverse_path),
        TEST(a_host_without_a_network),
        TEST(frames_that_differ),
        TEST(installations_that_differ),
        TEST(a_small_receive_buffer),
        TEST(switches_that_forget),
        TEST(losses_of_the_network),
        TEST(what_is_heard_at_the_end_has_not_stopped),
        TEST(what_is_heard_no_more_has_stopped),
        TEST(what_a_session_found),
        TEST(a_large_mtu_that_is_not_carried),
        TEST(a_host_that_is_unlike_the_others),
        TEST(what_could_not_be_seen_is_not_guessed),
        TEST(names_are_plain),
        cmocka_unit_test(fading_wants_both_sides),
        cmocka_unit_test(slow_links_get_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
