// SPDX-License-Identifier: BSD-3-Clause
//
// The sides of a comparison as communicators of one job: castoff's (a plain duplicate), stock's default and each
// of stock's algorithms (duplicates with the info key castoff=no). Open MPI's tuned component looks at its forced
// algorithm when a communicator is made, so the control variable is set around the duplication. Those of MPI_Allgatherv
// cannot be set then: `castoff bench` gives each a job. Cold.
#include "coll.h"

#include <stdio.h>
#include <string.h>

static const struct {
    enum coll_call call;
    const char *variable;
    int first, last; // algorithm numbers of Open MPI 4.1
} families[] = {
    {COLL_BCAST, "coll_tuned_bcast_algorithm", 1, 9},
    {COLL_IBCAST, "coll_libnbc_ibcast_algorithm", 1, 4},
    {COLL_ALLGATHER, "coll_tuned_allgather_algorithm", 1, 6},
    {COLL_IALLGATHER, "coll_libnbc_iallgather_algorithm", 1, 2},
};

enum { FAMILIES = sizeof families / sizeof *families };

static bool set_variable(const char *name, int value)
{
    int index, count;
    MPI_T_cvar_handle handle;
    if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS) {
        return false;
    }
    bool is_set = MPI_T_cvar_write(handle, &value) == MPI_SUCCESS;
    MPI_T_cvar_handle_free(&handle);
    return is_set;
}

static MPI_Comm duplicate_native(void)
{
    MPI_Info info;
    MPI_Comm comm;
    MPI_Info_create(&info);
    MPI_Info_set(info, "castoff", "no");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    MPI_Info_free(&info);
    return comm;
}

static struct coll_side *add(struct coll_run *run, const char *name, MPI_Comm comm)
{
    struct coll_side *side = &run->sides[run->side_count++];
    *side = (struct coll_side){.comm = comm, .call = COLL_CALLS};
    snprintf(side->name, sizeof side->name, "%s", name);
    return side;
}

// Two-process algorithms abort or misbehave on other sizes.
static bool is_for_two(enum coll_call call, int algorithm)
{
    return call == COLL_ALLGATHER && algorithm == 6;
}

// libnbc's algorithms are those of its persistent calls, too.
static bool is_wanted(const struct coll_run *run, enum coll_call family)
{
    bool is_wanted = false;
    for (int call = 0; call < COLL_CALLS; call++) {
        is_wanted |= run->options.calls[call] && coll_started((enum coll_call)call) == family;
    }
    return is_wanted;
}

static void add_algorithm(struct coll_run *run, int family, int algorithm)
{
    enum coll_call call = families[family].call;
    char name[32];
    if ((is_for_two(call, algorithm) && run->ranks != 2) || run->side_count == COLL_SIDES_MAX) {
        return;
    }
    snprintf(name, sizeof name, "%s-%d", coll_call_names[call], algorithm);
    bool is_set = set_variable(families[family].variable, algorithm);
    int mine = is_set, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, run->control);
    if (all) {
        struct coll_side *side = add(run, name, duplicate_native());
        side->call = call;
        side->libnbc_variable =
            strncmp(families[family].variable, "coll_libnbc_", 12) == 0 ? families[family].variable : NULL;
        side->libnbc_algorithm = algorithm;
    }
    set_variable(families[family].variable, 0);
}

void coll_sides_open(struct coll_run *run)
{
    MPI_Comm own;
    run->control = duplicate_native();
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    add(run, "castoff", own);
    add(run, "stock", duplicate_native());
    for (int family = 0; run->options.has_algorithms && family < FAMILIES; family++) {
        if (!is_wanted(run, families[family].call)) {
            continue;
        }
        for (int algorithm = families[family].first; algorithm <= families[family].last; algorithm++) {
            add_algorithm(run, family, algorithm);
        }
    }
}

void coll_sides_close(struct coll_run *run)
{
    for (int i = 0; i < run->side_count; i++) {
        MPI_Comm_free(&run->sides[i].comm);
    }
    MPI_Comm_free(&run->control);
}

bool coll_side_serves(const struct coll_side *side, enum coll_call call)
{
    return side->call == COLL_CALLS || side->call == coll_started(call);
}

void coll_side_enter(const struct coll_side *side)
{
    static const char *variable;
    static int algorithm;
    if (variable != NULL && side->libnbc_variable != variable) {
        set_variable(variable, 0);
    }
    if (side->libnbc_variable != NULL && (side->libnbc_variable != variable || side->libnbc_algorithm != algorithm)) {
        set_variable(side->libnbc_variable, side->libnbc_algorithm);
    }
    variable = side->libnbc_variable;
    algorithm = side->libnbc_algorithm;
}
