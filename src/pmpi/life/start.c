// SPDX-License-Identifier: BSD-3-Clause
//
// The start, step by step; each step that fails on one rank fails on all of them, by agreement or because the facts
// are the same everywhere.
#include "pmpi/life/start.h"

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/launched_rank.h"
#include "base/live_counters.h"
#include "base/log.h"
#include "base/preload.h"
#include "base/settings.h"
#include "base/plain_counters.h"
#include "mpi_below/marks.h"
#include "pmpi/life/agreement.h"
#include "pmpi/life/bootstrap.h"
#include "pmpi/communicator/communicator_follow.h"
#include "pmpi/communicator/communicators.h"
#include "pmpi/datatype/datatypes.h"
#include "pmpi/datatype/device_memory.h"
#include "pmpi/datatype/known_types.h"
#include "pmpi/life/process.h"
#include "pmpi/life/proxies.h"
#include "pmpi/request/request_handles.h"
#include "pmpi/life/progress_hook.h"
#include "pmpi/life/stop.h"
#include "pmpi/report/report.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DESCRIPTORS_PLENTY 512 // more than castoff and native MPI's connections may take together
#define WHY_MAX 600

static bool is_announced;
static bool keeps_messages; // although they were asked for
static char *local_peers;   // as the launcher tells; NULL: it does not
static bool names_sites;    // in the report
static char why_native[WHY_MAX];

// NULL: it does not tell.
static const char *told_by_launcher(const char *variable)
{
    return variable == NULL ? NULL : co_environment(variable);
}

// By the launcher's own variable, or by the marks, once they are there, which all ranks see alike. 0: nobody tells, or
// it does not matter.
static int count_programs(void)
{
    const char *programs = told_by_launcher(co_next.family->programs);
    if (programs != NULL) {
        return co_setting_number(CO_SET_MPMD) ? 0 : atoi(programs);
    }
    return is_announced && CO_MARKS.programs != NULL ? CO_MARKS.programs(co_process.size) : 0;
}

// Messages that the family keeps.
static void leave_messages(void)
{
    if (co_next.family != NULL && !co_next.family->has_messages) {
        keeps_messages = co_setting_number(CO_SET_P2P) == CO_YES;
        co_setting_replace(CO_SET_P2P, "no");
    }
}

void co_start_prepare(void)
{
    co_settings_load();
    leave_messages();
    // A rank that will not take part must not be counted on by the others, whose settings may differ.
    if (co_setting_number(CO_SET_ENABLE) && co_next_mpi_mismatch() == NULL && count_programs() <= 1 &&
        co_next_mpi_obstacle() == NULL) {
        CO_MARKS.announce();
    }
}

// The recorder is a preload of its own, which the setting alone cannot load.
static bool lacks_recorder(void)
{
    return co_setting_text(CO_SET_RECORD)[0] != '\0' &&
           !co_preload_names(co_environment("LD_PRELOAD"), "libcastoff-record.so");
}

static void complain(void)
{
    const char *sentence;
    for (size_t i = 0; co_process.rank == 0 && (sentence = co_settings_complaint(i)) != NULL; i++) {
        co_log(CO_LOG_WARN, CO_SUBSYS_PMPI, "%s", sentence);
    }
    if (co_process.rank == 0 && keeps_messages) {
        co_log(CO_LOG_WARN, CO_SUBSYS_PMPI,
               "CASTOFF_P2P: messages are left to %s, whose collectives alone castoff takes", co_next.family->name);
    }
    if (co_process.rank == 0 && lacks_recorder()) {
        co_log(
            CO_LOG_WARN, CO_SUBSYS_PMPI,
            "CASTOFF_RECORD: nothing is recorded, since libcastoff-record.so is not preloaded; castoff run --record and "
            "castoff mpirun do that");
    }
}

// What a job that is served says when it is asked to talk: the lines that the report has.
static void tell_served(void)
{
    char lines[1300];
    char *rest = NULL;
    if (co_process.rank != 0) {
        return;
    }
    co_engine_describe(co_process.engine, lines, sizeof lines);
    co_log(CO_LOG_INFO, CO_SUBSYS_PMPI, "castoff serves this job on %s: %d ranks, nodes: %d", co_next.family->name,
           co_process.size, co_process.node_count);
    for (char *line = strtok_r(lines, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        co_log(CO_LOG_INFO, CO_SUBSYS_PMPI, "%s", line);
    }
}

// One line for the job, by the lowest rank that runs castoff.
static void __attribute__((format(printf, 2, 3))) tell_native(bool speaks, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why_native, sizeof why_native, format, arguments);
    va_end(arguments);
    if (speaks) {
        co_log(CO_LOG_WARN, CO_SUBSYS_PMPI, "castoff is off for this job, which runs on native MPI: %s", why_native);
    }
}

