// SPDX-License-Identifier: BSD-3-Clause
//
// Tables from handles to numbers, and the records that say what a number means: who is in a communicator, by rank in
// MPI_COMM_WORLD, as runs of ranks with an equal distance (a row is first, step, count), and how types are called.
// Under a lock; not hot.
#include "record/record_handles.h"

#include "base/hash_map.h"
#include "mpi_below/next_mpi.h"
#include "record/recorder.h"

#include <stdlib.h>
#include <string.h>

static struct {
    __typeof__(PMPI_Comm_remote_size) *Comm_remote_size;
    __typeof__(PMPI_Comm_remote_group) *Comm_remote_group;
    __typeof__(PMPI_Type_get_name) *Type_get_name;
} ask;

static void members_open(void)
{
    *(void **)&ask.Comm_remote_size = co_next_mpi_find("PMPI_Comm_remote_size");
    *(void **)&ask.Comm_remote_group = co_next_mpi_find("PMPI_Comm_remote_group");
    *(void **)&ask.Type_get_name = co_next_mpi_find("PMPI_Type_get_name");
}

static int count_peers(MPI_Comm comm, bool is_between_groups)
{
    int size = 0;
    if (is_between_groups) {
        ask.Comm_remote_size(comm, &size);
    } else {
        co_next.Comm_size(comm, &size);
    }
    return size;
}

static void read_type_name(MPI_Datatype type, char name[MPI_MAX_OBJECT_NAME], int *length)
{
    *length = 0;
    ask.Type_get_name(type, name, length);
    if (*length > CO_TRACE_TEXT_MAX) {
        *length = CO_TRACE_TEXT_MAX;
    }
}

// Ranks in MPI_COMM_WORLD, -1 for members of other jobs; NULL: they cannot be told.
static int *translate(MPI_Comm comm, const struct co_record_known *known)
{
    size_t size = (size_t)known->size;
    int *members = malloc(2 * (size + 1) * sizeof(int));
    MPI_Group group, world;
    if (members == NULL || co_next.Comm_group(co_next.comm_world, &world) != MPI_SUCCESS) {
        free(members);
        return NULL;
    }
    int code = known->is_between_groups ? ask.Comm_remote_group(comm, &group) : co_next.Comm_group(comm, &group);
    if (code == MPI_SUCCESS) {
        for (int i = 0; i < known->size; i++) {
            members[size + (size_t)i] = i;
        }
        code = co_next.Group_translate_ranks(group, known->size, members + size, world, members);
        co_next.Group_free(&group);
    }
    co_next.Group_free(&world);
    if (code != MPI_SUCCESS) {
        free(members);
        return NULL;
    }
    for (size_t i = 0; i < size; i++) {
        members[i] = members[i] < 0 ? -1 : members[i];
    }
    return members;
}

static int run_length(const int *members, int count)
{
    int length = count < 2 ? count : 2;
    while (length < count && members[length] - members[length - 1] == members[1] - members[0]) {
        length++;
    }
    return length;
}

static void put_members(struct co_trace_stream *stream, struct co_trace_record *record, MPI_Comm comm,
                        const struct co_record_known *known)
{
    int *members = translate(comm, known);
    for (int i = 0, length; members != NULL && i < known->size; i += length) {
        length = run_length(members + i, known->size - i);
        if (record->row_count == CO_TRACE_ROWS_MAX) {
            co_trace_stream_put(stream, record);
            record->flags |= CO_TRACE_CONTINUED;
            record->row_count = record->text_bytes = 0;
        }
        int64_t *row = record->rows[record->row_count++];
        row[0] = members[i];
        row[1] = length > 1 ? members[i + 1] - members[i] : 0;
        row[2] = length;
    }
    co_trace_stream_put(stream, record);
    free(members);
}

struct table {
    pthread_mutex_t lock;
    struct co_hash_map map;
    uint32_t last; // number given
    _Atomic uint32_t *generation;
};

_Atomic uint32_t co_record_communicators_generation, co_record_types_generation;

static struct table communicators = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                     .generation = &co_record_communicators_generation};
static struct table types = {.lock = PTHREAD_MUTEX_INITIALIZER, .generation = &co_record_types_generation};

static uint64_t key_of(const void *handle)
{
    return (uint64_t)(uintptr_t)handle;
}

static bool find(struct table *table, const void *handle, struct co_record_known *known)
{
    pthread_mutex_lock(&table->lock);
    const struct co_record_known *entry = co_hash_map_get(&table->map, key_of(handle));
    if (entry != NULL) {
        *known = *entry;
    }
    pthread_mutex_unlock(&table->lock);
    return entry != NULL;
}

// With a new number, unless another thread was faster, which `known` then tells. True: new.
static bool add(struct table *table, struct co_record_known *known)
{
    struct co_record_known *entry = malloc(sizeof *entry);
    bool is_new = false;
    pthread_mutex_lock(&table->lock);
    const struct co_record_known *there = co_hash_map_get(&table->map, key_of(known->handle));
    if (there != NULL) {
        *known = *there;
    } else if (entry != NULL) {
        known->number = ++table->last;
        *entry = *known;
        is_new = co_hash_map_put(&table->map, key_of(known->handle), entry) == 0;
        known->number = is_new ? known->number : 0;
    }
    pthread_mutex_unlock(&table->lock);
    if (!is_new) {
        free(entry);
    }
    return is_new;
}

