/* der.h: reads DER (X.690), as far as keys and certificates need it: values with a tag of one byte and a length that
 * fits into the bytes that are there. Copies nothing. Any thread. */
#ifndef KI_AUTH_DER_H
#define KI_AUTH_DER_H

#include "src/base/string_view.h"

enum {
    KI_DER_INTEGER = 0x02,
    KI_DER_BIT_STRING = 0x03,
    KI_DER_OCTET_STRING = 0x04,
    KI_DER_OBJECT_ID = 0x06,
    KI_DER_UTC_TIME = 0x17,
    KI_DER_GENERALIZED_TIME = 0x18,
    KI_DER_SEQUENCE = 0x30,
    KI_DER_CONTEXT_0 = 0xa0, /* a certificate's version; an EC key's curve */
    KI_DER_CONTEXT_1 = 0xa1  /* an EC key's public point */
};

/* Reads the value at the beginning of `*der` and advances. Returns its tag, or -1 if it is incomplete. */
int ki_der_next(ki_str *der, ki_str *ret_value);
/* Reads the value and advances if it has this tag. */
bool ki_der_take(ki_str *der, int tag, ki_str *ret_value);
/* Checks the value at the beginning of `*der`, with all values inside it, and advances. */
bool ki_der_check(ki_str *der);

#endif
