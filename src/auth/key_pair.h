/* key_pair.h: does a private key belong to a certificate? Found by comparing the public halves that both carry, before anybody connects.
 * Any thread. */
#ifndef KI_AUTH_KEY_PAIR_H
#define KI_AUTH_KEY_PAIR_H

#include "src/auth/config.h"

typedef enum ki_key_pair {
    KI_KEY_PAIR_UNKNOWN, /* one of them cannot be read, or its kind of key does not tell: connecting will */
    KI_KEY_PAIR_FITS,
    KI_KEY_PAIR_DIFFERS,
    KI_KEY_PAIR_NO_CERTIFICATE, /* what should have a certificate has a private key instead */
    KI_KEY_PAIR_NO_KEY          /* and the other way round */
} ki_key_pair;

/* Looks at the first certificate and the first private key. RSA keys tell by their modulus, those of elliptic curves by their point, where
 * they carry it; an Ed25519 key mostly does not. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_key_pair_look(const ki_allocator *allocator, ki_str certificate, ki_str key, ki_key_pair *ret_pair,
                           ki_error *err);

/* Has it a private key where certificates are wanted, and none of those? */
bool ki_key_pair_is_key_alone(ki_str pem);

/* As above for what the config's or the moment's pair is, in words: "client-key: FILE is not the key of …". KI_OK where it may fit.
 * Files that are not given are "the data". Errors: KI_ERR_CONFIG, KI_ERR_NO_MEMORY. */
ki_status ki_key_pair_check(const ki_allocator *allocator, const ki_config *config, const ki_secret *certificate,
                            const ki_secret *key, ki_error *err);

#endif
