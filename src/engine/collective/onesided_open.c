// SPDX-License-Identifier: BSD-3-Clause
//
// Whether collectives can go one-sided in this job: asked of each rank once, answered alike on all. Start-up only.
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

// NULL, and the reason in onesided_text.
static struct co_onesided_collective *make(struct co_engine *engine, uint64_t job_tag, int *error)
{
    char *why = engine->onesided_text;
    size_t room = sizeof(engine->onesided_text);
    struct co_onesided_collective *onesided = calloc(1, sizeof(*onesided));
    if (onesided == NULL) {
        *error = -ENOMEM;
        snprintf(why, room, "no memory");
        return NULL;
    }
    onesided->job_tag = job_tag;
    onesided->least_bytes = (size_t)co_setting_number(CO_SET_PLACED_MIN);
    onesided->options = (struct castoff_group_options){.coordinator = co_setting_text(CO_SET_COORDINATOR),
                                                       .secret = co_setting_text_or_null(CO_SET_COORDINATOR_SECRET),
                                                       .device = co_setting_text_or_null(CO_SET_VERBS_DEVICE),
                                                       .patience_ms = patience_ms()};
    *error = co_onesided_library_load(&onesided->library, NULL, why, room);
    if (*error == 0 && onesided->options.secret == NULL) {
        *error = -EINVAL;
        snprintf(why, room, "CASTOFF_COORDINATOR_SECRET names no file");
    }
    if (*error == 0 && (*error = onesided->library.check(&onesided->options)) != 0) {
        snprintf(why, room, "%s", onesided->library.why());
    }
    if (*error == 0 && !co_descriptors_take(engine, DESCRIPTORS)) {
        *error = -EMFILE;
        snprintf(why, room, "ulimit -n leaves no %d descriptors for it", DESCRIPTORS);
    }
    if (*error != 0) {
        free(onesided);
        return NULL;
    }
    return onesided;
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
    struct co_onesided_collective *onesided = make(engine, job_tag, &error);
    int32_t mine = error, *all = engine->exchange;
    int exchanged = engine->bootstrap.allgather(engine->bootstrap.arg, &mine, all, sizeof(mine));
    int refusing = exchanged == 0 ? find_refusal(engine, all) : 0;
    if (exchanged == 0 && refusing == engine->bootstrap.world_size) {
        engine->onesided = onesided;
        snprintf(engine->onesided_text, sizeof(engine->onesided_text), "from %zu bytes on, coordinator %s",
                 onesided->least_bytes, onesided->options.coordinator);
        return;
    }
    free(onesided);
    if (refusing == engine->bootstrap.world_rank) {
        co_log(CO_LOG_WARN, CO_SUBSYS_ENGINE, "no collective is placed (CASTOFF_COORDINATOR): %s",
               engine->onesided_text);
    } else if (exchanged == 0) {
        snprintf(engine->onesided_text, sizeof(engine->onesided_text), "rank %d cannot: %s", refusing,
                 strerror(-all[refusing]));
    }
    char why[sizeof(engine->onesided_text)];
    snprintf(why, sizeof(why), "%s", engine->onesided_text);
    snprintf(engine->onesided_text, sizeof(engine->onesided_text), "not used, %.200s", why);
}

void co_onesided_collective_close(struct co_engine *engine)
{
    free(engine->onesided);
    engine->onesided = NULL;
}
