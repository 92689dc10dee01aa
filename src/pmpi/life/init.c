// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Init, MPI_Init_thread and MPI_Finalize. The thread level that the program asks for is handed on as it is; the
// end of castoff hangs on an attribute of MPI_COMM_SELF, not on the wrapper.
#include "pmpi/life/entries.h"
#include "pmpi/life/process.h"
#include "pmpi/life/start.h"

int PMPI_Init(int *argc, char ***argv)
{
    co_process_is_off(); // the first call finds the library underneath
    co_entries_find_tool();
    co_start_prepare();
    int code = co_next.Init(argc, argv);
    co_start_finish(code);
    return code;
}

int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    co_process_is_off(); // the first call finds the library underneath
    co_entries_find_tool();
    co_start_prepare();
    int code = co_next.Init_thread(argc, argv, required, provided);
    co_start_finish(code);
    return code;
}

int PMPI_Finalize(void)
{
    return co_next_mpi_get()->Finalize();
}
