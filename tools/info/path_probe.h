// SPDX-License-Identifier: BSD-3-Clause
//
// Whether packets as large as the interface says come to another host, where nothing can be started there: a UDP port
// that nobody has answers with an error, whatever size the datagram has. Cold.
#ifndef CASTOFF_TOOLS_INFO_PATH_PROBE_H
#define CASTOFF_TOOLS_INFO_PATH_PROBE_H

#include <stddef.h>

enum co_path_state {
    CO_PATH_UNKNOWN, // it has no such name, or does not answer in this way
    CO_PATH_CARRIES,
    CO_PATH_LOSES_LARGE // small ones come, those of `bytes` do not
};

// `bytes`: the MTU of the way to it. Takes three seconds at most where there is no answer.
enum co_path_state co_path_probe(const char *host, size_t *bytes);

#endif
