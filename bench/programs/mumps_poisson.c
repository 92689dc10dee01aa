// SPDX-License-Identifier: BSD-3-Clause
//
// A direct solver at work: MUMPS factorizes the Laplacian of a cube of N^3 points, 7-point stencil, which rank 0 gives
// it, and solves for a right side whose solution is all ones. Prints one line that is the same in every run. For figure
// M48, which builds it where libmumps-dev is installed.
//
//   mumps_poisson N TURNS
#include <dmumps_c.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USE_COMM_WORLD (-987654)

enum { JOB_INIT = -1, JOB_END = -2, JOB_ALL = 6 };

static void put(DMUMPS_STRUC_C *id, int row, int column, double value)
{
    id->irn[id->nnz] = row + 1;
    id->jcn[id->nnz] = column + 1;
    id->a[id->nnz++] = value;
    id->rhs[row] += value; // times a solution of ones
}

static void fill(DMUMPS_STRUC_C *id, int n)
{
    const int step[3] = {1, n, n * n};
    memset(id->rhs, 0, (size_t)id->n * sizeof *id->rhs);
    id->nnz = 0;
    for (int point = 0; point < id->n; point++) {
        put(id, point, point, 7);
        for (int axis = 0; axis < 3; axis++) {
            int at = point / step[axis] % n;
            if (at > 0) {
                put(id, point, point - step[axis], -1);
            }
            if (at < n - 1) {
                put(id, point, point + step[axis], -1);
            }
        }
    }
}

int main(int argc, char **argv)
{
    static DMUMPS_STRUC_C id;
    int rank, n = argc == 3 ? atoi(argv[1]) : 0, turns = argc == 3 ? atoi(argv[2]) : 0;
    double worst = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (n < 2 || n > 200 || turns < 1) {
        fputs("usage: mumps_poisson N TURNS\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    id.job = JOB_INIT;
    id.par = 1;
    id.comm_fortran = USE_COMM_WORLD;
    dmumps_c(&id);
    id.n = n * n * n;
    if (rank == 0) {
        id.irn = malloc((size_t)id.n * 7 * sizeof *id.irn);
        id.jcn = malloc((size_t)id.n * 7 * sizeof *id.jcn);
        id.a = malloc((size_t)id.n * 7 * sizeof *id.a);
        id.rhs = malloc((size_t)id.n * sizeof *id.rhs);
    }
    memset(id.icntl, 0, 4 * sizeof id.icntl[0]); // it says nothing
    for (int turn = 0; turn < turns; turn++) {
        if (rank == 0) {
            fill(&id, n);
        }
        id.job = JOB_ALL;
        dmumps_c(&id);
        if (id.infog[0] < 0) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        for (int i = 0; rank == 0 && i < id.n; i++) {
            worst = fmax(worst, fabs(id.rhs[i] - 1));
        }
    }
    id.job = JOB_END;
    dmumps_c(&id);
    if (rank == 0) {
        printf("mumps %d %s\n", n, worst < 1e-9 ? "solved" : "WRONG");
    }
    MPI_Finalize();
    return worst < 1e-9 ? 0 : 1;
}
