// SPDX-License-Identifier: BSD-3-Clause
//
// Writes env.example to standard output from the settings table. Called by `make env.example`; a program of its own,
// so that it needs no MPI.
#include <stdio.h>

#include "base/settings/settings_print.h"

int main(void)
{
    co_settings_print_template(stdout);
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
