// SPDX-License-Identifier: BSD-3-Clause
//
// Any bytes as what the hosts of `castoff info --check` say: the session asks the next thing, ends, or waits, whatever
// their numbers are, and what is learnt of them can be judged.
#define _GNU_SOURCE // strsep
#include <stdlib.h>
#include <string.h>

#include "tools/info/host_counters.h"
#include "tools/info/info_transports.h"
#include "tools/info/reach_session.h"
#include "tools/launch/version.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

// What a host says of itself is not asked here.
void co_transports_probe_udp(struct co_transport_state *state, uint32_t near_ip)
{
    (void)state;
    (void)near_ip;
    abort();
}

void co_host_counters_find(struct co_host_counters *counters)
{
    (void)counters;
    abort();
}

const char *co_version_number(void)
{
    abort();
}

const char *co_version_commit(void)
{
    abort();
}

static void say(void *arg, const char *words)
{
    size_t *said = arg;
    *said += strlen(words);
    if (words[strlen(words) - 1] != '\n') {
        abort();
    }
}

static void judge(const struct co_reach_session *session)
{
    const struct co_reach_table *table = &session->table;
    for (int i = 0; i < table->volleys.count * table->volleys.count; i++) {
        int from = i / table->volleys.count, to = i % table->volleys.count;
        (void)co_volley_usual_kbits(&table->volleys, from, to);
        (void)co_volley_usual_loss(&table->volleys, from, to);
    }
    if (table->count > 0 && co_reach_session_missing(session) > table->count) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct co_host_facts facts[CO_REACH_HOSTS_MAX];
    static struct co_reach_session session;
    size_t said = 0;
    char *text = malloc(bytes + 1), *rest = text, *line;

    memset(facts, 0, sizeof facts);
    session = (struct co_reach_session){.facts = facts, .say = say, .arg = &said, .largest_bytes = 1500};
    memcpy(text, data, bytes);
    text[bytes] = '\0';
    while ((line = strsep(&rest, "\n")) != NULL) {
        char *copy = strdup(line); // exactly as long
        co_reach_session_line(&session, copy);
        free(copy);
    }
    judge(&session);
    co_reach_table_release(&session.table);
    free(text);
    return 0;
}
