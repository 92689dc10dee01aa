// SPDX-License-Identifier: BSD-3-Clause
//
// Do all ranks run with the same settings? Ranks that decide differently would wait for each other for ever. Start
// only; collective over co_process.world.
#ifndef CASTOFF_PMPI_LIFE_AGREEMENT_H
#define CASTOFF_PMPI_LIFE_AGREEMENT_H

#include <stddef.h>

// 0, or -EINVAL with a sentence that names the first setting that differs; the same answer on all ranks.
int co_agreement_check(char *why, size_t room);

// Whether any rank wants it, and whether all can.
int co_agreement_any(int mine);
int co_agreement_all(int mine);

#endif
