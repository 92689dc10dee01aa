// SPDX-License-Identifier: BSD-3-Clause
//
// castoff coordinator: the daemon that knows the groups of one-sided multicast and tells hops their rules; and
// `castoff coordinator status`, which prints what it knows. Runs until a signal.
#include "tools/launch/command.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/multicast_range.h"
#include "daemon.h"
#include "onesided/coordinator_server.h"
#include "onesided/tcp_link.h"

enum { WHY = 320, STATUS_PATIENCE_S = 5 };

static const struct option long_options[] = {
    {"listen", required_argument, NULL, 'l'}, {"coordinator", required_argument, NULL, 'c'},
    {"secret", required_argument, NULL, 's'}, {"groups", required_argument, NULL, 'g'},
    {"lease", required_argument, NULL, 'e'},  {"patience", required_argument, NULL, 'p'},
    {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
};

struct choice {
    const char *listen, *place, *secret;
    struct co_coordinator_config config;
};

static int complain(const char *text)
{
    co_command_complain(&co_command_coordinator, "%s", text);
    return TOOL_FAILED;
}

// Hops would multiply what hosts of other addresses are sent.
static bool parse_groups(struct co_coordinator_config *config, const char *text)
{
    struct co_multicast_range range;
    if (co_multicast_range_parse(text, &range) != 0) {
        return false;
    }
    config->first_ip = range.first_ip;
    config->addresses = UINT32_C(1) << (32 - range.prefix);
    return true;
}

// 1 to 3600, as a lease may be.
static bool parse_seconds(uint64_t *ns, const char *text)
{
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds >= 1 && seconds <= 3600)) {
        return false;
    }
    *ns = (uint64_t)(seconds * 1e9);
    return true;
}

static int ask_status(struct co_tcp_link *link, struct co_coordination_message *message, char why[WHY])
{
    uint64_t until_ns = co_clock_now_ns() + STATUS_PATIENCE_S * CO_NS_PER_S;
    bool is_over = false;
    while (!is_over) {
        int result = co_tcp_await(link, message, until_ns, why, WHY);
        if (result < 0) {
            return result;
        }
        switch (message->kind) {
        case CO_SAY_WELCOME:
            message->kind = CO_SAY_LOGIN;
            message->login = (struct co_coordination_login){.role = CO_ROLE_STATUS, .name = "status"};
            break;
        case CO_SAY_DONE:
            message->kind = CO_SAY_STATUS;
            break;
        case CO_SAY_STATUS_TEXT:
            fwrite(message->status.text, 1, message->status.bytes, stdout);
            is_over = message->status.is_last;
            continue;
        default:
            snprintf(why, WHY, "coordinator %s: no status", link->place);
            return -1;
        }
        result = co_tcp_message_send(link, message);
        if (result != 0) {
            snprintf(why, WHY, "coordinator %s: %s", link->place, strerror(-result));
            return result;
        }
    }
    return 0;
}

static int print_status(const struct choice *choice)
{
    char why[WHY] = "no memory";
    struct co_tcp_link link;
    struct co_coordination_message *message = calloc(1, sizeof *message);
    uint8_t *secret = NULL;
    bool is_connected = message != NULL && co_secret_open(&secret, choice->secret, why, sizeof why) == 0 &&
                        co_tcp_connect(&link, choice->place, CO_COORDINATOR_PORT, STATUS_PATIENCE_S * 1000, secret, why,
                                       sizeof why) == 0;
    co_secret_close(secret);
    if (!is_connected) {
        free(message);
        return complain(why);
    }
    int error = ask_status(&link, message, why);
    co_tcp_close(&link);
    free(message);
    return error != 0 ? complain(why) : ferror(stdout) || fflush(stdout) ? TOOL_FAILED : TOOL_OK;
}

static void log_line(void *context, const char *line)
{
    (void)context;
    co_daemon_log(&co_command_coordinator, line);
}

// One for each connection, as far as this process may have them; beyond that the next one is said to find none.
static void allow_descriptors(void)
{
    enum { OTHERS = 16 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < CO_COORDINATOR_CLIENTS + OTHERS) {
        limit.rlim_cur =
            limit.rlim_max < CO_COORDINATOR_CLIENTS + OTHERS ? limit.rlim_max : CO_COORDINATOR_CLIENTS + OTHERS;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int serve(const struct choice *choice)
{
    struct co_server_config config = {.listen = choice->listen, .coordinator = choice->config, .log = log_line};
    char why[WHY];
    uint8_t *secret;
    if (co_secret_open(&secret, choice->secret, why, sizeof why) != 0) {
        return complain(why);
    }
    config.secret = secret;
    co_daemon_catch_signals();
    allow_descriptors();
    int error = co_server_run(&config, &co_daemon_stop, why, sizeof why);
    co_secret_close(secret);
    return error != 0 ? complain(why) : TOOL_OK;
}

static int take_option(struct choice *choice, int option, const char *text)
{
    bool is_good = true;
    switch (option) {
    case 'l':
        choice->listen = text;
        break;
    case 'c':
        choice->place = text;
        break;
    case 's':
        choice->secret = text;
        break;
    case 'g':
        is_good = parse_groups(&choice->config, text);
        break;
    case 'e':
        is_good = parse_seconds(&choice->config.lease_ns, text);
        break;
    case 'p':
        is_good = parse_seconds(&choice->config.patience_ns, text);
        break;
    default:
        return co_command_odd_option(&co_command_coordinator, option);
    }
    return is_good ? -1 : co_command_odd_value(&co_command_coordinator, long_options, option, text);
}

static int run(int argc, char **argv)
{
    struct choice choice = {
        .listen = "",
        .place = "127.0.0.1",
        .config = {
            .first_ip = 0xefc10000, .addresses = 65536, .lease_ns = 6 * CO_NS_PER_S, .patience_ns = 5 * CO_NS_PER_S}};
    int option, status = -1;
    while (status < 0 && (option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        status = take_option(&choice, option, optarg);
    }
    if (status >= 0) {
        return status;
    }
    bool wants_status = optind < argc && strcmp(argv[optind], "status") == 0;
    if (argc > optind + wants_status) {
        co_command_complain(&co_command_coordinator, "'%s' is not expected", argv[optind + wants_status]);
        return TOOL_USAGE;
    }
    if (choice.secret == NULL) {
        co_command_complain(&co_command_coordinator,
                            "--secret FILE is missing: all that belong together have the same");
        return TOOL_USAGE;
    }
    return wants_status ? print_status(&choice) : serve(&choice);
}

const struct co_command co_command_coordinator = {
    "coordinator",
    run,
    "--secret FILE [OPTION...], or status --secret FILE [--coordinator PLACE]",
    "for one-sided RDMA multicast: know the groups and tell hops their rules; or print what it knows",
    "  --secret FILE       file that coordinator, hops and programs share, 16 bytes at least, readable by its owner only\n"
    "  --listen PLACE      address and port to listen at, HOST:PORT (all addresses, port " CO_COORDINATOR_PORT ")\n"
    "  --groups RANGE      multicast addresses of groups, as 239.193.0.0/16, which is the default\n"
    "  --lease SECONDS     after so much silence a hop forgets its rules (6)\n"
    "  --patience SECONDS  how long members may take to answer set-up, and anybody to log in (5)\n"
    "  --coordinator PLACE whose status to print (127.0.0.1:" CO_COORDINATOR_PORT ")\n",
};
