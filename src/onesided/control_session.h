// SPDX-License-Identifier: BSD-3-Clause
//
// One control connection without its socket: bytes go in and out, messages come and go. Begins with a HELLO in each
// direction, which carries the version and 16 random bytes; from both, whole, and the shared secret comes the key of
// the connection. Every message after that has a tag over its head and body, by its number in its direction, so none
// can be forged, changed, repeated or left out; nothing is hidden. One thread; cold.
#ifndef CASTOFF_ONESIDED_CONTROL_SESSION_H
#define CASTOFF_ONESIDED_CONTROL_SESSION_H

#include "onesided/control_wire.h"

#define CO_SECRET_BYTES 32
#define CO_SECRET_FILE_MIN 16 // bytes that a secret has at least

struct co_session;

// Key out of a file that all who belong together have; 1 MiB at most is read. -errno, and `why` is a whole sentence:
// not there, too short, others may read it.
int co_secret_read(uint8_t secret[CO_SECRET_BYTES], const char *path, char *why, size_t why_room);
// The same for who keeps it, or waits while he has it: in memory that no core file has. On failure *out is NULL.
int co_secret_open(uint8_t **out, const char *path, char *why, size_t why_room);
void co_secret_close(uint8_t *secret); // wipes it; NULL is allowed

// The client is who connects. Its HELLO is ready to be sent at once. -ENOMEM, -ENOSYS.
int co_session_open(struct co_session **out, bool is_client, const uint8_t secret[CO_SECRET_BYTES]);
void co_session_close(struct co_session *session); // NULL is allowed

// What has come from the peer. Room for at least one message; `bytes` that do not fit are not taken: returns how many
// were. Take messages out in between.
size_t co_session_feed(struct co_session *session, const uint8_t *data, size_t bytes);

// 1 and a message; 0: nothing whole is there; -errno and `why`: the connection is over. -EPROTONOSUPPORT another
// version, -EACCES another secret (or a message that was changed), -EPROTO no peer of ours.
int co_session_next(struct co_session *session, struct co_coordination_message *message, char *why, size_t why_room);

// True once the HELLO of the peer has come: messages can be sent.
bool co_session_is_open(const struct co_session *session);
// True once a message of the peer has verified.
bool co_session_is_trusted(const struct co_session *session);

// Queues a message. -ENOTCONN before co_session_is_open; -ENOBUFS: the peer does not read what it gets.
int co_session_send(struct co_session *session, struct co_coordination_message *message);

// What is to be sent, and that so many bytes of it were.
size_t co_session_out(const struct co_session *session, const uint8_t **data);
void co_session_sent(struct co_session *session, size_t bytes);

#endif
