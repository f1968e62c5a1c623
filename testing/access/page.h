/* page.h: recognizes the requests that a web page of another site makes through a browser on the user's machine. An
 * open server has no other protection from such a page. Any thread. */
#ifndef KT_ACCESS_PAGE_H
#define KT_ACCESS_PAGE_H

#include <stdbool.h>

/* Returns true if a request is of a web page of another site. `host` and `origin` are the headers, or NULL.
 *
 * A page whose name leads to this server (DNS rebinding) sends that name as Host, as for kubectl proxy: so Host must be
 * "localhost" or an address. A page that was loaded from elsewhere sends its site as Origin (RFC 6454 §7): so Origin
 * must be of a loopback host, or equal to Host. */
bool kt_is_of_foreign_page(const char *host, const char *origin);

#endif
