// SPDX-License-Identifier: BSD-3-Clause
//
// Who is to blame: every fault at every place, of 2, 3, 5 and 16 hosts, has the one finding that names it, with what
// the host itself saw and without; and what is in order has none.
#include "tools/info/reach_verdict.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { ROUNDS = 9 };
static const int sizes[] = {2, 3, 5, 16};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static struct co_reach_table table;
static struct co_reach_verdict verdict;

// Everybody hears everybody.
static void make(int count)
{
    co_reach_table_release(&table);
    assert_int_equal(co_reach_table_make(&table, count), 0);
    table.full_bytes = 1500;
    table.rounds = ROUNDS;
    for (int from = 0; from < count; from++) {
        table.hosts[from].ip = 0x0a4d0001 + (uint32_t)from;
        for (int to = 0; to < count; to++) {
            for (int kind = 0; kind <= CO_REACH_MULTICAST_FULL && from != to; kind++) {
                table.wanted[co_reach_at(&table, kind, from, to)] = 1;
                table.heard[co_reach_at(&table, kind, from, to)] = 1;
            }
        }
    }
}

// Small datagrams that do not come: no full ones are sent then.
static void cut(int kind, int from, int to)
{
    int full = kind == CO_REACH_UNICAST ? CO_REACH_UNICAST_FULL : CO_REACH_MULTICAST_FULL;
    if (from != to) {
        table.heard[co_reach_at(&table, kind, from, to)] = 0;
        table.heard[co_reach_at(&table, full, from, to)] = table.wanted[co_reach_at(&table, full, from, to)] = 0;
    }
}

static bool has_kind(enum co_reach_of of, int kind)
{
    return of == CO_REACH_OF_UDP || (of == CO_REACH_OF_UNICAST) == (kind == CO_REACH_UNICAST);
}

static void cut_end(enum co_reach_what what, enum co_reach_of of, int host)
{
    for (int kind = CO_REACH_UNICAST; kind <= CO_REACH_MULTICAST; kind++) {
        for (int other = 0; has_kind(of, kind) && other < table.count; other++) {
            if (what == CO_REACH_OUT) {
                cut(kind, host, other);
            } else {
                cut(kind, other, host);
            }
        }
    }
}

// As its kernel tells it.
static void give_evidence(enum co_reach_seen seen, enum co_reach_of of, int host)
{
    struct co_reach_evidence *own = &table.hosts[host];
    int64_t lost = (int64_t)(table.count - 1) * ROUNDS * (of == CO_REACH_OF_UDP ? 2 : 1);
    if (seen == CO_REACH_SEEN_REFUSED) {
        own->unicast_error = has_kind(of, CO_REACH_UNICAST) ? EPERM : 0;
        own->multicast_error = has_kind(of, CO_REACH_MULTICAST) ? EPERM : 0;
    }
    own->dropped = seen == CO_REACH_SEEN_DROPPED || seen == CO_REACH_SEEN_FILTERED ? lost
                   : seen == CO_REACH_SEEN_UNKNOWN                                 ? -1
                                                                                   : 0;
    own->filtered = seen == CO_REACH_SEEN_FILTERED ? lost : seen == CO_REACH_SEEN_UNKNOWN ? -1 : 0;
}

static void judged(enum co_reach_what what, enum co_reach_of of, int host)
{
    co_reach_judge(&verdict, &table);
    assert_int_equal(verdict.count, 1);
    assert_int_equal(verdict.findings[0].what, what);
    assert_int_equal(verdict.findings[0].of, of);
    assert_int_equal(verdict.findings[0].host, host);
    assert_false(co_reach_passes(&verdict));
}

