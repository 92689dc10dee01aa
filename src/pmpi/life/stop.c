// SPDX-License-Identifier: BSD-3-Clause
//
// The end: teams, engine, report, private communicators, in the order in which they lean on each other. Native MPI
// still works here. Also the way back from a start that failed half-way.
#include "pmpi/life/stop.h"

#include "base/live_counters.h"
#include "base/buffer_cache.h"
#include "pmpi/life/bootstrap.h"
#include "pmpi/communicator/communicator_follow.h"
#include "pmpi/communicator/communicators.h"
#include "pmpi/p2p/freed_receives.h"
#include "pmpi/datatype/known_types.h"
#include "pmpi/life/process.h"
#include "pmpi/life/proxies.h"
#include "pmpi/p2p/mprobe.h"
#include "pmpi/p2p/message_pool.h"
#include "pmpi/request/request_handles.h"
#include "pmpi/request/persistent.h"
#include "pmpi/life/progress_hook.h"
#include "pmpi/report/report.h"

#include <stdio.h>

void co_stop(const char *why_native)
{
    char transports[1300] = "";
    struct co_engine *engine = co_process.engine;
    if (engine != NULL) {
        co_engine_describe(engine, transports, sizeof transports);
        co_mprobe_close();
        co_persistent_release_all();
        co_communicators_remove_all();
        // Until it is closed, the engine moves inside the native calls of its own closing.
        co_engine_close(engine);
        co_proxies_close();
        co_freed_receives_finish();
    } else if (why_native[0] != '\0') {
        snprintf(transports, sizeof transports, "off: %s\n", why_native);
    }
    co_process.engine = NULL;
    co_process_turn(false);
    co_progress_hook_remove();
    co_report_trials_learn();
    co_report_write(engine != NULL, transports);
    co_live_counters_close();
    co_request_handles_close();
    co_message_pool_close();
    co_communicator_follow_close();
    co_known_types_close();
    co_bootstrap_close();
    co_buffer_cache_close();
}
