// SPDX-License-Identifier: BSD-3-Clause
//
// The settings table for readers: env.example, `castoff info`, the rows of castoff(7) and the report. Called by the
// tools and the tests; writes only to the stream it is given. Not hot.
#ifndef CASTOFF_BASE_SETTINGS_PRINT_H
#define CASTOFF_BASE_SETTINGS_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/settings.h"
#include "base/settings/settings_number.h"

// Value in force, as a user would write it; `text` holds it where it is not the text of the user or the default.
const char *co_setting_value_print(char text[CO_SETTING_NUMBER_MAX], enum co_setting_id id);

// What may be written, for readers: "auto, yes or no", "16K to 16M". At most 127 characters.
void co_setting_range_print(char range[128], enum co_setting_id id);

// env.example: every setting commented out at its default, with its help.
void co_settings_print_template(FILE *stream);

// Aligned table of value, default and help; a star marks what is not the default. Without `all`: those for users, and
// of the others what is not the default. Needs co_settings_load.
void co_settings_print_values(FILE *stream, bool all);

// Those that are not at their default, a line each behind `head`; how many. Needs co_settings_load.
unsigned co_settings_print_changed(FILE *stream, const char *head);

// The rows of the section ENVIRONMENT of castoff(7), in man macros.
void co_settings_print_man(FILE *stream);

#endif