static void every_fault_at_every_place(enum co_reach_what what, enum co_reach_seen seen, int first_size)
{
    for (int size = first_size; size < SIZES; size++) {
        for (enum co_reach_of of = CO_REACH_OF_UDP; of <= CO_REACH_OF_MULTICAST; of++) {
            for (int host = 0; host < sizes[size]; host++) {
                make(sizes[size]);
                cut_end(what, of, host);
                give_evidence(seen, of, host);
                judged(what, of, host);
                assert_int_equal(verdict.findings[0].seen, seen);
            }
        }
    }
}

static void out_is_blocked(void **state)
{
    (void)state;
    every_fault_at_every_place(CO_REACH_OUT, CO_REACH_SEEN_REFUSED, 0);
    assert_int_equal(verdict.findings[0].error, EPERM);
    every_fault_at_every_place(CO_REACH_OUT, CO_REACH_SEEN_NOTHING, 1);
}

static void in_is_blocked(void **state)
{
    (void)state;
    every_fault_at_every_place(CO_REACH_IN, CO_REACH_SEEN_DROPPED, 0);
    every_fault_at_every_place(CO_REACH_IN, CO_REACH_SEEN_FILTERED, 0);
    every_fault_at_every_place(CO_REACH_IN, CO_REACH_SEEN_NOTHING, 1);
    every_fault_at_every_place(CO_REACH_IN, CO_REACH_SEEN_UNKNOWN, 1);
}

// At which of two a way ends nobody can tell who has no counters that speak.
static void of_two_hosts_neither_is_guessed(void **state)
{
    (void)state;
    for (enum co_reach_of of = CO_REACH_OF_UDP; of <= CO_REACH_OF_MULTICAST; of++) {
        for (int host = 0; host < 2; host++) {
            make(2);
            cut_end(CO_REACH_OUT, of, host);
            judged(CO_REACH_PATH, of, host);
            assert_int_equal(verdict.findings[0].other, 1 - host);
        }
    }
}

static void nobody_hears_anybody(void **state)
{
    (void)state;
    for (int size = 0; size < SIZES; size++) {
        for (enum co_reach_of of = CO_REACH_OF_UDP; of <= CO_REACH_OF_MULTICAST; of++) {
            make(sizes[size]);
            for (int host = 0; host < sizes[size]; host++) {
                cut_end(CO_REACH_OUT, of, host);
            }
            judged(CO_REACH_NOBODY, of, 0);
        }
    }
}

// The rules of a cluster's image: each drops what comes, or lets nothing out, and each says so.
static void all_hosts_say_the_same_of_themselves(void **state)
{
    (void)state;
    make(5);
    for (int host = 0; host < 5; host++) {
        cut_end(CO_REACH_IN, CO_REACH_OF_MULTICAST, host);
        give_evidence(CO_REACH_SEEN_DROPPED, CO_REACH_OF_MULTICAST, host);
    }
    co_reach_judge(&verdict, &table);
    assert_int_equal(verdict.count, 5);
    for (int host = 0; host < 5; host++) {
        assert_int_equal(verdict.findings[host].what, CO_REACH_IN);
        assert_int_equal(verdict.findings[host].host, host);
        assert_int_equal(verdict.findings[host].seen, CO_REACH_SEEN_DROPPED);
    }
}

static void one_way_between_two_of_many(void **state)
{
    (void)state;
    for (int from = 0; from < 5; from++) {
        for (int to = 0; to < 5; to++) {
            if (from != to) {
                make(5);
                cut(CO_REACH_UNICAST, from, to);
                cut(CO_REACH_MULTICAST, from, to);
                judged(CO_REACH_PATH, CO_REACH_OF_UDP, from);
                assert_int_equal(verdict.findings[0].other, to);
            }
        }
    }
    make(5);
    cut(CO_REACH_MULTICAST, 3, 1);
    judged(CO_REACH_PATH, CO_REACH_OF_MULTICAST, 3);
}

