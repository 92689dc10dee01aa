// SPDX-License-Identifier: BSD-3-Clause
//
// The text form of a fault plan (CASTOFF_FAULT): a strict parser. The text is a user's, so every word is checked;
// numbers do not depend on the locale. Pure; called by the parser of settings, by who injects the faults, and by tests.
#include "base/settings/fault_plan.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/settings/settings_number.h"

#define WORD_MAX 64
#define RATE_UNITS INT64_C(1000000000) // rates have nine decimals

static const struct co_setting_row hold_time = {
    .name = "delay", .type = CO_SETTING_TIME, .value = "1ms", .min = 1, .max = 60 * (int64_t)CO_NS_PER_S};

static const struct {
    const char *name;
    unsigned bit;
} kinds[] = {
    {"data", CO_FAULT_DATA}, {"repair", CO_FAULT_REPAIR}, {"control", CO_FAULT_CONTROL}, {"all", CO_FAULT_ALL}};

// "0", "1", "0.25", ".5": a probability.
static int parse_rate(double *rate, const char *text)
{
    int64_t units = 0, scale = RATE_UNITS;
    const char *at = text;
    bool has_digit = false;
    for (; isdigit((unsigned char)*at); at++) {
        units = units * 10 + (*at - '0');
        has_digit = true;
        if (units > 1) {
            return -EINVAL;
        }
    }
    units *= RATE_UNITS;
    if (*at == '.') {
        for (at++; isdigit((unsigned char)*at); at++) {
            scale /= 10; // further digits than nine count nothing
            units += (*at - '0') * scale;
            has_digit = true;
        }
    }
    if (!has_digit || *at != '\0' || units > RATE_UNITS) {
        return -EINVAL;
    }
    *rate = (double)units / (double)RATE_UNITS;
    return 0;
}

static int parse_number(uint64_t *number, const char *text, uint64_t most)
{
    uint64_t value = 0;
    if (*text == '\0') {
        return -EINVAL;
    }
    for (; *text; text++) {
        if (!isdigit((unsigned char)*text) || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value)) {
            return -EINVAL;
        }
    }
    *number = value;
    return value <= most ? 0 : -EINVAL;
}

static int parse_kinds(struct co_fault_plan *plan, char *text)
{
    char *rest = NULL;
    plan->kinds = 0;
    for (char *word = strtok_r(text, "+", &rest); word; word = strtok_r(NULL, "+", &rest)) {
        unsigned bit = 0;
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
            bit |= strcmp(word, kinds[i].name) == 0 ? kinds[i].bit : 0;
        }
        if (bit == 0) {
            return -EINVAL;
        }
        plan->kinds |= bit;
    }
    return plan->kinds ? 0 : -EINVAL;
}

static int parse_delay(struct co_fault_plan *plan, char *text)
{
    char *colon = strchr(text, ':');
    if (colon) {
        int64_t hold_ns = 0;
        *colon = '\0';
        if (co_setting_number_parse(&hold_time, colon + 1, &hold_ns) != 0 || hold_ns < 1) {
            return -EINVAL;
        }
        plan->delay_ns = (uint64_t)hold_ns;
    }
    return parse_rate(&plan->delay, text);
}

static int parse_script(struct co_fault_plan *plan, char *text)
{
    char *rest = NULL;
    plan->script_count = 0;
    for (char *word = strtok_r(text, ":", &rest); word; word = strtok_r(NULL, ":", &rest)) {
        if (plan->script_count == CO_FAULT_SCRIPT_MAX ||
            parse_number(&plan->script[plan->script_count], word, UINT64_MAX) != 0) {
            return -EINVAL;
        }
        plan->script_count++;
    }
    return plan->script_count ? 0 : -EINVAL;
}

static int parse_rank(struct co_fault_plan *plan, const char *text)
{
    uint64_t rank = 0;
    int error = parse_number(&rank, text, INT32_MAX);
    plan->victim = (int)rank;
    return error;
}

static int parse_blackhole(struct co_fault_plan *plan, const char *text, bool counted)
{
    uint64_t number = 0;
    int error = parse_number(&number, text, counted ? UINT64_MAX : 1);
    plan->blackhole = counted || number == 1;
    if (counted) {
        plan->blackhole_after = number;
    }
    return error;
}

static double *rate_named(struct co_fault_plan *plan, const char *name)
{
    const struct {
        const char *name;
        double *rate;
    } rates[] = {{"drop", &plan->drop},       {"miss", &plan->miss},       {"dup", &plan->duplicate},
                 {"reorder", &plan->reorder}, {"corrupt", &plan->corrupt}, {"truncate", &plan->truncate}};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        if (strcmp(name, rates[i].name) == 0) {
            return rates[i].rate;
        }
    }
    return NULL;
}

static int parse_pair(struct co_fault_plan *plan, const char *name, char *value)
{
    double *rate = rate_named(plan, name);
    if (rate) {
        return parse_rate(rate, value);
    }
    if (strcmp(name, "delay") == 0) {
        return parse_delay(plan, value);
    }
    if (strcmp(name, "seed") == 0) {
        return parse_number(&plan->seed, value, UINT64_MAX);
    }
    if (strcmp(name, "first") == 0) {
        return parse_number(&plan->first_number, value, UINT64_MAX / 2);
    }
    if (strcmp(name, "kind") == 0) {
        return parse_kinds(plan, value);
    }
    if (strcmp(name, "rank") == 0) {
        return parse_rank(plan, value);
    }
    if (strcmp(name, "blackhole") == 0 || strcmp(name, "blackhole_after") == 0) {
        return parse_blackhole(plan, value, name[sizeof "blackhole" - 1] != '\0');
    }
    return strcmp(name, "script") == 0 ? parse_script(plan, value) : -EINVAL;
}

int co_fault_plan_parse(struct co_fault_plan *plan, const char *text, char *why, size_t why_room)
{
    struct co_fault_plan read = {.delay_ns = CO_NS_PER_MS, .seed = 1, .kinds = CO_FAULT_ALL, .victim = -1};
    char *copy = strdup(text), *rest = NULL;
    int error = copy ? 0 : -ENOMEM;
    for (char *word = copy ? strtok_r(copy, ", ", &rest) : NULL; word && !error; word = strtok_r(NULL, ", ", &rest)) {
        char shown[WORD_MAX];
        snprintf(shown, sizeof shown, "%s", word); // before the parsers cut it up
        char *equals = strchr(word, '=');
        if (equals) {
            *equals = '\0';
            error = parse_pair(&read, word, equals + 1);
        } else {
            error = -EINVAL;
        }
        if (error && why_room > 0) {
            snprintf(why, why_room, "%s", shown);
        }
    }
    free(copy);
    if (!error) {
        *plan = read;
    }
    return error;
}
