/* pem.h: the certificates of a PEM text. A damaged certificate does not affect the others. Any thread. */
#ifndef KI_AUTH_PEM_H
#define KI_AUTH_PEM_H

#include "src/auth/config.h"

/* Copies the certificates of `pem`. Skips other blocks, text between blocks, invalid base64, and DER with inconsistent
 * lengths. `*ret_count` is the number of copied certificates, `*ret_skipped` that of skipped ones. Without any,
 * `ret_certificates` is untouched. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_pem_certificates(const ki_allocator *allocator, ki_str pem, ki_secret *ret_certificates, size_t *ret_count,
                              size_t *ret_skipped, ki_error *err);

typedef struct ki_pem_block {
    ki_str type; /* "CERTIFICATE" */
    ki_str body; /* base64, perhaps after headers */
    ki_str all;
} ki_pem_block;

/* Finds the next complete block and advances `*text`. Skips a BEGIN without its END. */
bool ki_pem_next(ki_str *text, ki_pem_block *ret_block);

/* Returns true if the text has at least one complete block of any type. A file that is being written usually has
 * none. */
bool ki_pem_has_block(ki_str pem);
/* Returns true if a complete block is a key with a password. */
bool ki_pem_is_encrypted(ki_str pem);

#endif
