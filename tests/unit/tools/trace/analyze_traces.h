// SPDX-License-Identifier: BSD-3-Clause
//
// Small applications for the tests of the analyzer: each rank's calls in the lines of dumpi2ascii, shortened.
#ifndef CASTOFF_TESTS_UNIT_ANALYZE_TRACES_H
#define CASTOFF_TESTS_UNIT_ANALYZE_TRACES_H

#include <stddef.h>

#include "tools/trace/analyze/analysis.h"

// A directory of its own; the test ends without one.
char *analyze_directory_make(void);
void analyze_directory_remove(char *directory);
void analyze_file_write(const char *directory, const char *name, const void *bytes, size_t size);

// A rank's calls, one a line: `Irecv count=1 source=0 tag=7 request=[2]`. The type of an argument is left out, times
// are made up in steps of a microsecond. Written as t-RANK.txt.
void analyze_rank_write(const char *directory, int rank, const char *calls);

// An application, analyzed with 1, 3, 16 and 4096 bins and 1, 2 and 64 lanes, and what was complained about.
struct analyze_result {
    struct co_application application;
    struct co_analysis analysis;
    unsigned complaints;
};

// All that is in the directory. All matchers pair alike, or the test fails.
void analyze_run(struct analyze_result *result, const char *directory);
// The directory goes, too.
void analyze_finish(struct analyze_result *result, char *directory);

#endif
