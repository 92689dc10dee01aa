// SPDX-License-Identifier: BSD-3-Clause
//
// guest_agent ADDRESS PORT: runs commands in a guest for guest_call, each in a process and a session
// of its own, any number at once. Ends a command whose caller went away: TERM, then KILL. A session
// is over when its command has ended, though a process that it left may hold its output open.
// Started by guest_init.sh as root; it trusts everybody on the lab's control network.

#define _GNU_SOURCE
#include "guest_frames.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { request_words_max = 4096, piece_bytes = 65536, patience_ms = 2000 };

struct session {
    int connection;
    int input; // non-blocking; -1: closed
    int output;
    int error;
    int process; // its pidfd
    pid_t pid;
    size_t pending_at; // of `pending`: what the command did not take yet
    size_t pending_bytes;
    bool caller_left;
};

static char pending[frame_bytes_max];
static char piece[piece_bytes];

// Splits the request in place. False for one that does not follow guest_frames.h.
static bool parse_request(size_t bytes, char **folder, char **variables, char **arguments)
{
    char *at = pending, *end = pending + bytes;
    char **lists[] = {NULL, variables, arguments};
    size_t list = 0, count = 0;
    if (bytes == 0 || end[-1] != '\0') {
        return false;
    }
    *folder = at;
    for (; at < end; at += strlen(at) + 1) {
        // Arguments are last and may be empty; the other two lists end at an empty string.
        if (*at == '\0' && list < 2) {
            list++;
            count = 0;
        } else if (list > 0) {
            if (count + 1 >= request_words_max) {
                return false;
            }
            lists[list][count++] = at;
        }
    }
    return list == 2 && count > 0;
}

static _Noreturn void run_command(char *folder, char **variables, char **arguments, const int streams[3])
{
    setsid();
    for (int stream = 0; stream < 3; stream++) {
        dup2(streams[stream], stream);
    }
    if (chdir(folder) != 0 && chdir("/") != 0) {
        _exit(126);
    }
    signal(SIGPIPE, SIG_DFL);
    // The search for the program follows the caller's path, not ours.
    environ = variables;
    execvp(arguments[0], arguments);
    int error = errno;
    fprintf(stderr, "%s: %s\n", arguments[0], strerror(error));
    _exit(error == ENOENT ? 127 : 126);
}

static bool start_command(struct session *session, size_t request_bytes)
{
    static char *variables[request_words_max], *arguments[request_words_max];
    char *folder;
    int input[2], output[2], error[2];
    if (!parse_request(request_bytes, &folder, variables, arguments) || pipe2(input, O_CLOEXEC) != 0 ||
        pipe2(output, O_CLOEXEC) != 0 || pipe2(error, O_CLOEXEC) != 0) {
        return false;
    }
    session->pid = fork();
    if (session->pid < 0) {
        return false;
    }
    if (session->pid == 0) {
        run_command(folder, variables, arguments, (const int[]){input[0], output[1], error[1]});
    }
    close(input[0]);
    close(output[1]);
    close(error[1]);
    session->input = input[1];
    session->output = output[0];
    session->error = error[0];
    session->process = (int)syscall(SYS_pidfd_open, session->pid, 0);
    fcntl(session->input, F_SETFL, O_NONBLOCK);
    fcntl(session->output, F_SETFL, O_NONBLOCK);
    fcntl(session->error, F_SETFL, O_NONBLOCK);
    return session->process >= 0;
}

static void close_input(struct session *session)
{
    close(session->input);
    session->input = -1;
}

static void take_input(struct session *session)
{
    struct frame_head head;
    if (!receive_frame(session->connection, &head, pending) || head.kind != frame_input) {
        session->caller_left = true;
    } else if (session->input >= 0 && head.bytes == 0) {
        close_input(session);
    } else if (session->input >= 0) {
        session->pending_at = 0;
        session->pending_bytes = head.bytes;
    }
}

