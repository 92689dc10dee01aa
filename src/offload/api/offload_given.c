// SPDX-License-Identifier: BSD-3-Clause
//
// The job of castoff_offload_open as a program gives it, which may have been compiled with the header of another
// version of this library: an older one knows fewer members, which are 0 then; a newer one more, which must be. Cold.
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "offload/api/offload_world.h"

// The first version that was released ends here.
#define BYTES_MOST 4096 // of any version to come: more is something else than a size
#define BYTES_LEAST                                                                                                    \
    (offsetof(struct castoff_offload_job, progress) + sizeof(((struct castoff_offload_job *)NULL)->progress))

_Static_assert(BYTES_LEAST <= sizeof(struct castoff_offload_job), "the first version's members are all there");

static bool is_zero(const unsigned char *bytes, size_t count)
{
    size_t i = 0;
    while (i < count && bytes[i] == 0) {
        i++;
    }
    return i == count;
}

int co_offload_given_read(struct castoff_offload_job *job, const struct castoff_offload_job *given)
{
    size_t known = given->struct_bytes < sizeof *job ? given->struct_bytes : sizeof *job;
    if (known < BYTES_LEAST || given->struct_bytes > BYTES_MOST) {
        return co_offload_fail(-EINVAL, "struct_bytes of the job is %zu, but has to be its size", given->struct_bytes);
    }
    if (!is_zero((const unsigned char *)given + known, given->struct_bytes - known)) {
        return co_offload_fail(-E2BIG, "the program is of a later version than libcastoff-offload.so, and needs that");
    }
    memset(job, 0, sizeof *job);
    memcpy(job, given, known);
    job->struct_bytes = sizeof *job;
    return 0;
}
