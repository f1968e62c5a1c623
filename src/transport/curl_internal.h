/* curl_internal.h: what the files of the libcurl transport share. Loop only. */
#ifndef KI_TRANSPORT_CURL_INTERNAL_H
#define KI_TRANSPORT_CURL_INTERNAL_H

#include "src/auth/config.h"
#include "src/transport/transport.h"

#include <curl/curl.h>

enum {
    KI_CURL_CONNECT_TIMEOUT_MS = 30000, /* name, TCP and TLS together */
    KI_CURL_BUFFER_SIZE = 128 * 1024,   /* bytes that one read takes at most */
    KI_CURL_KEEPALIVE_IDLE_S = 15,      /* a dead peer is noticed after idle + interval * count = 45 s */
    KI_CURL_KEEPALIVE_INTERVAL_S = 10,
    KI_CURL_KEEPALIVE_COUNT = 3,
    KI_CURL_HEAD_LIMIT = 256 * 1024, /* bytes of all header lines of an answer, 1xx and trailers among them */
    KI_CURL_URL_LIMIT = 64 * 1024    /* bytes of server and target together */
};

/* The server and who we are: the transport's own copy of a config's parts. */
typedef struct ki_curl_identity {
    const ki_allocator *allocator;
    ki_secret server;
    ki_secret user_agent;
    ki_secret authorization; /* "Authorization: Bearer …", or not given */
    ki_secret ca;
    ki_secret client_certificate;
    ki_secret client_key;
    bool insecure_skip_tls_verify;
} ki_curl_identity;

ki_status ki_curl_identity_init(ki_curl_identity *identity, const ki_allocator *allocator, const ki_config *config,
                                ki_error *err);
void ki_curl_identity_clear(ki_curl_identity *identity);

/* Tells an easy handle all that depends on server, credentials and request. `*ret_headers` must live as long as the handle, then ki_curl_free_headers.
 * Errors: KI_ERR_NO_MEMORY, KI_ERR_LIMIT, KI_ERR_UNSUPPORTED (by this libcurl). */
ki_status ki_curl_setup(CURL *easy, const ki_curl_identity *identity, const ki_request *request,
                        struct curl_slist **ret_headers, ki_error *err);

/* Wipes and frees. NULL is accepted. */
void ki_curl_free_headers(struct curl_slist *headers);

/* What a transfer's end means; `detail` is libcurl's error text. Call it for failures only. */
void ki_curl_error(CURL *easy, CURLcode code, const char *detail, const char *server, ki_error *err);
/* The system gave no socket, with this errno; libcurl's result does not tell. */
void ki_curl_no_socket(int number, const char *server, ki_error *err);

#endif
