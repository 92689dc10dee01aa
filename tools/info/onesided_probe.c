// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a job could place collectives on this host: a coordinator is set, the library loads, the secret can be read,
// and there is a device. Cold.
#include <stdio.h>

#include "base/settings.h"
#include "tools/onesided/onesided_library_find.h"
#include "info_transports.h"

void co_onesided_probe(struct co_transport_state *state)
{
    struct co_onesided_library library;
    struct castoff_group_options options = {.coordinator = co_setting_text_or_null(CO_SET_COORDINATOR),
                                            .secret = co_setting_text_or_null(CO_SET_COORDINATOR_SECRET),
                                            .device = co_setting_text_or_null(CO_SET_VERBS_DEVICE)};
    if (options.coordinator == NULL) {
        snprintf(state->detail, sizeof state->detail, "no coordinator is set (CASTOFF_COORDINATOR)");
        return;
    }
    if (options.secret == NULL) {
        snprintf(state->detail, sizeof state->detail, "CASTOFF_COORDINATOR_SECRET names no file");
        return;
    }
    if (co_onesided_library_find(&library, state->detail, sizeof state->detail) != 0) {
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