// Whether all ranks have announced themselves: the same answer on each of those that have.
static bool may_exchange(void)
{
    bool is_first = co_process.rank == 0;
    const char *obstacle = co_next_mpi_obstacle();
    if (obstacle != NULL) {
        tell_native(is_first, "%s", obstacle);
        return false;
    }
    int programs = count_programs();
    if (programs > 1) {
        tell_native(is_first, "it has %d programs; CASTOFF_MPMD=yes serves such jobs, if all of them are preloaded",
                    programs);
        return false;
    }
    if (!is_announced) {
        tell_native(is_first, "%s", CO_MARKS.complaint);
        return false;
    }
    int absent = CO_MARKS.first(co_process.size, false);
    if (absent >= 0) {
        tell_native(is_first || (absent == 0 && CO_MARKS.first(co_process.size, true) == co_process.rank),
                    "rank %d runs without castoff, without this version of it, or with CASTOFF_ENABLE=0; preload all "
                    "ranks (castoff mpirun does)",
                    absent);
        return false;
    }
    return true;
}

// For castoff top. Nothing depends on it: where it cannot be, or may take a descriptor that the job needs, nobody can
// look. Before there is any other thread that counts.
static void show_counters(void)
{
    const char *job = told_by_launcher(co_next.family->job);
    int error =
        co_descriptors_left(DESCRIPTORS_PLENTY) < DESCRIPTORS_PLENTY
            ? -EMFILE
            : co_live_counters_open(job != NULL ? job : "", co_process.rank, co_process.size, co_clock_wall_ns());
    if (error != 0) {
        co_log(CO_LOG_INFO, CO_SUBSYS_PMPI, "castoff top cannot see this rank: %s", strerror(-error));
    }
}

// What this rank needs before it exchanges anything, and what it knows.
struct beginning {
    struct co_agreement agreement;
    struct co_node_ranks node;
    struct co_engine *engine;
    int parts_error;
};

// The parts above the engine that can fail on one rank alone.
static int open_parts(void)
{
    int error = co_request_handles_open(co_process.self);
    return error == 0 ? co_communicator_follow_open(co_process.size) : error;
}

static void begin(struct beginning *mine)
{
    *mine = (struct beginning){.engine = co_engine_make(co_process.size), .parts_error = open_parts()};
    mine->node.ranks = malloc((size_t)co_process.size * sizeof(int));
    mine->agreement = (struct co_agreement){
        .counts = co_process.counts,
        .names_sites = co_setting_number(CO_SET_REPORT_SITES) != 0,
        .takes_device_memory = co_device_memory_is_native() != 0,
        .has_parts = mine->parts_error == 0 || mine->parts_error == -ENOMEM,
        .has_memory = mine->engine != NULL && mine->node.ranks != NULL && mine->parts_error != -ENOMEM,
        .knows_peers = mine->node.ranks != NULL && co_bootstrap_find_peers(&mine->node, local_peers),
    };
}

// All that can fail before the engines meet; the same answer on all ranks.
static int reach_agreement(struct beginning *beginning, char *why)
{
    int error = co_agreement_reach(&beginning->agreement, why, WHY_MAX);
    const struct co_agreement *agreed = &beginning->agreement;
    co_process.counts = agreed->counts;
    co_device_memory_is_taken = agreed->takes_device_memory;
    if (error != 0) {
        return error;
    }
    if (!agreed->has_parts) {
        snprintf(why, WHY_MAX, "native MPI gave no distinct persistent requests or no attribute key (error %d)",
                 -beginning->parts_error);
        return -EIO;
    }
    if (!agreed->has_memory) {
        snprintf(why, WHY_MAX, "a rank has no memory for the start");
        return -ENOMEM;
    }
    return 0;
}

// Takes the engine over.
static int open_engine(struct beginning *beginning, char *why)
{
    struct co_bootstrap bootstrap;
    co_bootstrap_fill(&bootstrap, &beginning->node, beginning->agreement.knows_peers);
    show_counters();
    int error = co_engine_open(beginning->engine, &bootstrap, why, WHY_MAX);
    if (error != 0) {
        co_live_counters_close();
        return error;
    }
    co_process.engine = beginning->engine;
    co_process.node_count = co_engine_node_count(co_process.engine);
    co_process.serves_messages = co_engine_has_messages(co_process.engine);
    co_progress_hook_add();
    co_proxies_open(&bootstrap);
    return 0;
}

