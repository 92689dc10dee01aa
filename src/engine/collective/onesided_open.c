// SPDX-License-Identifier: BSD-3-Clause
//
// Whether collectives can be placed in this job: asked of each rank once, answered alike on all. Start-up only.
#include "engine/collective/onesided_open.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "engine/collective/onesided_collective.h"
#include "engine/engine_state.h"
#include "engine/start/descriptor_budget.h"

enum { DESCRIPTORS = 8 }; // of a group under way: the device, its queue, the coordinator
enum { PATIENCE_PART = 8, PATIENCE_LEAST_MS = 500, PATIENCE_MOST_MS = 15000 };

// Who waits for a group must be done with it long before anybody gives up a silent rank.
static unsigned patience_ms(void)
{
    int64_t ms = co_setting_number(CO_SET_DEADLINE_S) * 1000 / PATIENCE_PART;
    return (unsigned)(ms < PATIENCE_LEAST_MS ? PATIENCE_LEAST_MS : ms > PATIENCE_MOST_MS ? PATIENCE_MOST_MS : ms);
}

static const char *set_or_null(enum co_setting_id id)
{
    const char *text = co_setting_text(id);
    return text[0] != '\0' ? text : NULL;
}

// NULL, and the reason in placed_text.
static struct co_onesided_collective *make(struct co_engine *engine, uint64_t job_tag, int *error)
{
    char *why = engine->placed_text;
    size_t room = sizeof(engine->placed_text);
    struct co_onesided_collective *placed = calloc(1, sizeof(*placed));
    if (placed == NULL) {
        *error = -ENOMEM;
        snprintf(why, room, "no memory");
        return NULL;
    }
    placed->job_tag = job_tag;
    placed->least_bytes = (size_t)co_setting_number(CO_SET_PLACED_MIN);
    placed->options = (struct castoff_group_options){.coordinator = co_setting_text(CO_SET_COORDINATOR),
                                                     .secret = set_or_null(CO_SET_COORDINATOR_SECRET),
                                                     .device = set_or_null(CO_SET_VERBS_DEVICE),
                                                     .patience_ms = patience_ms()};
    *error = co_group_library_load(&placed->library, NULL, why, room);
    if (*error == 0 && placed->options.secret == NULL) {
        *error = -EINVAL;
        snprintf(why, room, "CASTOFF_COORDINATOR_SECRET names no file");
    }
    if (*error == 0 && (*error = placed->library.check(&placed->options)) != 0) {
        snprintf(why, room, "%s", placed->library.why());
    }
    if (*error == 0 && !co_descriptors_take(engine, DESCRIPTORS)) {
        *error = -EMFILE;
        snprintf(why, room, "ulimit -n leaves no %d descriptors for it", DESCRIPTORS);
    }
    if (*error != 0) {
        free(placed);
        return NULL;
    }
    return placed;
}

// The first rank that cannot, or how many there are.
static int find_refusal(const struct co_engine *engine, const int32_t *errors)
{
    int rank = 0;
    while (rank < engine->bootstrap.world_size && errors[rank] == 0) {
        rank++;
    }
    return rank;
}

void co_onesided_collective_open(struct co_engine *engine, uint64_t job_tag)
{
    int error = 0;
    if (co_setting_text(CO_SET_COORDINATOR)[0] == '\0' || !engine->has_multicast) {
        return; // on all ranks
    }
    struct co_onesided_collective *placed = make(engine, job_tag, &error);
    int32_t mine = error, *all = engine->exchange;
    int exchanged = engine->bootstrap.allgather(engine->bootstrap.arg, &mine, all, sizeof(mine));
    int refusing = exchanged == 0 ? find_refusal(engine, all) : 0;
    if (exchanged == 0 && refusing == engine->bootstrap.world_size) {
        engine->placed = placed;
        snprintf(engine->placed_text, sizeof(engine->placed_text), "from %zu bytes on, coordinator %s",
                 placed->least_bytes, placed->options.coordinator);
        return;
    }
    free(placed);
    if (refusing == engine->bootstrap.world_rank) {
        co_log(CO_LOG_WARN, CO_SUBSYS_ENGINE, "no collective is placed (CASTOFF_COORDINATOR): %s", engine->placed_text);
    } else if (exchanged == 0) {
        snprintf(engine->placed_text, sizeof(engine->placed_text), "rank %d cannot: %s", refusing,
                 strerror(-all[refusing]));
    }
    char why[sizeof(engine->placed_text)];
    snprintf(why, sizeof(why), "%s", engine->placed_text);
    snprintf(engine->placed_text, sizeof(engine->placed_text), "not used, %.200s", why);
}

void co_onesided_collective_close(struct co_engine *engine)
{
    free(engine->placed);
    engine->placed = NULL;
}
