// SPDX-License-Identifier: BSD-3-Clause
//
// /proc/net/snmp and netstat: a line of names and a line of numbers for each protocol, both begin with its name. Cold.
#include "host_counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 8192 }; // TcpExt has more than a hundred names

static int64_t find_number(char *names, char *numbers, const char *wanted)
{
    char *name_at, *number_at;
    char *name = strtok_r(names, " \n", &name_at), *number = strtok_r(numbers, " \n", &number_at);
    while (name != NULL && number != NULL && strcmp(name, wanted) != 0) {
        name = strtok_r(NULL, " \n", &name_at);
        number = strtok_r(NULL, " \n", &number_at);
    }
    return name != NULL && number != NULL ? strtoll(number, NULL, 10) : -1;
}

static int64_t read_counter(const char *path, const char *protocol, const char *wanted)
{
    char names[LINE_MAX_BYTES] = "", line[LINE_MAX_BYTES];
    FILE *file = fopen(path, "r");
    int64_t found = -1;
    while (file != NULL && found < 0 && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, protocol, strlen(protocol)) != 0) {
            continue;
        }
        if (*names == '\0') {
            memcpy(names, line, sizeof names);
            continue;
        }
        found = find_number(names, line, wanted);
        break;
    }
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

void co_host_counters_find(struct co_host_counters *counters)
{
    static const char snmp[] = "/proc/net/snmp";
    int64_t came = read_counter(snmp, "Ip:", "InReceives"), taken = read_counter(snmp, "Ip:", "InDelivers");
    int64_t passed_on = read_counter(snmp, "Ip:", "ForwDatagrams");
    counters->overflows = read_counter(snmp, "Udp:", "RcvbufErrors");
    counters->dropped = came < 0 || taken < 0 ? -1 : came - taken - (passed_on > 0 ? passed_on : 0);
    counters->filtered = read_counter("/proc/net/netstat", "TcpExt:", "IPReversePathFilter");
}
