/* listen.h: the listening socket of an HTTP server. */
#ifndef KI_HTTP_LISTEN_H
#define KI_HTTP_LISTEN_H

#include <kinformer/error.h>

enum {
    KI_URL_MAX = 96
};

/* Listens on "PORT", ":PORT", "ADDRESS:PORT" or "[IPv6]:PORT" (numeric addresses and "localhost"; without an address on
 * loopback), and writes the URL with `scheme`; after an error `url` is undefined. "ADDRESS" alone has the port
 * `default_port`; NULL: it is an error.
 * Ownership: the caller closes `*ret_socket`.
 * Errors: KI_ERR_INVALID, KI_ERR_SYSTEM. */
ki_status ki_http_listen(const char *listen_on, const char *default_port, const char *scheme, int *ret_socket,
                         char url[KI_URL_MAX], ki_error *err);

#endif
