// SPDX-License-Identifier: BSD-3-Clause
//
// A session over hosts that are played here: it takes the network that jobs would take, sends until all is heard or
// nothing more comes, whatever is lost on the way, and does not mind who else writes to its output.
#include "tools/info/reach_session.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mix_bits.h"

enum { MOST = 64, WORDS = 1 << 17 };

static struct co_reach_session session;
static struct co_host_facts facts[CO_REACH_HOSTS_MAX];
static char words[WORDS];

// The network.
static int count, loss_permille;
static uint64_t drawn;
static bool cut[MOST][MOST];        // from, to
static int64_t mtus[MOST], carried; // what the switches carry
static const char *ways[MOST];
// The hosts.
static bool heard[CO_REACH_KINDS][MOST][MOST]; // from, to
static int sent;

static void keep_words(void *arg, const char *text)
{
    (void)arg;
    snprintf(words, sizeof words, "%s", text);
}

static int set_up(void **state)
{
    (void)state;
    memset(cut, 0, sizeof cut);
    memset(heard, 0, sizeof heard);
    memset(facts, 0, sizeof facts);
    session = (struct co_reach_session){.facts = facts, .say = keep_words, .tag = 7, .nonce = 8, .largest_bytes = 1500};
    loss_permille = sent = 0;
    drawn = 1;
    carried = 9000;
    count = 3;
    for (int i = 0; i < MOST; i++) {
        mtus[i] = 1500;
        ways[i] = "2";
    }
    snprintf(words, sizeof words, "hello\n");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    co_reach_table_release(&session.table);
    return 0;
}

static void arrive(int kind, int from, int to, size_t full_bytes)
{
    size_t bytes = co_reach_packet_bytes(kind, full_bytes, mtus[from], mtus[to]);
    drawn = co_mix_bits(drawn + 1);
    sent++;
    if (from != to && !cut[from][to] && bytes > 0 && (int64_t)bytes <= carried &&
        (int)(drawn % 1000) >= loss_permille) {
        heard[kind][from][to] = true;
    }
}

static void send_kind(int kind, int from, int to, size_t full_bytes)
{
    bool is_multicast = kind == CO_REACH_MULTICAST || kind == CO_REACH_MULTICAST_FULL;
    for (int each = 0; each < count; each++) {
        if (is_multicast || to < 0 || each == to) {
            arrive(kind, from, each, full_bytes);
        }
    }
}

static void send_all(char *rest)
{
    char *state = NULL, *full = strtok_r(rest, " ", &state), *kinds = strtok_r(NULL, " \n", &state);
    for (const char *kind = kinds; *kind != '\0' && *kind != '-'; kind++) {
        for (int from = 0; from < count; from++) {
            send_kind(*kind - '0', from, -1, strtoul(full, NULL, 10));
        }
    }
    int from, kind, to;
    for (char *one = strtok_r(NULL, ", \n", &state); one != NULL; one = strtok_r(NULL, ", \n", &state)) {
        assert_int_equal(sscanf(one, "%d.%d.%d", &from, &kind, &to), 3);
        send_kind(kind, from, to, strtoul(full, NULL, 10));
    }
}

static void answer_facts_as(int rank, int64_t said)
{
    char *line = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&line, &bytes);
    struct co_host_facts own = {
        .version = "1", .has_multicast = true, .mtu = mtus[rank], .rank = said, .ip = 0x0a4d0001 + rank, .port = 40000};
    snprintf(own.host, sizeof own.host, "h%d", rank);
    assert_non_null(stream);
    co_host_facts_print(stream, &own);
    fclose(stream);
    co_reach_session_line(&session, line);
    free(line);
}

