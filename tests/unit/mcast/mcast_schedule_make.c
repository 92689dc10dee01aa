// SPDX-License-Identifier: BSD-3-Clause
//
// What a seed means: every choice of a random job. Small and awkward values on purpose.
#include <stdio.h>
#include <string.h>

#include "mcast_schedule.h"

unsigned schedule_random(struct schedule *schedule, unsigned below)
{
    schedule->random = schedule->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((schedule->random >> 33) % below);
}

// Where nothing damages payload its check can be left out, and it lands.
static enum co_auth_form form_for(struct schedule *schedule)
{
    char *damage = strstr(schedule->faults, "corrupt=0.0");
    if (schedule->seed % 2 == 0) {
        return CO_AUTH_CHECK;
    }
    if (damage != NULL) {
        damage[strlen("corrupt=0.0")] = '0';
    }
    return CO_AUTH_HEAD;
}

static size_t one_of(struct schedule *schedule, const size_t *from, size_t count)
{
    return from[schedule_random(schedule, (unsigned)count)];
}
#define ONE_OF(schedule, ...)                                                                                          \
    one_of(schedule, (const size_t[]){__VA_ARGS__}, sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t))

static void make_settings(struct schedule *schedule, const struct schedule_limits *limits)
{
    size_t chunk = ONE_OF(schedule, 64, 100, 333, 1432);
    schedule->config = (struct co_mcast_config){
        .world_size = schedule->members,
        .subgroups = (unsigned)ONE_OF(schedule, 1, 1, 2, 4),
        .chunk_bytes = chunk,
        .window_bytes = limits->tiny ? chunk * ONE_OF(schedule, 1, 4, 9, 40, 400) : 400 * chunk,
        .staging_bytes = limits->tiny ? chunk * ONE_OF(schedule, 1, 6, 50, 1000) : (size_t)4 << 20,
        .eager_bytes = ONE_OF(schedule, 0, 100, 4000, 40000),
        .collect_bytes = ONE_OF(schedule, 0, 0, 500, 5000, 100000),
        .chains = schedule_random(schedule, (unsigned)schedule->members + 1),
        .ack_radix = (unsigned)ONE_OF(schedule, 2, 3, 16),
        .cutoff_ns = 200000,
    };
    schedule->hub_config = (struct co_loopback_config){
        .endpoints = schedule->members + 1,
        .max_datagram_bytes = 9000,
        .latency_ns = 20000,
        .bytes_per_s = ONE_OF(schedule, 12500000, 25000000, 125000000),
        .egress_queue_bytes = ONE_OF(schedule, 3000, 20000, 64000),
        .ingress_queue_bytes = limits->overruns ? ONE_OF(schedule, 3000, 8000, 30000) : 0,
        .like_verbs = limits->verbs,
    };
    if (limits->verbs) {
        schedule->hub_config.has_reads = schedule->seed % 4 != 0;
        schedule->hub_config.loans_max = schedule->seed % 3 == 0 ? 2 : 0;
        schedule->config.read_bytes = schedule->seed % 5 == 0 ? 2000 : 1;
    }
}

static void make_faults(struct schedule *schedule)
{
    static const char *const more[] = {"",
                                       "",
                                       ",blackhole=1",
                                       ",blackhole_after=20",
                                       ",rank=1",
                                       ",kind=data",
                                       ",kind=control",
                                       ",kind=data+repair",
                                       ",miss=0.1",
                                       ",miss=0.3,rank=1",
                                       ",drop=0.5,rank=0"};
    unsigned kind = schedule_random(schedule, 5);
    unsigned heavy = schedule_random(schedule, 2) ? 3 : 10;
    if (kind == 0) {
        snprintf(schedule->faults, sizeof(schedule->faults), "drop=0.01,seed=%u", schedule->seed + 1);
    } else {
        snprintf(schedule->faults, sizeof(schedule->faults),
                 "drop=0.%02u,dup=0.%02u,reorder=0.%02u,delay=0.%02u:%ums,corrupt=0.%02u,truncate=0.%02u,seed=%u%s",
                 schedule_random(schedule, heavy), schedule_random(schedule, heavy), schedule_random(schedule, heavy),
                 schedule_random(schedule, heavy), 1 + schedule_random(schedule, 20), schedule_random(schedule, heavy),
                 schedule_random(schedule, heavy), schedule->seed + 1,
                 more[schedule_random(schedule, sizeof(more) / sizeof(*more))]);
    }
}

