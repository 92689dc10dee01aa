// SPDX-License-Identifier: BSD-3-Clause
//
// Runs the `program` of a shared library that nobody else sees, and with it MPI, as Python runs its modules:
// load_locally LIBRARY [ARGUMENT...].
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int (*program)(int count, char **arguments) = NULL;
    void *library = argc < 2 ? NULL : dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) {
        *(void **)&program = dlsym(library, "program");
    }
    if (program == NULL) {
        fprintf(stderr, "load_locally: %s\n", argc < 2 ? "no library given" : dlerror());
        return 2;
    }
    return program(argc - 1, argv + 1);
}
