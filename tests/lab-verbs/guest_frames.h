// SPDX-License-Identifier: BSD-3-Clause
//
// What guest_call and guest_agent say to each other over one TCP connection a command: frames of a
// kind, a length in bytes and that many bytes. Both ends are programs of one lab on one kind of
// machine, so integers go as they lie in memory.
//
//   call -> agent   request   folder, "", environment strings, "", arguments, each ended by a zero
//                   input     bytes for the command's standard input; a frame of length 0: its end
//   agent -> call   output    bytes of its standard output
//                   error     bytes of its standard error
//                   status    1 byte: exit status, or 128 + the signal that ended it; the last frame
//
// An end that goes away without a status is a guest, or a caller, that died.

#ifndef CASTOFF_TESTS_LAB_VERBS_GUEST_FRAMES_H
#define CASTOFF_TESTS_LAB_VERBS_GUEST_FRAMES_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

enum frame_kind { frame_request = 1, frame_input, frame_output, frame_error, frame_status };

enum { frame_bytes_max = 1 << 20 };

struct frame_head {
    uint32_t kind;
    uint32_t bytes;
};

static inline bool write_all(int to, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes > 0) {
        ssize_t written = write(to, at, bytes);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return false;
        }
        at += written;
        bytes -= (size_t)written;
    }
    return true;
}

static inline bool read_all(int from, void *data, size_t bytes)
{
    char *at = data;
    while (bytes > 0) {
        ssize_t got = read(from, at, bytes);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        at += got;
        bytes -= (size_t)got;
    }
    return true;
}

static inline bool send_frame(int to, enum frame_kind kind, const void *data, size_t bytes)
{
    struct frame_head head = {.kind = (uint32_t)kind, .bytes = (uint32_t)bytes};
    return write_all(to, &head, sizeof(head)) && write_all(to, data, bytes);
}

// `data` holds frame_bytes_max bytes. False at the end of the connection and for a frame too large.
static inline bool receive_frame(int from, struct frame_head *head, char *data)
{
    return read_all(from, head, sizeof(*head)) && head->bytes <= frame_bytes_max && read_all(from, data, head->bytes);
}

#endif
