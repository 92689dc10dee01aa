// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers, sizes and times as a user writes them. Pure; called by the parsers of settings and of plans of faults.
#ifndef CASTOFF_BASE_SETTINGS_NUMBER_H
#define CASTOFF_BASE_SETTINGS_NUMBER_H

#include <stdint.h>

#include "base/settings.h"

// Of a row of type INT, SIZE or TIME. 0, -EINVAL or -ERANGE; errno may change.
int co_setting_number_parse(const struct co_setting_row *row, const char *text, int64_t *number);

#endif
