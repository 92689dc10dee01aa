// SPDX-License-Identifier: BSD-3-Clause
//
// Open MPI 4.1 and 5.0. They have one soname, one layout of handles and of the status, one way to raise errors and one
// kind of progress loop, so that one binary serves both; what differs stands in the two tables.
#include "mpi_below/next_mpi.h"

#include <dlfcn.h>
#include <stddef.h>

static void find_handles(void)
{
    co_next.comm_world = co_next.find_data("ompi_mpi_comm_world");
    co_next.comm_self = co_next.find_data("ompi_mpi_comm_self");
    co_next.comm_null = co_next.find_data("ompi_mpi_comm_null");
    co_next.request_null = co_next.find_data("ompi_request_null");
    co_next.message_null = co_next.find_data("ompi_message_null");
    co_next.datatype_null = co_next.find_data("ompi_mpi_datatype_null");
    co_next.byte = co_next.find_data("ompi_mpi_byte");
    co_next.integer = co_next.find_data("ompi_mpi_int");
    co_next.uint64 = co_next.find_data("ompi_mpi_uint64_t");
    co_next.sum = co_next.find_data("ompi_mpi_op_sum");
    co_next.minimum = co_next.find_data("ompi_mpi_op_min");
    co_next.maximum = co_next.find_data("ompi_mpi_op_max");
    co_next.info_null = co_next.find_data("ompi_mpi_info_null");
    co_next.errors_return = co_next.find_data("ompi_mpi_errors_return");
}

static void find_progress(const char *library)
{
    void *handle = RTLD_DEFAULT;
    if (dlsym(handle, "opal_progress") == NULL) {
        handle = dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
        if (handle == NULL) {
            return;
        }
    }
    *(void **)&co_next.progress = dlsym(handle, "opal_progress");
    *(void **)&co_next.progress_register = dlsym(handle, "opal_progress_register");
    *(void **)&co_next.progress_unregister = dlsym(handle, "opal_progress_unregister");
}

static void find_4(void)
{
    find_handles();
    find_progress(co_family_open_mpi_4.progress_library);
    co_next.comm_of_errors = co_next.comm_world;
}

// MPI 4.0, section 9.3.
static void find_5(void)
{
    find_handles();
    find_progress(co_family_open_mpi_5.progress_library);
    co_next.comm_of_errors = co_next.comm_self;
}

const struct co_mpi_family co_family_open_mpi_4 = {.name = "Open MPI 4.1",
                                                   .version = "Open MPI v4.1",
                                                   .progress_library = "libopen-pal.so.40",
                                                   .find = find_4,
                                                   .joins_pmix = true};

// Where PMIx was initialized before, its MPI_Init does not learn its own name and fails ("local rank: Not found").
const struct co_mpi_family co_family_open_mpi_5 = {.name = "Open MPI 5.0",
                                                   .version = "Open MPI v5.0",
                                                   .progress_library = "libopen-pal.so.80",
                                                   .find = find_5,
                                                   .joins_pmix = false};
