// SPDX-License-Identifier: BSD-3-Clause
//
// The sentences that castoff says about a wrong setting. Private to base: called by settings.c at load.
#ifndef CASTOFF_BASE_SETTINGS_COMPLAINT_H
#define CASTOFF_BASE_SETTINGS_COMPLAINT_H

#include <stddef.h>

#include "base/settings.h"

#define CO_COMPLAINT_MAX 320

// "CASTOFF_BCAST=ye: not one of auto, yes, no; did you mean yes?". `error` is what co_setting_parse returned.
void co_complaint_value(char *sentence, size_t size, const struct co_setting_row *row, const char *text, int error);

// "unknown setting CASTOFF_LOGG; did you mean CASTOFF_LOG?"; nearest: what was meant, or NULL.
void co_complaint_name(char *sentence, size_t size, const char *name, size_t name_length, const char *nearest);

#endif
