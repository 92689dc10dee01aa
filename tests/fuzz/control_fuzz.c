// SPDX-License-Identifier: BSD-3-Clause
//
// Any bytes as a control message of the kind that the first byte says: refused, or bit for bit what it is written as
// again; and any bytes as what a stranger sends to a coordinator: no message is ever heard.
#include <stdlib.h>
#include <string.h>

#include "onesided/control_session.h"
#include "onesided/transfer_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static struct co_coordination_message message;
static uint8_t body[CO_COORDINATION_BODY_MAX];

static void must(bool holds)
{
    if (!holds) {
        abort();
    }
}

// What the group library divides by, and where it marks chunks.
static void check_sense(void)
{
    if (message.kind == CO_SAY_SETUP || message.kind == CO_SAY_GO) {
        must(co_transfer_chunks(message.setup.bytes) - 1 < CO_TRANSFER_CHUNKS_MAX);
    }
    for (uint32_t i = 0; message.kind == CO_SAY_MISSING && i < message.missing.range_count; i++) {
        const struct co_coordination_range *range = &message.missing.ranges[i];
        must(range->first < CO_TRANSFER_CHUNKS_MAX && range->count <= CO_TRANSFER_CHUNKS_MAX - range->first);
    }
}

static void check_message(const uint8_t *data, size_t bytes)
{
    uint8_t *copy = malloc(bytes ? bytes : 1); // exactly as long, so that reading on is seen

    memcpy(copy, data, bytes);
    if (co_coordination_read(&message, copy, bytes) == 0) {
        must(co_coordination_write(body, &message) == bytes);
        must(memcmp(body, copy, bytes) == 0);
        check_sense();
    }
    free(copy);
}

static void check_stranger(const uint8_t *data, size_t bytes)
{
    static const uint8_t secret[CO_SECRET_BYTES] = {1};
    struct co_session *session;
    char why[200];
    int result = 1;

    must(co_session_open(&session, false, secret) == 0);
    while (bytes > 0 && result >= 0) {
        size_t taken = co_session_feed(session, data, bytes);
        result = co_session_next(session, &message, why, sizeof why);
        must(result <= 0 && !co_session_is_trusted(session));
        must(result < 0 || taken > 0);
        data += taken;
        bytes -= taken;
    }
    co_session_close(session);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes == 0) {
        return 0;
    }
    message.kind = data[0];
    if (message.kind < CO_SAY_END) {
        check_message(data + 1, bytes - 1);
    } else {
        check_stranger(data + 1, bytes - 1);
    }
    return 0;
}
