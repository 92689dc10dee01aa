// SPDX-License-Identifier: BSD-3-Clause
//
// What `castoff coordinator status` prints: hops, groups, members, rules, with their counters. Lines of "word value"
// pairs, one idea a line, so that people and awk can read them.
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "onesided/coordinator_state.h"

enum { LINE_MAX_BYTES = 512, IP_TEXT = 16 };

struct page {
    struct co_coordinator *coordinator;
    unsigned client;
};

static void turn_page(struct page *page, bool is_last)
{
    struct co_coordination_status *status = &page->coordinator->message.status;
    status->is_last = is_last;
    co_coordinator_send(page->coordinator, page->client, CO_SAY_STATUS_TEXT);
    status->bytes = 0;
}

static void print(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void print(struct page *page, const char *format, ...)
{
    struct co_coordination_status *status = &page->coordinator->message.status;
    if (status->bytes + LINE_MAX_BYTES > CO_COORDINATION_STATUS_MAX) {
        turn_page(page, false);
    }
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(status->text + status->bytes, LINE_MAX_BYTES, format, arguments);
    va_end(arguments);
    status->bytes += (uint16_t)(length < LINE_MAX_BYTES ? length : LINE_MAX_BYTES - 1);
}

static const char *ip_text(uint32_t ip, char text[IP_TEXT])
{
    struct in_addr address = {.s_addr = htonl(ip)};
    return inet_ntop(AF_INET, &address, text, IP_TEXT);
}

static double seconds(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
}

static void print_rule(struct page *page, const struct co_coordination_hop_rule *rule)
{
    const struct co_coordinator *coordinator = page->coordinator;
    const char *name = "?";
    for (unsigned i = 0; i < coordinator->group_count; i++) {
        name = coordinator->groups[i]->id == rule->id ? coordinator->groups[i]->name : name;
    }
    print(page, "  rule %llu group %s copies %llu", (unsigned long long)rule->id, name,
          (unsigned long long)rule->copies);
    for (int i = 0; i < CO_RULE_VERDICTS; i++) {
        print(page, " %s %llu", co_rule_verdict_name((enum co_rule_verdict)i), (unsigned long long)rule->packets[i]);
    }
    print(page, "\n");
}

static void print_report(struct page *page, const struct co_coordination_hop_report *report)
{
    const struct co_hop_totals *totals = &report->totals;
    print(page, "  frames %llu bytes %llu forwarded %llu flooded %llu unsent %llu overruns %llu\n",
          (unsigned long long)totals->frames, (unsigned long long)totals->bytes, (unsigned long long)totals->forwarded,
          (unsigned long long)totals->flooded, (unsigned long long)report->unsent,
          (unsigned long long)report->overruns);
    print(page, "  group_packets %llu copies %llu copy_bytes %llu lost_on_purpose %llu malformed %llu unmatched %llu\n",
          (unsigned long long)totals->group_packets, (unsigned long long)totals->copies,
          (unsigned long long)totals->copy_bytes, (unsigned long long)totals->lost_on_purpose,
          (unsigned long long)totals->malformed, (unsigned long long)totals->unmatched);
    print(page, "  rules_now %u rules_expired %llu\n", report->rule_count, (unsigned long long)totals->expired);
    for (uint32_t i = 0; i < report->rule_count; i++) {
        print_rule(page, &report->rules[i]);
    }
}

static void print_hop(struct page *page, const struct client *client, uint64_t now_ns)
{
    char ip[IP_TEXT];
    print(page, "hop %s at %s mode %s", client->name, client->place, client->hop.mode == CO_HOP_NIC ? "nic" : "switch");
    if (client->hop.mode == CO_HOP_NIC) {
        print(page, " serves %s", ip_text(client->hop.serves_ip, ip));
    }
    print(page, " rules_max %u actions_max %u heard %.1f s ago\n", client->hop.rules, client->hop.actions,
          seconds(client->heard_ns, now_ns));
    if (client->report != NULL) {
        print_report(page, client->report);
    }
}

static void print_group(struct page *page, const struct group *group, uint64_t now_ns)
{
    static const char *const states[] = {"gathering", "setting-up", "installing", "open", "ending"};
    static const char *const member_states[] = {"joined", "ready", "leaving", "lost"};
    char ip[IP_TEXT];
    print(page, "group %s state %s address %s qpn 0x%06x bytes %llu mtu %u age %.1f s\n", group->name,
          states[group->state], ip_text(group->ip, ip), group->qpn, (unsigned long long)group->sender_open.bytes,
          group->mtu, seconds(group->since_ns, now_ns));
    if (group->has_sender) {
        print(page, "  sender %s at %s waits_for %u\n", group->sender_open.name, ip_text(group->sender_open.end.ip, ip),
              group->sender_open.members);
    }
    for (unsigned i = 0; i < group->member_count; i++) {
        const struct member *member = &group->members[i];
        print(page, "  member %s at %s qpn 0x%06x buffer %llu state %s round %u missing %u\n", member->open.name,
              ip_text(member->open.end.ip, ip), member->open.end.qpn, (unsigned long long)member->open.bytes,
              member_states[member->state], member->round, member->missing);
    }
}

void co_coordinator_status(struct co_coordinator *coordinator, unsigned client, uint64_t now_ns)
{
    struct page page = {coordinator, client};
    unsigned hops = 0;
    coordinator->message.status.bytes = 0;
    for (unsigned i = 0; i < CO_COORDINATOR_CLIENTS; i++) {
        hops += coordinator->clients[i].is_there && coordinator->clients[i].role == CO_ROLE_HOP;
    }
    print(&page, "coordinator version %d hops %u groups %u groups_opened %llu groups_failed %llu\n",
          CO_COORDINATION_VERSION, hops, coordinator->group_count, (unsigned long long)coordinator->groups_opened,
          (unsigned long long)coordinator->groups_failed);
    for (unsigned i = 0; i < CO_COORDINATOR_CLIENTS; i++) {
        if (coordinator->clients[i].is_there && coordinator->clients[i].role == CO_ROLE_HOP) {
            print_hop(&page, &coordinator->clients[i], now_ns);
        }
    }
    for (unsigned i = 0; i < coordinator->group_count; i++) {
        print_group(&page, coordinator->groups[i], now_ns);
    }
    turn_page(&page, true);
}
