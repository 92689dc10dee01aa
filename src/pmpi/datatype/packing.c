// SPDX-License-Identifier: BSD-3-Clause
//
// Native's packed image is the raw bytes of the type map, without a header (measured), so native packs, in pieces
// whose size fits an int. An element that is larger than that goes as a message to ourselves, with a type of bytes of
// the same size on the packed side.
#include "pmpi/datatype/packing.h"

#include "base/atomics.h"
#include "pmpi/life/process.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define PIECE_BYTES ((size_t)1 << 30)
#define TAG_MOST 0x7fff // that any MPI takes

// A committed type of `bytes` bytes in a row.
static int make_run(MPI_Datatype *run, size_t bytes)
{
    int count = (int)((bytes + PIECE_BYTES - 1) / PIECE_BYTES);
    int *lengths = malloc((size_t)count * sizeof(int));
    MPI_Aint *places = malloc((size_t)count * sizeof(MPI_Aint));
    int code = MPI_ERR_NO_MEM;
    if (lengths != NULL && places != NULL) {
        for (int i = 0; i < count; i++) {
            size_t place = (size_t)i * PIECE_BYTES;
            places[i] = (MPI_Aint)place;
            lengths[i] = (int)(bytes - place < PIECE_BYTES ? bytes - place : PIECE_BYTES);
        }
        code = co_next.Type_create_hindexed(count, lengths, places, co_next.byte, run);
    }
    free(lengths);
    free(places);
    return code == MPI_SUCCESS && co_next.Type_commit(run) == MPI_SUCCESS ? 0 : -ENOMEM;
}

int co_packing_tag(void)
{
    static _Atomic unsigned tags;
    return (int)(co_add_relaxed(&tags, 1) & TAG_MOST); // relaxed: only different from the others'
}

static int send_to_self(const void *from, MPI_Datatype from_type, void *to, MPI_Datatype to_type)
{
    int tag = co_packing_tag();
    int code = co_next.Sendrecv(from, 1, from_type, 0, tag, to, 1, to_type, 0, tag, co_process.self, MPI_STATUS_IGNORE);
    return code == MPI_SUCCESS ? 0 : -EIO;
}

static int move_large(char *packed, char *buffer, size_t count, MPI_Datatype type, const struct co_datatype *facts,
                      bool packs)
{
    MPI_Datatype run;
    int error = make_run(&run, facts->bytes);
    if (error != 0) {
        return error;
    }
    for (size_t i = 0; error == 0 && i < count; i++) {
        char *element = buffer + (ptrdiff_t)i * facts->extent;
        char *place = packed + i * facts->bytes;
        error = packs ? send_to_self(element, type, place, run) : send_to_self(place, run, element, type);
    }
    co_next.Type_free(&run);
    return error;
}

static int move(char *packed, char *buffer, size_t count, MPI_Datatype type, const struct co_datatype *facts,
                bool packs)
{
    if (facts->bytes > PIECE_BYTES) {
        return move_large(packed, buffer, count, type, facts, packs);
    }
    size_t most = facts->bytes == 0 ? count : PIECE_BYTES / facts->bytes;
    for (size_t done = 0; done < count;) {
        size_t piece = count - done < most ? count - done : most;
        int bytes = (int)(piece * facts->bytes), position = 0, code;
        char *elements = buffer + (ptrdiff_t)done * facts->extent;
        char *place = packed + done * facts->bytes;
        if (packs) {
            code = co_next.Pack(elements, (int)piece, type, place, bytes, &position, co_process.self);
        } else {
            code = co_next.Unpack(place, bytes, &position, elements, (int)piece, type, co_process.self);
        }
        if (code != MPI_SUCCESS) { // MPICH packs nothing at MPI_BOTTOM, but sends from there
            return move_large(place, elements, count - done, type, facts, packs);
        }
        done += piece;
    }
    return 0;
}

// Native unpacks whole elements only; a part of one goes as a message to ourselves, which native takes as such.
static int unpack_end(void *element, const char *packed, size_t bytes, MPI_Datatype type)
{
    MPI_Datatype run;
    int error = make_run(&run, bytes);
    if (error == 0) {
        error = send_to_self(packed, run, element, type);
        co_next.Type_free(&run);
    }
    return error;
}

