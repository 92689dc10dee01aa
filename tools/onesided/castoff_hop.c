// SPDX-License-Identifier: BSD-3-Clause
//
// castoff hop: the hop that multiplies and rewrites the RDMA writes of groups, as a switch between interfaces or
// between a host's wire and its RDMA device. Runs until a signal.
#include "tools/launch/command.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon.h"
#include "onesided/coordinator.h"
#include "onesided/hop_daemon.h"
#include "onesided/hop_ports.h"

enum { WHY = 320, NAMES_MAX = 2048 };

static const struct option long_options[] = {
    {"switch", required_argument, NULL, 'w'},
    {"nic", required_argument, NULL, 'n'},
    {"serves", required_argument, NULL, 'v'},
    {"coordinator", required_argument, NULL, 'c'},
    {"secret", required_argument, NULL, 's'},
    {"name", required_argument, NULL, 'N'},
    {"rules", required_argument, NULL, 'r'},
    {"actions", required_argument, NULL, 'a'},
    {"loss", required_argument, NULL, 'l'},
    {"seed", required_argument, NULL, 'd'},
    {"room", required_argument, NULL, 'm'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct choice {
    struct co_hop_daemon_config config;
    const char *place, *secret;
    char names[NAMES_MAX]; // of interfaces, cut apart
    bool has_mode;
};

static int refuse(const char *text)
{
    co_command_complain(&co_command_hop, "%s", text);
    return TOOL_USAGE;
}

static bool take_interfaces(struct choice *choice, enum co_hop_mode mode, const char *text)
{
    char *rest = choice->names, *name;
    if (choice->has_mode || snprintf(choice->names, sizeof choice->names, "%s", text) >= NAMES_MAX) {
        return false;
    }
    choice->has_mode = true;
    choice->config.hop.mode = mode;
    choice->config.hop.ports = 0;
    while ((name = strsep(&rest, ",")) != NULL) {
        if (*name == '\0' || choice->config.hop.ports == CO_HOP_PORTS_MAX) {
            return false;
        }
        choice->config.interfaces[choice->config.hop.ports++] = name;
    }
    return mode == CO_HOP_NIC ? choice->config.hop.ports == CO_HOP_NIC_PORTS : choice->config.hop.ports >= 2;
}

static bool take_number(unsigned *number, const char *text, unsigned most)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    *number = (unsigned)value;
    return end != text && *end == '\0' && *text != '-' && value >= 1 && value <= most;
}

static bool take_loss(double *loss, const char *text)
{
    char *end;
    *loss = strtod(text, &end);
    return end != text && *end == '\0' && *loss >= 0 && *loss <= 1;
}

static bool take_address(uint32_t *ip, const char *text)
{
    struct in_addr parsed;
    bool is_good = inet_pton(AF_INET, text, &parsed) == 1;
    *ip = is_good ? ntohl(parsed.s_addr) : 0;
    return is_good;
}

static bool take_name(struct choice *choice, const char *text)
{
    snprintf(choice->config.name, sizeof choice->config.name, "%s", text);
    return strlen(text) < sizeof choice->config.name && co_coordination_name_is_good(text);
}

// -1: taken; else the exit status.
static int take_option(struct choice *choice, int option, const char *text)
{
    struct co_hop_config *hop = &choice->config.hop;
    bool is_good = true;
    switch (option) {
    case 'w':
    case 'n':
        is_good = take_interfaces(choice, option == 'n' ? CO_HOP_NIC : CO_HOP_SWITCH, text);
        break;
    case 'v':
        is_good = take_address(&choice->config.serves_ip, text);
        break;
    case 'c':
        choice->place = text;
        break;
    case 's':
        choice->secret = text;
        break;
    case 'N':
        is_good = take_name(choice, text);
        break;
    case 'r':
        is_good = take_number(&hop->rules, text, CO_RULE_TABLE_RULES_MAX);
        break;
    case 'a':
        is_good = take_number(&hop->actions, text, CO_RULE_TABLE_ACTIONS_MAX);
        break;
    case 'm':
        is_good = take_number(&choice->config.room_mib, text, CO_HOP_ROOM_MIB_MAX);
        break;
    case 'l':
        is_good = take_loss(&hop->loss, text);
        break;
    case 'd':
        hop->seed = strtoull(text, NULL, 10);
        break;
    default:
        return co_command_odd_option(&co_command_hop, option);
    }
    return is_good ? -1 : co_command_odd_value(&co_command_hop, long_options, option, text);
}

static void log_line(void *context, const char *line)
{
    (void)context;
    co_daemon_log(&co_command_hop, line);
}

static int run_hop(struct choice *choice)
{
    char why[WHY];
    uint8_t *secret = NULL;
    bool is_done = choice->place == NULL ||
                   (co_secret_open(&secret, choice->secret, why, sizeof why) == 0 &&
                    co_tcp_resolve(choice->config.place, choice->place, CO_COORDINATOR_PORT, why, sizeof why) == 0);
    if (is_done) {
        choice->config.secret = secret;
        choice->config.log = log_line;
        co_daemon_catch_signals();
        is_done = co_hop_daemon_run(&choice->config, &co_daemon_stop, why, sizeof why) == 0;
    }
    co_secret_close(secret);
    if (!is_done) {
        co_command_complain(&co_command_hop, "%s", why);
    }
    return is_done ? TOOL_OK : TOOL_FAILED;
}

static int run(int argc, char **argv)
{
    static struct choice choice = {
        .config = {.hop = {.rules = 1024, .actions = 8192, .seed = 1}, .room_mib = CO_HOP_ROOM_MIB}};
    int option, status = -1;
    if (gethostname(choice.config.name, sizeof choice.config.name - 1) != 0 ||
        !co_coordination_name_is_good(choice.config.name)) {
        snprintf(choice.config.name, sizeof choice.config.name, "hop");
    }
    while (status < 0 && (option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        status = take_option(&choice, option, optarg);
    }
    if (status >= 0) {
        return status;
    }
    if (optind < argc) {
        co_command_complain(&co_command_hop, "'%s' is not an option", argv[optind]);
        return TOOL_USAGE;
    }
    if (!choice.has_mode) {
        return refuse("--switch PORT,PORT,... or --nic WIRE,DEVICE is missing: the interfaces (castoff hop -h)");
    }
    if (choice.place != NULL && choice.secret == NULL) {
        return refuse("--secret FILE is missing: the one that the coordinator has");
    }
    if (choice.place != NULL && choice.config.hop.mode == CO_HOP_NIC && choice.config.serves_ip == 0) {
        return refuse("--serves ADDRESS is missing: the IPv4 address of the RDMA device behind this hop");
    }
    return run_hop(&choice);
}

const struct co_command co_command_hop = {
    "hop",
    run,
    "--switch PORT,PORT,...|--nic WIRE,DEVICE [--coordinator PLACE --secret FILE] [OPTION...]",
    "for one-sided RDMA multicast: multiply and rewrite the writes of groups, as a switch or beside a network card",
    "  --switch PORTS      interfaces between which this is the switch\n"
    "  --nic WIRE,DEVICE   interface to the network, and the one behind which the RDMA device is\n"
    "  --serves ADDRESS    with --nic: IPv4 address of that device\n"
    "  --coordinator PLACE HOST or HOST:PORT of the coordinator; without it this is a plain switch\n"
    "  --secret FILE       the secret that the coordinator has\n"
    "  --name NAME         how it is called there (this host's name)\n"
    "  --rules N           room for so many groups (1024)\n"
    "  --actions N         and for so many receivers in all of them (8192)\n"
    "  --room MIB          receive buffer of each port, for bursts (16)\n"
    "  --loss RATE         for trials: drop this share of the copies, 0 to 1\n"
    "  --seed N            which of them (1)\n"
    "Needs CAP_NET_RAW; with CAP_NET_ADMIN its receive buffers are larger.\n",
};
