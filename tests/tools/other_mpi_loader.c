// SPDX-License-Identifier: BSD-3-Clause
//
// A program that knows no MPI and loads what does, as an interpreter loads mpi4py: names are found in the preload
// first, and the MPI library is nobody's but the loaded part's. Its argument is a shared object with a `program_main`.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int (*program_main)(int, char **);
    void *part = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (part == NULL || (*(void **)&program_main = dlsym(part, "program_main")) == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    return program_main(argc - 1, argv + 1);
}
