// SPDX-License-Identifier: BSD-3-Clause
//
// Buffers in the memory of a GPU, which the processor cannot touch: where the MPI below takes them, the driver that the
// program has loaded says which they are, and copies. Nothing is linked. Any thread.
#ifndef CASTOFF_PMPI_DATATYPE_DEVICE_MEMORY_H
#define CASTOFF_PMPI_DATATYPE_DEVICE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

// Whether the MPI below takes them: decided at start, the same on all ranks. False: nothing is ever asked.
extern bool co_device_memory_is_taken;

// What the MPI below of this rank says.
bool co_device_memory_is_native(void);

// Whether the byte at `address` lies on a device, or may move there (managed memory); only where they are taken. Asked
// anew each time: an address of device memory that was freed may be the host's the next time, and nobody tells.
bool co_device_memory_find(const void *address);

// Of what is there; done when they return, without waiting for work of the program that uses streams of its own. 0 or
// -EIO.
int co_device_memory_read(void *host, const void *device, size_t bytes);
int co_device_memory_write(void *device, const void *host, size_t bytes);

#endif