// Of two faults neither hides the other, at all pairs of places.
static void two_faults_at_once(void **state)
{
    (void)state;
    for (int out = 0; out < 5; out++) {
        for (int in = 0; in < 5; in++) {
            make(5);
            cut_end(CO_REACH_OUT, CO_REACH_OF_MULTICAST, out);
            cut_end(CO_REACH_IN, CO_REACH_OF_UDP, in);
            co_reach_judge(&verdict, &table);
            assert_int_equal(verdict.count, 2);
            assert_int_equal(verdict.findings[0].what, CO_REACH_OUT);
            assert_int_equal(verdict.findings[0].of, CO_REACH_OF_MULTICAST);
            assert_int_equal(verdict.findings[0].host, out);
            assert_int_equal(verdict.findings[1].what, CO_REACH_IN);
            assert_int_equal(verdict.findings[1].of, CO_REACH_OF_UDP);
            assert_int_equal(verdict.findings[1].host, in);
        }
    }
    for (int first = 0; first < 5; first++) {
        for (int second = first + 1; second < 5; second++) {
            make(5);
            cut_end(CO_REACH_OUT, CO_REACH_OF_UDP, first);
            cut_end(CO_REACH_OUT, CO_REACH_OF_UDP, second);
            co_reach_judge(&verdict, &table);
            assert_int_equal(verdict.count, 2);
            assert_int_equal(verdict.findings[0].host, first);
            assert_int_equal(verdict.findings[1].host, second);
            assert_int_equal(verdict.findings[1].what, CO_REACH_OUT);
        }
    }
}

// Much more than was sent to a host was dropped there: that is other traffic.
static void other_traffic_is_no_evidence(void **state)
{
    (void)state;
    make(2);
    cut_end(CO_REACH_OUT, CO_REACH_OF_UDP, 0);
    table.hosts[1].dropped = 100000;
    judged(CO_REACH_PATH, CO_REACH_OF_UDP, 0);
    table.hosts[1].dropped = 3; // a word of some router's
    judged(CO_REACH_PATH, CO_REACH_OF_UDP, 0);
}

static void packets_that_are_too_large(void **state)
{
    (void)state;
    for (int host = 0; host < 3; host++) {
        make(3);
        for (int other = 0; other < 3; other++) {
            if (other != host) {
                table.heard[co_reach_at(&table, CO_REACH_UNICAST_FULL, other, host)] = 0;
                table.heard[co_reach_at(&table, CO_REACH_MULTICAST_FULL, other, host)] = 0;
                for (int kind = CO_REACH_1450; kind <= CO_REACH_1280; kind++) {
                    table.wanted[co_reach_at(&table, kind, other, host)] = 1;
                    table.heard[co_reach_at(&table, kind, other, host)] = kind != CO_REACH_1450;
                }
            }
        }
        judged(CO_REACH_IN, CO_REACH_OF_FULL, host);
        assert_int_equal(verdict.findings[0].fits, 1400);
    }
    make(3);
    for (int i = 0; i < 9; i++) {
        table.wanted[co_reach_at(&table, CO_REACH_LARGE, i / 3, i % 3)] = i / 3 != i % 3;
    }
    co_reach_judge(&verdict, &table);
    assert_int_equal(verdict.count, 1);
    assert_int_equal(verdict.findings[0].what, CO_REACH_NOBODY);
    assert_int_equal(verdict.findings[0].of, CO_REACH_OF_LARGE);
    assert_true(co_reach_passes(&verdict)); // castoff's are smaller
}

// Of volleys: who is slow or loses, and what is no matter of any one host.
static void grade(int kind, int from, int to, bool is_good)
{
    table.wanted[co_reach_at(&table, kind, from, to)] = from != to;
    table.heard[co_reach_at(&table, kind, from, to)] = from != to && is_good;
}

static void grade_ends(int kind, int out, int in)
{
    for (int from = 0; from < table.count; from++) {
        for (int to = 0; to < table.count; to++) {
            grade(kind, from, to, from != out && to != in);
        }
    }
}

