/* certificate.h: the parts of a certificate (RFC 5280 §4.1). Verifies nothing: the TLS library and the server do. Any
 * thread. */
#ifndef KI_AUTH_CERTIFICATE_H
#define KI_AUTH_CERTIFICATE_H

#include "src/auth/config.h"
#include "src/auth/pem.h"

/* The parts of a certificate; they point into its DER. */
typedef struct ki_certificate {
    ki_str validity;   /* the contents of Validity */
    ki_str public_key; /* the contents of SubjectPublicKeyInfo */
} ki_certificate;

/* Finds the first certificate, of any type that OpenSSL accepts. Ignores data after the certificate in the type TRUSTED
 * CERTIFICATE. */
bool ki_certificate_find(ki_str pem, ki_pem_block *ret_block);
/* Finds the parts. Returns false for anything that is not a certificate. */
bool ki_certificate_read(ki_str der, ki_certificate *ret_certificate);

#endif
