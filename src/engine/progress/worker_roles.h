// SPDX-License-Identifier: BSD-3-Clause
//
// The threads of an engine by what they do, and a turn of each. Private to src/engine: workers_open.c
// opens them.
#ifndef CASTOFF_ENGINE_PROGRESS_WORKER_ROLES_H
#define CASTOFF_ENGINE_PROGRESS_WORKER_ROLES_H

struct co_worker;

// Moves nonblocking operations while the program computes, answers neighbours while nobody is inside MPI, and receives
// subgroup 0.
void co_worker_first_progress(struct co_worker *worker);
// Takes the datagrams of its subgroup from the kernel and verifies them.
void co_worker_receiver_progress(struct co_worker *worker);
// Sends long blocks.
void co_worker_sender_progress(struct co_worker *worker);

#endif
