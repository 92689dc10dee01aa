// SPDX-License-Identifier: BSD-3-Clause
//
// guest_call ADDRESS PORT COMMAND...: runs a command in a guest of the laboratory with the caller's
// folder (where the guest has it), environment and standard streams, and ends with its exit status.
// When this program goes away the agent ends the command. Status 255 where the guest does not answer
// or dies meanwhile, as ssh has it. Called by guest_commands.sh; the other end is guest_agent.c.

#define _GNU_SOURCE
#include "guest_frames.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

enum { status_no_guest = 255 };

static char buffer[frame_bytes_max];

static int no_guest(const char *address, const char *what)
{
    fprintf(stderr, "guest %s: %s\n", address, what);
    return status_no_guest;
}

// A guest that is killed says no goodbye. Keepalive finds that out in a few seconds where the line is silent, the
// user timeout (RFC 5482) where something was under way to it, which would else be sent again for a quarter of an hour.
static int connect_to(const char *address, const char *port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1, idle_seconds = 3, interval_seconds = 2, tries = 4, connect_retries = 2;
    unsigned user_timeout_ms = 30000;
    if (connection < 0 || inet_pton(AF_INET, address, &to.sin_addr) != 1) {
        return -1;
    }
    setsockopt(connection, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(connection, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof(int));
    setsockopt(connection, IPPROTO_TCP, TCP_KEEPINTVL, &interval_seconds, sizeof(int));
    setsockopt(connection, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof(int));
    setsockopt(connection, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout_ms, sizeof(user_timeout_ms));
    setsockopt(connection, IPPROTO_TCP, TCP_SYNCNT, &connect_retries, sizeof(int));
    return connect(connection, (struct sockaddr *)&to, sizeof(to)) == 0 ? connection : -1;
}

// Returns the end of what is written, or NULL when the text does not fit into the buffer.
static char *append(char *at, const char *text)
{
    size_t bytes = strlen(text) + 1;
    if (at == NULL || (size_t)(buffer + sizeof(buffer) - at) < bytes) {
        return NULL;
    }
    memcpy(at, text, bytes);
    return at + bytes;
}

static bool send_request(int connection, char **command)
{
    char *folder = getcwd(NULL, 0);
    char *at = append(append(buffer, folder != NULL ? folder : "/"), "");
    for (char **variable = environ; *variable != NULL; variable++) {
        if (**variable != '\0') {
            at = append(at, *variable);
        }
    }
    at = append(at, "");
    for (char **argument = command; *argument != NULL; argument++) {
        at = append(at, *argument);
    }
    free(folder);
    return at != NULL && send_frame(connection, frame_request, buffer, (size_t)(at - buffer));
}

// In a process of its own: the guest may be unable to take input before its output is taken.
static pid_t forward_input(int connection)
{
    pid_t parent = getpid(), child = fork();
    if (child != 0) {
        return child;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent) {
        ssize_t got = read(STDIN_FILENO, buffer, 65536);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (!send_frame(connection, frame_input, buffer, got > 0 ? (size_t)got : 0) || got <= 0) {
            break;
        }
    }
    _exit(0);
}

// Output that nobody takes any more is dropped: the command's status still counts.
static int receive_results(int connection, const char *address)
{
    struct frame_head head;
    while (receive_frame(connection, &head, buffer)) {
        switch (head.kind) {
        case frame_output:
            (void)write_all(STDOUT_FILENO, buffer, head.bytes);
            break;
        case frame_error:
            (void)write_all(STDERR_FILENO, buffer, head.bytes);
            break;
        case frame_status:
            return (unsigned char)buffer[0];
        default:
            return no_guest(address, "speaks in frames of another kind");
        }
    }
    return no_guest(address, "went away during the command");
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: guest_call ADDRESS PORT COMMAND...\n");
        return 2;
    }
    int connection = connect_to(argv[1], argv[2]);
    if (connection < 0) {
        return no_guest(argv[1], strerror(errno));
    }
    signal(SIGPIPE, SIG_IGN);
    if (!send_request(connection, argv + 3)) {
        return no_guest(argv[1], "the command and its environment are too long, or it went away");
    }
    pid_t forwarder = forward_input(connection);
    int status = receive_results(connection, argv[1]);
    if (forwarder > 0) {
        kill(forwarder, SIGKILL);
        waitpid(forwarder, NULL, 0);
    }
    return status;
}