static int unpack_part(void *buffer, const void *packed, size_t bytes, size_t count, MPI_Datatype type,
                       const struct co_datatype *facts)
{
    size_t whole = bytes / facts->bytes, rest = bytes % facts->bytes;
    int error = move((char *)(uintptr_t)packed, buffer, whole, type, facts, false);
    if (error == 0 && rest > 0 && whole < count) {
        error = unpack_end((char *)buffer + (ptrdiff_t)whole * facts->extent,
                           (const char *)packed + whole * facts->bytes, rest, type);
    }
    return error;
}

// Where the bytes of so many elements lie, seen from their address.
struct span {
    ptrdiff_t begin, end;
};

static bool measure_span(struct span *span, size_t count, MPI_Datatype type, const struct co_datatype *facts)
{
    MPI_Count lower = 0, extent = 0;
    ptrdiff_t last = count == 0 ? 0 : (ptrdiff_t)(count - 1) * facts->extent;
    if (co_next.Type_get_true_extent_x(type, &lower, &extent) != MPI_SUCCESS) {
        return false;
    }
    *span =
        (struct span){(ptrdiff_t)lower + (last < 0 ? last : 0), (ptrdiff_t)(lower + extent) + (last > 0 ? last : 0)};
    return true;
}

bool co_packing_is_on_device(const void *buffer, size_t count, MPI_Datatype type, const struct co_datatype *facts)
{
    struct span span;
    return co_device_memory_is_taken && count * facts->bytes > 0 && measure_span(&span, count, type, facts) &&
           co_device_memory_find((const char *)buffer + span.begin);
}

static int pack_from_device(void *packed, const char *buffer, size_t count, MPI_Datatype type,
                            const struct co_datatype *facts)
{
    struct span span;
    if (facts->is_contiguous) {
        return co_device_memory_read(packed, buffer, count * facts->bytes);
    }
    if (!measure_span(&span, count, type, facts)) {
        return -EIO;
    }
    char *host = malloc((size_t)(span.end - span.begin));
    int error =
        host == NULL ? -ENOMEM : co_device_memory_read(host, buffer + span.begin, (size_t)(span.end - span.begin));
    if (error == 0) {
        error = move(packed, (char *)((uintptr_t)host - (uintptr_t)span.begin), count, type, facts, true);
    }
    free(host);
    return error;
}

// What lies between the elements is written back as it was, so one thread at a time may do this: two receives into
// gaps of each other are legal.
static int unpack_to_device(char *buffer, const void *packed, size_t bytes, size_t count, MPI_Datatype type,
                            const struct co_datatype *facts)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct span span;
    if (facts->is_contiguous) {
        return co_device_memory_write(buffer, packed, bytes);
    }
    if (!measure_span(&span, count, type, facts)) {
        return -EIO;
    }
    size_t room = (size_t)(span.end - span.begin);
    char *host = malloc(room);
    pthread_mutex_lock(&lock);
    int error = host == NULL ? -ENOMEM : co_device_memory_read(host, buffer + span.begin, room);
    if (error == 0) {
        error = unpack_part((char *)((uintptr_t)host - (uintptr_t)span.begin), packed, bytes, count, type, facts);
    }
    if (error == 0) {
        error = co_device_memory_write(buffer + span.begin, host, room);
    }
    pthread_mutex_unlock(&lock);
    free(host);
    return error;
}

int co_unpack_part(void *buffer, const void *packed, size_t bytes, size_t count, MPI_Datatype type,
                   const struct co_datatype *facts)
{
    return co_packing_is_on_device(buffer, count, type, facts)
               ? unpack_to_device(buffer, packed, bytes, count, type, facts)
               : unpack_part(buffer, packed, bytes, count, type, facts);
}

int co_pack(void *packed, const void *buffer, size_t count, MPI_Datatype type, const struct co_datatype *facts)
{
    return co_packing_is_on_device(buffer, count, type, facts)
               ? pack_from_device(packed, buffer, count, type, facts)
               : move(packed, (char *)(uintptr_t)buffer, count, type, facts, true);
}

int co_unpack(void *buffer, const void *packed, size_t count, MPI_Datatype type, const struct co_datatype *facts)
{
    return co_packing_is_on_device(buffer, count, type, facts)
               ? unpack_to_device(buffer, packed, count * facts->bytes, count, type, facts)
               : move((char *)(uintptr_t)packed, buffer, count, type, facts, false);
}
