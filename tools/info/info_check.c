// SPDX-License-Identifier: BSD-3-Clause
//
// The course of `castoff info --check`: a session that finds who hears whom, and, where all do, a measurement. Single
// thread. Cold.
#include "info_check.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/settings.h"
#include "check_job.h"
#include "check_output.h"
#include "check_verdict.h"
#include "host_names.h"
#include "path_probe.h"
#include "reach_session.h"
#include "reach_verdict.h"
#include "tools/launch/command.h"
#include "tools/launch/places.h"

// A job that is silent for so long stands still: before it has said anything, hosts may be slow to log in to.
enum { HOSTS_MAX = 4096, PROBED_MAX = 16, NOTE_S = 10, START_S = 90, STILL_S = 60, NOTE_MEASURE_S = 30 };

// A few small broadcasts tell how large the measured ones may be.
enum { TRIAL_BYTES = 8192 };
#define ROUNDS_MAX "100000"

static int compare_hosts(const void *left, const void *right)
{
    return strcmp(((const struct co_host_facts *)left)->host, ((const struct co_host_facts *)right)->host);
}

// A status; `facts` has room for HOSTS_MAX.
static int ask_hosts(struct co_host_facts *facts, int *count, const struct co_check_request *request)
{
    static char info[] = "info", option[] = "--facts";
    char self[PATH_MAX], *program[] = {self, info, option, NULL};
    struct co_check_output output;
    *count = 0;
    if (co_places_self(self)) {
        return TOOL_FAILED;
    }
    int status = co_check_job_run(&output, request, &(struct co_check_job){.program = program});
    char *state = NULL;
    for (char *line = status == TOOL_OK ? strtok_r(output.text[0], "\n", &state) : NULL;
         line != NULL && *count < HOSTS_MAX; line = strtok_r(NULL, "\n", &state)) {
        *count += co_host_facts_parse(&facts[*count], line);
    }
    co_check_output_free(&output);
    qsort(facts, (size_t)*count, sizeof *facts, compare_hosts);
    return status;
}

// In the order of their names.
static int order_hosts(struct co_host_facts *facts, int *count, const struct co_reach_session *session)
{
    *count = session->table.count;
    memcpy(facts, session->facts, (size_t)*count * sizeof *facts);
    qsort(facts, (size_t)*count, sizeof *facts, compare_hosts);
    return TOOL_OK;
}

static int find_program(char path[PATH_MAX], const char *name)
{
    if (co_places_bench_program(path, name) == 0) {
        return TOOL_OK;
    }
    co_command_complain(&co_command_info,
                        "the program '%s', which runs on the hosts, is missing; make bench-programs builds it", name);
    return TOOL_NOT_FOUND;
}

struct listening {
    struct co_reach_session *session;
    const struct co_check_request *request;
    bool has_begun, is_lost;
    size_t lost_bytes[PROBED_MAX]; // of the first hosts: an MTU that is lost on the way to them
};

// One cause of silence can be found from here.
static bool finds_loss(struct listening *listening)
{
    char *const *hosts = listening->request->hosts;
    for (int i = 0; i < PROBED_MAX && hosts[i] != NULL; i++) {
        size_t bytes;
        if (co_path_probe(hosts[i], &bytes) == CO_PATH_LOSES_LARGE) {
            listening->lost_bytes[i] = bytes;
            listening->is_lost = true;
        }
    }
    return listening->is_lost;
}

static void take_line(void *arg, char *line)
{
    struct listening *listening = arg;
    listening->has_begun = true;
    co_reach_session_line(listening->session, line);
}

static bool has_patience(void *arg, int seconds)
{
    struct listening *listening = arg;
    if (seconds == NOTE_S && finds_loss(listening)) {
        return false;
    }
    if (seconds == NOTE_S) {
        co_command_complain(&co_command_info, "nothing has come from the hosts for %d s; still waiting", NOTE_S);
    }
    return seconds < (listening->has_begun ? STILL_S : START_S);
}

// Rank 0 of the job leads the session; the same answers make the same table here.
static void say_nothing(void *arg, const char *words)
{
    (void)arg;
    (void)words;
}

