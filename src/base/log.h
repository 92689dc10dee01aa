// SPDX-License-Identifier: BSD-3-Clause
//
// Log lines on stderr (or CASTOFF_LOG_FILE) with the prefix [rank@host:pid subsys]. The only file that writes
// to stderr for the library. Any thread; one write(2) per line. Below the level a call costs one load.
#ifndef CASTOFF_BASE_LOG_H
#define CASTOFF_BASE_LOG_H

#include <stdbool.h>

enum co_log_level { CO_LOG_ERROR, CO_LOG_WARN, CO_LOG_INFO, CO_LOG_DEBUG, CO_LOG_TRACE };
enum co_log_subsys {
    CO_SUBSYS_BASE,
    CO_SUBSYS_PMPI,
    CO_SUBSYS_ENGINE,
    CO_SUBSYS_MCAST,
    CO_SUBSYS_UDP,
    CO_SUBSYS_SHM,
    CO_SUBSYS_VERBS,
    CO_SUBSYS_P2P,
    CO_SUBSYS_COUNT
};

// Takes level, subsystems and file from the settings; rank -1 until known.
void co_log_open(int rank);
void co_log_close(void);

// This host's name without its domain, "?" before co_log_open.
const char *co_log_host(void);

bool co_log_is_on(enum co_log_level level, enum co_log_subsys subsys);
void co_log_write(enum co_log_level level, enum co_log_subsys subsys, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define co_log(level, subsys, ...)                                                                                     \
    do {                                                                                                               \
        if (co_log_is_on((level), (subsys))) {                                                                         \
            co_log_write((level), (subsys), __VA_ARGS__);                                                              \
        }                                                                                                              \
    } while (0)

// Raw text for the report and the stall watchdog when they go to stderr: no prefix; one write, but
// for what would steer a terminal, which is a ? as in a line.
void co_log_text(const char *text);

#endif
