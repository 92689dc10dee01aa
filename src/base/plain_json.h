// SPDX-License-Identifier: BSD-3-Clause
//
// Text that others wrote, as a string of JSON. Cold.
#ifndef CASTOFF_BASE_PLAIN_JSON_H
#define CASTOFF_BASE_PLAIN_JSON_H

#include <jansson.h>

// What co_plain_put_lines shows of `text`; new lines and tabs are escaped by JSON itself. A name that is no UTF-8 has
// no string in JSON, and C1 and DEL stand in one as they are: a program that prints it would hand them to a terminal.
// NULL: no memory.
json_t *co_plain_json(const char *text);

#endif