static void answer(int rank, const char *word, const char *kinds)
{
    static char line[4096];
    if (strcmp(word, "open") == 0) {
        answer_facts_as(rank, rank);
        return;
    }
    size_t used = (size_t)snprintf(line, sizeof line, "castoff_reach %s %d",
                                   strcmp(word, "meet") == 0   ? "met"
                                   : strcmp(word, "send") == 0 ? "sent"
                                   : strcmp(word, "tell") == 0 ? "heard"
                                                               : word,
                                   rank);
    if (strcmp(word, "hello") == 0) {
        snprintf(line + used, sizeof line - used, " %d %x 0a4d0001,0a4e0001", count, 77 + rank);
    } else if (strcmp(word, "ways") == 0) {
        snprintf(line + used, sizeof line - used, " %s", ways[rank]);
    } else if (strcmp(word, "tell") == 0) {
        used += (size_t)snprintf(line + used, sizeof line - used, " 0 0 5 -1");
        for (; *kinds >= '0'; kinds++) {
            used += (size_t)snprintf(line + used, sizeof line - used, " %c", *kinds);
            for (int from = 0; from < count; from++) {
                line[used++] = heard[*kinds - '0'][from][rank] ? '1' : '0';
            }
            line[used] = '\0';
        }
    }
    co_reach_session_line(&session, line);
}

// Until it has no more words; the order in which hosts answer is another one each time.
static void play(void)
{
    for (int turn = 0; words[0] != '\0' && turn < 1000; turn++) {
        static char own[WORDS];
        memcpy(own, words, sizeof own);
        words[0] = '\0';
        char *blank = strpbrk(own, " \n"), *rest = blank + 1;
        bool has_rest = *blank == ' ';
        *blank = '\0';
        char kinds[32];
        snprintf(kinds, sizeof kinds, "%.31s", has_rest ? rest : "");
        if (strcmp(own, "send") == 0) {
            send_all(rest);
        }
        for (int i = 0; i < count; i++) {
            co_reach_session_line(&session, "Warning: Permanently added 'h1' to the list of known hosts.");
            answer((i + turn) % count, own, kinds);
            answer((i + turn) % count, own, kinds); // once too often
        }
    }
}

static int lacking(int kind)
{
    int lacks = 0;
    for (int i = 0; i < count * count; i++) {
        lacks += co_reach_lacks(&session.table, kind, i / count, i % count);
    }
    return lacks;
}

static void all_hear_all(void **state)
{
    static const int counts[] = {2, 5, 16, 64}, losses[] = {0, 10, 500};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (size_t j = 0; j < sizeof losses / sizeof losses[0]; j++) {
            tear_down(NULL);
            set_up(NULL);
            count = counts[i];
            loss_permille = losses[j];
            play();
            assert_true(session.is_over);
            assert_string_equal(session.why, "");
            for (int kind = 0; kind < CO_REACH_KINDS; kind++) {
                assert_int_equal(lacking(kind), 0);
            }
            assert_true(co_reach_heard(&session.table, CO_REACH_MULTICAST_FULL, count - 1, 0));
            assert_string_equal(facts[1].host, "h1");
            assert_true(losses[j] > 0 || session.table.rounds == 1);
        }
    }
}

static void what_is_cut_is_lacking_and_no_more(void **state)
{
    (void)state;
    count = 16;
    loss_permille = 50;
    for (int to = 0; to < count; to++) {
        cut[5][to] = true;
    }
    play();
    assert_true(session.is_over);
    assert_int_equal(lacking(CO_REACH_UNICAST), 15);
    assert_int_equal(lacking(CO_REACH_MULTICAST), 15);
    assert_int_equal(lacking(CO_REACH_UNICAST_FULL), 0); // where small ones do not come, none are sent
    assert_true(co_reach_lacks(&session.table, CO_REACH_UNICAST, 5, 9));
    assert_true(session.table.rounds >= 9); // as long as somebody hears more, and eight more
    assert_int_equal(session.table.hosts[3].dropped, 5);
    assert_int_equal(session.table.hosts[3].filtered, -1);
}

static void sizes_in_between_are_looked_for(void **state)
{
    (void)state;
    carried = 1420;
    play();
    assert_int_equal(lacking(CO_REACH_UNICAST), 0);
    assert_int_equal(lacking(CO_REACH_UNICAST_FULL), 6);
    assert_int_equal(lacking(CO_REACH_1450), 6);
    assert_int_equal(lacking(CO_REACH_1400), 0);
    assert_int_equal(session.table.full_bytes, 1500);
}