static int open_all(char *why)
{
    struct beginning beginning;
    begin(&beginning);
    int error = reach_agreement(&beginning, why);
    names_sites = beginning.agreement.names_sites;
    if (error == 0) {
        error = open_engine(&beginning, why);
    } else {
        co_engine_discard(beginning.engine);
    }
    free(beginning.node.ranks);
    return error;
}

// The last exchange of the start. All ranks serve the job afterwards, or none.
static int settle(char *why)
{
    int least = co_engine_last_word(co_process.engine);
    co_communicator_follow_world(&least);
    int error = co_engine_settle(co_process.engine, least, why, WHY_MAX);
    if (error != 0) {
        // MPI_COMM_WORLD alone is known to it yet.
        co_communicators_remove_all();
        co_engine_close(co_process.engine);
        co_proxies_close();
        co_live_counters_close();
        co_process.engine = NULL;
        co_process.serves_messages = false;
    }
    return error;
}

// While ranks meet for the first time native is to look for connections in each turn: a rank that has yet to send
// anything itself does so every 10 ms alone, and the first exchange would take that.
static void watch_connections(bool watches)
{
    if (co_next.progress_watch_events != NULL && co_next.progress_unwatch_events != NULL) {
        (watches ? co_next.progress_watch_events : co_next.progress_unwatch_events)();
    }
}

static void start_serving(void)
{
    char why[WHY_MAX] = "unknown";
    int error = -EIO;
    watch_connections(true);
    if (co_bootstrap_open() == 0) {
        error = open_all(why);
    }
    if (error == 0) {
        co_datatypes_open();
        co_known_types_open();
        error = settle(why);
    }
    watch_connections(false);
    if (error != 0) {
        tell_native(co_process.rank == 0, "%s", why);
        if (!co_process.counts) {
            co_stop(why_native);
        }
        return;
    }
    pthread_atfork(NULL, NULL, co_process_abandon);
    tell_served();
}

// The first attribute of MPI_COMM_SELF is the last to be deleted in MPI_Finalize: programs that communicate in their
// own callbacks still find castoff at work.
static int on_finalize(MPI_Comm comm, int key, void *attribute, void *extra)
{
    (void)comm;
    (void)key;
    (void)attribute;
    (void)extra;
    co_stop(why_native);
    return MPI_SUCCESS;
}

static void turn_on(void)
{
    int keyval;
    co_report_open(names_sites);
    co_process_turn(true);
    // A duplicate of MPI_COMM_SELF must not end castoff when it is freed.
    if (co_next.Comm_create_keyval(co_communicator_copy_nothing, on_finalize, &keyval, NULL) == MPI_SUCCESS) {
        co_next.Comm_set_attr(co_next.comm_self, keyval, NULL);
        co_next.Comm_free_keyval(&keyval); // lives on until the attribute is gone
    }
}

// Workers move collectives alone: what messages and requests need is touched by the program's threads.
static void see_threads(void)
{
    int level;
    co_threads_take_turns = co_next.Query_thread(&level) == MPI_SUCCESS && level < MPI_THREAD_MULTIPLE;
}

// Where castoff is alone (one rank), may not exchange or cannot start, it looks at calls only for a report.
static void start_job(void)
{
    see_threads();
    co_process.idle_reason = co_process.size == 1 ? CO_ONE_RANK : CO_NOT_STARTED;
    co_process.counts = co_report_is_wanted();
    names_sites = co_setting_number(CO_SET_REPORT_SITES) != 0;
    if (co_process.size > 1 && may_exchange()) {
        start_serving();
    }
    if (co_process.engine != NULL || co_process.counts) {
        turn_on();
    }
}

static void finish(int init_code)
{
    const char *mismatch = co_next_mpi_mismatch();
    if (init_code != MPI_SUCCESS) {
        return;
    }
    if (mismatch != NULL) { // not even its MPI_COMM_WORLD is known
        co_process.rank = co_launched_rank() < 0 ? 0 : co_launched_rank();
    } else {
        co_next.Comm_rank(co_next.comm_world, &co_process.rank);
        co_next.Comm_size(co_next.comm_world, &co_process.size);
    }
    co_log_open(co_process.rank);
    complain();
    if (!co_setting_number(CO_SET_ENABLE)) {
        return;
    }
    if (mismatch != NULL) {
        tell_native(co_process.rank == 0, "%s", mismatch);
    } else {
        start_job();
    }
}

void co_start_finish(int init_code)
{
    is_announced = CO_MARKS.settle(&local_peers);
    finish(init_code);
    free(local_peers);
    local_peers = NULL;
}
