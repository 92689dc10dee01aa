// SPDX-License-Identifier: BSD-3-Clause
//
// The loop of the hop; see the header.
#include "onesided/hop_daemon.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "onesided/hop_control.h"
#include "onesided/hop_ports.h"

enum { POLL_MS = 50, LINE = 320 };

#define TICK_NS (50 * CO_NS_PER_MS)

struct daemon {
    struct co_hop_ports *ports;
    struct co_hop *hop;
    struct co_hop_control *control;
    uint64_t ticked_ns;
};

static void count_lost(void *context, struct co_coordination_hop_report *report)
{
    struct co_hop_ports *ports = context;
    co_hop_ports_count_overruns(ports);
    for (unsigned i = 0; i < co_hop_ports_count(ports); i++) {
        report->unsent += co_hop_port_totals(ports, i)->unsent;
        report->overruns += co_hop_port_totals(ports, i)->overruns;
    }
}

static int open_control(struct daemon *daemon, const struct co_hop_daemon_config *config)
{
    struct co_hop_control_config control = {.login = {.role = CO_ROLE_HOP,
                                                      .mode = (uint8_t)config->hop.mode,
                                                      .rules = config->hop.rules,
                                                      .actions = config->hop.actions,
                                                      .serves_ip = config->serves_ip},
                                            .count_lost = count_lost,
                                            .log = config->log,
                                            .context = daemon->ports};
    if (config->place[0] == '\0') {
        return 0;
    }
    snprintf(control.place, sizeof control.place, "%s", config->place);
    snprintf(control.login.name, sizeof control.login.name, "%s", config->name);
    control.secret = config->secret;
    return co_hop_control_open(&daemon->control, &control, daemon->hop);
}

static int open_all(struct daemon *daemon, const struct co_hop_daemon_config *config, char *why, size_t why_room)
{
    char warning[LINE];
    int error = co_hop_ports_open(&daemon->ports, config->interfaces, config->hop.ports, config->room_mib, why,
                                  why_room, warning, sizeof warning);
    if (error != 0) {
        return error;
    }
    if (warning[0] != '\0') {
        config->log(NULL, warning);
    }
    struct co_hop_output output = co_hop_ports_output(daemon->ports);
    error = co_hop_open(&daemon->hop, &config->hop, &output);
    error = error != 0 ? error : open_control(daemon, config);
    if (error != 0) {
        snprintf(why, why_room, "the hop cannot begin: %s", strerror(-error));
    }
    return error;
}

static void turn(struct daemon *daemon)
{
    struct pollfd entries[CO_HOP_PORTS_MAX + 1];
    unsigned ports = co_hop_ports_watch(daemon->ports, entries);
    entries[ports] = daemon->control != NULL ? co_hop_control_watch(daemon->control) : (struct pollfd){.fd = -1};
    int ready = poll(entries, ports + 1, POLL_MS);
    uint64_t now_ns = co_clock_now_ns();
    bool is_due = now_ns - daemon->ticked_ns >= TICK_NS;
    if (is_due) { // before frames are moved: this process may have been stopped for longer than its lease
        co_hop_tick(daemon->hop, now_ns);
        daemon->ticked_ns = now_ns;
    }
    if (daemon->control != NULL && (is_due || (ready > 0 && entries[ports].revents != 0))) {
        co_hop_control_progress(daemon->control, now_ns);
    }
    if (ready > 0) {
        co_hop_ports_progress(daemon->ports, daemon->hop, now_ns);
    }
}

int co_hop_daemon_run(const struct co_hop_daemon_config *config, const _Atomic int *stop, char *why, size_t why_room)
{
    struct daemon daemon = {0};
    int error = open_all(&daemon, config, why, why_room);
    if (error == 0) {
        config->log(NULL, config->hop.mode == CO_HOP_NIC ? "forwards between wire and device" : "forwards");
    }
    while (error == 0 && !*stop) {
        turn(&daemon);
    }
    co_hop_control_close(daemon.control);
    co_hop_close(daemon.hop);
    co_hop_ports_close(daemon.ports);
    return error;
}
