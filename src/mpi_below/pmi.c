// SPDX-License-Identifier: BSD-3-Clause
//
// The marks, for MPICH: with its launcher, Hydra (mpiexec), by the words of PMI 1.1 on the connection that each rank
// inherits. MPI_Init begins on it anew, and what was put before goes around with what MPI_Init itself puts. Reading is
// a question and an answer of the launcher's process on this host, which has everything then. Nobody else uses the
// connection meanwhile: MPI_Init has not begun, or is over.
//
// The mark also has the number of the rank's program, which Hydra tells each rank of its own alone: so all learn how
// many programs the job has. Where CASTOFF_MPMD wants them served all are number 0: nobody may look at the setting of
// his own alone, for ranks with another one would wait.
//
// A launcher that breaks off an answer would leave the rest of it to MPI_Init, so nobody waits for one with a timeout,
// as MPI_Init does not.
#include "mpi_below/marks.h"

#include "base/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINE_MAX_BYTES 1024 // of PMI 1.1
#define NAME_BYTES 256      // more than any launcher's names

static int connection = -1;
static char job[NAME_BYTES];
static bool is_announced;

static bool write_all(const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t written = send(connection, text, left, MSG_NOSIGNAL);
        if (written < 0 && errno == ENOTSOCK) {
            written = write(connection, text, left);
        }
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return false;
        }
        text += written;
        left -= (size_t)written;
    }
    return true;
}

// By single bytes: what follows a line is not ours.
static bool read_line(char *line, size_t room)
{
    for (size_t used = 0; used + 1 < room;) {
        ssize_t got = read(connection, line + used, 1);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        if (line[used] == '\n') {
            line[used] = '\0';
            return true;
        }
        used++;
    }
    return false;
}

// True: the answer is of that kind and good.
static bool ask(const char *question, const char *kind, char *answer, size_t room)
{
    return write_all(question) && read_line(answer, room) && strncmp(answer, kind, strlen(kind)) == 0;
}

// The word behind "NAME=" in an answer. False: there is none, or no room for it.
static bool read_word(const char *answer, const char *name, char *word, size_t room)
{
    const char *found = strstr(answer, name);
    size_t length = found == NULL ? 0 : strcspn(found + strlen(name), " ");
    if (length == 0 || length >= room) {
        return false;
    }
    memcpy(word, found + strlen(name), length);
    word[length] = '\0';
    return true;
}

// Other launchers have these variables, too, and may mind who begins twice: only Hydra is known to take it.
static bool is_hydra(void)
{
    return co_environment("MPI_LOCALRANKID") != NULL && co_environment("PMI_RANK") != NULL &&
           co_environment("PMI_SIZE") != NULL && co_environment("PMI_FD") != NULL;
}

static void announce(void)
{
    char question[LINE_MAX_BYTES], answer[LINE_MAX_BYTES], program[NAME_BYTES];
    if (!is_hydra()) {
        return;
    }
    connection = atoi(co_environment("PMI_FD"));
    if (!ask("cmd=init pmi_version=1 pmi_subversion=1\n", "cmd=response_to_init", answer, sizeof answer) ||
        strstr(answer, " rc=0") == NULL || !ask("cmd=get_my_kvsname\n", "cmd=my_kvsname", answer, sizeof answer) ||
        !read_word(answer, " kvsname=", job, sizeof job)) {
        return;
    }
    if (!ask("cmd=get_appnum\n", "cmd=appnum", answer, sizeof answer) ||
        !read_word(answer, " appnum=", program, sizeof program)) {
        return;
    }
    bool is_one = co_setting_number(CO_SET_MPMD) != 0;
    snprintf(question, sizeof question, "cmd=put kvsname=%s key=castoff-%d value=%d.%d\n", job,
             atoi(co_environment("PMI_RANK")), CO_MARK, is_one ? 0 : atoi(program));
    is_announced = ask(question, "cmd=put_result", answer, sizeof answer) && strstr(answer, " rc=0") != NULL;
}

static bool settle(char **local_peers)
{
    *local_peers = NULL;
    return is_announced;
}

// The number of its program; -1: it has no mark.
static int read_mark(int rank)
{
    char question[LINE_MAX_BYTES], answer[LINE_MAX_BYTES], value[NAME_BYTES];
    int mark = 0, program = 0;
    snprintf(question, sizeof question, "cmd=get kvsname=%s key=castoff-%d\n", job, rank);
    bool is_ours = ask(question, "cmd=get_result", answer, sizeof answer) && strstr(answer, " rc=0") != NULL &&
                   read_word(answer, " value=", value, sizeof value) && sscanf(value, "%d.%d", &mark, &program) == 2 &&
                   mark == CO_MARK && program >= 0;
    return is_ours ? program : -1;
}

// Asked for once: nobody puts anything any more.
static int mark_of(int rank, int world_size)
{
    enum { NOT_ASKED, FIRST = 2 }; // behind it the numbers, from -1 on
    static int *marks;
    if (marks == NULL) {
        marks = calloc((size_t)world_size, sizeof *marks);
    }
    if (marks == NULL) {
        return read_mark(rank);
    }
    if (marks[rank] == NOT_ASKED) {
        marks[rank] = read_mark(rank) + FIRST;
    }
    return marks[rank] - FIRST;
}

static int programs(int world_size)
{
    int last = 0;
    for (int rank = 0; rank < world_size; rank++) {
        int program = mark_of(rank, world_size);
        last = program > last ? program : last;
    }
    return last + 1;
}

static int first(int world_size, bool marked)
{
    for (int rank = 0; rank < world_size; rank++) {
        if ((mark_of(rank, world_size) >= 0) == marked) {
            return rank;
        }
    }
    return -1;
}

const struct co_marks co_marks_pmi = {
    .announce = announce,
    .settle = settle,
    .first = first,
    .programs = programs,
    .complaint = "its launcher is not MPICH's, so nobody can tell whether all ranks are preloaded; "
                 "start it by MPICH's mpiexec"};
