// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a program that uses castoff_offload.h could do so on this host: a world of one rank is opened, with a proxy
// that is this very command, and closed. Cold.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/settings.h"
#include "info_transports.h"
#include "offload/api/castoff_offload.h"
#include "offload/collective/proxied_collective.h"
#include "tools/launch/places.h"

static int alone_gather(void *arg, const void *mine, void *all, size_t bytes)
{
    (void)arg;
    memcpy(all, mine, bytes);
    return 0;
}

void co_proxy_probe(struct co_transport_state *state)
{
    char path[PATH_MAX];
    const char *name = co_places_self(path) == 0 ? strrchr(path, '/') : NULL;
    struct castoff_offload_world *world;
    struct castoff_offload_job job = {
        .struct_bytes = sizeof job, .size = 1, .allgather = alone_gather, .command = path};

    // Another program with these parts in it, a unit test, would start itself for a proxy, which does so again.
    if (name == NULL || strcmp(name, "/castoff") != 0) {
        snprintf(state->detail, sizeof state->detail, "only the castoff command can be a proxy");
        return;
    }
    char *log_file = strdup(co_setting_text(CO_SET_LOG_FILE)); // who looks at a host wants no log
    co_setting_replace(CO_SET_LOG_FILE, "");
    int error = castoff_offload_open(&world, &job);
    co_setting_replace(CO_SET_LOG_FILE, log_file != NULL ? log_file : "");
    free(log_file);
    if (error != 0) {
        snprintf(state->detail, sizeof state->detail, "%s", castoff_offload_why());
        return;
    }
    castoff_offload_close(world);
    state->is_usable = true;
    const char *how = strncmp(castoff_offload_state(), "staged, copied", 14) == 0
                          ? "a proxy was started, and ranks copy their messages, for the kernel lets no process look "
                            "into another one (or CASTOFF_PROXY_LEND)"
                          : "a proxy was started and reached this process's memory";
    const char *why_none = co_proxied_why_none(co_setting_number(CO_SET_PROXY));
    snprintf(state->detail, sizeof state->detail, "for programs that use castoff_offload.h: %s; MPI calls have %s", how,
             why_none != NULL ? why_none : "them, too (CASTOFF_PROXY=yes)");
}
