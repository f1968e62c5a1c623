/* accept.h: what a client accepts: Accept and Accept-Encoding (RFC 9110 §12.5). Any thread. */
#ifndef KI_HTTP_ACCEPT_H
#define KI_HTTP_ACCEPT_H

#include <stdbool.h>

/* Returns the weight of `name` in a header (may be NULL) in thousandths; the largest, if the header has the name more
 * than once; 0: the name is missing or not accepted. Parameters other than q are ignored, wildcards do not count. */
int ki_http_weight(const char *header, const char *name);
/* Returns true if an Accept-Encoding header (may be NULL) accepts gzip. */
bool ki_http_accepts_gzip(const char *accept_encoding);

#endif
