// SPDX-License-Identifier: BSD-3-Clause
//
// Any text as the value of any setting: it parses or is refused, what parses lies in the row's range, and a printed
// number reads back. Unknown names never break the search for the nearest known one.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/settings.h"
#include "base/settings/settings_print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check_row(const struct co_setting_row *row, const char *text)
{
    int64_t number = 0, again = 0;
    char printed[CO_SETTING_NUMBER_MAX];
    int result = co_setting_parse(row, text, &number);

    if (result != 0) {
        if (result != -EINVAL && result != -ERANGE) {
            abort();
        }
        return;
    }
    bool is_number = row->type == CO_SETTING_INT || row->type == CO_SETTING_SIZE || row->type == CO_SETTING_TIME;
    if (!is_number || number < 0) {
        return;
    }
    if ((row->min != 0 || row->max != 0) && (number < row->min || number > row->max)) {
        abort();
    }
    co_setting_number_print(printed, row->type, number);
    if (co_setting_parse(row, printed, &again) != 0 || again != number) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = malloc(bytes + 1);

    memcpy(text, data, bytes);
    text[bytes] = '\0';
    for (int id = 0; id < CO_SETTING_COUNT; id++) {
        check_row(co_setting_row((enum co_setting_id)id), text);
    }
    co_settings_nearest(text);
    free(text);
    return 0;
}