static uint32_t forget(struct table *table, const void *handle)
{
    pthread_mutex_lock(&table->lock);
    struct co_record_known *entry = co_hash_map_remove(&table->map, key_of(handle));
    pthread_mutex_unlock(&table->lock);
    if (entry == NULL) {
        return 0;
    }
    uint32_t number = entry->number;
    co_add_relaxed(table->generation, 1); // relaxed: see co_record_is_remembered
    free(entry);
    return number;
}

void co_record_handles_open(void)
{
    members_open();
    co_hash_map_open(&communicators.map);
    co_hash_map_open(&types.map);
}

static void tell_type(struct co_record_thread *thread, const struct co_record_known *known, MPI_Datatype type,
                      uint64_t now_ns)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    MPI_Count size = 0;
    int length = 0;
    co_next.Type_size_x(type, &size);
    read_type_name(type, name, &length);
    struct co_trace_record record = {.kind = CO_TRACE_TYPE,
                                     .begin_ns = now_ns,
                                     .end_ns = now_ns,
                                     .value = {known->number, size},
                                     .text = name,
                                     .text_bytes = (uint16_t)length};
    co_trace_stream_put(thread->stream, &record);
}

const struct co_record_known *co_record_datatype(struct co_record_thread *thread, MPI_Datatype type, uint64_t now_ns)
{
    struct co_record_known *slot = &thread->types[co_record_slot(type, CO_RECORD_TYPES)];
    uint32_t generation = co_load_relaxed(types.generation); // relaxed: see co_record_is_remembered
    struct co_record_known known = {.handle = type};
    if (type != NULL && type != co_next.datatype_null && !find(&types, type, &known) && add(&types, &known)) {
        tell_type(thread, &known, type, now_ns);
    }
    known.generation = generation;
    *slot = known;
    return slot;
}

// Number, parent, who made it, size, own rank, whether peers are in another group.
static void tell_communicator(struct co_record_thread *thread, const struct co_record_known *known, MPI_Comm comm,
                              uint32_t parent, unsigned made_by, uint64_t now_ns)
{
    struct co_trace_record record = {
        .kind = CO_TRACE_COMMUNICATOR,
        .begin_ns = now_ns,
        .end_ns = now_ns,
        .value = {known->number, parent, made_by, known->size, known->rank, known->is_between_groups},
        .text = "",
        .rows = thread->rows};
    if (comm == co_next.comm_world || comm == co_next.comm_self) {
        record.text = comm == co_next.comm_world ? "MPI_COMM_WORLD" : "MPI_COMM_SELF";
        record.text_bytes = (uint16_t)strlen(record.text);
    }
    if (comm != co_next.comm_null) {
        put_members(thread->stream, &record, comm, known);
    } else {
        co_trace_stream_put(thread->stream, &record);
    }
}

static void measure(struct co_record_known *known, MPI_Comm comm)
{
    int is_inter = 0;
    co_next.Comm_test_inter(comm, &is_inter);
    co_next.Comm_rank(comm, &known->rank);
    known->is_between_groups = is_inter;
    known->size = count_peers(comm, is_inter);
}

const struct co_record_known *co_record_communicator(struct co_record_thread *thread, MPI_Comm comm, uint64_t now_ns)
{
    struct co_record_known *slot = &thread->communicators[co_record_slot(comm, CO_RECORD_COMMUNICATORS)];
    uint32_t generation = co_load_relaxed(communicators.generation); // relaxed: see co_record_is_remembered
    struct co_record_known known = {.handle = comm};
    if (comm != NULL && comm != co_next.comm_null && !find(&communicators, comm, &known)) {
        measure(&known, comm);
        if (add(&communicators, &known)) {
            tell_communicator(thread, &known, comm, 0, CO_TRACE_NOTHING, now_ns);
        }
    }
    known.generation = generation;
    *slot = known;
    return slot;
}

uint32_t co_record_communicator_made(struct co_record_thread *thread, MPI_Comm comm, MPI_Comm parent, unsigned made_by,
                                     bool as_parent, uint64_t now_ns)
{
    struct co_record_known known = {.handle = comm};
    struct co_record_known from = *co_record_communicator(thread, parent, now_ns);
    if (comm == co_next.comm_null) {
        return 0;
    }
    // Freed by a function that nobody told us of.
    co_record_communicator_forget(&comm);
    if (as_parent) {
        known = from;
        known.handle = comm;
    } else {
        measure(&known, comm);
    }
    if (add(&communicators, &known)) {
        tell_communicator(thread, &known, as_parent ? co_next.comm_null : comm, from.number, made_by, now_ns);
    }
    return known.number;
}

uint32_t co_record_communicator_forget(const MPI_Comm *comm)
{
    return comm == NULL ? 0 : forget(&communicators, *comm);
}

uint32_t co_record_datatype_forget(const MPI_Datatype *type)
{
    return type == NULL ? 0 : forget(&types, *type);
}
