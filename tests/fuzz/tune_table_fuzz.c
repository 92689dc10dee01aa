// SPDX-License-Identifier: BSD-3-Clause
//
// Any bytes as a file of decision thresholds: refused with a reason, or a table whose printed form is the same table.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/decide/tune_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct co_tune_table table, again;
    static char text[CO_TUNE_ROWS_MAX * CO_TUNE_ROW_TEXT_MAX + 1];
    char why[128] = "";
    char *copy = malloc(bytes ? bytes : 1); // exactly as long, so that reading on is seen

    memcpy(copy, data, bytes);
    int result = co_tune_table_parse(&table, copy, bytes, why, sizeof why);
    free(copy);
    if (result != 0) {
        if (result != -EINVAL || why[0] == '\0' || memchr(why, '\0', sizeof why) == NULL) {
            abort();
        }
        return 0;
    }
    if (table.count > CO_TUNE_ROWS_MAX) {
        abort();
    }
    co_tune_table_print(&table, text, sizeof text);
    if (co_tune_table_parse(&again, text, strlen(text), why, sizeof why) != 0 || again.count != table.count ||
        co_tune_table_hash(&again) != co_tune_table_hash(&table)) {
        abort();
    }
    return 0;
}
