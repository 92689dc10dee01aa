// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers, sizes and times as a user writes them, read and written. Pure; called by the parsers of settings and of
// plans of faults, and by what says values to the user.
#ifndef CASTOFF_BASE_SETTINGS_NUMBER_H
#define CASTOFF_BASE_SETTINGS_NUMBER_H

#include <stdint.h>

#include "base/settings.h"

#define CO_SETTING_NUMBER_MAX 32

// Of a row of type INT, SIZE or TIME. 0, -EINVAL or -ERANGE; errno may change.
int co_setting_number_parse(const struct co_setting_row *row, const char *text, int64_t *number);

// Writes a number as a user would write it in a setting of this type: 65536 as 64K, 200000 as 200us. CHOICE as a
// position.
void co_setting_number_print(char text[CO_SETTING_NUMBER_MAX], enum co_setting_type type, int64_t number);

#endif
