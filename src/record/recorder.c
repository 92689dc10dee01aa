// SPDX-License-Identifier: BSD-3-Clause
//
// The one recorder of the process: opened when MPI_Init returns, closed when MPI_Finalize does, off in forked children.
// A thread joins with its first call and gives its stream back when it ends. Not hot.
#include "record/recorder.h"

#include "base/fnv.h"
#include "base/log.h"
#include "base/settings.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_ROOM 4096

struct co_recorder co_recorder;
_Thread_local struct co_record_thread *co_record_this_thread __attribute__((tls_model("initial-exec")));

static pthread_key_t thread_key;

static void resolve(void)
{
    co_next_mpi_resolve();
#define CO_TRACE_CALL(name, family, fields) *(void **)&co_recorder.below.name = co_next_mpi_find("PMPI_" #name);
#define CO_TRACE_MARK(name, fields)
#include "record/trace/trace_kinds.h"
#undef CO_TRACE_CALL
#undef CO_TRACE_MARK
    co_recorder.complete = co_next.find_data("ompi_request_empty");
    co_store_release(&co_recorder.is_resolved, true); // release R1: all pointers are set
}

void co_record_resolve(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, resolve);
}

static void leave(void *ended)
{
    struct co_record_thread *thread = ended;
    co_record_this_thread = NULL;
    co_trace_stream_give(thread->stream);
    free(thread);
}

struct co_record_thread *co_record_join(void)
{
    struct co_record_thread *thread = calloc(1, sizeof *thread);
    if (thread == NULL) {
        return NULL;
    }
    thread->stream = co_trace_stream_take(&co_recorder.writer, co_clock_now_ns());
    if (thread->stream == NULL || pthread_setspecific(thread_key, thread) != 0) {
        if (thread->stream != NULL) {
            co_trace_stream_give(thread->stream);
        }
        free(thread);
        return NULL;
    }
    co_record_this_thread = thread;
    return thread;
}

static void turn_off_in_child(void)
{
    co_store_relaxed(&co_recorder.is_on, false); // relaxed: a child has one thread
}

// The same on all ranks of one MPI_COMM_WORLD, and hardly ever on others.
static uint64_t job(void)
{
    const char *name = co_environment("PMIX_NAMESPACE");
    return co_fnv_64(CO_FNV_64, name, name != NULL ? strlen(name) : 0);
}

static void copy_text(char *to, size_t room, const char *from)
{
    snprintf(to, room, "%s", from == NULL ? "" : from);
}

static void fill(struct co_trace_header *header, int rank, int size)
{
    char path[sizeof header->program], library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0, level = 0;
    __typeof__(PMPI_Query_thread) *query;
    *(void **)&query = co_next_mpi_find("PMPI_Query_thread");
    memset(header, 0, sizeof *header);
    header->rank = (uint32_t)rank;
    header->size = (uint32_t)size;
    header->process = (uint32_t)getpid();
    header->thread_level = query(&level) == MPI_SUCCESS ? (uint32_t)level : 0;
    header->began_ns = co_clock_now_ns();
    header->began_wall_ns = co_clock_wall_ns();
    header->job = job();
    co_next.Get_library_version(library, &length);
    library[strcspn(library, ",\n")] = '\0';
    copy_text(header->library, sizeof header->library, library);
    copy_text(header->host, sizeof header->host, co_log_host());
    ssize_t bytes = readlink("/proc/self/exe", path, sizeof path - 1);
    path[bytes < 0 ? 0 : bytes] = '\0';
    copy_text(header->program, sizeof header->program, path);
}

// Programs that the job has spawned have ranks of their own.
static bool is_spawned(void)
{
    __typeof__(PMPI_Comm_get_parent) *get_parent;
    MPI_Comm parent = co_next.comm_null;
    *(void **)&get_parent = co_next_mpi_find("PMPI_Comm_get_parent");
    return get_parent(&parent) == MPI_SUCCESS && parent != co_next.comm_null;
}

static int open_writer(const char *directory, const struct co_trace_header *header, char *path)
{
    const char *name = co_environment("PMIX_NAMESPACE");
    char spawned[200] = "";
    if (is_spawned()) {
        snprintf(spawned, sizeof spawned, "spawned-%s-", name == NULL ? "" : name);
        for (char *letter = spawned; *letter != '\0'; letter++) {
            *letter = *letter == '/' ? '_' : *letter;
        }
    }
    if (snprintf(path, PATH_ROOM, "%s/%srank-%05u.trace", directory, spawned, header->rank) >= PATH_ROOM) {
        return -ENAMETOOLONG;
    }
    if (mkdir(directory, 0777) != 0 && errno != EEXIST) {
        return -errno;
    }
    return co_trace_writer_open(&co_recorder.writer, path, header);
}

void co_record_open(void)
{
    const char *directory = co_setting_text(CO_SET_RECORD), *mismatch = co_next_mpi_mismatch();
    const char *launched = co_environment("OMPI_COMM_WORLD_RANK");
    struct co_trace_header header;
    char path[PATH_ROOM] = "";
    int rank = launched == NULL ? 0 : atoi(launched), size = 0;
    if (directory[0] == '\0') {
        return;
    }
    if (mismatch == NULL) {
        co_next.Comm_rank(co_next.comm_world, &rank);
        co_next.Comm_size(co_next.comm_world, &size);
    }
    co_log_open(rank);
    if (mismatch != NULL) {
        co_log(CO_LOG_WARN, CO_SUBSYS_PMPI, "nothing is recorded: %s", mismatch);
        return;
    }
    fill(&header, rank, size);
    int error = open_writer(directory, &header, path);
    if (error == 0) {
        error = -pthread_key_create(&thread_key, leave);
    }
    if (error != 0) {
        co_log(CO_LOG_WARN, CO_SUBSYS_PMPI, "nothing is recorded: %s: %s", path[0] == '\0' ? directory : path,
               strerror(-error));
        return;
    }
    co_record_handles_open();
    pthread_atfork(NULL, NULL, turn_off_in_child);
    co_store_release(&co_recorder.is_on, true); // release R2
}

void co_record_close(void)
{
    bool was_on = atomic_exchange_explicit(&co_recorder.is_on, false, memory_order_acq_rel); // R2
    if (was_on) {
        co_trace_writer_close(&co_recorder.writer, CO_TRACE_CLOSED);
    }
}
