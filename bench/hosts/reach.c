// SPDX-License-Identifier: BSD-3-Clause
//
// The program that `castoff info --check` starts on each host, a rank each: rank 0 leads a session (reach_session.c),
// whose words all hosts get and obey (reach_host.c), and prints every answer; who started the job has the same session
// from those. MPI carries words and answers alone, by its PMPI names, so that a preloaded castoff stays out of it, and
// in pieces that a network carries which loses large packets: TCP stands still there.
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/settings.h"
#include "tools/info/reach_host.h"
#include "tools/info/reach_session.h"

enum { PIECE = 1000, WORDS_ROOM = 1 << 18, TAG = 1 };

static char words[WORDS_ROOM];

static void keep_words(void *arg, const char *text)
{
    (void)arg;
    snprintf(words, sizeof words, "%.*s", (int)strcspn(text, "\n"), text);
}

// Each piece is everywhere before the next one leaves: two that wait become one large packet.
static void tell_all(void)
{
    uint64_t length = strlen(words);
    PMPI_Bcast(&length, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    for (uint64_t at = 0; at < length; at += PIECE) {
        int bytes = (int)(length - at < PIECE ? length - at : PIECE);
        PMPI_Bcast(words + at, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
        PMPI_Barrier(MPI_COMM_WORLD);
    }
    words[length] = '\0';
}

static void send_answer(char *answer)
{
    int length = (int)strlen(answer);
    PMPI_Ssend(&length, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    for (int at = 0; at < length; at += PIECE) {
        PMPI_Ssend(answer + at, length - at < PIECE ? length - at : PIECE, MPI_CHAR, 0, TAG, MPI_COMM_WORLD);
    }
}

static void receive_answer(char answer[CO_REACH_ANSWER_MAX], int from)
{
    int length = 0;
    PMPI_Recv(&length, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    length = length < 0 || length >= CO_REACH_ANSWER_MAX ? 0 : length;
    for (int at = 0; at < length; at += PIECE) {
        PMPI_Recv(answer + at, length - at < PIECE ? length - at : PIECE, MPI_CHAR, from, TAG, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE);
    }
    answer[length] = '\0';
}

static void take_answer(struct co_reach_session *session, const char *answer)
{
    puts(answer);
    fflush(stdout);
    co_reach_session_line(session, answer);
}

static void lead(struct co_reach_session *session, struct co_reach_host *host, int size)
{
    char answer[CO_REACH_ANSWER_MAX];
    snprintf(words, sizeof words, "hello");
    while (words[0] != '\0') {
        tell_all();
        char *copy = strdup(words);
        words[0] = '\0'; // until the session says more
        if (copy == NULL) {
            break;
        }
        co_reach_host_obey(host, copy, answer);
        free(copy);
        take_answer(session, answer);
        for (int from = 1; from < size; from++) {
            receive_answer(answer, from);
            take_answer(session, answer);
        }
    }
    tell_all(); // of no length: it is over
}

static void follow(struct co_reach_host *host)
{
    char answer[CO_REACH_ANSWER_MAX];
    for (tell_all(); words[0] != '\0'; tell_all()) {
        co_reach_host_obey(host, words, answer);
        send_answer(answer);
    }
}

int main(int argc, char **argv)
{
    int rank, size;
    PMPI_Init(&argc, &argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    co_settings_load();
    struct co_host_facts *facts = calloc(CO_REACH_HOSTS_MAX, sizeof *facts);
    struct co_reach_session session = {
        .facts = facts, .say = keep_words, .largest_bytes = (size_t)co_setting_number(CO_SET_UDP_MTU)};
    struct co_reach_host *host = co_reach_host_make(rank, size);
    if (host == NULL || facts == NULL || getrandom(&session.tag, sizeof session.tag, 0) < 0 ||
        getrandom(&session.nonce, sizeof session.nonce, 0) < 0) {
        fprintf(stderr, "reach: out of memory\n");
        PMPI_Abort(MPI_COMM_WORLD, 1);
    } else if (rank == 0) {
        lead(&session, host, size);
        co_reach_table_release(&session.table);
    } else {
        follow(host);
    }
    if (host != NULL) {
        co_reach_host_release(host);
    }
    free(facts);
    PMPI_Finalize();
    return 0;
}
