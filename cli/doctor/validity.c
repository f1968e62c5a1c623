/* validity.c: see validity.h. */
#include "validity.h"

#include "src/auth/certificate.h"
#include "src/auth/der.h"
#include "src/base/rfc3339.h"

#include <stdio.h>

enum {
    UTC_TIME_SIZE = 13, /* YYMMDDHHMMSSZ */
    GENERALIZED_TIME_SIZE = 15,
    CENTURY_FROM = '5' /* a UTCTime's years from 50 on are of the 20th century */
};

/* Reads the next time and advances: UTCTime, or GeneralizedTime with four digits of the year; both in seconds and in
 * UTC, which RFC 5280 §4.1.2.5 requires. */
static bool take_time(ki_str *der, int64_t *ret_s) {
    ki_str text;
    char digits[GENERALIZED_TIME_SIZE + 1], date[KI_RFC3339_SIZE];
    int64_t nanoseconds;
    int tag = ki_der_next(der, &text);
    size_t size = tag == KI_DER_UTC_TIME ? UTC_TIME_SIZE : GENERALIZED_TIME_SIZE;
    if ((tag != KI_DER_UTC_TIME && tag != KI_DER_GENERALIZED_TIME) || text.size != size || text.data[size - 1] != 'Z')
        return false;
    const char *century = tag == KI_DER_GENERALIZED_TIME ? "" : text.data[0] < CENTURY_FROM ? "20" : "19";
    snprintf(digits, sizeof digits, "%s%.*s", century, (int)size, text.data);
    snprintf(date, sizeof date, "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", digits, digits + 4, digits + 6, digits + 8,
             digits + 10, digits + 12);
    return ki_rfc3339_parse(ki_str_of(date), ret_s, &nanoseconds);
}

ki_status ki_certificate_validity(const ki_allocator *allocator, ki_str pem, ki_validity *ret_validity) {
    ki_pem_block block;
    ki_secret der = { NULL, 0 };
    ki_certificate certificate;
    ki_validity found;
    if (!ki_certificate_find(pem, &block))
        return KI_ERR_PARSE;
    ki_status status = ki_secret_decode_base64(allocator, block.body, &der, NULL);
    if (!status && !(ki_certificate_read(ki_secret_text(&der), &certificate) &&
                     take_time(&certificate.validity, &found.begins_s) &&
                     take_time(&certificate.validity, &found.ends_s) && certificate.validity.size == 0))
        status = KI_ERR_PARSE;
    if (!status)
        *ret_validity = found;
    ki_secret_clear(allocator, &der);
    return status;
}
