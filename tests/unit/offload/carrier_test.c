// SPDX-License-Identifier: BSD-3-Clause
//
// Carriers keep their contract: the loopback.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "carrier_contract.h"
#include "loopback_carrier.h"

struct heard {
    uint8_t *record;
    size_t bytes;
};

static void hear(void *context, int from, int to, enum co_carrier_connection connection, const uint8_t *record,
                 size_t bytes)
{
    struct heard *heard = context;
    (void)from;
    (void)to;
    (void)connection;
    memcpy(heard->record, record, bytes);
    heard->bytes = bytes;
}

static size_t next(void *context, enum co_carrier_connection connection, uint8_t *record)
{
    struct heard heard = {record, 0};
    loopback_deliver(context, 0, 1, connection, &heard, hear);
    return heard.bytes;
}

static void loopback(void **state)
{
    (void)state;
    static struct loopback_hub hub;
    loopback_open(&hub, 2, 3);
    carrier_contract_check(&(struct carrier_rig){&hub.ends[0].carrier, &hub, next});
    loopback_close(&hub);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(loopback)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
