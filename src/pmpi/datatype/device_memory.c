// SPDX-License-Identifier: BSD-3-Clause
//
// The drivers of CUDA and ROCm by the numbers of their public interfaces. A driver is looked for among the libraries
// that the program has loaded, at each question until it is found: most programs load it after MPI_Init.
#include "pmpi/datatype/device_memory.h"

#include "base/atomics.h"
#include "mpi_below/next_mpi.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>

// CUpointer_attribute and CUmemorytype.
enum { CU_CONTEXT = 1, CU_MEMORY_TYPE = 2, CU_IS_MANAGED = 8, CU_HOST = 1 };
// hipMemcpyKind.
enum { HIP_HOST_TO_DEVICE = 1, HIP_DEVICE_TO_HOST = 2 };

struct cuda {
    int (*pointer_get)(void *data, int attribute, uintptr_t pointer);
    int (*push)(void *context);
    int (*pop)(void **context);
    int (*read)(void *host, uintptr_t device, size_t bytes);
    int (*write)(uintptr_t device, const void *host, size_t bytes);
    int (*wait)(void *stream);
};

// hipPointerAttribute_t. Its first number means other kinds of memory before ROCm 6 than since.
struct hip_pointer {
    int kind, device;
    void *on_device, *on_host;
    int is_managed;
    unsigned flags;
    char room[64]; // for versions to come
};

struct hip {
    int (*pointer_get)(struct hip_pointer *answer, const void *pointer);
    int (*copy)(void *to, const void *from, size_t bytes, int kind);
    int (*wait)(void *stream);
    int (*last_error)(void);
};

bool co_device_memory_is_taken;

static struct cuda cuda;
static struct hip hip;
static _Atomic bool has_cuda, has_hip;

bool co_device_memory_is_native(void)
{
    static const char *const questions[] = {"MPIX_Query_cuda_support", "MPIX_Query_rocm_support"};
    bool is_native = false;
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        int (*ask)(void) = NULL;
        *(void **)&ask = co_next.find_data(questions[i]);
        is_native = is_native || (ask != NULL && ask() == 1);
    }
    return is_native;
}

// Never loads one.
static void *loaded(const char *const names[])
{
    void *library = NULL;
    for (size_t i = 0; library == NULL && names[i] != NULL; i++) {
        library = dlopen(names[i], RTLD_NOLOAD | RTLD_LAZY);
    }
    return library;
}

static void find_cuda(void)
{
    static const char *const names[] = {"libcuda.so.1", "libcuda.so", NULL};
    void *library = loaded(names);
    if (library == NULL) {
        return;
    }
    *(void **)&cuda.pointer_get = dlsym(library, "cuPointerGetAttribute");
    *(void **)&cuda.push = dlsym(library, "cuCtxPushCurrent_v2");
    *(void **)&cuda.pop = dlsym(library, "cuCtxPopCurrent_v2");
    *(void **)&cuda.read = dlsym(library, "cuMemcpyDtoH_v2");
    *(void **)&cuda.write = dlsym(library, "cuMemcpyHtoD_v2");
    *(void **)&cuda.wait = dlsym(library, "cuStreamSynchronize");
    bool is_whole = cuda.pointer_get != NULL && cuda.push != NULL && cuda.pop != NULL && cuda.read != NULL &&
                    cuda.write != NULL && cuda.wait != NULL;
    co_store_release(&has_cuda, is_whole); // release D1: the functions are there
}

static void find_hip(void)
{
    static const char *const names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so",
                                        NULL};
    void *library = loaded(names);
    if (library == NULL) {
        return;
    }
    *(void **)&hip.pointer_get = dlsym(library, "hipPointerGetAttributes");
    *(void **)&hip.copy = dlsym(library, "hipMemcpy");
    *(void **)&hip.wait = dlsym(library, "hipStreamSynchronize");
    *(void **)&hip.last_error = dlsym(library, "hipGetLastError");
    bool is_whole = hip.pointer_get != NULL && hip.copy != NULL && hip.wait != NULL && hip.last_error != NULL;
    co_store_release(&has_hip, is_whole); // release D1
}

// One thread looks for a driver at a time.
static bool is_found(const _Atomic bool *has, void (*find)(void))
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (!co_load_acquire(has)) { // acquire D1
        pthread_mutex_lock(&lock);
        if (!co_load_relaxed(has)) { // relaxed: written under the lock
            find();
        }
        pthread_mutex_unlock(&lock);
    }
    return co_load_acquire(has); // acquire D1
}

// Memory of the host that is registered is the host's; managed memory is staged, for where its pages are is the
// driver's affair, and other processes cannot read them then.
static bool is_cuda(const void *address)
{
    unsigned kind = 0, is_managed = 0;
    return cuda.pointer_get(&kind, CU_MEMORY_TYPE, (uintptr_t)address) == 0 &&
           (kind != CU_HOST ||
            (cuda.pointer_get(&is_managed, CU_IS_MANAGED, (uintptr_t)address) == 0 && is_managed != 0));
}

static bool is_hip(const void *address)
{
    struct hip_pointer answer = {.kind = 0};
    if (hip.pointer_get(&answer, address) != 0) {
        hip.last_error(); // the program is not to find an error of ours
        return false;
    }
    return answer.is_managed || (answer.on_device != NULL && answer.on_host == NULL);
}

bool co_device_memory_find(const void *address)
{
    return (is_found(&has_cuda, find_cuda) && is_cuda(address)) || (is_found(&has_hip, find_hip) && is_hip(address));
}

// Memory belongs to a context, which need not be the thread's. Copies to a device may return before they are over,
// which only waiting for the stream that they are in tells.
static int copy_cuda(void *host, const void *device, size_t bytes, bool reads)
{
    void *context = NULL;
    bool is_pushed =
        cuda.pointer_get(&context, CU_CONTEXT, (uintptr_t)device) == 0 && context != NULL && cuda.push(context) == 0;
    int code = reads ? cuda.read(host, (uintptr_t)device, bytes) : cuda.write((uintptr_t)device, host, bytes);
    code = code == 0 ? cuda.wait(NULL) : code;
    if (is_pushed) {
        cuda.pop(&context);
    }
    return code == 0 ? 0 : -EIO;
}

static int copy_hip(void *to, const void *from, size_t bytes, int kind)
{
    return hip.copy(to, from, bytes, kind) == 0 && hip.wait(NULL) == 0 ? 0 : -EIO;
}

int co_device_memory_read(void *host, const void *device, size_t bytes)
{
    return co_load_acquire(&has_cuda) && is_cuda(device) ? copy_cuda(host, device, bytes, true) // acquire D1
                                                         : copy_hip(host, device, bytes, HIP_DEVICE_TO_HOST);
}

int co_device_memory_write(void *device, const void *host, size_t bytes)
{
    return co_load_acquire(&has_cuda) && is_cuda(device) // acquire D1
               ? copy_cuda((void *)(uintptr_t)host, device, bytes, false)
               : copy_hip(device, host, bytes, HIP_HOST_TO_DEVICE);
}
