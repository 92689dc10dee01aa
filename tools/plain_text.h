// SPDX-License-Identifier: BSD-3-Clause
//
// Text that others wrote, names of files and what stands in them, on a terminal of the user's: what would steer the
// terminal is shown, not sent. Cold.
#ifndef CASTOFF_TOOLS_PLAIN_TEXT_H
#define CASTOFF_TOOLS_PLAIN_TEXT_H

#include <stdio.h>

// Control characters (C0, DEL, C1 also as UTF-8) and bytes that are no UTF-8 as \xNN; new lines and tabs stay.
void co_plain_put(FILE *stream, const char *text);

#endif
