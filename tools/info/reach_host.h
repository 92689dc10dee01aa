// SPDX-License-Identifier: BSD-3-Clause
//
// The part of one host in the session of `castoff info --check`: it obeys a word, those of reach_session.c, and has a
// line for an answer. Used by the program that is started on each host (bench/hosts/reach.c). Cold.
#ifndef CASTOFF_TOOLS_INFO_REACH_HOST_H
#define CASTOFF_TOOLS_INFO_REACH_HOST_H

#include <stddef.h>

struct co_reach_host;

// NULL: no memory. Needs co_settings_load.
struct co_reach_host *co_reach_host_make(int rank, int count);
void co_reach_host_release(struct co_reach_host *host);

// `words`, which are taken apart, without the end of their line. The answer has none either, and is never empty.
enum { CO_REACH_ANSWER_MAX = 4096 };
void co_reach_host_obey(struct co_reach_host *host, char *words, char answer[CO_REACH_ANSWER_MAX]);

#endif
