// SPDX-License-Identifier: BSD-3-Clause
//
// Records of castoff's own traces to calls. A list that is longer than a record goes on in the next ones: a call is
// given when the record after it has come.
#include "tools/trace/read/own_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool co_own_trace_begins(const uint8_t *bytes, size_t size)
{
    return size >= 14 && memcmp(bytes, CO_TRACE_MAGIC, 14) == 0;
}

static void begin(struct co_own_trace *trace)
{
    co_trace_links_open(&trace->links);
    co_hash_map_open(&trace->types);
}

int co_own_trace_open(struct co_own_trace *trace, const char *path, struct co_note *note)
{
    char why[CO_TRACE_WHY_MAX];
    *trace = (struct co_own_trace){.world = UINT32_MAX};
    int error = co_trace_file_open(&trace->file, path, why);
    if (error != 0) {
        co_note_add(note, 0, "%s", why);
        return error;
    }
    begin(trace);
    return 0;
}

int co_own_trace_open_bytes(struct co_own_trace *trace, const uint8_t *bytes, size_t size, struct co_note *note)
{
    char why[CO_TRACE_WHY_MAX];
    *trace = (struct co_own_trace){.world = UINT32_MAX};
    int error = co_trace_file_open_bytes(&trace->file, bytes, size, why);
    if (error != 0) {
        co_note_add(note, 0, "%s", why);
        return error;
    }
    begin(trace);
    return 0;
}

void co_own_trace_close(struct co_own_trace *trace)
{
    for (int i = 0; i < 2; i++) {
        free(trace->calls[i].requests);
        free(trace->calls[i].indices);
        free(trace->calls[i].statuses);
        free(trace->calls[i].numbers);
    }
    co_hash_map_close(&trace->types);
    co_trace_links_close(&trace->links);
    co_trace_file_close(&trace->file);
}

// A field of the record by its letter; false: this kind has none, or it was not told.
static bool value_of(const struct co_trace_record *record, char letter, int64_t *value)
{
    const struct co_trace_row *row = co_trace_row(record->kind);
    const char *asked = strchr(row->asked, letter), *told = strchr(row->told, letter);
    bool was_told = record->is_unfinished == 0 && (record->flags & (CO_TRACE_IN_VAIN | CO_TRACE_CONTINUED)) == 0;
    if ((record->flags & CO_TRACE_CONTINUED) != 0 || (asked == NULL && (told == NULL || !was_told))) {
        return false;
    }
    *value = record->value[asked != NULL ? asked - row->asked : row->asked_count + (told - row->told)];
    return true;
}

static int32_t number_of(const struct co_trace_record *record, char letter, int32_t otherwise)
{
    int64_t value;
    return value_of(record, letter, &value) ? (int32_t)value : otherwise;
}

// The world has DUMPI's number of it, and the others come behind.
static uint32_t comm_of(const struct co_own_trace *trace, int64_t number)
{
    return (uint32_t)number == trace->world ? CO_COMM_WORLD
           : number <= 0                    ? CO_COMM_NULL
                                            : (uint32_t)number + CO_COMM_FIRST;
}

static uint64_t request_of(uint64_t link)
{
    return link == 0 ? 0 : link + CO_REQUEST_FIRST;
}

static bool make_room(struct co_own_call *own, uint32_t count)
{
    if (count <= own->room) {
        return true;
    }
    uint32_t room = own->room == 0 ? CO_TRACE_ROWS_MAX : own->room;
    while (room < count && room < CO_CALL_NUMBERS_MAX) {
        room *= 2;
    }
    void *requests = realloc(own->requests, room * sizeof *own->requests);
    own->requests = requests != NULL ? requests : own->requests;
    void *indices = realloc(own->indices, room * sizeof *own->indices);
    own->indices = indices != NULL ? indices : own->indices;
    void *statuses = realloc(own->statuses, room * sizeof *own->statuses);
    own->statuses = statuses != NULL ? statuses : own->statuses;
    if (requests == NULL || indices == NULL || statuses == NULL || room < count) {
        return false;
    }
    own->room = room;
    return true;
}

static int64_t column(const struct co_trace_record *record, uint32_t row, char letter, int64_t otherwise)
{
    const char *columns = co_trace_row(record->kind)->columns, *place = strchr(columns, letter);
    return place == NULL ? otherwise : record->rows[row][place - columns];
}

