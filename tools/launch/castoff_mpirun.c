// SPDX-License-Identifier: BSD-3-Clause
//
// castoff mpirun: stands where mpirun stood. Puts "castoff run" before each program of the command line and becomes
// mpirun by exec, so exit status and signals of the job are mpirun's own.
#include "command.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/settings.h"
#include "families.h"
#include "launcher.h"
#include "places.h"
#include "program.h"
#include "wrapper.h"

static bool has_host_manager(void)
{
    static const char *const names[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID", NULL};
    for (int i = 0; names[i]; i++) {
        if (co_environment(names[i])) {
            return true;
        }
    }
    return false;
}

// A program that is missing is told once and from here, instead of by every rank; where ranks may live on other
// hosts, in other folders, only they can know.
static int check_programs(const struct co_launcher_plan *plan)
{
    if (plan->may_be_elsewhere || has_host_manager()) {
        return TOOL_OK;
    }
    const char *folders = co_environment("PATH");
    for (int i = 0; i < plan->program_count; i++) {
        char path[PATH_MAX];
        int failed = co_program_find(path, plan->programs[i], folders);
        if (failed) {
            co_command_complain(&co_command_mpirun, "cannot execute the program '%s': %s", plan->programs[i],
                                failed == -ENOENT && !strchr(plan->programs[i], '/') ? "not found on PATH"
                                                                                     : strerror(-failed));
            return failed == -EACCES || failed == -EISDIR ? TOOL_CANNOT_EXECUTE : TOOL_NOT_FOUND;
        }
    }
    return TOOL_OK;
}

// Of a program that is linked with MPICH, where a system has both in one folder and says so in the names, as Debian
// does.
static int find_mpirun(char mpirun[PATH_MAX], const struct co_launcher_plan *plan, const char *name)
{
    const char *folders = co_environment("PATH");
    char program[PATH_MAX];
    bool is_mpich = plan->program_count > 0 && co_program_find(program, plan->programs[0], folders) == 0 &&
                    co_family_links_mpich(program);
    int failed = co_program_find(mpirun, name, folders);
    char sibling[PATH_MAX];
    if (is_mpich && failed == 0 && snprintf(sibling, sizeof sibling, "%s.mpich", mpirun) < (int)sizeof sibling &&
        access(sibling, X_OK) == 0) {
        memcpy(mpirun, sibling, sizeof sibling);
    }
    return failed;
}

static int run(int argc, char **argv)
{
    static char mpirun_name[] = "mpirun";
    char mpirun[PATH_MAX], library[PATH_MAX], why[256];
    struct co_wrapper wrapper;
    struct co_launcher_plan plan;
    if (argc == 2 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0)) {
        return co_command_odd_option(&co_command_mpirun, 'h');
    }
    argv[0] = mpirun_name;
    if (co_wrapper_make(&wrapper, NULL)) {
        co_command_complain(&co_command_mpirun, "the environment has too many CASTOFF_ variables");
        return TOOL_FAILED;
    }
    if (co_launcher_plan_make(&plan, argc, argv, wrapper.words, wrapper.count, why, sizeof why)) {
        co_command_complain(&co_command_mpirun, "%s", why);
        return TOOL_USAGE;
    }
    if (find_mpirun(mpirun, &plan, mpirun_name)) {
        co_command_complain(&co_command_mpirun,
                            "mpirun is not on PATH; install openmpi-bin or load the module of your Open MPI");
        return TOOL_NOT_FOUND;
    }
    int status = check_programs(&plan);
    if (status) {
        return status;
    }
    if (co_places_library(library)) {
        co_command_complain(&co_command_mpirun, "libcastoff.so is neither beside the castoff command nor in ../lib; "
                                                "build it with make or install it again");
        return TOOL_FAILED;
    }
    execv(mpirun, plan.argv);
    co_command_complain(&co_command_mpirun, "cannot execute %s: %s", mpirun, strerror(errno));
    return TOOL_CANNOT_EXECUTE;
}

const struct co_command co_command_mpirun = {
    "mpirun",
    run,
    "[mpirun's options] PROGRAM [ARGUMENT...] [: ...]",
    "drop-in for mpirun: the same job, with castoff preloaded into its ranks only",
    "All options are mpirun's. CASTOFF_* settings of the environment reach every rank, on other hosts too.\n"
    "Not possible with --app and --preload-binary: there write 'castoff run' before the program by hand.\n",
};
