// SPDX-License-Identifier: BSD-3-Clause
//
// What mk/version.mk says of this build, in the one object that is compiled again when it changes. Cold.
#include "version.h"

#include "families.h"

#if defined(__x86_64__)
#define PROCESSOR "x86_64"
#elif defined(__aarch64__)
#define PROCESSOR "aarch64"
#elif defined(__riscv)
#define PROCESSOR "riscv64"
#elif defined(__powerpc64__)
#define PROCESSOR "ppc64le"
#else
#define PROCESSOR "another processor"
#endif

#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number
#ifdef __clang__
#define COMPILER "clang " TEXT(__clang_major__) "." TEXT(__clang_minor__) "." TEXT(__clang_patchlevel__)
#else
#define COMPILER "gcc " TEXT(__GNUC__) "." TEXT(__GNUC_MINOR__) "." TEXT(__GNUC_PATCHLEVEL__)
#endif

const char *co_version_number(void)
{
    return CASTOFF_VERSION;
}

const char *co_version_commit(void)
{
    return CASTOFF_COMMIT;
}

const char *co_version_compiler(void)
{
    return COMPILER " for " PROCESSOR;
}

const char *co_version_mpi(void)
{
    return CASTOFF_MPI_TEXT;
}

void co_version_print(FILE *stream)
{
    char served[256];
    co_families_served(served, sizeof served);
    fprintf(stream, "castoff %s\n", co_version_number());
    fprintf(stream, "commit      %s\n", *co_version_commit() != '\0' ? co_version_commit() : "not known");
    fprintf(stream, "serves      %s; built with %s\n", served, co_version_mpi());
    fprintf(stream, "compiler    %s\n", co_version_compiler());
}