// Requests that a wait has completed, or that were started.
static void add_rows(struct co_own_trace *trace, struct co_own_call *own, const struct co_trace_record *record)
{
    struct co_traced_call *call = &own->call;
    for (uint32_t row = 0; row < record->row_count; row++) {
        uint32_t i = call->request_count;
        if (!make_room(own, i + 1)) {
            return;
        }
        uint64_t handle = (uint64_t)column(record, row, 'r', 0);
        own->requests[i] = request_of(co_trace_links_find(&trace->links, handle).number);
        own->indices[i] = (int32_t)i;
        own->statuses[i] = (struct co_call_status){
            .source = (int32_t)column(record, row, 'a', CO_CALL_NOT_KNOWN),
            .tag = (int32_t)column(record, row, 'd', CO_CALL_NOT_KNOWN),
            .bytes = (int32_t)column(record, row, 'b', 0),
            .is_cancelled = column(record, row, 'x', 0) == 1,
        };
        call->request_count = call->index_count = call->status_count = i + 1;
    }
    call->requests = own->requests;
    call->indices = own->indices;
    call->statuses = own->statuses;
}

static void add_status(struct co_own_call *own, const struct co_trace_record *record)
{
    int64_t source;
    if (value_of(record, 'a', &source) && make_room(own, 1)) {
        own->statuses[0] = (struct co_call_status){.source = (int32_t)source,
                                                   .tag = number_of(record, 'd', CO_CALL_NOT_KNOWN),
                                                   .bytes = number_of(record, 'b', 0),
                                                   .is_cancelled = number_of(record, 'x', 0) == 1};
        own->call.statuses = own->statuses;
        own->call.status_count = 1;
    }
}

static void add_message(const struct co_own_trace *trace, struct co_own_call *own, const struct co_trace_record *record)
{
    struct co_traced_call *call = &own->call;
    int64_t count = number_of(record, 'n', -1), type = number_of(record, 't', 0);
    uintptr_t bytes = (uintptr_t)co_hash_map_get(&trace->types, (uint64_t)type);
    call->peer = number_of(record, 'p', CO_CALL_NOT_KNOWN);
    call->tag = number_of(record, 'g', CO_CALL_NOT_KNOWN);
    call->source = number_of(record, 'P', CO_CALL_NOT_KNOWN);
    call->receive_tag = number_of(record, 'G', CO_CALL_NOT_KNOWN);
    call->root = number_of(record, 'o', -1);
    call->bytes = count >= 0 && bytes > 0 ? count * (int64_t)(bytes - 1) : -1;
}

// A communicator that the rank uses for the first time: members as ranks of the world.
static void add_communicator(struct co_own_trace *trace, struct co_own_call *own, const struct co_trace_record *record)
{
    static const char world[] = "MPI_COMM_WORLD";
    struct co_traced_call *call = &own->call;
    int64_t number = number_of(record, 'c', 0);
    if (record->text_bytes == sizeof world - 1 && memcmp(record->text, world, sizeof world - 1) == 0 &&
        number_of(record, 'f', 0) == 0) {
        trace->world = (uint32_t)number;
        return;
    }
    call->op = number_of(record, 'v', 0) == 0 ? CO_CALL_COMM_MEMBERS : CO_CALL_COMM_BETWEEN;
    call->comm = comm_of(trace, number_of(record, 'f', 0));
    call->new_comm = comm_of(trace, number);
    call->color = number_of(record, 'q', 0);
    bool is_told = call->color > 0 && call->color < CO_TRACE_KIND_COUNT;
    const char *made_by = is_told ? co_trace_row((unsigned)call->color)->name : "";
    unsigned id = co_call_find(made_by, strlen(made_by));
    call->id = (uint16_t)(id < CO_CALL_COUNT ? id : call->id);
}

static void add_members(struct co_own_call *own, const struct co_trace_record *record)
{
    struct co_traced_call *call = &own->call;
    for (uint32_t row = 0; row < record->row_count; row++) {
        int64_t first = record->rows[row][0], distance = record->rows[row][1], many = record->rows[row][2];
        if (many < 0 || many > CO_CALL_NUMBERS_MAX - (int64_t)call->number_count || first > INT32_MAX ||
            distance < INT32_MIN || distance > INT32_MAX) {
            break; // no recording has that
        }
        uint32_t count = call->number_count + (uint32_t)many;
        int32_t *larger = count > own->numbers_room ? realloc(own->numbers, count * sizeof *larger) : own->numbers;
        if (larger == NULL) {
            break;
        }
        own->numbers_room = count > own->numbers_room ? count : own->numbers_room;
        own->numbers = larger;
        for (int64_t i = 0; i < many; i++) {
            own->numbers[call->number_count++] = (int32_t)(first < 0 ? -1 : first + i * distance);
        }
    }
    call->numbers = own->numbers;
}

// What makes a communicator is told by the record of the communicator; the call itself only brings its ranks together.
// What starts a file's request is known by the request alone: DUMPI's records of these calls do not tell which it is.
static unsigned op_of(unsigned id, const struct co_trace_row *row)
{
    unsigned op = co_call_rows[id].op;
    bool starts_file = row->family == CO_TRACE_FAMILY_FILE && strchr(row->told, 'r') != NULL;
    bool is_between = op == CO_CALL_INTERCOMM_CREATE || op == CO_CALL_INTERCOMM_MERGE;
    return starts_file                                            ? CO_CALL_START_OTHER
           : op >= CO_CALL_COMM_DUP && op <= CO_CALL_GRAPH_CREATE ? CO_CALL_TOGETHER
           : op == CO_CALL_COMM_UNKNOWN || is_between             ? CO_CALL_NOTHING
                                                                  : op;
}

