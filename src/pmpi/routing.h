// SPDX-License-Identifier: BSD-3-Clause
//
// Which way a collective goes: taken by the engine, or native for a reason. Common to the calls. Hot; any thread.
#ifndef CASTOFF_PMPI_ROUTING_H
#define CASTOFF_PMPI_ROUTING_H

#include "pmpi/communicators.h"
#include "pmpi/datatypes.h"

// CO_TAKE and a communicator with a team, or the reason that stands in the way whatever the arguments are.
enum co_reason co_route_communicator(MPI_Comm comm, struct co_communicator **communicator);

// Facts of the arguments that native checks on the sending side: false when it would raise an error, or castoff
// cannot read them. A receiving side that native does not check for being committed is not checked here either:
// a rank that goes native alone would wait for the others.
bool co_route_arguments(int count, MPI_Datatype type, bool sends, struct co_datatype *facts);

// For the report, after native has served the call: a communicator that is not followed may have a better reason.
enum co_reason co_route_explain(enum co_reason reason, MPI_Comm comm, int code);

#endif