// A status; TOOL_SKIPPED: the job stands still.
static int find_reach(struct listening *listening)
{
    char path[PATH_MAX], *program[] = {path, NULL};
    struct co_check_output output;
    struct co_reach_session *session = listening->session;
    int status = find_program(path, "reach");
    if (status != TOOL_OK) {
        return status;
    }
    session->say = say_nothing;
    session->largest_bytes = (size_t)co_setting_number(CO_SET_UDP_MTU);
    status = co_check_job_run(
        &output, listening->request,
        &(struct co_check_job){.program = program, .line = take_line, .waits = has_patience, .arg = listening});
    if (output.stood_still && status == TOOL_FAILED) {
        status = TOOL_SKIPPED;
    }
    co_check_output_free(&output);
    if (status == TOOL_OK && !session->is_over) {
        co_command_complain(&co_command_info, "the job over the hosts ended early");
        status = TOOL_FAILED;
    }
    return status;
}

struct measuring {
    const char *seconds;
    size_t bytes;
};

// Rounds are told at the end.
static bool measures(void *arg, int seconds)
{
    const struct measuring *measuring = arg;
    if (seconds == NOTE_MEASURE_S + (int)strtod(measuring->seconds, NULL)) {
        co_command_complain(&co_command_info, "broadcasts of %zu KiB are measured since %d s; still waiting",
                            measuring->bytes / 1024, seconds);
    }
    return true;
}

// A status.
static int broadcast(struct co_check_result *result, const struct co_check_request *request, size_t bytes,
                     bool is_trial)
{
    static char words[][20] = {"--calls", "bcast",        "--sizes", "",          "--rounds-min",
                               "5",       "--rounds-max", "5",       "--seconds", "0"};
    char program_path[PATH_MAX], size[32], seconds[32], *program[12] = {program_path};
    struct measuring measuring = {.seconds = is_trial ? "0" : request->seconds, .bytes = bytes};
    struct co_check_output output;
    int status = find_program(program_path, "coll");
    if (status != TOOL_OK) {
        return status;
    }
    for (int i = 0; i < 10; i++) {
        program[1 + i] = words[i];
    }
    snprintf(size, sizeof size, "%zu", bytes);
    snprintf(seconds, sizeof seconds, "%s", measuring.seconds);
    program[4] = size;
    program[10] = seconds;
    if (!is_trial) {
        static char least[] = "10", most[] = ROUNDS_MAX;
        program[6] = least;
        program[8] = most;
    }
    result->bytes = bytes;
    status = co_check_job_run(&output, request,
                              &(struct co_check_job){.program = program, .waits = measures, .arg = &measuring});
    if (status == TOOL_OK) {
        bool is_right = co_check_read_rows(result, output.text[0]);
        co_check_read_report(result, output.text[1]);
        if (!is_right) {
            co_command_complain(&co_command_info, "wrong bytes arrived");
            status = TOOL_FAILED;
        }
    }
    co_check_output_free(&output);
    return status;
}

// A megabyte is long for slow links. A status.
static int measure(struct co_check_result *result, const struct co_check_request *request)
{
    struct co_check_result trial = *result;
    int status = broadcast(&trial, request, TRIAL_BYTES, true);
    return status != TOOL_OK ? status : broadcast(result, request, co_check_bytes(&trial), false);
}

static bool all_can(const struct co_host_facts *facts, int count)
{
    for (int i = 0; i < count; i++) {
        if (!facts[i].has_multicast || !facts[i].has_library) {
            return false;
        }
    }
    return true;
}

// Two names of one host: the second says nothing of the network.
static bool is_twice(const struct co_reach_session *session, int *first, int *second)
{
    const struct co_reach_evidence *hosts = session->table.hosts;
    for (*first = 0; *first < session->table.count; ++*first) {
        for (*second = *first + 1; *second < session->table.count; ++*second) {
            if (hosts[*first].machine != 0 && hosts[*first].machine == hosts[*second].machine) {
                return true;
            }
        }
    }
    return false;
}

static int complain_of_count(int count)
{
    co_command_complain(&co_command_info, "%s: two hosts at least, or the allocation of a batch system",
                        count == 0 ? "no host has answered" : "there is one host");
    return count == 0 ? TOOL_FAILED : TOOL_USAGE;
}

// One of srun's names may stand for many hosts.
static int count_named(const struct co_check_request *request)
{
    int count = 0;
    while (request->srun_arguments == NULL && request->hosts[count] != NULL) {
        count++;
    }
    return count;
}

struct rooms {
    struct co_host_facts *by_rank, *facts, *later;
    int64_t *overflows;
};

static int print(const struct co_check_result *result)
{
    bool passes = co_check_print(stdout, result);
    return fflush(stdout) != 0 || !passes ? TOOL_FAILED : TOOL_OK;
}

