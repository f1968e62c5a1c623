/* validity.h: from when until when a certificate is valid (RFC 5280 §4.1). Verifies nothing: the TLS library and the
 * server do. */
#ifndef KI_CLI_DOCTOR_VALIDITY_H
#define KI_CLI_DOCTOR_VALIDITY_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/base/string_view.h"

typedef struct ki_validity {
    int64_t begins_s; /* seconds since 1970, both included */
    int64_t ends_s;
} ki_validity;

/* Reads the validity of the first certificate of `pem`, the one that a client presents. Errors: KI_ERR_PARSE (no
 * certificate, or one that cannot be read; without a message), KI_ERR_NO_MEMORY. */
ki_status ki_certificate_validity(const ki_allocator *allocator, ki_str pem, ki_validity *ret_validity);

#endif