// Members in any order, often not all; ids that differ in their high half only.
static void make_group(struct schedule *schedule, int index)
{
    struct schedule_group *group = &schedule->groups[index];
    int order[SCHEDULE_MEMBERS];
    for (int i = 0; i < schedule->members; i++) {
        int at = (int)schedule_random(schedule, (unsigned)i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    group->id = ((uint64_t)(index + 1) << 32) + schedule_random(schedule, 2);
    group->count = index == 0 || schedule_random(schedule, 2)
                       ? schedule->members
                       : 1 + (int)schedule_random(schedule, (unsigned)schedule->members);
    bool even = schedule_random(schedule, 2);
    for (int i = 0; i < group->count; i++) {
        group->members[i] = order[i];
        group->units[i] = even ? 1 : 1 + (int)schedule_random(schedule, 3);
    }
}

static size_t make_size(struct schedule *schedule)
{
    size_t chunk = schedule->config.chunk_bytes;
    switch (schedule_random(schedule, 6)) {
    case 0:
        return 1 + schedule_random(schedule, 16);
    case 1:
        return chunk * (1 + schedule_random(schedule, 10)) + schedule_random(schedule, 3) - 1;
    case 2:
        return 1 + schedule_random(schedule, 30000);
    case 3:
        return chunk * 64 + schedule_random(schedule, 200);
    default:
        return 1 + schedule_random(schedule, (unsigned)chunk * 3);
    }
}

static void make_step(struct schedule *schedule, struct schedule_step *step, bool pauses)
{
    step->group = (int)schedule_random(schedule, (unsigned)schedule->group_count);
    struct schedule_group *group = &schedule->groups[step->group];
    step->root = schedule_random(schedule, 2) ? (int)schedule_random(schedule, (unsigned)group->count) : -1;
    step->bytes = make_size(schedule);
    if (step->root < 0) {
        step->bytes = step->bytes / 4 + 1;
    }
    for (int i = 0; i < schedule->members; i++) {
        if (pauses && schedule_random(schedule, 10) == 0) {
            step->pause_ns[i] = schedule_random(schedule, schedule_random(schedule, 5) ? 1000000 : 200000000);
        }
    }
    for (int i = 0; i < group->count; i++) {
        group->steps_left[group->members[i]]++;
        schedule->sent_bytes_expected += group->count > 1 && step->root < 0 ? step->bytes * (size_t)group->units[i] : 0;
    }
    schedule->sent_bytes_expected += group->count > 1 && step->root >= 0 ? step->bytes : 0;
}

void schedule_make(struct schedule *schedule, unsigned seed, const struct schedule_limits *limits)
{
    memset(schedule, 0, sizeof(*schedule));
    schedule->seed = seed;
    schedule->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (int i = 0; i < 4; i++) {
        schedule_random(schedule, 2);
    }
    schedule->members = 2 + (int)schedule_random(schedule, SCHEDULE_MEMBERS - 1);
    make_settings(schedule, limits);
    if (limits->faults) {
        make_faults(schedule);
    }
    schedule->group_count = 1 + (int)schedule_random(schedule, SCHEDULE_GROUPS);
    for (int i = 0; i < schedule->group_count; i++) {
        make_group(schedule, i);
    }
    schedule->step_count = 5 + (int)schedule_random(schedule, SCHEDULE_STEPS - 5);
    for (int i = 0; i < schedule->step_count; i++) {
        make_step(schedule, &schedule->steps[i], limits->pauses);
    }
    for (int rank = 0; rank < schedule->members && limits->pauses; rank++) {
        schedule->ranks[rank].stopped_ns = schedule_random(schedule, 30000000);
        schedule->ranks[rank].resumed_ns =
            schedule->ranks[rank].stopped_ns + schedule_random(schedule, 2) * schedule_random(schedule, 200000000);
    }
    schedule->most_outstanding = 1 + (int)schedule_random(schedule, 2) * (int)schedule_random(schedule, 30);
    bool keyed = limits->attacker || schedule_random(schedule, 8) == 0;
    schedule->form = keyed ? CO_AUTH_KEYED : form_for(schedule);
    schedule->closes_early = schedule_random(schedule, 2);
    schedule->attack_percent = limits->attacker ? 1 + schedule_random(schedule, 60) : 0;
    schedule->victim = limits->death ? (int)schedule_random(schedule, (unsigned)schedule->members) : -1;
    schedule->death_ns = schedule_random(schedule, schedule_random(schedule, 2) ? 1000000 : 20000000);
    schedule->operation_base = schedule_random(schedule, 2) ? UINT32_MAX - schedule_random(schedule, 20) : 0;
    schedule->chunk_base = schedule_random(schedule, 2) ? UINT32_MAX - schedule_random(schedule, 2000) : 0;
}

size_t schedule_step_bytes(const struct schedule *schedule, const struct schedule_step *step)
{
    const struct schedule_group *group = &schedule->groups[step->group];
    size_t units = 0;
    for (int i = 0; i < group->count; i++) {
        units += (size_t)group->units[i];
    }
    return step->root < 0 ? units * step->bytes : step->bytes;
}
