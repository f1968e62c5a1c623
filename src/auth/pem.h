/* pem.h: what of a PEM text is a certificate, looked at closely enough that one that is garbled does not spoil the others. Any thread. */
#ifndef KI_AUTH_PEM_H
#define KI_AUTH_PEM_H

#include "src/auth/config.h"

/* Copies the blocks of `pem` that are certificates, one after the other, and leaves out what is none: other blocks, text between them, base64
 * that is none, and DER whose lengths do not add up. `*ret_count` is how many there are, `*ret_skipped` how many certificates were left
 * out. With none `ret_certificates` is untouched. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_pem_certificates(const ki_allocator *allocator, ki_str pem, ki_secret *ret_certificates, size_t *ret_count,
                              size_t *ret_skipped, ki_error *err);

typedef struct ki_pem_block {
    ki_str type; /* "CERTIFICATE" */
    ki_str body; /* base64, perhaps with headers before it */
    ki_str all;
} ki_pem_block;

/* The next whole block, which `*text` is moved past; a BEGIN without its END is passed over. */
bool ki_pem_next(ki_str *text, ki_pem_block *ret_block);

/* Has the text at least one whole block, of whatever kind? A file that is being written has not, mostly. */
bool ki_pem_has_block(ki_str pem);
/* Is one of its whole blocks a key that cannot be read without a password? */
bool ki_pem_is_encrypted(ki_str pem);

#endif
