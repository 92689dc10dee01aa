// SPDX-License-Identifier: BSD-3-Clause
//
// Call stacks of the calling thread, for stall reports and for the call sites of the report. The work is done by the
// module libcastoff-stack.so beside the library, loaded at first use; without it every answer says so or is 0. Any
// thread, not in signal handlers; microseconds for each call, so only when asked for.
#ifndef CASTOFF_BASE_STACK_TRACE_H
#define CASTOFF_BASE_STACK_TRACE_H

#include <stddef.h>
#include <stdint.h>

// Writes a line for each frame, innermost first, own frames left out: "  #0 main+0x1a (program)". A text that does not
// fit ends at the last whole line. Without the module: "no stack: <reason>". Returns the length, which is < size.
size_t co_stack_trace_print(char *text, size_t size);

// Address in the program from which MPI was called: that of the first frame that is neither in castoff nor in a
// library of MPI (whose Fortran bindings call the C ones). 0 when unknown.
uintptr_t co_stack_trace_call_site(void);

// "solve+0x2c (program)", or "program+0x1139" without a symbol, or "unknown" for 0. Returns the length, < size.
size_t co_stack_trace_address_print(uintptr_t address, char *text, size_t size);

// Directory in which to look for the module instead of the library's own; for tests and tools, before the first use.
// The string is not copied. Forgets a module that is loaded.
void co_stack_trace_directory_set(const char *directory);

#endif
