// SPDX-License-Identifier: BSD-3-Clause
//
// Spells of work and rest. A rest is long compared with the work that showed that it is needed, and longer each time,
// so that trying again costs little. Pure, but for what reads the file.
#include "engine/progress/crowding.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

#define SPELL_NS (10 * CO_NS_PER_MS) // of operations, until it is judged
#define FAST_BYTES 64                // a microsecond, as in trials.c: less, and the network may be what takes the time
#define WANTED_PART 8                // of the spell: so long threads must have run or waited,
#define WAITED_PART 8                // and of that waited
#define REST_LEAST_NS CO_NS_PER_S
#define REST_MOST_NS (64 * CO_NS_PER_S)
#define REST_FACTOR 16 // spells of work, at least

bool co_crowding_ended(struct co_crowding *crowding, size_t bytes, uint64_t took_ns, uint64_t now_ns)
{
    if (crowding->is_crowded) {
        return now_ns - crowding->rested_ns >= crowding->rest_ns;
    }
    crowding->took_ns += took_ns;
    crowding->bytes += bytes;
    return crowding->took_ns >= SPELL_NS;
}

static uint64_t longer_rest(const struct co_crowding *crowding)
{
    uint64_t rest_ns = 2 * crowding->rest_ns, least_ns = REST_FACTOR * crowding->took_ns;
    least_ns = least_ns < REST_LEAST_NS ? REST_LEAST_NS : least_ns;
    rest_ns = rest_ns < least_ns ? least_ns : rest_ns;
    return rest_ns < REST_MOST_NS ? rest_ns : REST_MOST_NS;
}

static bool waits_for_cores(const struct co_crowding *crowding, struct co_processor_time time)
{
    uint64_t waited_ns = time.waited_ns - crowding->before.waited_ns;
    uint64_t wanted_ns = time.ran_ns - crowding->before.ran_ns + waited_ns;
    return crowding->bytes * (CO_NS_PER_S / CO_NS_PER_MS) >= crowding->took_ns * FAST_BYTES &&
           wanted_ns * WANTED_PART > crowding->took_ns && waited_ns * WAITED_PART > wanted_ns;
}

void co_crowding_judge(struct co_crowding *crowding, struct co_processor_time time, uint64_t now_ns)
{
    if (crowding->is_crowded) {
        crowding->is_crowded = false;
    } else if (waits_for_cores(crowding, time)) {
        crowding->is_crowded = true;
        crowding->rest_ns = longer_rest(crowding);
        crowding->rested_ns = now_ns;
    } else {
        crowding->rest_ns /= 2;
    }
    crowding->took_ns = crowding->bytes = 0;
    crowding->before = time;
}

bool co_processor_time_add(struct co_processor_time *time, int thread)
{
    char path[64], text[128];
    uint64_t ran_ns, waited_ns;
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", thread);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    text[size > 0 ? size : 0] = '\0';
    if (sscanf(text, "%" SCNu64 " %" SCNu64, &ran_ns, &waited_ns) != 2) {
        return false;
    }
    time->ran_ns += ran_ns;
    time->waited_ns += waited_ns;
    return true;
}
