// SPDX-License-Identifier: BSD-3-Clause
//
// The bytes of examples in docs/wire-format.md, so that the document and the code cannot drift apart.
#ifndef CASTOFF_TESTS_OFFLOAD_WIRE_EXAMPLE_H
#define CASTOFF_TESTS_OFFLOAD_WIRE_EXAMPLE_H

#include <stddef.h>
#include <stdint.h>

// The hexadecimal pairs of the example with this title, of all its lines. Returns how many.
size_t wire_example_read(const char *title, uint8_t *out, size_t room);

#endif
