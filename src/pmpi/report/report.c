// SPDX-License-Identifier: BSD-3-Clause
//
// Gathers the report over the ranks and puts it where the setting says.
#include "pmpi/report/report.h"

#include "base/descriptors.h"
#include "base/log.h"
#include "base/settings.h"
#include "pmpi/life/process.h"
#include "pmpi/life/proxies.h"
#include "pmpi/report/report_proxies.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool co_report_is_wanted(void)
{
    return co_setting_text(CO_SET_REPORT)[0] != '\0' || co_log_is_on(CO_LOG_TRACE, CO_SUBSYS_PMPI);
}

void co_report_open(bool names_sites)
{
    co_report_sites_open(co_process.counts && names_sites);
}

// Combines over the ranks; rank 0 has the result in place.
static void reduce(uint64_t *words, size_t count, MPI_Op operation)
{
    bool is_root = co_process.rank == 0;
    co_next.Reduce(is_root ? MPI_IN_PLACE : words, is_root ? words : NULL, (int)count, co_next.uint64, operation, 0,
                   co_process.world);
}

static void gather(struct co_report *report)
{
    static const enum co_counter_id highs[] = {
        CO_COUNT_STAGING_HIGH,  CO_COUNT_REMOTE_CHANNEL_HIGH, CO_COUNT_BITMAP_HIGH,
        CO_COUNT_SHM_LENT_HIGH, CO_COUNT_COMMUNICATOR_HIGH,   CO_COUNT_COMMUNICATOR_SHARED_HIGH,
        CO_COUNT_SHM_FIXED,     CO_COUNT_COMMUNICATOR_IDLE,   CO_COUNT_UNEXPECTED_HIGH,
        CO_COUNT_BUFFERED_HIGH, CO_COUNT_POSTED_HIGH,         CO_COUNT_UNHEARD_BYTES};
    enum { HIGHS = sizeof highs / sizeof highs[0] };
    uint64_t high_water[HIGHS];
    for (int i = 0; i < CO_COUNTER_COUNT; i++) {
        report->counters[i] = co_counter_read((enum co_counter_id)i);
    }
    for (int i = 0; i < HIGHS; i++) {
        high_water[i] = report->counters[highs[i]];
    }
    report->proxies = co_report_proxies(report->counters);
    co_call_counts_snapshot(report->calls);
    co_message_counts_snapshot(report->messages);
    report->ranks_counted = 1;
    if (co_process.world != CO_NO_HANDLE) {
        report->ranks_counted = co_process.size;
        reduce((uint64_t *)report->calls, sizeof report->calls / (sizeof(uint64_t)), co_next.sum);
        reduce((uint64_t *)report->messages, sizeof report->messages / (sizeof(uint64_t)), co_next.sum);
        reduce(report->counters, CO_COUNTER_COUNT, co_next.sum);
        // The most of one rank, not of all together.
        reduce(high_water, HIGHS, co_next.maximum);
        for (int i = 0; i < HIGHS; i++) {
            report->counters[highs[i]] = high_water[i];
        }
    }
    report->site_count = co_report_sites_gather(&report->sites);
    report->trial_count = co_report_trials_gather(&report->trials);
}

enum { LARGE_BLOCK = 256 << 10 };

// Those that found no proxies, though figure M32 has long blocks between hosts faster with them; by their mean.
static uint64_t count_large_exchanges(const struct co_report *report)
{
    static const enum co_call calls[] = {CO_CALL_IALLTOALL, CO_CALL_ALLTOALL_INIT};
    uint64_t count = 0;

    for (size_t i = 0; report->nodes > 1 && i < sizeof calls / sizeof *calls; i++) {
        const struct co_call_counts *counts = &report->calls[calls[i]];
        bool are_large = counts->seen > 0 && counts->bytes_seen / counts->seen >= LARGE_BLOCK;
        count += are_large ? counts->by_reason[CO_NO_PROXY] : 0;
    }
    return count;
}

// Rank 0's: which calls there were is known of all ranks only now.
static void explain_no_proxies(struct co_report *report)
{
    for (int call = 0; call < CO_CALL_COUNT && report->proxies[0] == '\0'; call++) {
        if (report->calls[call].by_reason[CO_NO_PROXY] > 0) {
            report->proxies = co_proxies_why_none(count_large_exchanges(report));
            return;
        }
    }
}

static bool is_json(const char *path)
{
    size_t length = strlen(path);
    return length >= 5 && strcmp(path + length - 5, ".json") == 0;
}

// False: the file has not taken it, which has been said.
static bool put(const char *path, const char *text)
{
    if (strcmp(path, "-") == 0) {
        co_log_text(text);
        return true;
    }
    // Not to wait for the reader of a fifo, who may never come; once there, he gets all of it. The user has written
    // this name: it may be a link.
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    int error = descriptor < 0 || fcntl(descriptor, F_SETFL, 0) != 0 ? -errno : 0;
    bool is_there = error == 0;
    if (is_there) {
        error = co_descriptor_write(descriptor, text, strlen(text));
    }
    if (descriptor >= 0 && close(descriptor) != 0 && error == 0) {
        error = -errno;
    }
    if (error != 0) {
        co_log(CO_LOG_ERROR, CO_SUBSYS_PMPI,
               is_there ? "the report in %s is not complete: %s; so it follows here"
                        : "the report cannot be written to %s: %s (CASTOFF_REPORT); so it follows here",
               path, strerror(-error));
    }
    return error == 0;
}

// Some 40 KiB, which a program's stack need not have left.
static struct co_report report;

void co_report_write(bool has_started, const char *transports)
{
    if (!co_process.counts) {
        return;
    }
    report.ranks = co_process.size;
    report.nodes = co_process.node_count > 0 ? co_process.node_count : 1;
    report.has_started = has_started;
    report.transports = transports;
    gather(&report);
    if (co_process.rank == 0) {
        explain_no_proxies(&report);
        const char *path = co_setting_text(CO_SET_REPORT);
        char *text = is_json(path) ? co_report_json(&report) : co_report_text(&report);
        // A job of hours is not to be run again for a folder that was missing, or a disk that was full at its end.
        if (text != NULL && path[0] != '\0' && !put(path, text)) {
            free(text);
            text = co_report_text(&report);
            co_log_text(text != NULL ? text : "");
        }
        free(text);
    }
    free(report.sites);
    free(report.trials);
}
