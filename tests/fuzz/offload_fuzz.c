// SPDX-License-Identifier: BSD-3-Clause
//
// Any bytes as a record between proxies, as a command or an operation of a rank, or as a completion: refused, or bit
// for bit what it is written as again. The first byte says which.
#include <stdlib.h>
#include <string.h>

#include "offload/offload_command.h"
#include "offload/offload_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { RANKS = 300 };

static uint8_t again[CO_OFFLOAD_RECORD_BYTES_MAX];

static void must(bool holds)
{
    if (!holds) {
        abort();
    }
}

static size_t record_encode(const struct co_offload_record *record)
{
    static struct co_offload_key keys[CO_OFFLOAD_RECORD_ENTRIES_MAX];

    if (record->kind == CO_OFFLOAD_RECORD_GONE) {
        return co_offload_record_encode_gone(again, record->rank);
    }
    if (co_offload_record_is_data(record->kind)) {
        co_offload_record_encode_data_head(again, &record->data.key, record->data.offset, record->data.whole,
                                           record->data.payload_bytes);
        memcpy(again + CO_OFFLOAD_RECORD_DATA_HEAD_BYTES, record->data.payload, record->data.payload_bytes);
        return CO_OFFLOAD_RECORD_DATA_HEAD_BYTES + record->data.payload_bytes;
    }
    for (uint32_t i = 0; i < record->entries.count; i++) {
        keys[i] = co_offload_record_entry(record, i);
    }
    return co_offload_record_encode_entries(again, record->kind, keys, record->entries.count);
}

static void check_record(const uint8_t *data, size_t bytes)
{
    struct co_offload_record record;
    int64_t length = co_offload_record_bytes(data, bytes);

    must(length <= CO_OFFLOAD_RECORD_BYTES_MAX);
    if (co_offload_record_decode(&record, data, bytes) == 0) {
        must(length == (int64_t)bytes && record_encode(&record) == bytes && memcmp(again, data, bytes) == 0);
    }
}

static void check_others(unsigned kind, const uint8_t *data, size_t bytes)
{
    struct co_offload_command command;
    struct co_offload_operation operation;
    struct co_offload_completion completion;

    if (kind == 1 && bytes == CO_OFFLOAD_COMMAND_BYTES && co_offload_command_decode(&command, data, RANKS) == 0) {
        co_offload_command_encode(again, &command);
        must(memcmp(again, data, bytes) == 0 && command.ticket < CO_TICKETS && command.operation.to < RANKS);
    } else if (kind == 2 && bytes == CO_OFFLOAD_OPERATION_BYTES &&
               co_offload_operation_decode(&operation, data, RANKS) == 0) {
        co_offload_operation_encode(again, &operation);
        must(memcmp(again, data, bytes) == 0 && operation.to < RANKS && operation.from < RANKS);
        must(operation.address + operation.bytes >= operation.address);
    } else if (kind == 3 && bytes == CO_OFFLOAD_COMPLETION_BYTES &&
               co_offload_completion_decode(&completion, data) == 0) {
        co_offload_completion_encode(again, &completion);
        must(memcmp(again, data, bytes) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes == 0) {
        return 0;
    }
    uint8_t *copy = malloc(bytes); // exactly as long, so that reading on is seen
    memcpy(copy, data + 1, bytes - 1);
    if (data[0] % 4 == 0) {
        check_record(copy, bytes - 1);
    } else {
        check_others(data[0] % 4, copy, bytes - 1);
    }
    free(copy);
    return 0;
}
