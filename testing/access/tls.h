/* tls.h: the certificates of a server that serves HTTPS: a CA of its own, made in memory when the server starts, what it signs, and who a
 * client's certificate says that it is. GnuTLS, which libmicrohttpd uses for TLS, does the work; its own memory comes from malloc.
 * Constant once made, but for kt_tls_renew: under the front's guard. */
#ifndef KT_ACCESS_TLS_H
#define KT_ACCESS_TLS_H

#include "testing/access/auth.h"

typedef struct kt_tls {
    const ki_allocator *allocator;
    char *ca_pem;        /* what clients trust */
    char *ca_key_pem;    /* NULL where the certificate came from files */
    char *pem;           /* the server's certificate */
    char *key_pem;       /* and its key */
    char *client_ca_pem; /* who signs clients' certificates */
    char *host;          /* an address or name that the certificate is for, beside loopback; may be NULL */
} kt_tls;

enum {
    KT_TLS_FILE_MAX = 1024 * 1024, /* of a PEM file */
    KT_TLS_USER_SIZE = 4096        /* of the names in a client's certificate */
};

/* A CA, and a certificate for localhost, 127.0.0.1, ::1 and `host` (may be NULL). Errors: KI_ERR_TLS, KI_ERR_NO_MEMORY. */
ki_status kt_tls_make(const ki_allocator *allocator, const char *host, kt_tls **ret_tls, ki_error *err);
/* From PEM files: `ca` signs clients' certificates, and is what kubeconfigs get (may be NULL: the certificate itself, no clients).
 * Errors: KI_ERR_SYSTEM, KI_ERR_LIMIT, KI_ERR_TLS (a key that does not fit its certificate), KI_ERR_NO_MEMORY. */
ki_status kt_tls_load(const ki_allocator *allocator, const char *certificate, const char *key, const char *ca,
                      kt_tls **ret_tls, ki_error *err);
void kt_tls_free(kt_tls *tls); /* keys are wiped */

/* Another certificate and key for the server; with `new_ca` another CA as well. Errors: KI_ERR_STATE where it came from files. */
ki_status kt_tls_renew(kt_tls *tls, bool new_ca, ki_error *err);
/* A client's certificate: user is its common name, `groups` ("a+b", may be NULL) its organisations; valid for `seconds` from now, or
 * already over where that is negative. Ownership: the caller's, by the allocator; the key should be wiped. */
ki_status kt_tls_issue(const kt_tls *tls, const char *user, const char *groups, int64_t seconds, char **ret_pem,
                       char **ret_key_pem, ki_error *err);
/* A bearer token that nobody can guess. */
ki_status kt_tls_make_token(char *ret_text, size_t size, ki_error *err);

typedef enum kt_peer {
    KT_PEER_NONE, /* no certificate */
    KT_PEER_GOOD,
    KT_PEER_BAD /* of another CA, over, or not for clients */
} kt_peer;

/* Whose certificate came with this TLS session (a gnutls_session_t); names are put into `text`. */
kt_peer kt_tls_peer(void *session, char text[KT_TLS_USER_SIZE], kt_user *ret_user);

#endif
