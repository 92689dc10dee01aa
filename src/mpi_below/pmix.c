// SPDX-License-Identifier: BSD-3-Clause
//
// The marks, by the client functions of the PMIx library that Open MPI loads anyway. The part of its stable interface
// that is used here (one layout from version 3 to 5) is declared here, so that castoff neither links nor needs it.
// Where MPI_Init exchanges all that was left (Open MPI 4.1) a mark is looked up in that, without asking anybody. Open
// MPI 5 exchanges nothing: what a rank of another node has left is fetched from there when somebody asks for it.
//
// Where MPI_Init joins a PMIx that was initialized before (Open MPI 4.1), the library is opened by name and the mark
// left before MPI_Init. Elsewhere (Open MPI 5) a PMIx_Init of our own stands before the library's: it hands every call
// on, and leaves the mark behind the one that MPI_Init makes. A library that does not come by here is not marked.
#define _GNU_SOURCE // dladdr
#include "mpi_below/marks.h"

#include "base/descriptors.h"
#include "base/settings.h"
#include "mpi_below/next_mpi.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MARK_KEY "castoff.presence"
#define FETCH_S 20 // the library waits for a mark that was never left, as it might be yet

#define PMIX_OK 0
#define PMIX_NOT_INITIALIZED (-31)
#define PMIX_SCOPE_GLOBAL 3
#define PMIX_RANK_OF_ALL (UINT32_MAX - 1)
#define PMIX_TYPE_BOOL 1
#define PMIX_TYPE_STRING 3
#define PMIX_TYPE_INT 6
#define PMIX_TYPE_UINT64 15

struct pmix_proc {
    char name_space[256];
    uint32_t rank;
};

struct pmix_value {
    uint16_t type;
    union {
        bool flag;
        int integer;
        char *text;
        uint64_t number;
        uint64_t room[8]; // more than any kind of value takes
    } data;
};

struct pmix_info {
    char key[512];
    uint32_t flags;
    struct pmix_value value;
};

static struct {
    int (*init)(struct pmix_proc *self, struct pmix_info *info, size_t count);
    int (*put)(uint8_t scope, const char *key, struct pmix_value *value);
    int (*commit)(void);
    int (*get)(const struct pmix_proc *proc, const char *key, const struct pmix_info *info, size_t count,
               struct pmix_value **value);
    int (*finalize)(const struct pmix_info *info, size_t count);
} pmix;

static struct pmix_proc self;
static bool is_awaited; // that MPI_Init initializes PMIx
static bool is_held, is_announced;
static int refusal = PMIX_OK; // of the library, when we asked it first
static void *library;         // NULL: the next one behind us, by the order of loading

static void *find(const char *symbol)
{
    return dlsym(library != NULL ? library : RTLD_NEXT, symbol);
}

static bool find_functions(void)
{
    *(void **)&pmix.init = find("PMIx_Init");
    *(void **)&pmix.put = find("PMIx_Put");
    *(void **)&pmix.commit = find("PMIx_Commit");
    *(void **)&pmix.get = find("PMIx_Get");
    *(void **)&pmix.finalize = find("PMIx_Finalize");
    return pmix.init != NULL && pmix.put != NULL && pmix.commit != NULL && pmix.get != NULL && pmix.finalize != NULL;
}

static bool leave_mark(void)
{
    struct pmix_value mark = {.type = PMIX_TYPE_UINT64, .data.number = CO_MARK};
    return pmix.put(PMIX_SCOPE_GLOBAL, MARK_KEY, &mark) == PMIX_OK;
}

// Counted by references: MPI_Init's own call joins this connection. Numbers of closed standard streams are left to what
// MPI_Init opens first, as without us: programs put files of their own there behind the library's back, and PMIx does
// not end without its own.
static void announce_first(void)
{
    library = dlopen("libpmix.so.2", RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL || !find_functions()) {
        return;
    }
    co_descriptors_keep_streams();
    refusal = pmix.init(&self, NULL, 0);
    co_descriptors_give_streams();
    if (refusal == PMIX_OK) {
        is_held = true;
        is_announced = leave_mark() && pmix.commit() == PMIX_OK;
    }
}

static void announce(void)
{
    // Without a launcher that speaks PMIx there is no server to connect to.
    if (co_environment("PMIX_NAMESPACE") == NULL || co_environment("PMIX_RANK") == NULL) {
        return;
    }
    if (co_next.family->joins_pmix) {
        announce_first();
    } else {
        is_awaited = true;
    }
}

