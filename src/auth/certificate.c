/* certificate.c: see certificate.h. */
#include "src/auth/certificate.h"

#include "src/auth/der.h"

/* Returns true for the types that OpenSSL accepts as a certificate. */
static bool is_certificate(ki_str type) {
    return ki_str_equals(type, "CERTIFICATE") || ki_str_equals(type, "X509 CERTIFICATE") ||
           ki_str_equals(type, "TRUSTED CERTIFICATE");
}

bool ki_certificate_find(ki_str pem, ki_pem_block *ret_block) {
    while (ki_pem_next(&pem, ret_block)) {
        if (is_certificate(ret_block->type))
            return true;
    }
    return false;
}

bool ki_certificate_read(ki_str der, ki_certificate *ret_certificate) {
    ki_str certificate, body, skipped;
    ki_certificate found;
    if (!ki_der_take(&der, KI_DER_SEQUENCE, &certificate) || !ki_der_take(&certificate, KI_DER_SEQUENCE, &body))
        return false;
    ki_der_take(&body, KI_DER_CONTEXT_0, &skipped);
    if (!ki_der_take(&body, KI_DER_INTEGER, &skipped) ||  /* serial number */
        !ki_der_take(&body, KI_DER_SEQUENCE, &skipped) || /* signature algorithm */
        !ki_der_take(&body, KI_DER_SEQUENCE, &skipped) || /* issuer */
        !ki_der_take(&body, KI_DER_SEQUENCE, &found.validity) ||
        !ki_der_take(&body, KI_DER_SEQUENCE, &skipped) || /* subject */
        !ki_der_take(&body, KI_DER_SEQUENCE, &found.public_key))
        return false;
    *ret_certificate = found;
    return true;
}