static void who_is_unlike_the_others(void **state)
{
    (void)state;
    for (int kind = CO_REACH_WHOLE; kind <= CO_REACH_QUICK; kind++) {
        enum co_reach_of of = kind == CO_REACH_WHOLE ? CO_REACH_OF_WHOLE : CO_REACH_OF_QUICK;
        for (int size = 1; size < SIZES; size++) {
            for (int host = 0; host < sizes[size]; host++) {
                make(sizes[size]);
                grade_ends(kind, host, -1);
                co_reach_judge(&verdict, &table);
                assert_int_equal(verdict.count, 1);
                assert_int_equal(verdict.findings[0].what, CO_REACH_OUT);
                assert_int_equal(verdict.findings[0].of, of);
                assert_int_equal(verdict.findings[0].host, host);
                assert_true(co_reach_passes(&verdict) && co_reach_is_fit_to_measure(&verdict));
                grade_ends(kind, -1, host);
                co_reach_judge(&verdict, &table);
                assert_int_equal(verdict.count, 1);
                assert_int_equal(verdict.findings[0].what, CO_REACH_IN);
                assert_int_equal(verdict.findings[0].host, host);
                grade_ends(kind, host, host);
                co_reach_judge(&verdict, &table);
                assert_int_equal(verdict.count, 2);
            }
        }
    }
}

static void a_network_that_loses_is_no_hosts_fault(void **state)
{
    (void)state;
    for (int size = 0; size < SIZES; size++) {
        make(sizes[size]);
        for (int i = 0; i < table.count * table.count; i++) {
            grade(CO_REACH_WHOLE, i / table.count, i % table.count, false);
        }
        co_reach_judge(&verdict, &table);
        assert_int_equal(verdict.count, 0);
    }
    make(16); // and where some pairs happen to lose less
    for (int i = 0; i < table.count * table.count; i++) {
        grade(CO_REACH_WHOLE, i / table.count, i % table.count, i % 7 == 0);
    }
    co_reach_judge(&verdict, &table);
    assert_int_equal(verdict.count, 0);
    make(2); // one of two directions
    grade(CO_REACH_QUICK, 0, 1, false);
    grade(CO_REACH_QUICK, 1, 0, true);
    co_reach_judge(&verdict, &table);
    assert_int_equal(verdict.count, 1);
    assert_int_equal(verdict.findings[0].what, CO_REACH_PATH);
    assert_int_equal(verdict.findings[0].host, 0);
}

static void one_address_twice(void **state)
{
    (void)state;
    make(3);
    table.hosts[2].ip = table.hosts[0].ip;
    judged(CO_REACH_SAME_IP, CO_REACH_OF_UDP, 0);
    assert_int_equal(verdict.findings[0].other, 2);
}

static void nothing_is_wrong(void **state)
{
    (void)state;
    for (int size = 0; size < SIZES; size++) {
        make(sizes[size]);
        table.hosts[0].dropped = 5000; // of what others sent
        table.hosts[1].dropped = -1;
        co_reach_judge(&verdict, &table);
        assert_int_equal(verdict.count, 0);
        assert_true(co_reach_passes(&verdict));
    }
    co_reach_table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(out_is_blocked),
        cmocka_unit_test(in_is_blocked),
        cmocka_unit_test(of_two_hosts_neither_is_guessed),
        cmocka_unit_test(nobody_hears_anybody),
        cmocka_unit_test(all_hosts_say_the_same_of_themselves),
        cmocka_unit_test(one_way_between_two_of_many),
        cmocka_unit_test(two_faults_at_once),
        cmocka_unit_test(other_traffic_is_no_evidence),
        cmocka_unit_test(packets_that_are_too_large),
        cmocka_unit_test(who_is_unlike_the_others),
        cmocka_unit_test(a_network_that_loses_is_no_hosts_fault),
        cmocka_unit_test(one_address_twice),
        cmocka_unit_test(nothing_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
