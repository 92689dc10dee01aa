// SPDX-License-Identifier: BSD-3-Clause
//
// The table of predefined types and the questions to native about others. Size equal to extent does not make a type
// contiguous: its blocks may stand in another order, or overlap and leave a hole. So only what is built of
// contiguous parts by MPI_Type_dup and MPI_Type_contiguous counts; everything else is packed, which is always right.
#include "pmpi/datatype/datatypes.h"

#include <errno.h>

struct co_datatype_cell co_datatype_cells[CO_DATATYPE_CELLS];

static bool measure(MPI_Datatype type, struct co_datatype *facts)
{
    MPI_Count bytes, lower, extent, true_lower, true_extent;
    if (co_next.Type_size_x(type, &bytes) != MPI_SUCCESS || bytes < 0 ||
        co_next.Type_get_extent_x(type, &lower, &extent) != MPI_SUCCESS ||
        co_next.Type_get_true_extent_x(type, &true_lower, &true_extent) != MPI_SUCCESS) {
        return false;
    }
    *facts = (struct co_datatype){.bytes = (size_t)bytes, .extent = (ptrdiff_t)extent};
    // A necessary condition; sufficient for predefined types, whose parts never change places.
    facts->is_contiguous = lower == 0 && true_lower == 0 && extent == bytes && true_extent == bytes;
    return true;
}

void co_datatypes_open(void)
{
    MPI_Datatype type;
    for (unsigned i = 0; CO_MPI_ABI.predefined_type(&co_next, i, &type); i++) {
        struct co_datatype facts;
        if (type == CO_NO_HANDLE || !measure(type, &facts)) {
            continue;
        }
        size_t at = co_datatype_cell_of(type);
        while (co_datatype_cells[at].type != CO_NO_HANDLE && co_datatype_cells[at].type != type) {
            at = (at + 1) % CO_DATATYPE_CELLS;
        }
        co_datatype_cells[at] = (struct co_datatype_cell){type, facts};
    }
}

// Named ones, and those of MPI_Type_create_f90_real and its like, which nobody may free (MPI 3.1, section 17.1.9).
static bool is_predefined(int combiner)
{
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

#ifdef CO_HAS_LARGE_COUNTS

// The plain function does not tell of counts that are no int, and what it tells of such a type is not how it was made.
bool co_datatype_envelope(MPI_Datatype type, int *integers, int *addresses, int *types, int *combiner)
{
    MPI_Count integer_count, address_count, large_count, type_count;
    *combiner = MPI_COMBINER_NAMED;
    if (co_next.Type_get_envelope_c(type, &integer_count, &address_count, &large_count, &type_count, combiner) !=
        MPI_SUCCESS) {
        return false;
    }
    *integers = (int)integer_count;
    *addresses = (int)address_count;
    *types = (int)type_count;
    return large_count == 0;
}

#else

bool co_datatype_envelope(MPI_Datatype type, int *integers, int *addresses, int *types, int *combiner)
{
    *combiner = MPI_COMBINER_NAMED;
    return co_next.Type_get_envelope(type, integers, addresses, types, combiner) == MPI_SUCCESS;
}

#endif

void co_datatype_give_back(MPI_Datatype inner)
{
    int counts[3], combiner;
    co_datatype_envelope(inner, &counts[0], &counts[1], &counts[2], &combiner);
    if (!is_predefined(combiner)) {
        co_next.Type_free(&inner);
    }
}

static bool is_built_of_runs(MPI_Datatype type);

// The one type inside a dup or contiguous type.
static bool is_inner_run(MPI_Datatype type, int integers_count)
{
    int integers[1];
    MPI_Aint addresses[1];
    MPI_Datatype inner;
    if (co_next.Type_get_contents(type, integers_count, 0, 1, integers, addresses, &inner) != MPI_SUCCESS) {
        return false;
    }
    bool is_run = is_built_of_runs(inner);
    co_datatype_give_back(inner);
    return is_run;
}

static bool is_built_of_runs(MPI_Datatype type)
{
    int integers, addresses, types, combiner;
    struct co_datatype facts;
    if (!measure(type, &facts) || !facts.is_contiguous ||
        !co_datatype_envelope(type, &integers, &addresses, &types, &combiner)) {
        return false;
    }
    if (combiner == MPI_COMBINER_DUP || combiner == MPI_COMBINER_CONTIGUOUS) {
        return is_inner_run(type, integers);
    }
    return is_predefined(combiner);
}

bool co_datatype_read(MPI_Datatype type, struct co_datatype *facts)
{
    if (type == CO_NO_HANDLE || type == co_next.datatype_null) {
        return false;
    }
    if (!measure(type, facts)) {
        return false;
    }
    facts->is_contiguous = facts->is_contiguous && is_built_of_runs(type);
    return true;
}

// Not by MPI_Type_dup, which hands the program's attributes on: its callbacks would count a type that it never made,
// and one that refuses would fail the call.
int co_datatype_hold(MPI_Datatype type, MPI_Datatype *held)
{
    MPI_Datatype one;
    *held = co_next.datatype_null;
    if (co_next.Type_contiguous(1, type, &one) != MPI_SUCCESS) {
        return -ENOMEM;
    }
    if (co_next.Type_commit(&one) != MPI_SUCCESS) {
        co_next.Type_free(&one);
        return -ENOMEM;
    }
    *held = one;
    return 0;
}
