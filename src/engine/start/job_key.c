// SPDX-License-Identifier: BSD-3-Clause
//
// How the key of the job gets to its ranks by way of the MPI below, which hides nothing from who listens. Every rank
// makes a key pair for this one exchange and tells its public half to all in the first exchange; rank 0 seals the job's
// key for the first rank of each node, and that one seals it anew for the others there, so that no rank has to seal for
// all. Only sealed keys pass through the MPI below and stay in its buffers. It does not keep out who can change what
// that carries: he could put public keys of his own in place of theirs. Start-up only.
#include "engine/start/job_key.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "engine/engine_state.h"
#include "engine/start/job_facts.h"

#define SEALED_BYTES (CO_AUTH_KEY_BYTES + crypto_box_MACBYTES)
#define STACK_BYTES 4096 // more than libsodium takes

struct exchange {
    const struct co_engine *engine;
    const struct co_first_words *words; // of all ranks
    uint8_t (*sealed)[SEALED_BYTES];    // one for each node, then one for each rank of this node
    uint8_t *key;
    int status; // -errno: this rank has no key
};

// The nonce may be the same for all: no two ranks seal for each other more than once.
static const uint8_t nonce[crypto_box_NONCEBYTES];

static void seal(const struct exchange *exchange, int slot, int rank)
{
    // Whose public half is none gets zeros, which it finds out.
    if (crypto_box_easy(exchange->sealed[slot], exchange->key, CO_AUTH_KEY_BYTES, nonce,
                        exchange->words[rank].public_key, exchange->engine->key_secret) != 0) {
        memset(exchange->sealed[slot], 0, SEALED_BYTES);
    }
}

static void unseal(struct exchange *exchange, int slot, int from)
{
    if (exchange->status == 0 &&
        crypto_box_open_easy(exchange->key, exchange->sealed[slot], SEALED_BYTES, nonce,
                             exchange->words[from].public_key, exchange->engine->key_secret) != 0) {
        exchange->status = -EBADMSG;
    }
}

static void note(struct exchange *exchange, int error)
{
    exchange->status = exchange->status < 0 ? exchange->status : error;
}

// From rank 0 to the first rank of every other node.
static void share_among_nodes(struct exchange *exchange)
{
    const struct co_engine *engine = exchange->engine;
    const struct co_bootstrap *bootstrap = &engine->bootstrap;
    size_t bytes = (size_t)bootstrap->node_count * SEALED_BYTES;
    memset(exchange->sealed, 0, bytes);
    for (int rank = 1; exchange->status == 0 && bootstrap->world_rank == 0 && rank < bootstrap->world_size; rank++) {
        if (engine->local_rank_of[rank] == 0) {
            seal(exchange, engine->node_of_rank[rank], rank);
        }
    }
    note(exchange, bootstrap->broadcast(bootstrap->arg, 0, exchange->sealed, bytes));
    if (bootstrap->node_rank == 0 && bootstrap->world_rank != 0) {
        unseal(exchange, bootstrap->node_index, 0);
    }
}

// From the first rank of this node to the others. One without the key seals nothing: they have none, either.
static void share_in_node(struct exchange *exchange)
{
    const struct co_engine *engine = exchange->engine;
    const struct co_bootstrap *bootstrap = &engine->bootstrap;
    size_t bytes = (size_t)bootstrap->node_size * SEALED_BYTES;
    int first = 0;
    memset(exchange->sealed, 0, bytes);
    for (int rank = bootstrap->world_size - 1; rank >= 0; rank--) {
        if (engine->node_of_rank[rank] == bootstrap->node_index) {
            first = rank;
            if (bootstrap->node_rank == 0 && exchange->status == 0 && rank != bootstrap->world_rank) {
                seal(exchange, engine->local_rank_of[rank], rank);
            }
        }
    }
    note(exchange, bootstrap->node_broadcast(bootstrap->arg, exchange->sealed, bytes));
    if (bootstrap->node_rank != 0) {
        unseal(exchange, bootstrap->node_rank, first);
    }
}

void co_job_key_begin(struct co_engine *engine, uint8_t public[CO_AUTH_KEY_BYTES])
{
    _Static_assert(sizeof(engine->key_secret) == crypto_box_SECRETKEYBYTES, "room for the secret half");
    _Static_assert(CO_AUTH_KEY_BYTES == crypto_box_PUBLICKEYBYTES, "room for the public half");
    memset(public, 0, CO_AUTH_KEY_BYTES);
    engine->key_status = sodium_init() < 0 ? -ENOSYS : 0;
    if (engine->key_status == 0) {
        crypto_box_keypair(public, engine->key_secret);
    }
}

void co_job_key_forget(struct co_engine *engine)
{
    sodium_memzero(engine->key_secret, sizeof(engine->key_secret));
}

int co_job_key_share(struct co_engine *engine, uint8_t key[CO_AUTH_KEY_BYTES])
{
    const struct co_bootstrap *bootstrap = &engine->bootstrap;
    struct exchange exchange = {.engine = engine, .words = engine->exchange, .key = key, .status = engine->key_status};
    _Static_assert(sizeof(struct co_first_words) + SEALED_BYTES <= CO_EXCHANGE_BYTES, "both tables fit the exchange");
    exchange.sealed = (void *)(exchange.words + bootstrap->world_size);
    if (exchange.status == 0 && bootstrap->world_rank == 0) {
        randombytes_buf(key, CO_AUTH_KEY_BYTES);
    }
    // Who has failed goes on: the exchanges are everybody's.
    share_among_nodes(&exchange);
    share_in_node(&exchange);
    co_job_key_forget(engine);
    sodium_stackzero(STACK_BYTES);
    return exchange.status;
}
