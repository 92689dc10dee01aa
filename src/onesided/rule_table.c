// SPDX-License-Identifier: BSD-3-Clause
//
// Rules, their leases and their bounds; see the header. What a rule makes of a packet is rule_judge.c's.
#include "onesided/rule_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_map.h"

struct co_rule_table {
    unsigned rules_max, actions_max;
    unsigned rules, actions;
    struct co_rule **list; // dense
    struct co_hash_map by_address;
};

static uint64_t key_of(uint32_t group_ip, uint32_t qpn)
{
    return (uint64_t)group_ip << 24 | qpn;
}

int co_rule_table_open(struct co_rule_table **out, unsigned rules, unsigned actions)
{
    if (rules == 0 || rules > CO_RULE_TABLE_RULES_MAX || actions == 0 || actions > CO_RULE_TABLE_ACTIONS_MAX) {
        return -EINVAL;
    }
    struct co_rule_table *table = calloc(1, sizeof *table);
    struct co_rule **list = calloc(rules, sizeof *list);
    if (table == NULL || list == NULL) {
        free(table);
        free(list);
        return -ENOMEM;
    }
    table->rules_max = rules;
    table->actions_max = actions;
    table->list = list;
    co_hash_map_open(&table->by_address);
    *out = table;
    return 0;
}

static void free_rule(struct co_rule *rule)
{
    free(rule->actions);
    free(rule);
}

void co_rule_table_close(struct co_rule_table *table)
{
    if (table == NULL) {
        return;
    }
    for (unsigned i = 0; i < table->rules; i++) {
        free_rule(table->list[i]);
    }
    co_hash_map_close(&table->by_address);
    free(table->list);
    free(table);
}

// The place of a rule in the list, or their number.
static unsigned place_of(const struct co_rule_table *table, uint64_t id)
{
    unsigned i = 0;
    while (i < table->rules && table->list[i]->config.id != id) {
        i++;
    }
    return i;
}

static int check_config(const struct co_rule_config *config, char *why, size_t why_room)
{
    if (config->action_count == 0 || config->action_count > CO_RULE_ACTIONS_MAX) {
        snprintf(why, why_room, "a rule has 1 to %d actions, not %u", CO_RULE_ACTIONS_MAX, config->action_count);
        return -EINVAL;
    }
    if (config->group_ip == 0 || config->qpn == 0 || config->qpn > CO_ROCE_PSN_MASK || config->bytes == 0) {
        snprintf(why, why_room, "a rule needs a group address, a QPN of 24 bits and a length");
        return -EINVAL;
    }
    return 0;
}

// `old`: the rule of the same id, or NULL.
static int check_room(const struct co_rule_table *table, const struct co_rule_config *config, const struct co_rule *old,
                      char *why, size_t why_room)
{
    const struct co_rule *there = co_hash_map_get(&table->by_address, key_of(config->group_ip, config->qpn));
    if (there != NULL && there != old) {
        snprintf(why, why_room, "rule %llu has this address and QPN", (unsigned long long)there->config.id);
        return -EEXIST;
    }
    unsigned actions = table->actions - (old != NULL ? old->config.action_count : 0) + config->action_count;
    if ((old == NULL && table->rules == table->rules_max) || actions > table->actions_max) {
        snprintf(why, why_room, "the table is full: %u of %u rules, %u of %u actions, and %u more are asked for",
                 table->rules, table->rules_max, table->actions, table->actions_max, config->action_count);
        return -ENOSPC;
    }
    return 0;
}

static struct co_rule_action *make_actions(const struct co_rule_config *config, const struct co_rule *old)
{
    struct co_rule_action *actions = calloc(config->action_count, sizeof *actions);
    for (uint32_t i = 0; actions != NULL && i < config->action_count; i++) {
        actions[i].target = config->targets[i];
        for (uint32_t k = 0; old != NULL && k < old->config.action_count; k++) {
            const struct co_rule_action *before = &old->actions[k];
            if (before->target.ip == actions[i].target.ip && before->target.qpn == actions[i].target.qpn) {
                actions[i].packets = before->packets;
                actions[i].bytes = before->bytes;
            }
        }
    }
    return actions;
}

