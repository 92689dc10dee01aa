// SPDX-License-Identifier: BSD-3-Clause
//
// What the coordinator says: to a client, and to its log.
#include <stdarg.h>
#include <stdio.h>

#include "onesided/coordinator_state.h"

void co_coordinator_log(struct co_coordinator *coordinator, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    coordinator->output.log(coordinator->output.context, line);
}

void co_coordinator_send(struct co_coordinator *coordinator, unsigned client, uint16_t kind)
{
    coordinator->message.kind = kind;
    coordinator->output.say(coordinator->output.context, client, &coordinator->message);
}

void co_coordinator_answer(struct co_coordinator *coordinator, unsigned client, uint16_t kind, uint8_t reason,
                           const char *text)
{
    struct co_coordination_answer *answer = &coordinator->message.answer;
    *answer = (struct co_coordination_answer){.reason = reason};
    snprintf(answer->text, sizeof answer->text, "%s", text);
    co_coordinator_send(coordinator, client, kind);
}
