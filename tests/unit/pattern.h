// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes that one knows again: with another seed or at another place there are others.
#ifndef CASTOFF_TESTS_PATTERN_H
#define CASTOFF_TESTS_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void pattern_fill(void *data, size_t bytes, uint64_t seed);
bool pattern_matches(const void *data, size_t bytes, uint64_t seed);

#endif
