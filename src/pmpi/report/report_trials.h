// SPDX-License-Identifier: BSD-3-Clause
//
// What trials have found (CASTOFF_ADAPT), for the report: kept by rank 0 of each communicator when it ends. Any thread.
#ifndef CASTOFF_PMPI_REPORT_TRIALS_H
#define CASTOFF_PMPI_REPORT_TRIALS_H

#include <stddef.h>

#include "pmpi/communicator/communicators.h"

// Of a communicator that ends and has a team.
void co_report_trials_add(const struct co_communicator *entry);

// On rank 0: adds the verdicts of communicators that it is the first of to the file of CASTOFF_TUNE_LEARN, if there is
// one.
void co_report_trials_learn(void);

// Collective over co_process.world where there is one. Rank 0 gets the rows of all communicators, those of equal
// classes added up, by call and bytes, to be freed; the others none. Returns how many.
size_t co_report_trials_gather(struct co_trial_row **rows);

#endif
