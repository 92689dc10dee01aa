// SPDX-License-Identifier: BSD-3-Clause
//
// The hop's side of the protocol; see the header.
#include "onesided/hop_control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "onesided/coordinator.h"

enum { REPORTS_KEPT = 16, WHY = 200 };

#define REPORT_EVERY_NS CO_NS_PER_S // or four times in a lease
#define CONNECT_EVERY_NS CO_NS_PER_S
#define LOGIN_PATIENCE_NS (5 * CO_NS_PER_S)

struct co_hop_control {
    struct co_hop_control_config config;
    struct co_hop *hop;
    bool is_linked, is_logged_in;
    struct co_tcp_link link;
    uint64_t tried_ns, login_ns, report_ns;
    uint64_t lease_ns, lease_until_ns;
    uint32_t reports;
    uint64_t sent_ns[REPORTS_KEPT]; // when report number n was sent, at n modulo that
    char last_trouble[WHY];         // said once, not every second
    struct co_coordination_message heard, message;
};

int co_hop_control_open(struct co_hop_control **out, const struct co_hop_control_config *config, struct co_hop *hop)
{
    struct co_hop_control *control = calloc(1, sizeof *control);
    if (control == NULL) {
        return -ENOMEM;
    }
    control->config = *config;
    control->hop = hop;
    control->link.socket = -1;
    *out = control;
    return 0;
}

void co_hop_control_close(struct co_hop_control *control)
{
    if (control != NULL) {
        co_tcp_close(&control->link);
        free(control);
    }
}

static void tell(struct co_hop_control *control, const char *text)
{
    if (strcmp(control->last_trouble, text) != 0) {
        snprintf(control->last_trouble, sizeof control->last_trouble, "%s", text);
        control->config.log(control->config.context, text);
    }
}

static void unlink_coordinator(struct co_hop_control *control, const char *why)
{
    char text[WHY];
    snprintf(text, sizeof text, "coordinator %.60s: %.100s", control->config.place, why);
    tell(control, text);
    co_tcp_close(&control->link);
    control->is_linked = control->is_logged_in = false;
}

static void say(struct co_hop_control *control, uint16_t kind)
{
    control->message.kind = kind;
    int error = co_tcp_message_send(&control->link, &control->message);
    if (error != 0) {
        unlink_coordinator(control, strerror(-error));
    }
}

// A hop logs in without rules: the coordinator installs what it wants anew.
static void forget_rules(struct co_hop_control *control)
{
    struct co_rule_table *table = co_hop_table(control->hop);
    while (co_rule_table_count(table) > 0) {
        co_rule_table_remove(table, co_rule_table_rule(table, 0)->config.id, NULL);
    }
}

static void log_in(struct co_hop_control *control, uint64_t now_ns)
{
    forget_rules(control);
    control->lease_ns = (uint64_t)control->heard.lease_ms * CO_NS_PER_MS;
    control->login_ns = now_ns;
    control->message.login = control->config.login;
    say(control, CO_SAY_LOGIN);
}

static uint64_t copies_of(const struct co_rule *rule)
{
    uint64_t copies = 0;
    for (uint32_t i = 0; i < rule->config.action_count; i++) {
        copies += rule->actions[i].packets;
    }
    return copies;
}

static void report(struct co_hop_control *control, uint64_t now_ns)
{
    struct co_coordination_hop_report *what = &control->message.report;
    const struct co_rule_table *table = co_hop_table(control->hop);
    unsigned rules = co_rule_table_count(table);
    *what = (struct co_coordination_hop_report){.number = ++control->reports, .totals = *co_hop_totals(control->hop)};
    control->config.count_lost(control->config.context, what);
    what->rule_count = rules < CO_COORDINATION_RULES_MAX ? rules : CO_COORDINATION_RULES_MAX;
    for (uint32_t i = 0; i < what->rule_count; i++) {
        const struct co_rule *rule = co_rule_table_rule(table, i);
        what->rules[i].id = rule->config.id;
        what->rules[i].copies = copies_of(rule);
        memcpy(what->rules[i].packets, rule->packets, sizeof rule->packets);
    }
    control->sent_ns[control->reports % REPORTS_KEPT] = now_ns;
    control->report_ns = now_ns;
    say(control, CO_SAY_HOP_REPORT);
}

static void answer(struct co_hop_control *control, uint32_t request, int error, const char *why, uint64_t now_ns)
{
    report(control, now_ns);
    if (!control->is_linked) {
        return;
    }
    control->message.answer = (struct co_coordination_answer){.request = request,
                                                              .reason = error == 0         ? CO_REASON_NONE
                                                                        : error == -ENOSPC ? CO_REASON_FULL
                                                                                           : CO_REASON_WRONG};
    snprintf(control->message.answer.text, sizeof control->message.answer.text, "%s", error == 0 ? "" : why);
    say(control, error == 0 ? CO_SAY_DONE : CO_SAY_REFUSED);
}

