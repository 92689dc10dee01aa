// SPDX-License-Identifier: BSD-3-Clause
//
// The part of castoff info about decisions: the tune table that a job of these settings would use; and the decision,
// asked for jobs that could be: on this host, and between hosts. Cold.
#include "info_decisions.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plain_text.h"
#include "base/settings.h"
#include "engine/decide/decide.h"
#include "engine/decide/tune_table.h"

// 0 or -errno with the cause, as the start of a job has it.
static int load(struct co_tune_table *table, char *why, size_t why_room)
{
    const char *path = co_setting_text(CO_SET_TUNE);
    if (*path) {
        return co_tune_table_load(table, path, why, why_room);
    }
    co_tune_table_built_in(table);
    return 0;
}

int co_info_tune_check(char *why, size_t why_room)
{
    struct co_tune_table *table = calloc(1, sizeof *table);
    int failed = table ? load(table, why, why_room) : 0;
    free(table);
    return failed;
}

int co_info_tune_print(FILE *stream)
{
    enum { ROOM = CO_TUNE_ROWS_MAX * CO_TUNE_ROW_TEXT_MAX + 1 };
    struct co_tune_table *table = calloc(1, sizeof *table);
    char *text = malloc(ROOM), why[512];
    int failed = table && text ? load(table, why, sizeof why) : -ENOMEM;
    if (!failed) {
        const char *path = co_setting_text(CO_SET_TUNE);
        co_tune_table_print(table, text, ROOM);
        fputs("# The table of ", stream);
        co_plain_put(stream, *path ? path : "this release");
        fprintf(stream, "\n%s%s", co_tune_table_head, text);
    }
    free(text);
    free(table);
    return failed;
}

enum { HOSTS = 4, POWERS = 31, TEXT = 48 }; // sizes: 1 byte to 1 GiB

static bool is_usable(const struct co_transport_state states[CO_TRANSPORTS], const char *name)
{
    for (int i = 0; i < CO_TRANSPORTS; i++) {
        if (strcmp(states[i].name, name) == 0) {
            return states[i].is_usable;
        }
    }
    return false;
}

// Of the setting with the call's name.
static int policy_of(enum co_call call)
{
    char name[64] = "CASTOFF_";
    size_t used = strlen(name);
    for (const char *at = co_call_word(call); *at != '\0' && used + 1 < sizeof name; at++) {
        name[used++] = (char)toupper((unsigned char)*at);
    }
    name[used] = '\0';
    for (enum co_setting_id id = 0; id < CO_SETTING_COUNT; id++) {
        if (strcmp(co_setting_row(id)->name, name) == 0) {
            return (int)co_setting_number(id);
        }
    }
    return CO_AUTO;
}

static void print_size(char text[16], int power)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    snprintf(text, 16, "%d %s", 1 << power % 10, units[power / 10]);
}

// "16 B to 64 KiB, 1 MiB and more"; of what is never taken the reason.
static void print_sizes(char text[TEXT], const struct co_tune_table *table, const struct co_team_facts *facts,
                        enum co_call call)
{
    enum co_reason reason = CO_TAKE;
    int policy = policy_of(call), first = -1;
    size_t used = 0;
    *text = '\0';
    for (int power = 0; power <= POWERS && used < TEXT; power++) {
        enum co_reason here =
            power == POWERS ? CO_TOO_LARGE : co_decide(table, facts, call, (size_t)1 << power, policy);
        char low[16], high[16];
        reason = power == 0 ? here : reason;
        if (here == CO_TAKE) {
            first = first < 0 ? power : first;
        } else if (first >= 0) {
            print_size(low, first);
            print_size(high, power - 1);
            const char *joint = used > 0 ? ", " : "";
            if (power == POWERS) {
                used += (size_t)snprintf(text + used, TEXT - used, first == 0 ? "all" : "%s%s and more", joint, low);
            } else {
                used += (size_t)snprintf(text + used, TEXT - used, "%s%s to %s", joint, low, high);
            }
            first = -1;
        }
    }
    if (used == 0) {
        snprintf(text, TEXT, "none: %s", co_reason_text(reason));
    }
}

