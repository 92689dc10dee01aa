// SPDX-License-Identifier: BSD-3-Clause
//
// A coordinator with its sockets in a thread, a hop in another, and three clients that are the test itself, in a
// network namespace (udp_namespace.h): all of it is called by what namespace_enter_and runs there.
#ifndef CASTOFF_TESTS_ONESIDED_SERVER_RIG_H
#define CASTOFF_TESTS_ONESIDED_SERVER_RIG_H

#include "onesided/coordinator_server.h"
#include "onesided/tcp_link.h"

enum { SERVER_CLIENTS = 3 };

extern const char *const server_commands[]; // for the namespace
extern const char server_place[];           // of the coordinator
extern struct co_server_config server_config;
extern struct co_tcp_link server_links[SERVER_CLIENTS];
extern struct co_coordination_message server_message; // to say, or heard

void server_start(void);
void server_end(void);
void server_start_hop(void);
void server_end_hop(void);

// Until it holds, which is looked at under a lock whenever coordinator or hop have done something. A minute at most;
// then the test fails with this text.
void server_await(bool (*holds)(const void *), const void *what, const char *text);
bool server_was_said(const void *text); // by coordinator or hop: what server_await looks at
void server_await_hop_for(uint64_t ns); // until the hop has moved for so long
void server_forget_said(void);
void server_await_actions(unsigned count, const char *text); // of the hop's rules
bool server_hop_expired(uint64_t count);                     // rules whose lease had ended

// A client: the first is the sender of the group that server_open_group opens, the others are its members.
void server_connect(int client);
void server_say(int client, uint16_t kind);
void server_hears(int client, uint16_t kind);
void server_open_group(void);
void server_close_clients(void);

#endif
