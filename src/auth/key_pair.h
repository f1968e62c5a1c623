/* key_pair.h: checks whether a private key belongs to a certificate, before a connection is made, by comparing their
 * public keys. Any thread. */
#ifndef KI_AUTH_KEY_PAIR_H
#define KI_AUTH_KEY_PAIR_H

#include "src/auth/config.h"

typedef enum ki_key_pair {
    KI_KEY_PAIR_UNKNOWN, /* one cannot be parsed or has no public key: only a connection shows it */
    KI_KEY_PAIR_FITS,
    KI_KEY_PAIR_DIFFERS,
    KI_KEY_PAIR_NO_CERTIFICATE, /* the certificate's text has a private key instead */
    KI_KEY_PAIR_NO_KEY          /* the key's text has a certificate instead */
} ki_key_pair;

/* Compares the first certificate and the first private key: RSA by modulus, elliptic curves by point if the key has
 * one of the same form. An Ed25519 key usually has no public key. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_key_pair_compare(const ki_allocator *allocator, ki_str certificate, ki_str key, ki_key_pair *ret_pair,
                              ki_error *err);

/* Returns true if the text has a private key and no certificate. */
bool ki_key_pair_is_key_alone(ki_str pem);

/* Checks a pair of the config or of its files, and sets a message such as "client-key: FILE is not the key of …".
 * Returns KI_OK if they match or if the result is unknown. Errors: KI_ERR_CONFIG, KI_ERR_NO_MEMORY. */
ki_status ki_key_pair_check(const ki_allocator *allocator, const ki_config *config, const ki_secret *certificate,
                            const ki_secret *key, ki_error *err);

#endif
