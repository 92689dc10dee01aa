// SPDX-License-Identifier: BSD-3-Clause
//
// What the coordinator says: to a client, and to its log. Anybody can come without the secret as often as he likes: of
// such so many lines a second are written, and how many more there were, so that no stranger fills the disk that has
// the log.
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "onesided/coordinator_state.h"

enum { STRANGERS_A_SECOND = 10 };

void co_coordinator_log(struct co_coordinator *coordinator, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    coordinator->output.log(coordinator->output.context, line);
}

void co_coordinator_strangers_settle(struct co_coordinator *coordinator, uint64_t now_ns)
{
    if (now_ns < coordinator->strangers_until_ns) {
        return;
    }
    if (coordinator->strangers > STRANGERS_A_SECOND) {
        co_coordinator_log(coordinator, "and %u more who have not shown the secret",
                           coordinator->strangers - STRANGERS_A_SECOND);
    }
    coordinator->strangers = 0;
    coordinator->strangers_until_ns = now_ns + CO_NS_PER_S;
}

void co_coordinator_stranger_log(struct co_coordinator *coordinator, const char *place, const char *text,
                                 uint64_t now_ns)
{
    co_coordinator_strangers_settle(coordinator, now_ns);
    if (++coordinator->strangers <= STRANGERS_A_SECOND) {
        co_coordinator_log(coordinator, "%s: %s", place, text);
    }
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
