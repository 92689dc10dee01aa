// SPDX-License-Identifier: BSD-3-Clause
//
// Text that others wrote, names of files, what stands in them and what peers say, on a terminal of the user's: what
// would steer the terminal is shown, not sent. Cold.
#ifndef CASTOFF_BASE_PLAIN_TEXT_H
#define CASTOFF_BASE_PLAIN_TEXT_H

#include <stdbool.h>
#include <stdio.h>

// Bytes of the character at `text`, which ends with a zero; 0: a control character (C0, DEL, C1 also as UTF-8), no
// UTF-8, or the end. New lines and tabs are characters.
unsigned co_plain_bytes(const char *text);

// Control characters (C0, DEL, C1 also as UTF-8) and bytes that are no UTF-8 as \xNN, new lines and tabs, too: a name
// cannot begin another line. Returns how many bytes that is; no stream: that only.
size_t co_plain_put(FILE *stream, const char *text);

// The same with new lines and tabs as they are: text of several lines that castoff laid out.
void co_plain_put_lines(FILE *stream, const char *text);

// As co_plain_put, into `line`, which always ends with a zero; what does not fit is left out, never half a character.
// Returns `line`.
char *co_plain_line(char *line, size_t room, const char *text);

// Whether `text` begins with those words: any blanks and tabs are as good as any others.
bool co_plain_begins(const char *text, const char *words);

#endif
