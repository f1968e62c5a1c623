/* listen.h: the listening socket of the HTTP front. */
#ifndef KT_HTTP_LISTEN_H
#define KT_HTTP_LISTEN_H

#include <kinformer/error.h>

enum {
    KT_URL_MAX = 96
};

/* Listens on "ADDRESS:PORT", "ADDRESS", ":PORT" or "[IPv6]:PORT" (numeric addresses; NULL: 127.0.0.1:0) and writes
 * the URL with `scheme`.
 * Ownership: the caller closes `*ret_socket`.
 * Errors: KI_ERR_INVALID, KI_ERR_SYSTEM. */
ki_status kt_listen(const char *listen_on, const char *scheme, int *ret_socket, char url[KT_URL_MAX], ki_error *err);

#endif
