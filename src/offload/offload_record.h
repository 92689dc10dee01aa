// SPDX-License-Identifier: BSD-3-Clause
//
// What proxies say to each other: layout and validation of records, in one place (docs/wire-format.md has the drawing).
// A record names messages by ranks, tag and number, never by an address of a process. Those of a team's calls have
// kinds of their own, with the team where others have tag and space. Tags that keep strangers out are the carrier's,
// around the record. Pure; any thread; DATA is hot.
#ifndef CASTOFF_OFFLOAD_OFFLOAD_RECORD_H
#define CASTOFF_OFFLOAD_OFFLOAD_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "offload/offload_key.h"

#define CO_OFFLOAD_RECORD_VERSION 1
#define CO_OFFLOAD_RECORD_HEAD_BYTES 8
#define CO_OFFLOAD_RECORD_ENTRY_BYTES 24
#define CO_OFFLOAD_RECORD_DATA_HEAD_BYTES                                                                              \
    (CO_OFFLOAD_RECORD_HEAD_BYTES + CO_OFFLOAD_RECORD_ENTRY_BYTES + 16) // in front of the payload
#define CO_OFFLOAD_RECORD_ENTRIES_MAX 1024
#define CO_OFFLOAD_RECORD_PAYLOAD_MAX (64 * 1024)
#define CO_OFFLOAD_RECORD_BYTES_MAX (CO_OFFLOAD_RECORD_DATA_HEAD_BYTES + CO_OFFLOAD_RECORD_PAYLOAD_MAX)

enum co_offload_record_kind {
    CO_OFFLOAD_RECORD_READY = 1,      // control: receives that may be written now
    CO_OFFLOAD_RECORD_SEND_FAILED,    // control: sends whose bytes will not come (any more)
    CO_OFFLOAD_RECORD_RECEIVE_FAILED, // control: receives that take nothing (any more)
    CO_OFFLOAD_RECORD_GONE,           // control: a rank has ended; bulk: it has left, behind its last bytes
    CO_OFFLOAD_RECORD_DATA,           // bulk: a piece of a message
    CO_OFFLOAD_RECORD_CALLED, // control: ranks that have begun so many calls of a team: their receives are ready
    CO_OFFLOAD_RECORD_ASK,    // control: of a team that a rank has opened: what have others called?
    CO_OFFLOAD_RECORD_TEAM_SEND_FAILED,    // control: as above, of a team's calls
    CO_OFFLOAD_RECORD_TEAM_RECEIVE_FAILED, // control
    CO_OFFLOAD_RECORD_TEAM_DATA,           // bulk
    CO_OFFLOAD_RECORD_END
};

struct co_offload_record {
    uint32_t kind;
    union {
        struct {
            uint32_t count;
            const uint8_t *bytes; // where they stand: co_offload_record_entry
        } entries;                // all but GONE and DATA
        uint32_t rank;            // GONE
        struct {
            struct co_offload_key key;
            uint64_t offset, whole; // of the piece, in a message of so many bytes
            const uint8_t *payload;
            uint32_t payload_bytes;
        } data;
    };
};

// CALLED and ASK have keys of space TEAM with `to` zero: `from` has begun `number` calls, or asks (number 0).
static inline bool co_offload_record_is_data(uint32_t kind)
{
    return kind == CO_OFFLOAD_RECORD_DATA || kind == CO_OFFLOAD_RECORD_TEAM_DATA;
}

// Of 1 to CO_OFFLOAD_RECORD_ENTRIES_MAX keys, all of the kind's space. Returns the bytes of the record.
size_t co_offload_record_encode_entries(uint8_t *out, enum co_offload_record_kind kind,
                                        const struct co_offload_key *keys, uint32_t count);
size_t co_offload_record_encode_gone(uint8_t out[CO_OFFLOAD_RECORD_HEAD_BYTES + 8], uint32_t rank);
// Only what stands in front of the payload, of which the caller puts `payload_bytes` behind.
void co_offload_record_encode_data_head(uint8_t out[CO_OFFLOAD_RECORD_DATA_HEAD_BYTES],
                                        const struct co_offload_key *key, uint64_t offset, uint64_t whole,
                                        uint32_t payload_bytes);

// Bytes of the record that begins there, 0 when these are too few to tell: CO_OFFLOAD_RECORD_HEAD_BYTES suffice.
// -EPROTO: no record begins so.
int64_t co_offload_record_bytes(const uint8_t *head, size_t bytes);

// One whole record, bit for bit as it would be encoded, or -EPROTO. Pointers in `out` are into `bytes`.
int co_offload_record_decode(struct co_offload_record *out, const uint8_t *record, size_t bytes);
struct co_offload_key co_offload_record_entry(const struct co_offload_record *record, uint32_t index);

#endif