static void give_input(struct session *session)
{
    ssize_t written = write(session->input, pending + session->pending_at, session->pending_bytes);
    if (written >= 0) {
        session->pending_at += (size_t)written;
        session->pending_bytes -= (size_t)written;
    } else if (errno != EAGAIN && errno != EINTR) {
        session->pending_bytes = 0; // it reads no more
        close_input(session);
    }
}

// Passes on what is there. Returns true when there may be more, and closes the stream at its end.
static bool pass_output(struct session *session, int *stream, enum frame_kind kind)
{
    if (*stream < 0) {
        return false;
    }
    ssize_t got = read(*stream, piece, sizeof(piece));
    if (got > 0) {
        if (!send_frame(session->connection, kind, piece, (size_t)got)) {
            session->caller_left = true;
        }
        return !session->caller_left;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        close(*stream);
        *stream = -1;
    }
    return false;
}

// Returns when the command has ended or its caller is gone.
static void serve(struct session *session)
{
    while (!session->caller_left) {
        bool holds = session->pending_bytes > 0;
        struct pollfd waits[] = {
            {.fd = session->process, .events = POLLIN},
            {.fd = session->connection, .events = holds ? POLLRDHUP : POLLIN},
            {.fd = session->output, .events = POLLIN},
            {.fd = session->error, .events = POLLIN},
            {.fd = holds ? session->input : -1, .events = POLLOUT},
        };
        if (poll(waits, 5, -1) < 0) {
            continue;
        }
        if (holds && (waits[1].revents & (POLLHUP | POLLERR | POLLRDHUP)) != 0) {
            session->caller_left = true;
        } else if (waits[1].revents != 0) {
            take_input(session);
        }
        if (waits[2].revents != 0) {
            (void)pass_output(session, &session->output, frame_output);
        }
        if (waits[3].revents != 0) {
            (void)pass_output(session, &session->error, frame_error);
        }
        if (waits[4].revents != 0) {
            give_input(session);
        }
        if (waits[0].revents != 0) {
            break;
        }
    }
}

static void finish(struct session *session)
{
    struct pollfd ended = {.fd = session->process, .events = POLLIN};
    int status = 0;
    if (session->caller_left) {
        kill(-session->pid, SIGTERM);
        if (poll(&ended, 1, patience_ms) <= 0) {
            kill(-session->pid, SIGKILL);
        }
    }
    waitpid(session->pid, &status, 0);
    while (pass_output(session, &session->output, frame_output)) {
    }
    while (pass_output(session, &session->error, frame_error)) {
    }
    unsigned char code = (unsigned char)(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    (void)send_frame(session->connection, frame_status, &code, 1);
    // Closing with input unread would reset the connection, and the status might be lost with it.
    struct pollfd caller = {.fd = session->connection, .events = POLLIN};
    shutdown(session->connection, SHUT_WR);
    while (poll(&caller, 1, patience_ms) > 0 && read(session->connection, piece, sizeof(piece)) > 0) {
    }
}

static void run_session(int connection)
{
    struct session session = {.connection = connection};
    struct frame_head head;
    if (receive_frame(connection, &head, pending) && head.kind == frame_request &&
        start_command(&session, head.bytes)) {
        serve(&session);
        finish(&session);
    }
}

int main(int argc, char **argv)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons((uint16_t)(argc == 3 ? atoi(argv[2]) : 0))};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (argc != 3 || inet_pton(AF_INET, argv[1], &own.sin_addr) != 1) {
        fprintf(stderr, "usage: guest_agent ADDRESS PORT\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN); // sessions are reaped by the kernel; a session waits for its own command
    if (listener < 0 || bind(listener, (struct sockaddr *)&own, sizeof(own)) != 0 || listen(listener, 64) != 0) {
        perror("guest_agent");
        return 1;
    }
    puts("lab: guest ready");
    fflush(stdout);
    for (;;) {
        int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (connection >= 0 && fork() == 0) {
            close(listener);
            signal(SIGCHLD, SIG_DFL);
            setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
            run_session(connection);
            _exit(0);
        }
        close(connection);
    }
}
