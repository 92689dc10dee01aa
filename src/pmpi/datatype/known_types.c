// SPDX-License-Identifier: BSD-3-Clause
//
// A table of cells that are never moved. A type that finds none free is asked for each time, as is one at its first
// use: most programs make a type for a single use, or use it again and again.
#include "pmpi/datatype/known_types.h"

#include <pthread.h>
#include <stdlib.h>

#include "pmpi/life/process.h"

struct co_known_type_cell co_known_type_cells[CO_KNOWN_TYPE_CELLS];

static _Atomic(MPI_Datatype) met[CO_KNOWN_TYPE_CELLS];   // handles, perhaps of types that are gone
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // who takes a cell; nobody is called under it
static int keyval = MPI_KEYVAL_INVALID;
static _Atomic size_t blocks; // of all shapes

#define BLOCKS_MOST ((size_t)1 << 20) // 48 MB of them

static void free_known(struct co_known_type *known)
{
    if (known != NULL) {
        co_add_relaxed(&blocks, -co_type_shape_blocks(known->shape)); // relaxed: a sum
        co_type_shape_drop(known->shape);
        free(known);
    }
}

// NULL: native packs it, as it does where shapes have taken much memory.
static struct co_type_shape *make_shape(MPI_Datatype type, const struct co_datatype *facts)
{
    bool may_have = !facts->is_contiguous && co_load_relaxed(&blocks) < BLOCKS_MOST; // relaxed: about so many
    struct co_type_shape *shape = may_have ? co_type_shape_open(type, facts, CO_TYPE_SHAPE_MOST) : NULL;
    co_add_relaxed(&blocks, co_type_shape_blocks(shape)); // relaxed: a sum
    return shape;
}

static void clear(struct co_known_type_cell *cell)
{
    free_known(atomic_exchange_explicit(&cell->known, NULL, memory_order_acq_rel)); // acquire T
    co_store_release(&cell->type, CO_NO_HANDLE); // release C: known is NULL to the next owner
}

static int copy_nothing(MPI_Datatype type, int key, void *extra, void *attribute_in, void *attribute_out, int *flag)
{
    (void)type;
    (void)key;
    (void)extra;
    (void)attribute_in;
    (void)attribute_out;
    *flag = 0;
    return MPI_SUCCESS;
}

static int on_free(MPI_Datatype type, int key, void *attribute, void *extra)
{
    (void)key;
    (void)extra;
    struct co_known_type_cell *cell = attribute;
    if (co_load_relaxed(&cell->type) == type) { // relaxed: ours since we set the attribute, or cleared at the stop
        clear(cell);
    }
    return MPI_SUCCESS;
}

void co_known_types_open(void)
{
    if (co_next.Type_create_keyval(copy_nothing, on_free, &keyval, NULL) != MPI_SUCCESS) {
        keyval = MPI_KEYVAL_INVALID;
    }
}

void co_known_types_close(void)
{
    if (keyval != MPI_KEYVAL_INVALID) {
        co_next.Type_free_keyval(&keyval);
        keyval = MPI_KEYVAL_INVALID;
    }
    for (int i = 0; i < CO_KNOWN_TYPE_CELLS; i++) {
        clear(&co_known_type_cells[i]);
    }
}

// A free cell, now this type's; NULL: there is none, or another thread has just taken one for it.
static struct co_known_type_cell *take_cell(MPI_Datatype type)
{
    struct co_known_type_cell *found = NULL;
    bool is_there = false;
    pthread_mutex_lock(&lock);
    for (unsigned probe = 0; probe < CO_KNOWN_TYPE_PROBES && !is_there; probe++) {
        struct co_known_type_cell *cell = co_known_type_cell(type, probe);
        MPI_Datatype owner = co_load_acquire(&cell->type); // acquire C
        is_there = owner == type;
        found = found == NULL && owner == CO_NO_HANDLE ? cell : found;
    }
    found = is_there ? NULL : found;
    if (found != NULL) {
        co_store_release(&found->type, type); // release C: its known type is still NULL
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static void learn(MPI_Datatype type, const struct co_datatype *facts, bool sends)
{
    struct co_known_type_cell *cell = take_cell(type);
    struct co_known_type *known = cell == NULL ? NULL : calloc(1, sizeof *known);
    if (known != NULL) {
        known->facts = *facts;
        known->shape = make_shape(type, facts);
        co_store_relaxed(&known->is_accepted[sends], true); // relaxed: told with the rest of it
    }
    if (known == NULL || co_next.Type_set_attr(type, keyval, cell) != MPI_SUCCESS) {
        free_known(known);
        if (cell != NULL) {
            clear(cell);
        }
        return;
    }
    co_store_release(&cell->known, known); // release T
}

void co_known_type_meet(MPI_Datatype type, const struct co_datatype *facts, bool sends)
{
    struct co_known_type *known = co_known_type_find(type);
    _Atomic(MPI_Datatype) *last = &met[co_known_type_cell(type, 0) - co_known_type_cells];
    if (known != NULL) {
        co_store_relaxed(&known->is_accepted[sends], true); // relaxed: nothing else hangs on it
    } else if (co_load_relaxed(last) != type) {             // relaxed, and below: a guess
        co_store_relaxed(last, type);
    } else if (keyval != MPI_KEYVAL_INVALID) {
        learn(type, facts, sends);
    }
}
