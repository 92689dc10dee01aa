// SPDX-License-Identifier: BSD-3-Clause
//
// Examples of the document; see the header.
#include "wire_example.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

size_t wire_example_read(const char *title, uint8_t *out, size_t room)
{
    char line[512];
    bool is_there = false;
    size_t count = 0;
    FILE *file = fopen("docs/wire-format.md", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (is_there && count > 0 && strncmp(line, "    ", 4) != 0) {
            break;
        }
        is_there = is_there || strstr(line, title) != NULL;
        const char *at = line + 4;
        unsigned value;
        int used;
        while (is_there && strncmp(line, "    ", 4) == 0 && strspn(at, "0123456789abcdef") == 2 &&
               sscanf(at, "%2x%n", &value, &used) == 1) {
            assert_true(count < room);
            out[count++] = (uint8_t)value;
            at += used + (at[used] == ' ');
        }
    }
    fclose(file);
    return count;
}
