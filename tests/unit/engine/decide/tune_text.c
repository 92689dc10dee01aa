// SPDX-License-Identifier: BSD-3-Clause
#include "tune_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/decide/tune_table.h"

static struct co_tune_table table;

const struct co_tune_table *tune_text(const char *text)
{
    char why[160];
    assert_int_equal(co_tune_table_parse(&table, text, strlen(text), why, sizeof why), 0);
    return &table;
}

const struct co_tune_table *tune_text_built_in(void)
{
    co_tune_table_built_in(&table);
    return &table;
}
