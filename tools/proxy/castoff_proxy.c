// SPDX-License-Identifier: BSD-3-Clause
//
// castoff proxy --job: the process beside the ranks of a node that moves their messages, started by the first of them
// (src/offload/rank/rank_proxy_start.c); and `castoff proxy status`, which asks those of this user what they do. The
// job comes over descriptor 3, and so does what it becomes of it; the process ends with its last rank.
#define _GNU_SOURCE
#include "tools/launch/command.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "offload/carrier/tcp_carrier.h"
#include "offload/proxy/proxy_cores.h"
#include "offload/proxy/proxy_process.h"

enum { STARTER = 3, STATUS_BYTES = 4096 };
#define PATIENCE_NS (10 * CO_NS_PER_S)
#define PEERS_NS (3 * PATIENCE_NS) // for the proxies of all nodes to start; where the starter has gone it ends at once
#define NAME_BEGINS "castoff-proxy-"

static const struct option long_options[] = {
    {"job", no_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

// The ranks behind the job, or NULL.
static struct co_offload_job_rank *ranks_receive(const struct co_offload_job *job, uint64_t until_ns, int *error)
{
    size_t count = (size_t)job->ranks * CO_OFFLOAD_JOB_RANK_BYTES;
    struct co_offload_job_rank *ranks = calloc(job->ranks, sizeof *ranks);
    uint8_t *bytes = malloc(count);

    *error = ranks == NULL || bytes == NULL ? -ENOMEM : co_local_receive_all(STARTER, bytes, count, until_ns);
    for (uint32_t i = 0; *error == 0 && i < job->ranks; i++) {
        *error = co_offload_job_rank_decode(&ranks[i], bytes + (size_t)i * CO_OFFLOAD_JOB_RANK_BYTES, job);
    }
    free(bytes);
    if (*error != 0) {
        free(ranks);
        return NULL;
    }
    return ranks;
}

// As many as it may have: two for each rank, three for one that copies, and those of strangers and other proxies.
static void descriptors_allow(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int job_open(struct co_proxy_process **process, const struct co_offload_job *job,
                    struct co_offload_started *started, int *listener)
{
    char why[CO_CARRIER_WHY_MAX];
    int error;
    struct co_offload_job_rank *ranks = ranks_receive(job, co_clock_now_ns() + PATIENCE_NS, &error);
    if (ranks == NULL) {
        return error;
    }
    started->cores = (uint32_t)co_proxy_cores_bind(job);
    if (job->proxies > 1) {
        *listener = co_carrier_tcp_listen(job->place, &started->port, why);
        error = *listener < 0 ? *listener : 0;
    }
    if (error == 0) {
        struct co_proxy_process_config config = {
            .job = job, .ranks = ranks, .patience_ns = PATIENCE_NS, .starter = STARTER};
        error = co_proxy_process_open(process, &config, co_clock_now_ns(), started->name);
    }
    free(ranks);
    return error;
}

// Where the other proxies are.
static struct co_offload_peer *peers_receive(const struct co_offload_job *job, int *error)
{
    size_t count = (size_t)job->proxies * CO_OFFLOAD_PEER_BYTES;
    struct co_offload_peer *peers = calloc(job->proxies, sizeof *peers);
    uint8_t *bytes = malloc(count);

    *error = peers == NULL || bytes == NULL ? -ENOMEM
                                            : co_local_receive_all(STARTER, bytes, count, co_clock_now_ns() + PEERS_NS);
    for (uint32_t i = 0; *error == 0 && i < job->proxies; i++) {
        *error = co_offload_peer_decode(&peers[i], bytes + (size_t)i * CO_OFFLOAD_PEER_BYTES);
    }
    free(bytes);
    return peers;
}

// Its connections with other proxies, if there are any, of which its starter hears.
static int job_begin(struct co_proxy_process *process, const struct co_offload_job *job, int listener)
{
    uint8_t bytes[CO_OFFLOAD_CONNECTED_BYTES];
    struct co_offload_connected connected = {.error = 0};

    if (job->proxies == 1) {
        return co_proxy_process_begin(process, NULL, -1, connected.why);
    }
    int error;
    struct co_offload_peer *peers = peers_receive(job, &error);
    if (error == 0) {
        error = co_proxy_process_begin(process, peers, listener, connected.why);
    }
    free(peers);
    connected.error = (uint32_t)-error;
    co_offload_connected_encode(bytes, &connected);
    int unheard = co_local_send_all(STARTER, bytes, sizeof bytes, co_clock_now_ns() + PATIENCE_NS);
    return error != 0 ? error : unheard;
}

static void job_run(struct co_proxy_process *process)
{
    uint64_t now_ns = co_clock_now_ns();

    while (!co_proxy_process_is_over(process, now_ns)) {
        uint64_t rest_ns = co_proxy_process_turn(process, now_ns);
        if (rest_ns > 0 && !co_proxy_process_is_over(process, now_ns)) {
            co_proxy_process_sleep(process, rest_ns);
        }
        now_ns = co_clock_now_ns();
    }
}

static int job_serve(void)
{
    uint8_t bytes[CO_OFFLOAD_JOB_BYTES], answer[CO_OFFLOAD_STARTED_BYTES];
    struct co_offload_started started = {.process = (uint32_t)getpid()};
    struct co_proxy_process *process = NULL;
    struct co_offload_job job;
    int listener = -1;

    prctl(PR_SET_NAME, "castoff-proxy", 0, 0, 0);
    if (co_local_receive_all(STARTER, bytes, sizeof bytes, co_clock_now_ns() + PATIENCE_NS) != 0 ||
        co_offload_job_decode(&job, bytes) != 0) {
        co_command_complain(&co_command_proxy, "no job has come: ranks start it, people do not");
        return TOOL_USAGE;
    }
    signal(SIGPIPE, SIG_IGN); // standard error may have nobody who reads it any more
    signal(SIGTTOU, SIG_IGN); // and be a terminal that stops whoever writes to it from behind
    signal(SIGXFSZ, SIG_IGN); // a limit of its starter's, that another rank with copies does not have
    co_settings_load();       // all of them are the defaults: it has no environment
    co_log_open(-1);
    descriptors_allow();
    explicit_bzero(bytes, sizeof bytes); // the key
    int error = job_open(&process, &job, &started, &listener);
    started.error = (uint32_t)-error;
    co_offload_started_encode(answer, &started);
    int unheard = co_local_send_all(STARTER, answer, sizeof answer, co_clock_now_ns() + PATIENCE_NS);
    if (error == 0) {
        error = unheard != 0 ? unheard : job_begin(process, &job, listener);
    }
    explicit_bzero(job.key, sizeof job.key); // the process has it
    if (process != NULL) {
        if (error == 0) {
            job_run(process);
        }
        co_proxy_process_close(process);
    }
    // Nothing is left to be done at the end of a program. What sanitizers do then, stop it and look for leaks, a rank's
    // SIGCONT makes wait for ever; leaks are for the tests of its parts.
    _exit(error == 0 ? TOOL_OK : TOOL_FAILED);
}

// One that does not answer is there all the same: stopped, or not connected with the others yet.
static bool status_print(const char *name)
{
    uint8_t bytes[CO_OFFLOAD_HELLO_BYTES];
    struct co_local_peer peer;
    char text[STATUS_BYTES];
    uint64_t until_ns = co_clock_now_ns() + PATIENCE_NS;
    ssize_t came = -1;
    int fd, heard = -1;

    int socket = co_local_connect(name, &peer);
    if (socket < 0 || peer.user != getuid()) {
        if (socket >= 0) {
            close(socket);
        }
        return false; // somebody else's, or it has just ended
    }
    co_offload_hello_encode(bytes, &(struct co_offload_hello){.kind = CO_OFFLOAD_HELLO_STATUS});
    if (co_local_send_all(socket, bytes, sizeof bytes, until_ns) == 0) {
        heard = co_local_await_until(socket, until_ns);
    }
    if (heard > 0) {
        came = co_local_receive(socket, text, sizeof text, &fd);
    }
    close(socket);
    if (came > 0) {
        fwrite(text, 1, (size_t)came, stdout);
    } else if (heard == 0) {
        printf("proxy %d: does not answer\n", (int)peer.process);
    }
    return came > 0 || heard == 0;
}

// Their sockets have names that begin alike, in the kernel's list of this network namespace; a name whose socket has
// connections stands there more than once.
static int status_print_all(void)
{
    FILE *list = fopen("/proc/net/unix", "r");
    char line[512], last[CO_LOCAL_NAME_MAX] = "";
    int count = 0;

    if (list == NULL) {
        co_command_complain(&co_command_proxy, "/proc/net/unix: %s", strerror(errno));
        return TOOL_FAILED;
    }
    while (fgets(line, sizeof line, list) != NULL) {
        char *name = strstr(line, "@" NAME_BEGINS);
        bool listens = strstr(line, " 00010000 ") != NULL; // __SO_ACCEPTCON
        if (name == NULL || !listens) {
            continue;
        }
        name[strcspn(name, "\n")] = '\0';
        if (strlen(name + 1) < sizeof last && strcmp(last, name + 1) != 0) {
            memcpy(last, name + 1, strlen(name + 1) + 1);
            count += status_print(last);
        }
    }
    fclose(list);
    if (count == 0) {
        puts("no proxies of this user on this host");
    }
    return ferror(stdout) || fflush(stdout) ? TOOL_FAILED : TOOL_OK;
}

static int run(int argc, char **argv)
{
    bool is_job = false;
    int option;
    while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        if (option != 'j') {
            return co_command_odd_option(&co_command_proxy, option);
        }
        is_job = true;
    }
    if (is_job && argc == optind) {
        return job_serve();
    }
    if (!is_job && argc == optind + 1 && strcmp(argv[optind], "status") == 0) {
        return status_print_all();
    }
    co_command_complain(&co_command_proxy, "the word status is missing, which prints what they do (castoff proxy -h)");
    return TOOL_USAGE;
}

const struct co_command co_command_proxy = {
    "proxy",
    run,
    "status, or --job",
    "print what the proxies of this user's jobs on this host do; or be one",
    "  --job               be the proxy of a job: for ranks, which start it themselves\n",
};
