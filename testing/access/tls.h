/* tls.h: the certificates of an HTTPS server: its CA, created in memory at start, the certificates that it signs,
 * and the users of client certificates. Uses GnuTLS, as libmicrohttpd does; GnuTLS uses malloc. Constant except for
 * kt_tls_renew, under the front's guard. */
#ifndef KT_ACCESS_TLS_H
#define KT_ACCESS_TLS_H

#include "testing/access/auth.h"

typedef struct kt_tls {
    const ki_allocator *allocator;
    char *ca_pem;        /* the CA that clients trust */
    char *ca_key_pem;    /* NULL if the certificate came from files */
    char *pem;           /* the server's certificate */
    char *key_pem;       /* the server's private key */
    char *client_ca_pem; /* the CA of client certificates; NULL: none */
    char *host;          /* an additional address or name of the certificate; may be NULL */
} kt_tls;

enum {
    KT_TLS_FILE_MAX = 1024 * 1024, /* bytes of a PEM file */
    KT_TLS_USER_SIZE = 4096        /* bytes of the names in a client certificate */
};

/* Creates a CA, and a certificate for localhost, 127.0.0.1, ::1 and `host` (may be NULL). Errors: KI_ERR_TLS,
 * KI_ERR_NO_MEMORY. */
ki_status kt_tls_make(const ki_allocator *allocator, const char *host, kt_tls **ret_tls, ki_error *err);
/* Reads PEM files. `ca` signs client certificates and goes into kubeconfigs; NULL: kubeconfigs get the certificate
 * itself and clients have no certificates.
 * Errors: KI_ERR_SYSTEM, KI_ERR_LIMIT, KI_ERR_TLS (the key does not match the certificate), KI_ERR_NO_MEMORY. */
ki_status kt_tls_load(const ki_allocator *allocator, const char *certificate, const char *key, const char *ca,
                      kt_tls **ret_tls, ki_error *err);
void kt_tls_free(kt_tls *tls); /* wipes keys; NULL is allowed */

/* Creates a new certificate and key for the server, and with `new_ca` a new CA. Errors: KI_ERR_STATE if the
 * certificate came from files, KI_ERR_TLS, KI_ERR_NO_MEMORY. */
ki_status kt_tls_renew(kt_tls *tls, bool new_ca, ki_error *err);
/* Issues a client certificate. `user` is its common name; `groups` ("a+b", may be NULL) are its organizations. Valid
 * for `seconds` from now; negative: already expired.
 * Ownership: the caller frees both results with the allocator and should wipe the key. */
ki_status kt_tls_issue(const kt_tls *tls, const char *user, const char *groups, int64_t seconds, char **ret_pem,
                       char **ret_key_pem, ki_error *err);
/* Writes a random bearer token. */
ki_status kt_tls_make_token(char *ret_text, size_t size, ki_error *err);

typedef enum kt_peer {
    KT_PEER_NONE, /* no certificate */
    KT_PEER_GOOD,
    KT_PEER_BAD /* of another CA, expired, or not for clients */
} kt_peer;

/* Finds the user of the client certificate of a TLS session (gnutls_session_t). `*ret_user` points into `text`. */
kt_peer kt_tls_peer(void *session, char text[KT_TLS_USER_SIZE], kt_user *ret_user);

#endif
