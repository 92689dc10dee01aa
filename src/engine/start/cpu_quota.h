// SPDX-License-Identifier: BSD-3-Clause
//
// Processor time that the control groups (cgroups) of this process allow it, as containers and batch systems set it
// (docker --cpus): fewer cores than the mask of the process has, though none of them is named. Start-up only.
#ifndef CASTOFF_ENGINE_START_CPU_QUOTA_H
#define CASTOFF_ENGINE_START_CPU_QUOTA_H

#include <stdint.h>

struct co_cores_quota {
    uint32_t hundredths; // of a core; 0: as much as there is
    uint64_t group; // whose limit it is, for processes may share one: a number that no other group of this kernel has
    // The tightest limit of the groups above that one, which is looser: it holds for all groups below it together. 0:
    // there is none.
    uint32_t above_hundredths;
    uint64_t above_group;
};

// The tightest limit of all groups that this process is in, of the second kind of cgroups (cpu.max) and of the first
// (cpu.cfs_quota_us). `root`: "", or a folder that stands for /. What cannot be read is no limit.
void co_cores_quota_read(struct co_cores_quota *quota, const char *root);

#endif
