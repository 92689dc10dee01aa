// SPDX-License-Identifier: BSD-3-Clause
//
// Facts of this host, from the kernel's files and by opening the multicast socket as a job does. Cold.
#include "host_facts.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/plain_json.h"
#include "base/preload.h"
#include "base/settings.h"
#include "tools/launch/places.h"
#include "tools/launch/version.h"
#include "host_counters.h"
#include "info_transports.h"

static int64_t read_number(const char *path)
{
    FILE *file = fopen(path, "r");
    int64_t value = -1;
    if (file != NULL) {
        if (fscanf(file, "%" SCNd64, &value) != 1) {
            value = -1;
        }
        fclose(file);
    }
    return value;
}

// Of the interface: sys/class/net/NAME/WHAT.
static int64_t read_of(const char *interface, const char *what)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "/sys/class/net/%.31s/%s", interface, what);
    return read_number(path);
}

// Containers may be without /sys.
static int64_t find_mtu(const char *interface)
{
    struct ifreq request = {.ifr_mtu = 0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    snprintf(request.ifr_name, sizeof request.ifr_name, "%.15s", interface);
    int failed = ioctl(fd, SIOCGIFMTU, &request);
    close(fd);
    return failed ? -1 : request.ifr_mtu;
}

// The stricter one of the interface's and everybody's is in force.
static int64_t find_reverse_path(const char *interface)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "/proc/sys/net/ipv4/conf/%.31s/rp_filter", interface);
    int64_t own = read_number(path), all = read_number("/proc/sys/net/ipv4/conf/all/rp_filter");
    return own > all ? own : all;
}

static bool forgets_members(const char *bridge)
{
    return read_of(bridge, "bridge/multicast_snooping") == 1 && read_of(bridge, "bridge/multicast_querier") == 0;
}

// The interface itself, or the bridge that it is a port of.
static void find_bridge(char bridge[32], const char *interface)
{
    char path[PATH_MAX], master[PATH_MAX];
    *bridge = '\0';
    if (forgets_members(interface)) {
        snprintf(bridge, 32, "%s", interface);
        return;
    }
    snprintf(path, sizeof path, "/sys/class/net/%.31s/master", interface);
    ssize_t length = readlink(path, master, sizeof master - 1);
    if (length > 0) {
        master[length] = '\0';
        const char *slash = strrchr(master, '/'), *name = slash != NULL ? slash + 1 : master;
        if (forgets_members(name)) {
            snprintf(bridge, 32, "%.31s", name);
        }
    }
}

void co_host_facts_find(struct co_host_facts *facts, uint32_t near_ip)
{
    struct co_transport_state state, *udp = &state;
    struct co_host_counters counters;
    char library[PATH_MAX];
    *facts = (struct co_host_facts){.mtu = -1, .reverse_path = -1, .receive_bytes = -1};
    gethostname(facts->host, sizeof facts->host - 1);
    snprintf(facts->version, sizeof facts->version, "%s %s", co_version_number(), co_version_commit());
    // A program beside the command has it preloaded by `castoff run`, which has found it.
    facts->has_library =
        co_places_library(library) == 0 || co_preload_names(co_environment("LD_PRELOAD"), "libcastoff.so");
    facts->wanted_bytes = co_setting_number(CO_SET_UDP_RCVBUF);
    co_host_counters_find(&counters);
    facts->overflows = counters.overflows;
    co_transports_probe_udp(udp, near_ip);
    facts->has_multicast = udp->is_usable;
    if (!udp->is_usable) {
        snprintf(facts->why, sizeof facts->why, "%.199s", udp->detail);
        return;
    }
    const char *granted = strstr(udp->detail, "rcvbuf ");
    facts->receive_bytes = granted != NULL ? strtoll(granted + strlen("rcvbuf "), NULL, 10) : -1;
    snprintf(facts->interface, sizeof facts->interface, "%.*s", (int)strcspn(udp->detail, " "), udp->detail);
    facts->mtu = find_mtu(facts->interface);
    facts->reverse_path = find_reverse_path(facts->interface);
    find_bridge(facts->bridge, facts->interface);
}

int co_host_facts_print(FILE *stream, const struct co_host_facts *facts)
{
    json_t *root = json_pack(
        "{s:i, s:o, s:o, s:b, s:b, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "castoff_facts", 1, "host",
        co_plain_json(facts->host), "version", co_plain_json(facts->version), "library", facts->has_library,
        "multicast", facts->has_multicast, "why", co_plain_json(facts->why), "interface",
        co_plain_json(facts->interface), "bridge", co_plain_json(facts->bridge), "mtu", (json_int_t)facts->mtu,
        "rp_filter", (json_int_t)facts->reverse_path, "receive_bytes", (json_int_t)facts->receive_bytes, "wanted_bytes",
        (json_int_t)facts->wanted_bytes, "overflows", (json_int_t)facts->overflows, "rank", (json_int_t)facts->rank,
        "ip", (json_int_t)facts->ip, "port", (json_int_t)facts->port);
    char *text = root != NULL ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    if (text == NULL) {
        return -ENOMEM;
    }
    // As one piece: lines of several hosts come through one launcher.
    int failed = fprintf(stream, "%s\n", text) < 0 || fflush(stream) != 0 ? -EIO : 0;
    free(text);
    return failed;
}

static bool take_text(char *text, size_t room, const json_t *root, const char *name)
{
    const char *value = json_string_value(json_object_get(root, name));
    snprintf(text, room, "%s", value != NULL ? value : "");
    return value != NULL;
}

static bool take_number(int64_t *number, const json_t *root, const char *name)
{
    const json_t *value = json_object_get(root, name);
    *number = json_integer_value(value);
    return json_is_integer(value);
}

bool co_host_facts_parse(struct co_host_facts *facts, const char *line)
{
    json_t *root = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    int64_t format;
    bool is_whole = take_number(&format, root, "castoff_facts") && format == 1;
    *facts = (struct co_host_facts){.has_library = json_is_true(json_object_get(root, "library")),
                                    .has_multicast = json_is_true(json_object_get(root, "multicast"))};
    is_whole = is_whole && take_text(facts->host, sizeof facts->host, root, "host") &&
               take_text(facts->version, sizeof facts->version, root, "version") &&
               take_text(facts->why, sizeof facts->why, root, "why") &&
               take_text(facts->interface, sizeof facts->interface, root, "interface") &&
               take_text(facts->bridge, sizeof facts->bridge, root, "bridge") &&
               take_number(&facts->mtu, root, "mtu") && take_number(&facts->reverse_path, root, "rp_filter") &&
               take_number(&facts->receive_bytes, root, "receive_bytes") &&
               take_number(&facts->wanted_bytes, root, "wanted_bytes") &&
               take_number(&facts->overflows, root, "overflows") && take_number(&facts->rank, root, "rank") &&
               take_number(&facts->ip, root, "ip") && take_number(&facts->port, root, "port");
    json_decref(root);
    return is_whole;
}
