// SPDX-License-Identifier: BSD-3-Clause
//
// The copies of memory_copy.h that are made in pieces. Hot.
#include "base/memory/memory_copy.h"

void co_memory_copy_in_pieces(char *to, const char *from, size_t bytes)
{
    for (size_t done = 0, piece; done < bytes; done += piece) {
        piece = bytes - done < CO_MEMORY_COPY_SHORT ? bytes - done : CO_MEMORY_COPY_SHORT;
        __asm__("" : "+r"(piece)); // the compiler, did it know that it is short, would itself take `rep movs`
        memcpy(to + done, from + done, piece);
    }
}