// Nothing is heard any more of what was started on the hosts.
static int print_standing(const struct listening *listening)
{
    struct co_advice advice = {.stream = stdout};
    char *const *hosts = listening->request->hosts;
    const char *launcher = listening->request->srun_arguments != NULL ? "srun" : "mpirun";
    printf("multicast   could not be tried: what %s starts on the hosts does not answer\n", launcher);
    for (int i = 0; listening->is_lost && hosts[i] != NULL && i < PROBED_MAX; i++) {
        if (listening->lost_bytes[i] > 0) {
            co_advise(
                &advice,
                "%s: packets of %zu bytes, the MTU of the way to it, are lost, small ones come: TCP stands still, and "
                "%s and MPI with it; the MTU of the hosts' interfaces as the network has it (1500 as a rule), or "
                "switches that carry more",
                hosts[i], listening->lost_bytes[i], launcher);
        }
    }
    if (!listening->is_lost) {
        co_advise(
            &advice,
            "%s and MPI speak TCP between the hosts: firewalls have to let it in at any port from the other hosts, and "
            "the names of the hosts have to lead to addresses that all can reach",
            launcher);
    }
    return TOOL_FAILED;
}

static int measure_between(struct co_check_result *result, struct co_check_request *request, struct rooms *rooms)
{
    int later_count = 0, status = measure(result, request);
    status = status == TOOL_OK ? ask_hosts(rooms->later, &later_count, request) : status;
    for (int i = 0; i < result->host_count && later_count == result->host_count; i++) {
        rooms->overflows[i] = rooms->later[i].overflows - rooms->facts[i].overflows;
    }
    return status;
}

static int conclude(struct co_check_request *request, struct rooms *rooms, struct co_reach_session *session)
{
    struct co_check_result result = {.hosts = rooms->facts, .overflows = rooms->overflows};
    static struct co_reach_verdict verdict;
    int first, second, status = order_hosts(rooms->facts, &result.host_count, session);
    if (result.host_count < 2) {
        return complain_of_count(result.host_count);
    }
    int named = count_named(request);
    if (named > result.host_count) {
        co_command_complain(&co_command_info,
                            "%d hosts are named and %d have answered: mpirun takes some for one host; name each once",
                            named, result.host_count);
        return TOOL_USAGE;
    }
    if (is_twice(session, &first, &second)) {
        co_command_complain(&co_command_info, "%s is started twice, as one host under two names: name each once",
                            session->facts[first].host);
        return TOOL_USAGE;
    }
    co_reach_judge(&verdict, &session->table);
    result.reach = &(struct co_reach_told){
        .verdict = &verdict, .table = &session->table, .by_rank = session->facts, .near_ip = session->near_ip};
    if (!all_can(rooms->facts, result.host_count)) {
        snprintf(result.why, sizeof result.why, "not all hosts can take part");
    } else if (co_reach_is_fit_to_measure(&verdict)) {
        status = measure_between(&result, request, rooms);
    } else {
        result.has_multicast = co_reach_passes(&verdict);
    }
    return status != TOOL_OK ? status : print(&result);
}

static int check(struct co_check_request *request, struct rooms *rooms)
{
    struct co_reach_session session = {.facts = rooms->by_rank};
    struct listening listening = {.session = &session, .request = request};
    int status = find_reach(&listening);
    if (status == TOOL_SKIPPED) {
        status = print_standing(&listening);
    } else if (status == TOOL_OK && session.why[0] != '\0') {
        co_command_complain(&co_command_info, "%s", session.why);
        status = TOOL_FAILED;
    } else if (status == TOOL_OK) {
        status = conclude(request, rooms, &session);
    }
    co_reach_table_release(&session.table);
    return status;
}

int co_info_check(const struct co_check_request *request)
{
    char why[256];
    struct co_check_request own = *request;
    struct rooms rooms = {.by_rank = calloc(CO_REACH_HOSTS_MAX, sizeof *rooms.by_rank),
                          .facts = calloc(HOSTS_MAX, sizeof *rooms.facts),
                          .later = calloc(HOSTS_MAX, sizeof *rooms.later),
                          .overflows = calloc(HOSTS_MAX, sizeof *rooms.overflows)};
    char **names = co_host_names_take(request->hosts, why, sizeof why);
    int status = TOOL_FAILED;
    own.hosts = names;
    if (names == NULL) {
        co_command_complain(&co_command_info, "%s", why);
        status = TOOL_USAGE;
    } else if (rooms.by_rank != NULL && rooms.facts != NULL && rooms.later != NULL && rooms.overflows != NULL) {
        status = check(&own, &rooms);
    } else {
        co_command_complain(&co_command_info, "out of memory");
    }
    co_host_names_free(names);
    free(rooms.by_rank);
    free(rooms.facts);
    free(rooms.later);
    free(rooms.overflows);
    return status;
}
