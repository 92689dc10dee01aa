// SPDX-License-Identifier: BSD-3-Clause
//
// Open MPI 4.1 and 5.0. They have one soname, one layout of handles and of the status, one way to raise errors and one
// kind of progress loop, so that one binary serves both; what differs stands in the two tables.
#include "mpi_below/next_mpi.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

#define COMMON                                                                                                         \
    .find = find, .has_messages = true, .programs = "OMPI_NUM_APP_CTX", .job = "PMIX_NAMESPACE",                       \
    .monitoring = "OMPI_MCA_pml_monitoring_enable", .tolerates_faults = "ompi_ftmpi_enabled"

static const char *const type_names[] = {"char",
                                         "signed_char",
                                         "unsigned_char",
                                         "byte",
                                         "packed",
                                         "short",
                                         "int",
                                         "long",
                                         "long_long_int",
                                         "unsigned_short",
                                         "unsigned",
                                         "unsigned_long",
                                         "float",
                                         "double",
                                         "long_double",
                                         "unsigned_long_long",
                                         "wchar",
                                         "c_bool",
                                         "int8_t",
                                         "int16_t",
                                         "int32_t",
                                         "int64_t",
                                         "uint8_t",
                                         "uint16_t",
                                         "uint32_t",
                                         "uint64_t",
                                         "aint",
                                         "offset",
                                         "count",
                                         "c_complex",
                                         "c_float_complex",
                                         "c_double_complex",
                                         "character",
                                         "logical",
                                         "integer",
                                         "real",
                                         "dblprec",
                                         "cplex",
                                         "dblcplex",
                                         "integer1",
                                         "integer2",
                                         "integer4",
                                         "integer8",
                                         "real4",
                                         "real8",
                                         "complex8",
                                         "complex16",
                                         "2int",
                                         "float_int",
                                         "cxx_bool"};

static bool predefined_type(const struct co_next_mpi *next, unsigned i, MPI_Datatype *type)
{
    char symbol[64];
    if (i >= sizeof type_names / sizeof type_names[0]) {
        return false;
    }
    snprintf(symbol, sizeof symbol, "ompi_mpi_%s", type_names[i]);
    *type = next->find_data(symbol);
    return true;
}

static void find_handles(struct co_next_mpi *next)
{
    next->comm_world = next->find_data("ompi_mpi_comm_world");
    next->comm_self = next->find_data("ompi_mpi_comm_self");
    next->comm_null = next->find_data("ompi_mpi_comm_null");
    next->request_null = next->find_data("ompi_request_null");
    next->message_null = next->find_data("ompi_message_null");
    next->datatype_null = next->find_data("ompi_mpi_datatype_null");
    next->byte = next->find_data("ompi_mpi_byte");
    next->integer = next->find_data("ompi_mpi_int");
    next->uint64 = next->find_data("ompi_mpi_uint64_t");
    next->sum = next->find_data("ompi_mpi_op_sum");
    next->minimum = next->find_data("ompi_mpi_op_min");
    next->maximum = next->find_data("ompi_mpi_op_max");
    next->info_null = next->find_data("ompi_mpi_info_null");
    next->errors_return = next->find_data("ompi_mpi_errors_return");
}

static void find_progress(struct co_next_mpi *next, const char *library)
{
    void *handle = RTLD_DEFAULT;
    if (dlsym(handle, "opal_progress") == NULL) {
        handle = dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
        if (handle == NULL) {
            return;
        }
    }
    *(void **)&next->progress = dlsym(handle, "opal_progress");
    *(void **)&next->progress_register = dlsym(handle, "opal_progress_register");
    *(void **)&next->progress_unregister = dlsym(handle, "opal_progress_unregister");
    *(void **)&next->progress_watch_events = dlsym(handle, "opal_progress_event_users_increment");
    *(void **)&next->progress_unwatch_events = dlsym(handle, "opal_progress_event_users_decrement");
}

static void find(struct co_next_mpi *next)
{
    find_handles(next);
    *(void **)&next->errhandler_invoke = next->find_data("ompi_errhandler_invoke");
    find_progress(next, next->family->progress_library);
}

static const struct co_mpi_family open_mpi_4 = {.name = "Open MPI 4.1",
                                                .version = "Open MPI v4.1",
                                                .progress_library = "libopen-pal.so.40",
                                                COMMON,
                                                .joins_pmix = true};

// Where PMIx was initialized before, its MPI_Init does not learn its own name and fails ("local rank: Not found").
static const struct co_mpi_family open_mpi_5 = {.name = "Open MPI 5.0",
                                                .version = "Open MPI v5.0",
                                                .progress_library = "libopen-pal.so.80",
                                                COMMON,
                                                .joins_pmix = false,
                                                .fault_tolerance = "OMPI_MCA_mpi_ft_enable"};

const struct co_mpi_abi co_mpi_abi_open_mpi = {
    .predefined_type = predefined_type,
    .families = (const struct co_mpi_family *const[]){&open_mpi_4, &open_mpi_5, NULL},
    // Those of other families, too: a program may load them later, and what it calls is handed on.
    .libraries = (const char *const[]){"libmpi.so.40", "libmpich.so.12", "libmpi.so.12", NULL},
    .mismatch = "the MPI library is neither Open MPI 4.1 nor 5.0, which castoff serves"};