static void interfaces_say_what_large_is(void **state)
{
    (void)state;
    mtus[0] = mtus[1] = 9000;
    carried = 1500;
    play();
    assert_int_equal(lacking(CO_REACH_UNICAST_FULL), 0);
    assert_int_equal(lacking(CO_REACH_LARGE), 2); // between those two
    tear_down(NULL);
    set_up(NULL);
    mtus[2] = 1400;
    play();
    assert_int_equal(session.table.full_bytes, 1400);
    assert_int_equal(lacking(CO_REACH_LARGE), 0);
}

static void the_network_is_one_that_all_are_on(void **state)
{
    (void)state;
    ways[1] = "22";
    ways[2] = "02";
    play();
    assert_int_equal(session.near_ip, 0x0a4e0001);
    tear_down(NULL);
    set_up(NULL);
    ways[1] = "10";
    ways[2] = "20";
    play();
    assert_int_equal(session.near_ip, 0x0a4d0001);
    assert_int_equal(session.table.hosts[1].way, 1); // by routers
    assert_int_equal(session.table.hosts[2].way, 2);
    tear_down(NULL);
    set_up(NULL);
    ways[1] = "01";
    ways[2] = "10";
    play();
    assert_int_equal(session.near_ip, 0);
    assert_true(session.is_over);
}

static void a_host_that_says_nothing_is_waited_for(void **state)
{
    (void)state;
    assert_int_equal(co_reach_session_missing(&session), -1);
    co_reach_session_line(&session, "castoff_reach hello 0 3 1 0a4d0001");
    assert_int_equal(co_reach_session_missing(&session), 2);
    co_reach_session_line(&session, "castoff_reach hello 2 3 1 0a4d0001");
    co_reach_session_line(&session, "castoff_reach hello 2 3 1 0a4d0001");
    assert_int_equal(co_reach_session_missing(&session), 1);
    assert_false(session.is_over);
}

static void odd_lines_do_no_harm(void **state)
{
    static const char *const odd[] = {"",
                                      "castoff_reach",
                                      "castoff_reach hello",
                                      "castoff_reach hello -1 3 1 -",
                                      "castoff_reach hello 4 3 1 -",
                                      "castoff_reach heard 0 0 0 0 0 0111",
                                      "{\"castoff_facts\":1}"};
    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        tear_down(NULL);
        set_up(NULL);
        co_reach_session_line(&session, odd[i]);
        assert_true(!session.is_over || session.why[0] != '\0');
    }
    tear_down(NULL);
    set_up(NULL);
    co_reach_session_line(&session, "castoff_reach hello 0 513 1 -");
    assert_true(session.is_over && strstr(session.why, "512") != NULL);
    tear_down(NULL);
    set_up(NULL);
    co_reach_session_line(&session, "castoff_reach hello 0 0 1 -"); // nobody has told it
    assert_true(session.is_over && session.why[0] != '\0');
}

static void facts_of_no_host_are_nobodys(void **state)
{
    static const int64_t odd[] = {INT64_C(1) << 32, (INT64_C(1) << 32) + 1, -1, 3, INT64_MIN, INT64_MAX};
    (void)state;
    for (int rank = 0; rank < count; rank++) {
        answer(rank, "hello", "");
    }
    for (int rank = 0; rank < count; rank++) {
        answer(rank, "ways", "");
    }
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        answer_facts_as(1, odd[i]);
        assert_int_equal(co_reach_session_missing(&session), count);
    }
    answer_facts_as(1, 1);
    assert_int_equal(co_reach_session_missing(&session), count - 1);
}

static void one_host_is_over_at_once(void **state)
{
    (void)state;
    count = 1;
    play();
    assert_true(session.is_over);
    assert_int_equal(session.table.count, 1);
    assert_int_equal(sent, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_hear_all),
        TEST(what_is_cut_is_lacking_and_no_more),
        TEST(sizes_in_between_are_looked_for),
        TEST(interfaces_say_what_large_is),
        TEST(the_network_is_one_that_all_are_on),
        TEST(a_host_that_says_nothing_is_waited_for),
        TEST(odd_lines_do_no_harm),
        TEST(facts_of_no_host_are_nobodys),
        TEST(one_host_is_over_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
