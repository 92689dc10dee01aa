// SPDX-License-Identifier: BSD-3-Clause
//
// Hosts that are played, for tests of a session over them: what each hears of the others, in another order each time.
// Included by one test program at a time, whose own all of it is.
#ifndef CASTOFF_TESTS_UNIT_TOOLS_INFO_REACH_HOSTS_H
#define CASTOFF_TESTS_UNIT_TOOLS_INFO_REACH_HOSTS_H

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
#include "tools/info/reach_session.h"

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
static int64_t rates_in[MOST], rates_out[MOST]; // kbit/s
static int permille_in[MOST], permille_out[MOST];
static struct co_volley volley;
static int volleys;

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
    loss_permille = sent = volleys = 0;
    drawn = 1;
    carried = 9000;
    count = 3;
    for (int i = 0; i < MOST; i++) {
        mtus[i] = 1500;
        ways[i] = "2";
        rates_in[i] = rates_out[i] = 1000000;
        permille_in[i] = permille_out[i] = 0;
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
    if (strcmp(word, "volley") == 0) {
        int64_t kbits = rates_in[rank] < rates_out[volley.from] ? rates_in[rank] : rates_out[volley.from];
        int lost = volley.count * (permille_in[rank] + permille_out[volley.from]) / 1000;
        bool is_own = rank == volley.from;
        assert_true(is_own || volley.kbits < kbits); // nothing waits in a queue where it is counted
        snprintf(line + used, sizeof line - used, " %d %d %d 0 %" PRId64, volley.number, is_own ? 0 : volley.count,
                 is_own ? 0 : volley.count - lost, is_own ? 0 : kbits);
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
        } else if (strcmp(own, "volley") == 0) {
            assert_int_equal(sscanf(rest, "%d %d %d %zu %" SCNd64, &volley.number, &volley.from, &volley.count,
                                    &volley.bytes, &volley.kbits),
                             5);
            volleys++;
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

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

#endif
