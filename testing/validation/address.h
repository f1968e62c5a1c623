/* address.h: IP addresses and blocks of them, with the real server's messages. */
#ifndef KT_VALIDATION_ADDRESS_H
#define KT_VALIDATION_ADDRESS_H

#include "src/base/string_view.h"

#define KT_NOT_AN_ADDRESS "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
#define KT_NOT_A_BLOCK "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"

/* Returns 4 or 6; 0 for another text. */
int kt_address_family(ki_str text);
/* Returns 4 or 6 for a text such as "10.0.0.0/8"; 0 for another. */
int kt_block_family(ki_str text);

#endif
