// SPDX-License-Identifier: BSD-3-Clause
//
// Programs built with AddressSanitizer end at once when any library was loaded before its runtime, as a preload is,
// since such a library could have caught functions that the runtime must catch itself. castoff has none of them. The
// runtime asks whoever defines this function for its defaults; a program's own function and ASAN_OPTIONS come first.

const char *__asan_default_options(void); // NOLINT: the runtime's name

__attribute__((visibility("default"))) const char *__asan_default_options(void) // NOLINT: the runtime's name
{
    return "verify_asan_link_order=0";
}
