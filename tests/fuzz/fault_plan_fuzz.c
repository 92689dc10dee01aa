// SPDX-License-Identifier: BSD-3-Clause
//
// Any text as a fault plan: refused, or a plan within bounds.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/settings/fault_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check_rate(double rate)
{
    if (!(rate >= 0 && rate <= 1)) {
        abort();
    }
}

static void check_plan(const struct co_fault_plan *plan)
{
    check_rate(plan->drop);
    check_rate(plan->duplicate);
    check_rate(plan->reorder);
    check_rate(plan->delay);
    check_rate(plan->corrupt);
    check_rate(plan->truncate);
    if (plan->delay_ns == 0 || plan->kinds == 0 || plan->kinds > CO_FAULT_ALL || plan->victim < -1 ||
        plan->script_count > CO_FAULT_SCRIPT_MAX) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = malloc(bytes + 1), why[40];
    struct co_fault_plan plan;

    memcpy(text, data, bytes);
    text[bytes] = '\0';
    int result = co_fault_plan_parse(&plan, text, why, sizeof why);
    if (result == 0) {
        check_plan(&plan);
    } else if (result != -EINVAL || memchr(why, '\0', sizeof why) == NULL) {
        abort();
    }
    free(text);
    return 0;
}
