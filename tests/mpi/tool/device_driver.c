// SPDX-License-Identifier: BSD-3-Clause
// Stands for the drivers of CUDA and ROCm: "device memory" is an address range without access, whose bytes lie in a
// second mapping that only the functions here reach. Who touches such an address ends by SIGSEGV. So it is with managed
// memory, and host memory that is registered is known, but no memory to copy to or from. The build gives the library a
// driver's name. Functions of the drivers have the types that they are called with, not the names.
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEVICE_BYTES ((size_t)64 << 20)

static unsigned char *device, *shadow;
static uintptr_t registered;
static size_t registered_bytes;
static int contexts;

void *device_driver_open(const void *host, size_t bytes);
void device_driver_fill(void *to, const void *from, size_t bytes);
int device_driver_contexts(void);

// All of its memory, of which the upper half is managed, or NULL; `host` is registered.
void *device_driver_open(const void *host, size_t bytes)
{
    registered = (uintptr_t)host;
    registered_bytes = bytes;
    int file = memfd_create("device", 0);
    if (file < 0 || ftruncate(file, (off_t)DEVICE_BYTES) != 0) {
        return NULL;
    }
    shadow = mmap(NULL, DEVICE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    device = mmap(NULL, DEVICE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    close(file);
    return shadow == MAP_FAILED || device == MAP_FAILED ? NULL : device;
}

static int is_device(uintptr_t address)
{
    return device != NULL && address - (uintptr_t)device < DEVICE_BYTES;
}

static int is_managed(uintptr_t address)
{
    return is_device(address) && address - (uintptr_t)device >= DEVICE_BYTES / 2;
}

static int is_registered(uintptr_t address)
{
    return address - registered < registered_bytes;
}

static unsigned char *place(uintptr_t address)
{
    return is_device(address) ? shadow + (address - (uintptr_t)device) : (unsigned char *)address;
}

static int reaches(uintptr_t address, size_t bytes)
{
    return is_device(address) && bytes <= DEVICE_BYTES - (address - (uintptr_t)device);
}

// The program's own way there and back.
void device_driver_fill(void *to, const void *from, size_t bytes)
{
    memcpy(place((uintptr_t)to), place((uintptr_t)from), bytes);
}

// Pushed and not popped.
int device_driver_contexts(void)
{
    return contexts;
}

#ifdef DEVICE_IS_CUDA
static int context_mark;

int cuPointerGetAttribute(void *data, int attribute, uintptr_t pointer);
int cuCtxPushCurrent_v2(void *context);
int cuCtxPopCurrent_v2(void **context);
int cuMemcpyDtoH_v2(void *host, uintptr_t from, size_t bytes);
int cuMemcpyHtoD_v2(uintptr_t to, const void *host, size_t bytes);
int cuStreamSynchronize(void *stream);

int cuPointerGetAttribute(void *data, int attribute, uintptr_t pointer)
{
    if (!is_device(pointer) && !is_registered(pointer)) {
        return 1;
    }
    switch (attribute) {
    case 1:
        *(void **)data = &context_mark;
        return 0;
    case 2:
        *(unsigned *)data = is_registered(pointer) || is_managed(pointer) ? 1 : 2;
        return 0;
    default:
        *(unsigned *)data = (unsigned)is_managed(pointer);
        return 0;
    }
}

int cuCtxPushCurrent_v2(void *context)
{
    contexts++;
    return context == &context_mark ? 0 : 1;
}

int cuCtxPopCurrent_v2(void **context)
{
    contexts--;
    *context = &context_mark;
    return 0;
}

// As the real one, without a context it refuses.
int cuMemcpyDtoH_v2(void *host, uintptr_t from, size_t bytes)
{
    if (contexts == 0 || !reaches(from, bytes)) {
        return 1;
    }
    memcpy(host, place(from), bytes);
    return 0;
}

int cuMemcpyHtoD_v2(uintptr_t to, const void *host, size_t bytes)
{
    if (contexts == 0 || !reaches(to, bytes)) {
        return 1;
    }
    memcpy(place(to), host, bytes);
    return 0;
}

int cuStreamSynchronize(void *stream)
{
    return stream == NULL && contexts > 0 ? 0 : 1;
}
#else
struct attributes {
    int kind, device;
    void *on_device, *on_host;
    int is_managed;
    unsigned flags;
};

int hipPointerGetAttributes(struct attributes *attributes, const void *pointer);
int hipMemcpy(void *to, const void *from, size_t bytes, int kind);
int hipStreamSynchronize(void *stream);
int hipGetLastError(void);

int hipPointerGetAttributes(struct attributes *attributes, const void *pointer)
{
    uintptr_t address = (uintptr_t)pointer;
    if (!is_device(address) && !is_registered(address)) {
        return 1;
    }
    void *both = (void *)address;
    *attributes = (struct attributes){.kind = is_registered(address) ? 1 : 2,
                                      .on_device = both,
                                      .on_host = is_registered(address) || is_managed(address) ? both : NULL,
                                      .is_managed = is_managed(address)};
    return 0;
}

int hipMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    if (kind == 1 ? !reaches((uintptr_t)to, bytes) : !reaches((uintptr_t)from, bytes)) {
        return 1;
    }
    memcpy(place((uintptr_t)to), place((uintptr_t)from), bytes);
    return 0;
}

int hipStreamSynchronize(void *stream)
{
    return stream != NULL;
}

int hipGetLastError(void)
{
    return 0;
}
#endif
