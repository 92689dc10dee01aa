// SPDX-License-Identifier: BSD-3-Clause
//
// The marks, by the client functions of the PMIx library that Open MPI loads anyway. The library is opened by name
// and the part of its stable interface that is used here is declared here, so that castoff neither links nor needs
// it. The value is marked optional on reading: it is answered from the data exchanged in MPI_Init and never waits.
#include "mpi_below/pmix.h"

#include "base/settings.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MARK_KEY "castoff.presence"
// Ranks of different marks must not meet: raise it when the exchanges at start change.
#define MARK UINT64_C(3)

#define PMIX_OK 0
#define PMIX_SCOPE_GLOBAL 3
#define PMIX_TYPE_BOOL 1
#define PMIX_TYPE_UINT64 15

struct pmix_proc {
    char name_space[256];
    uint32_t rank;
};

struct pmix_value {
    uint16_t type;
    union {
        bool flag;
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
static bool is_held;

static int find_library(void)
{
    void *library = dlopen("libpmix.so.2", RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) {
        return -ENOENT;
    }
    *(void **)&pmix.init = dlsym(library, "PMIx_Init");
    *(void **)&pmix.put = dlsym(library, "PMIx_Put");
    *(void **)&pmix.commit = dlsym(library, "PMIx_Commit");
    *(void **)&pmix.get = dlsym(library, "PMIx_Get");
    *(void **)&pmix.finalize = dlsym(library, "PMIx_Finalize");
    if (pmix.init == NULL || pmix.put == NULL || pmix.commit == NULL || pmix.get == NULL || pmix.finalize == NULL) {
        return -ENOENT;
    }
    return 0;
}

int co_pmix_announce(void)
{
    // Without a launcher that speaks PMIx there is no server to connect to.
    if (co_environment("PMIX_NAMESPACE") == NULL || co_environment("PMIX_RANK") == NULL) {
        return -ENOTCONN;
    }
    int error = find_library();
    if (error != 0) {
        return error;
    }
    // Counted by references: MPI_Init's own call joins this connection.
    if (pmix.init(&self, NULL, 0) != PMIX_OK) {
        return -ENOTCONN;
    }
    is_held = true;
    struct pmix_value mark = {.type = PMIX_TYPE_UINT64, .data.number = MARK};
    if (pmix.put(PMIX_SCOPE_GLOBAL, MARK_KEY, &mark) != PMIX_OK || pmix.commit() != PMIX_OK) {
        return -EIO;
    }
    return 0;
}

void co_pmix_settle(void)
{
    if (is_held) {
        is_held = false;
        pmix.finalize(NULL, 0);
    }
}

static bool has_mark(int rank)
{
    struct pmix_proc proc = self;
    struct pmix_info local_only = {.key = "pmix.optional", .value = {.type = PMIX_TYPE_BOOL, .data.flag = true}};
    struct pmix_value *value = NULL;
    proc.rank = (uint32_t)rank;
    if (pmix.get(&proc, MARK_KEY, &local_only, 1, &value) != PMIX_OK || value == NULL) {
        return false;
    }
    bool is_ours = value->type == PMIX_TYPE_UINT64 && value->data.number == MARK;
    free(value);
    return is_ours;
}

int co_pmix_first(int world_size, bool marked)
{
    for (int rank = 0; rank < world_size; rank++) {
        if (has_mark(rank) == marked) {
            return rank;
        }
    }
    return -1;
}