static void print_messages(char text[TEXT], const struct co_team_facts *facts, bool is_open)
{
    struct co_message_ways ways = {.is_open = is_open, .has_remote_channel = true};
    enum co_reason reason = co_decide_messages(facts, &ways, (int)co_setting_number(CO_SET_P2P));
    snprintf(text, TEXT, reason == CO_TAKE ? "all" : "none: %s", co_reason_text(reason));
}

static void print_row(FILE *stream, const char *calls, const char *here, const char *there)
{
    fprintf(stream, "%-27s  %-29s  %s\n", calls, here, there);
}

// Whether the persistent form of a nonblocking call goes as the call does, in both places.
static bool has_same(const struct co_tune_table *table, const struct co_team_facts *const facts[2], enum co_call call)
{
    enum co_call persistent = call;
    for (enum co_call other = 0; other < CO_CALL_COUNT; other++) {
        persistent = other != call && co_call_started(other) == call ? other : persistent;
    }
    bool is_same = persistent != call;
    for (int place = 0; place < 2 && is_same; place++) {
        char one[TEXT], two[TEXT];
        print_sizes(one, table, facts[place], call);
        print_sizes(two, table, facts[place], persistent);
        is_same = strcmp(one, two) == 0;
    }
    return is_same;
}

static void print_table(FILE *stream, const struct co_tune_table *table, const struct co_team_facts *node,
                        const struct co_team_facts *hosts, bool has_messages)
{
    const struct co_team_facts *const facts[2] = {node, hosts};
    char here[TEXT], there[TEXT];
    snprintf(here, sizeof here, "%d ranks on this host", node->ranks);
    if (hosts->max_ranks_per_node == 1) {
        snprintf(there, sizeof there, "%d hosts, a rank each", hosts->nodes);
    } else {
        snprintf(there, sizeof there, "%d ranks, %d on a host", hosts->ranks, hosts->max_ranks_per_node);
    }
    print_row(stream, "would take", here, there);
    for (enum co_call call = 0; call < CO_CALL_COUNT; call++) {
        if (co_call_started(call) != call && has_same(table, facts, co_call_started(call))) {
            continue;
        }
        char calls[64];
        snprintf(calls, sizeof calls, "%s%s", co_call_text(call), has_same(table, facts, call) ? ", persistent" : "");
        print_sizes(here, table, node, call);
        print_sizes(there, table, hosts, call);
        print_row(stream, calls, here, there);
    }
    print_messages(here, node, has_messages);
    print_messages(there, hosts, has_messages);
    print_row(stream, "messages", here, there);
}

void co_info_job_print(FILE *stream, const struct co_transport_state states[CO_TRANSPORTS],
                       const struct co_info_job *job)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int here = job->ranks > 0 ? job->ranks : cores > 1 ? (int)cores : 2;
    int each = job->ranks_per_host > 0 ? job->ranks_per_host : 1, there = job->ranks > 0 ? job->ranks : HOSTS * each;
    bool has_shm = is_usable(states, "shm"), has_verbs = is_usable(states, "verbs");
    struct co_team_facts node = {
        .ranks = here, .nodes = 1, .max_ranks_per_node = here, .transport = CO_TRANSPORT_SHM, .has_shm = has_shm};
    struct co_team_facts hosts = {.ranks = there,
                                  .nodes = (there + each - 1) / each,
                                  .max_ranks_per_node = each < there ? each : there,
                                  .transport = has_verbs ? CO_TRANSPORT_VERBS : CO_TRANSPORT_UDP,
                                  .has_multicast = has_verbs || is_usable(states, "udp"),
                                  .has_shm = has_shm};
    struct co_tune_table *table = calloc(1, sizeof *table);
    char why[512];
    if (table != NULL && load(table, why, sizeof why) == 0) { // else a warning has said it
        print_table(stream, table, &node, &hosts, is_usable(states, "p2p"));
    }
    free(table);
}