// A rule that is not in the list yet, as far as it can fail.
static struct co_rule *add_rule(struct co_rule_table *table, const struct co_rule_config *config)
{
    struct co_rule *rule = calloc(1, sizeof *rule);
    if (rule != NULL && co_hash_map_put(&table->by_address, key_of(config->group_ip, config->qpn), rule) != 0) {
        free(rule);
        rule = NULL;
    }
    return rule;
}

static bool has_moved(const struct co_rule *old, const struct co_rule_config *config)
{
    return old->config.group_ip != config->group_ip || old->config.qpn != config->qpn;
}

int co_rule_table_install(struct co_rule_table *table, const struct co_rule_config *config, uint64_t now_ns,
                          uint64_t lease_ns, char *why, size_t why_room)
{
    unsigned place = place_of(table, config->id);
    struct co_rule *old = place < table->rules ? table->list[place] : NULL;
    int error = check_config(config, why, why_room);
    if (error == 0 && old != NULL && has_moved(old, config)) {
        snprintf(why, why_room, "rule %llu has another address or QPN", (unsigned long long)config->id);
        error = -EINVAL;
    }
    error = error != 0 ? error : check_room(table, config, old, why, why_room);
    if (error != 0) {
        return error;
    }
    struct co_rule_action *actions = make_actions(config, old);
    struct co_rule *rule = actions == NULL || old != NULL ? old : add_rule(table, config);
    if (actions == NULL || rule == NULL) {
        free(actions);
        snprintf(why, why_room, "no memory for %u actions", config->action_count);
        return -ENOMEM;
    }
    if (old == NULL) {
        table->list[table->rules++] = rule;
    }
    table->actions += config->action_count - rule->config.action_count;
    free(rule->actions);
    rule->actions = actions;
    rule->config = *config;
    rule->config.targets = NULL;
    rule->until_ns = now_ns + lease_ns;
    return 0;
}

static void remove_at(struct co_rule_table *table, unsigned place)
{
    struct co_rule *rule = table->list[place];
    co_hash_map_remove(&table->by_address, key_of(rule->config.group_ip, rule->config.qpn));
    table->actions -= rule->config.action_count;
    table->list[place] = table->list[--table->rules];
    free_rule(rule);
}

int co_rule_table_remove(struct co_rule_table *table, uint64_t id, uint64_t counters[CO_RULE_VERDICTS])
{
    unsigned place = place_of(table, id);
    if (place == table->rules) {
        return -ENOENT;
    }
    if (counters != NULL) {
        memcpy(counters, table->list[place]->packets, sizeof table->list[place]->packets);
    }
    remove_at(table, place);
    return 0;
}

void co_rule_table_renew(struct co_rule_table *table, uint64_t now_ns, uint64_t lease_ns)
{
    for (unsigned i = 0; i < table->rules; i++) {
        table->list[i]->until_ns = now_ns + lease_ns;
    }
}

unsigned co_rule_table_expire(struct co_rule_table *table, uint64_t now_ns)
{
    unsigned expired = 0;
    for (unsigned i = table->rules; i-- > 0;) {
        if (now_ns >= table->list[i]->until_ns) {
            remove_at(table, i);
            expired++;
        }
    }
    return expired;
}

struct co_rule *co_rule_table_find(struct co_rule_table *table, uint32_t group_ip, uint32_t qpn)
{
    return co_hash_map_get(&table->by_address, key_of(group_ip, qpn));
}

unsigned co_rule_table_count(const struct co_rule_table *table)
{
    return table->rules;
}

unsigned co_rule_table_action_count(const struct co_rule_table *table)
{
    return table->actions;
}

const struct co_rule *co_rule_table_rule(const struct co_rule_table *table, unsigned i)
{
    return table->list[i];
}
