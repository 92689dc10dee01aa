// SPDX-License-Identifier: BSD-3-Clause
//
// What a program that uses castoff_offload.h has had moved by proxies, for the report: libcastoff-offload.so is asked
// where the program has it, and nothing is known where it has not. End only.
#ifndef CASTOFF_PMPI_REPORT_PROXIES_H
#define CASTOFF_PMPI_REPORT_PROXIES_H

#include <stdint.h>

#include "base/counters.h"

// Counts of this process, into the counters' places; and how it went with proxies here, in words, "": the program has
// asked for none.
const char *co_report_proxies(uint64_t counters[CO_COUNTER_COUNT]);

#endif
