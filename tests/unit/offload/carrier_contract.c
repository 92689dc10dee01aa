// SPDX-License-Identifier: BSD-3-Clause
//
// The contract of carriers; see the header.
#include "carrier_contract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { RECORD_BYTES = 65536, RECORDS_MAX = 10000 };

static uint8_t record[70000];

static void record_make(unsigned number, size_t bytes)
{
    memset(record, (int)number, bytes);
    memcpy(record, &number, sizeof number);
}

static void must_come(const struct carrier_rig *rig, enum co_carrier_connection connection, unsigned number,
                      size_t bytes)
{
    static uint8_t got[70000];
    assert_int_equal(rig->next(rig->context, connection, got), bytes);
    record_make(number, bytes);
    assert_memory_equal(got, record, bytes);
}

// In order, whole, once; and the caller's memory is its own again.
static void control_arrives(const struct carrier_rig *rig)
{
    for (unsigned i = 0; i < 300; i++) {
        record_make(i, 8 + i);
        rig->carrier->ops->control(rig->carrier, 1, record, 8 + i);
        memset(record, 255, sizeof record);
    }
    for (unsigned i = 0; i < 300; i++) {
        must_come(rig, CO_CARRIER_CONTROL, i, 8 + i);
    }
    assert_int_equal(rig->next(rig->context, CO_CARRIER_CONTROL, record), 0);
}

// Bulk has an end of its room, and control has none, and is not behind it.
static void control_passes_bulk(const struct carrier_rig *rig)
{
    unsigned sent = 0, came = 0;

    while (sent < RECORDS_MAX && rig->carrier->ops->has_room(rig->carrier, 1)) {
        record_make(sent, RECORD_BYTES);
        rig->carrier->ops->bulk(rig->carrier, 1, record, RECORD_BYTES);
        sent++;
    }
    assert_true(sent > 0 && sent < RECORDS_MAX);
    for (unsigned i = 0; i < 50; i++) {
        record_make(i, 100);
        rig->carrier->ops->control(rig->carrier, 1, record, 100);
    }
    for (unsigned i = 0; i < 50; i++) {
        must_come(rig, CO_CARRIER_CONTROL, i, 100);
    }
    assert_false(rig->carrier->ops->has_room(rig->carrier, 1));
    while (came < sent) {
        must_come(rig, CO_CARRIER_BULK, came++, RECORD_BYTES);
    }
    assert_true(rig->carrier->ops->has_room(rig->carrier, 1));
    assert_int_equal(rig->next(rig->context, CO_CARRIER_BULK, record), 0);
}

void carrier_contract_check(const struct carrier_rig *rig)
{
    control_arrives(rig);
    control_passes_bulk(rig);
    control_arrives(rig);
}