// The function that the caller would have reached without us. Where the MPI library came by dlopen, it is seen by that
// alone, and by what it was linked with; of who was linked with nothing the one PMIx that is there may be meant.
static void *find_init(void *caller)
{
    Dl_info object;
    void *found = dlsym(RTLD_NEXT, "PMIx_Init"), *from = NULL;
    if (found == NULL && dladdr(caller, &object) != 0 && object.dli_fname != NULL) {
        from = dlopen(object.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
        found = from != NULL ? dlsym(from, "PMIx_Init") : NULL;
    }
    if (found == NULL) {
        from = dlopen("libpmix.so.2", RTLD_NOLOAD | RTLD_LAZY);
        found = from != NULL ? dlsym(from, "PMIx_Init") : NULL;
    }
    library = is_awaited && from != NULL ? from : library;
    return found;
}

__attribute__((visibility("default"))) int PMIx_Init(struct pmix_proc *process, struct pmix_info *info, size_t count);

int PMIx_Init(struct pmix_proc *process, struct pmix_info *info, size_t count)
{
    int (*init)(struct pmix_proc *, struct pmix_info *, size_t);
    if (refusal != PMIX_OK) { // asked a second time (4.2) it ends the process by a signal
        return refusal;
    }
    *(void **)&init = find_init(__builtin_return_address(0));
    if (init == NULL || init == PMIx_Init) {
        return PMIX_NOT_INITIALIZED;
    }
    int status = init(process, info, count);
    if (is_awaited && status == PMIX_OK && process != NULL) {
        is_awaited = false;
        self = *process;
        is_announced = find_functions() && leave_mark(); // MPI_Init commits it with its own data
    }
    return status;
}

// To be freed. NULL: it is not known.
static struct pmix_value *ask(uint32_t rank, const char *key, const struct pmix_info *how)
{
    struct pmix_proc proc = self;
    struct pmix_value *value = NULL;
    proc.rank = rank;
    return pmix.get(&proc, key, how, 1, &value) == PMIX_OK ? value : NULL;
}

// Without asking anybody.
static struct pmix_value *look_up(uint32_t rank, const char *key)
{
    struct pmix_info local_only = {.key = "pmix.optional", .value = {.type = PMIX_TYPE_BOOL, .data.flag = true}};
    return ask(rank, key, &local_only);
}

static struct pmix_value *fetch(uint32_t rank, const char *key)
{
    struct pmix_info in_time = {.key = "pmix.timeout", .value = {.type = PMIX_TYPE_INT, .data.integer = FETCH_S}};
    struct pmix_value *value = look_up(rank, key);
    return value != NULL || co_next.family->joins_pmix ? value : ask(rank, key, &in_time);
}

// To be freed. NULL: it is not told.
static char *find_local_peers(void)
{
    struct pmix_value *value = look_up(PMIX_RANK_OF_ALL, "pmix.lpeers");
    char *text = value != NULL && value->type == PMIX_TYPE_STRING ? value->data.text : NULL;
    free(value);
    return text;
}

static bool settle(char **local_peers)
{
    is_awaited = false;
    *local_peers = is_announced ? find_local_peers() : NULL;
    if (is_held) {
        is_held = false;
        pmix.finalize(NULL, 0);
    }
    return is_announced;
}

static bool is_mark(struct pmix_value *value)
{
    bool is_ours = value != NULL && value->type == PMIX_TYPE_UINT64 && value->data.number == CO_MARK;
    free(value);
    return is_ours;
}

static int first(int world_size, bool marked)
{
    for (uint32_t rank = 0; rank < (uint32_t)world_size; rank++) {
        // Who has one is asked for when somebody has none, which has been waited for once: this node's own marks do.
        if (is_mark(marked ? look_up(rank, MARK_KEY) : fetch(rank, MARK_KEY)) == marked) {
            return (int)rank;
        }
    }
    return -1;
}

const struct co_marks co_marks_pmix = {
    .announce = announce,
    .settle = settle,
    .first = first,
    .complaint = "its launcher does not offer PMIx, or there is no libpmix.so.2, so nobody can "
                 "tell whether all ranks are preloaded; start it by mpirun or srun --mpi=pmix"};
