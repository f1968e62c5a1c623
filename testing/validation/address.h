/* address.h: IP addresses and blocks of them (CIDRs), with the real server's messages. */
#ifndef KT_VALIDATION_ADDRESS_H
#define KT_VALIDATION_ADDRESS_H

#include "src/base/string_view.h"

#include <stdbool.h>

#define KT_NOT_AN_ADDRESS "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
#define KT_NOT_A_BLOCK "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"

enum {
    KT_ADDRESS_SIZE = 46 /* of a text, with its end */
};

typedef struct kt_block {
    int family;              /* 4 or 6 */
    unsigned bits;           /* length of the prefix; 32 or 128 for an address */
    unsigned char bytes[16]; /* of the address */
} kt_block;

/* Returns 4 or 6; 0 for another text. */
int kt_address_family(ki_str text);
/* Each returns a static error message; NULL if the text is valid. `ret_block` may be NULL. */
const char *kt_address_problem(ki_str text, kt_block *ret_block);
const char *kt_block_problem(ki_str text, kt_block *ret_block);
/* Writes an address in its canonical form (RFC 5952). */
void kt_address_write(const kt_block *address, char ret_text[KT_ADDRESS_SIZE]);
/* Returns true if every address of `inner` is in `outer`, which has more of them. */
bool kt_block_contains(const kt_block *outer, const kt_block *inner);

#endif
