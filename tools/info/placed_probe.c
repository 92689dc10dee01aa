// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a job could place collectives on this host: a coordinator is set, the library loads, the secret can be read,
// and there is a device. Cold.
#include <stdio.h>

#include "base/settings.h"
#include "tools/onesided/group_library_find.h"
#include "info_transports.h"

static const char *set_or_null(enum co_setting_id id)
{
    const char *text = co_setting_text(id);
    return text[0] != '\0' ? text : NULL;
}

void co_placed_probe(struct co_transport_state *state)
{
    struct co_group_library library;
    struct castoff_group_options options = {.coordinator = set_or_null(CO_SET_COORDINATOR),
                                            .secret = set_or_null(CO_SET_COORDINATOR_SECRET),
                                            .device = set_or_null(CO_SET_VERBS_DEVICE)};
    if (options.coordinator == NULL) {
        snprintf(state->detail, sizeof state->detail, "no coordinator is set (CASTOFF_COORDINATOR)");
        return;
    }
    if (options.secret == NULL) {
        snprintf(state->detail, sizeof state->detail, "CASTOFF_COORDINATOR_SECRET names no file");
        return;
    }
    if (co_group_library_find(&library, state->detail, sizeof state->detail) != 0) {
        return;
    }
    if (library.check(&options) != 0) {
        snprintf(state->detail, sizeof state->detail, "%s", library.why());
        return;
    }
    state->is_usable = true;
    snprintf(
        state->detail, sizeof state->detail,
        "broadcasts and blocks of allgathers from %lld bytes on, one rank a host, by the coordinator %s, which was not "
        "asked (castoff coordinator status)",
        (long long)co_setting_number(CO_SET_PLACED_MIN), options.coordinator);
}
