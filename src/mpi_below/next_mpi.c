// SPDX-License-Identifier: BSD-3-Clause
//
// Finds the library underneath: RTLD_NEXT when the program is linked with it, one that is loaded already when it came
// by dlopen (Python without RTLD_GLOBAL). Behind a preload that wraps a part of MPI, as libcastoff.so is behind
// the recorder, that part is the preload's. Runs once, at the first MPI call of the process.
#include "mpi_below/next_mpi.h"

#include "base/log.h"
#include "base/plain_text.h"
#include "base/settings.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Not the constant of the mpi.h that castoff is built with: others write more (MPICH up to 8192 bytes).
#define VERSION_MAX 16384

struct co_next_mpi co_next;
_Atomic bool co_next_is_resolved;

static void *loaded; // by dlopen, and seen by nobody else

static void *find(const char *symbol)
{
    void *address = dlsym(RTLD_NEXT, symbol);
    return address != NULL || loaded == NULL ? address : dlsym(loaded, symbol);
}

static bool lacks_functions;

// Stands for a function that the library underneath has as a macro or not at all. Programs made for that library do not
// call it.
static void absent(void)
{
    co_log_write(
        CO_LOG_ERROR, CO_SUBSYS_PMPI,
        "this program has no MPI library, or one that lacks a function that is called; run it without castoff");
    abort();
}

static void *find_or_absent(const char *symbol)
{
    void *address = find(symbol);
    if (address == NULL) {
        lacks_functions = true;
        address = (void *)absent;
    }
    return address;
}

static void *find_mpi_4(const char *symbol, const char *earlier_symbol)
{
    void *address = find(symbol);
    address = address != NULL ? address : find(earlier_symbol);
    return address != NULL ? address : (void *)absent;
}

// Data may have moved into the program itself (copy relocation), where RTLD_NEXT does not look.
static void *find_data(const char *symbol)
{
    void *address = dlsym(RTLD_DEFAULT, symbol);
    return address != NULL ? address : find(symbol);
}

// NULL: it is none that castoff serves.
static const struct co_mpi_family *choose_family(void)
{
    char version[VERSION_MAX] = "";
    int length = 0;
    if (find("PMPI_Get_library_version") != NULL) {
        co_next.Get_library_version(version, &length);
    }
    for (const struct co_mpi_family *const *family = CO_MPI_ABI.families; *family != NULL; family++) {
        if (co_plain_begins(version, (*family)->version)) {
            return *family;
        }
    }
    return NULL;
}

static bool lacks_names(void)
{
    bool are_there[] = {
        co_next.comm_world != CO_NO_HANDLE,    co_next.comm_self != CO_NO_HANDLE,    co_next.comm_null != CO_NO_HANDLE,
        co_next.request_null != CO_NO_HANDLE,  co_next.message_null != CO_NO_HANDLE, co_next.byte != CO_NO_HANDLE,
        co_next.datatype_null != CO_NO_HANDLE, co_next.integer != CO_NO_HANDLE,      co_next.uint64 != CO_NO_HANDLE,
        co_next.sum != CO_NO_HANDLE,           co_next.minimum != CO_NO_HANDLE,      co_next.maximum != CO_NO_HANDLE,
        co_next.info_null != CO_NO_HANDLE,     co_next.errors_return != CO_NO_HANDLE};
    bool lacks = lacks_functions;
    for (size_t i = 0; i < sizeof are_there / sizeof are_there[0]; i++) {
        lacks = lacks || !are_there[i];
    }
    return lacks;
}

static void find_loaded(void)
{
    for (const char *const *library = CO_MPI_ABI.libraries; *library != NULL && loaded == NULL; library++) {
        loaded = dlopen(*library, RTLD_NOLOAD | RTLD_LAZY);
    }
}

static void resolve(void)
{
    // A function that no preload wraps.
    if (find("PMPI_Get_library_version") == NULL) {
        find_loaded();
    }
#define CO_NEXT_FIND(name) *(void **)&co_next.name = find_or_absent("PMPI_" #name);
    CO_NEXT_WRAPPED(CO_NEXT_FIND)
    CO_NEXT_CALLED(CO_NEXT_FIND)
#undef CO_NEXT_FIND
#define CO_NEXT_FIND_MPI_4(name) *(void **)&co_next.name = find_mpi_4("PMPI_" #name, "PMPIX_" #name);
    CO_NEXT_MPI_4(CO_NEXT_FIND_MPI_4)
    CO_NEXT_LARGE_COUNTS(CO_NEXT_FIND_MPI_4)
#undef CO_NEXT_FIND_MPI_4
    co_next.exchange_allreduce = co_next.Allreduce;
    co_next.exchange_barrier = co_next.Barrier;
    co_next.find_data = find_data;
    co_next.family = choose_family();
    if (co_next.family != NULL) {
        co_next.family->find(&co_next);
    }
    co_store_release(&co_next_is_resolved, true); // release N1: all pointers are set
}

void co_next_mpi_resolve(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, resolve);
}

void *co_next_mpi_find(const char *symbol)
{
    return find_or_absent(symbol);
}

const char *co_next_mpi_mismatch(void)
{
    static char text[160];
    const struct co_mpi_family *family = co_next.family;
    if (family == NULL) {
        return CO_MPI_ABI.mismatch;
    }
    if (lacks_names()) {
        snprintf(text, sizeof text, "the MPI library lacks names that %s has", family->name);
        return text;
    }
    if (family->progress_library != NULL &&
        (co_next.progress == NULL || co_next.progress_register == NULL || co_next.progress_unregister == NULL)) {
        snprintf(text, sizeof text, "the progress loop of %s (%s) was not found", family->name,
                 family->progress_library);
        return text;
    }
    return NULL;
}

const char co_next_mpi_faults[] =
    "it is to tolerate faults (mpirun --with-ft), and castoff does not hear of communicators that are revoked";

static bool is_asked_for(const char *variable)
{
    const char *value = variable == NULL ? NULL : co_environment(variable);
    return value != NULL && strcmp(value, "0") != 0 && strcmp(value, "false") != 0;
}

// Who revokes a communicator wants every call on it to end, also those of castoff's. Who counts would find castoff's
// own exchanges, and of the program's what is left to the library alone.
const char *co_next_mpi_obstacle(void)
{
    if (is_asked_for(co_next.family->fault_tolerance)) {
        return co_next_mpi_faults;
    }
    return is_asked_for(co_next.family->monitoring) ? "its MPI library is to count messages and collectives "
                                                      "(pml_monitoring_enable), and would not see those of castoff"
                                                    : NULL;
}

bool co_next_mpi_tolerates_faults(void)
{
    const char *name = co_next.family->tolerates_faults;
    const bool *value = name == NULL ? NULL : co_next.find_data(name);
    return value != NULL && *value;
}
