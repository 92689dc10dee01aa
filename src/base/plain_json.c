// SPDX-License-Identifier: BSD-3-Clause
//
// By way of a stream in memory.
#define _GNU_SOURCE
#include "base/plain_json.h"

#include <stdlib.h>

#include "base/plain_text.h"

json_t *co_plain_json(const char *text)
{
    char *shown = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&shown, &bytes);
    if (stream == NULL) {
        return NULL;
    }
    co_plain_put_lines(stream, text);
    json_t *string = fclose(stream) == 0 ? json_string(shown) : NULL;
    free(shown);
    return string;
}
