// SPDX-License-Identifier: BSD-3-Clause
//
// The module libcastoff-gmac.so: GMAC by intel-ipsec-mb, which chooses its code by the processor. Any thread, after the
// first call of co_gmac_module has returned; hot.
#include "base/gmac_module.h"

#include <intel-ipsec-mb.h>

#define TAG_BYTES 16
#define NONCE_BYTES 12

_Static_assert(sizeof(struct gcm_key_data) <= CO_GMAC_KEY_ROOM, "a key has room");
_Static_assert(_Alignof(struct gcm_key_data) <= 64, "and stands where it may");

static IMB_MGR *manager; // of no state that these functions use

static void expand(void *expanded, const uint8_t key[32])
{
    IMB_AES256_GCM_PRE(manager, key, expanded);
}

static void tag(const void *expanded, const uint8_t nonce[NONCE_BYTES], const void *head, size_t head_bytes,
                const void *payload, size_t payload_bytes, uint8_t tag[TAG_BYTES])
{
    struct gcm_context_data context;
    IMB_AES256_GMAC_INIT(manager, expanded, &context, nonce, NONCE_BYTES);
    if (head_bytes > 0) {
        IMB_AES256_GMAC_UPDATE(manager, expanded, &context, head, head_bytes);
    }
    if (payload_bytes > 0) {
        IMB_AES256_GMAC_UPDATE(manager, expanded, &context, payload, payload_bytes);
    }
    IMB_AES256_GMAC_FINALIZE(manager, expanded, &context, tag, TAG_BYTES);
}

const struct co_gmac_module *co_gmac_module(void)
{
    static const struct co_gmac_module module = {CO_GMAC_MODULE_VERSION, "ipsec-mb", expand, tag};
    IMB_ARCH chosen;

    if (manager == NULL) {
        manager = alloc_mb_mgr(0);
        if (manager != NULL) {
            init_mb_mgr_auto(manager, &chosen);
        }
    }
    return manager != NULL && imb_get_errno(manager) == 0 ? &module : NULL;
}
