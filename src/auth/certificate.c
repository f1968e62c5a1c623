/* certificate.c: see certificate.h. */
#include "src/auth/certificate.h"

#include "src/auth/der.h"

#include <time.h>

enum {
    UTC_TIME_SIZE = 13, /* YYMMDDHHMMSSZ */
    CENTURY_FROM = 50   /* a UTCTime's years from here on are of the 20th century */
};

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

/* --- validity ----------------------------------------------------------------------------------------------------- */

/* Reads two digits at the beginning and advances. Returns -1 for anything else. */
static int next_digits(ki_str *text) {
    if (text->size < 2 || text->data[0] < '0' || text->data[0] > '9' || text->data[1] < '0' || text->data[1] > '9')
        return -1;
    int number = (text->data[0] - '0') * 10 + (text->data[1] - '0');
    *text = (ki_str){ text->data + 2, text->size - 2 };
    return number;
}

/* Reads the next time and advances: UTCTime, or GeneralizedTime with four digits of the year; both in seconds and in
 * UTC, which RFC 5280 §4.1.2.5 requires. */
static bool take_time(ki_str *der, int64_t *ret_s) {
    ki_str text;
    int parts[5], tag = ki_der_next(der, &text);
    if (tag != KI_DER_GENERALIZED_TIME && (tag != KI_DER_UTC_TIME || text.size != UTC_TIME_SIZE))
        return false;
    int century = tag == KI_DER_GENERALIZED_TIME ? next_digits(&text) : 0;
    int year = next_digits(&text);
    if (tag == KI_DER_UTC_TIME)
        century = year < CENTURY_FROM ? 20 : 19;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        parts[i] = next_digits(&text);
    if (century < 0 || year < 0 || parts[0] < 1 || parts[0] > 12 || parts[1] < 1 || parts[1] > 31 || parts[2] < 0 ||
        parts[2] > 23 || parts[3] < 0 || parts[3] > 59 || parts[4] < 0 || parts[4] > 59 || !ki_str_equals(text, "Z"))
        return false;
    struct tm date = { .tm_year = century * 100 + year - 1900,
                       .tm_mon = parts[0] - 1,
                       .tm_mday = parts[1],
                       .tm_hour = parts[2],
                       .tm_min = parts[3],
                       .tm_sec = parts[4] };
    *ret_s = (int64_t)timegm(&date);
    return date.tm_mday == parts[1]; /* timegm turns February 30 into March */
}

ki_status ki_certificate_validity(const ki_allocator *allocator, ki_str pem, ki_validity *ret_validity) {
    ki_pem_block block;
    ki_secret der = { NULL, 0 };
    ki_certificate certificate;
    ki_validity found;
    if (!ki_certificate_find(pem, &block))
        return KI_ERR_PARSE;
    ki_status status = ki_secret_decode_base64(allocator, block.body, &der, NULL);
    if (!status && !(ki_certificate_read((ki_str){ der.data, der.size }, &certificate) &&
                     take_time(&certificate.validity, &found.begins_s) &&
                     take_time(&certificate.validity, &found.ends_s) && certificate.validity.size == 0))
        status = KI_ERR_PARSE;
    if (!status)
        *ret_validity = found;
    ki_secret_clear(allocator, &der);
    return status;
}