static void link_request(struct co_own_trace *trace, struct co_own_call *own, const struct co_trace_record *record)
{
    const struct co_trace_row *row = co_trace_row(record->kind);
    int64_t handle;
    if (!value_of(record, 'r', &handle)) {
        return;
    }
    bool makes = strchr(row->told, 'r') != NULL && record->flags == (record->flags & CO_TRACE_NESTED);
    uint64_t number = makes ? co_trace_links_make(&trace->links, (uint64_t)handle, (enum co_trace_kind)record->kind)
                            : co_trace_links_find(&trace->links, (uint64_t)handle).number;
    own->call.request = makes && handle == CO_TRACE_COMPLETE ? 0 : request_of(number);
}

static void begin_call(struct co_own_trace *trace, struct co_own_call *own, const struct co_trace_record *record)
{
    const struct co_trace_row *row = co_trace_row(record->kind);
    unsigned id = co_call_find(row->name, strlen(row->name));
    struct co_traced_call *call = &own->call;
    own->is_there = true;
    co_call_clear(call, id < CO_CALL_COUNT ? id : CO_CALL_NO_CALL);
    call->op = (uint8_t)(id < CO_CALL_COUNT ? op_of(id, row) : CO_CALL_NOTHING);
    call->begin_ns = record->begin_ns;
    call->end_ns = record->end_ns;
    call->has_failed = (record->flags & CO_TRACE_FAILED) != 0;
    call->is_in_vain = (record->flags & CO_TRACE_IN_VAIN) != 0;
    call->times = call->is_in_vain ? record->times : 1;
    call->comm = comm_of(trace, number_of(record, 'c', 0));
    if (row->family == CO_TRACE_FAMILY_MARK) {
        call->times = 0;
    }
    add_message(trace, own, record);
    add_status(own, record);
    link_request(trace, own, record);
    if (record->is_unfinished) { // a receive that nobody ended
        call->op = call->op == CO_CALL_RECEIVE ? CO_CALL_IRECEIVE
                   : call->op == CO_CALL_SEND  ? call->op
                                               : CO_CALL_NOTHING;
        call->end_ns = record->begin_ns;
    }
}

static void add_record(struct co_own_trace *trace, struct co_own_call *own, const struct co_trace_record *record)
{
    const struct co_trace_row *row = co_trace_row(record->kind);
    if ((record->flags & CO_TRACE_CONTINUED) == 0) {
        begin_call(trace, own, record);
        if (record->kind == CO_TRACE_COMMUNICATOR) {
            add_communicator(trace, own, record);
        } else if (record->kind == CO_TRACE_TYPE) {
            int32_t bytes = number_of(record, 'u', 0);
            uint64_t type = (uint64_t)number_of(record, 't', 0);
            co_hash_map_remove(&trace->types, type);
            (void)co_hash_map_put(&trace->types, type, (void *)(uintptr_t)((bytes > 0 ? (uint64_t)bytes : 0) + 1));
        }
    }
    if (record->kind == CO_TRACE_COMMUNICATOR) {
        add_members(own, record);
    } else if (row->has_list) {
        add_rows(trace, own, record);
        if (own->call.op >= CO_CALL_WAITANY && own->call.op <= CO_CALL_TESTSOME) {
            own->call.op = CO_CALL_WAITSOME; // all that is in the list has completed
        }
    }
}

static void note_end(struct co_own_trace *trace, struct co_note *note)
{
    if (trace->file.damages > 0) {
        co_note_add(note, trace->file.damage_offset, "%s", trace->file.damage);
    }
    if (trace->file.header.end == CO_TRACE_STOPPED) {
        co_note_add(note, trace->file.source.size, "the recording stopped early: there was no room on the disk");
    }
}

bool co_own_trace_next(struct co_own_trace *trace, struct co_traced_call *call, struct co_note *note)
{
    while (!trace->is_over) {
        const struct co_trace_record *record = co_trace_file_next(&trace->file);
        struct co_own_call *own = &trace->calls[trace->current];
        if (record != NULL && (record->flags & CO_TRACE_CONTINUED) != 0) {
            if (own->is_there) {
                add_record(trace, own, record);
            }
            continue;
        }
        bool is_ready = own->is_there;
        own->is_there = false;
        trace->current ^= 1U;
        if (record != NULL) {
            add_record(trace, &trace->calls[trace->current], record);
        } else {
            trace->is_over = true;
            note_end(trace, note);
        }
        if (is_ready) {
            *call = own->call;
            return true;
        }
    }
    return false;
}