static void set_rule(struct co_hop_control *control, uint64_t now_ns)
{
    const struct co_coordination_rule *rule = &control->heard.rule;
    char why[WHY] = "its lease has ended";
    int error = -ETIMEDOUT;
    if (control->lease_until_ns > now_ns) {
        error = co_hop_install(control->hop, &rule->config, now_ns, control->lease_until_ns - now_ns, why, sizeof why);
    }
    answer(control, rule->request, error, why, now_ns);
}

static void remove_rule(struct co_hop_control *control, uint64_t now_ns)
{
    const struct co_coordination_removal *removal = &control->heard.removal;
    // What is not there is removed: two members who leave are two requests, the second before the first is answered.
    co_rule_table_remove(co_hop_table(control->hop), removal->id, NULL);
    answer(control, removal->request, 0, "", now_ns);
}

static void logged_in(struct co_hop_control *control, uint64_t now_ns)
{
    control->is_logged_in = true;
    control->lease_until_ns = control->login_ns + control->lease_ns;
    tell(control, "the coordinator has taken this hop");
    report(control, now_ns);
}

static void renew(struct co_hop_control *control)
{
    uint32_t number = control->heard.number;
    if (control->reports - number < REPORTS_KEPT) {
        uint64_t from_ns = control->sent_ns[number % REPORTS_KEPT];
        control->lease_until_ns = from_ns + control->lease_ns;
        co_rule_table_renew(co_hop_table(control->hop), from_ns, control->lease_ns);
    }
}

static void hear(struct co_hop_control *control, uint64_t now_ns)
{
    switch (control->heard.kind) {
    case CO_SAY_WELCOME:
        log_in(control, now_ns);
        break;
    case CO_SAY_DONE:
        logged_in(control, now_ns);
        break;
    case CO_SAY_REFUSED:
        unlink_coordinator(control, control->heard.answer.text);
        break;
    case CO_SAY_HEARTBEAT:
        renew(control);
        break;
    case CO_SAY_RULE_SET:
        set_rule(control, now_ns);
        break;
    case CO_SAY_RULE_REMOVE:
        remove_rule(control, now_ns);
        break;
    default:
        unlink_coordinator(control, "it says what no hop expects");
    }
}

static void receive(struct co_hop_control *control, uint64_t now_ns)
{
    char why[WHY];
    int error = co_tcp_send(&control->link);
    while (error == 0 && control->is_linked) {
        error = co_tcp_receive(&control->link);
        int result = 1;
        while (control->is_linked &&
               (result = co_session_next(control->link.session, &control->heard, why, sizeof why)) > 0) {
            hear(control, now_ns);
        }
        if (control->is_linked && result < 0) {
            unlink_coordinator(control, why);
        }
    }
    if (control->is_linked && error != -EAGAIN) {
        unlink_coordinator(control, error == -ECONNRESET ? "the connection has ended" : strerror(-error));
    }
}

static void try_connect(struct co_hop_control *control, uint64_t now_ns)
{
    char why[WHY];
    if (control->tried_ns != 0 && now_ns - control->tried_ns < CONNECT_EVERY_NS) {
        return;
    }
    control->tried_ns = now_ns;
    if (co_tcp_begin(&control->link, control->config.place, CO_COORDINATOR_PORT, control->config.secret, why,
                     sizeof why) == 0) {
        control->is_linked = true;
    } else {
        tell(control, why);
    }
}

void co_hop_control_progress(struct co_hop_control *control, uint64_t now_ns)
{
    if (!control->is_linked) {
        try_connect(control, now_ns);
    }
    if (control->is_linked) {
        receive(control, now_ns);
    }
    // Its rules have ended, here and for a coordinator that reads on after a pause: it gives them anew to who logs in.
    if (control->is_linked && control->is_logged_in && now_ns >= control->lease_until_ns) {
        unlink_coordinator(control, "silent: the lease has ended");
    }
    if (control->is_linked && !control->is_logged_in && now_ns - control->tried_ns > LOGIN_PATIENCE_NS) {
        unlink_coordinator(control, "no answer");
    }
    uint64_t every_ns = control->lease_ns / 4 < REPORT_EVERY_NS ? control->lease_ns / 4 : REPORT_EVERY_NS;
    if (control->is_logged_in && now_ns - control->report_ns >= every_ns) {
        report(control, now_ns);
    }
}

struct pollfd co_hop_control_watch(const struct co_hop_control *control)
{
    if (!control->is_linked) {
        return (struct pollfd){.fd = -1};
    }
    return (struct pollfd){.fd = control->link.socket, .events = co_tcp_events(&control->link)};
}
