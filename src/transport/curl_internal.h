/* curl_internal.h: what the files of the libcurl transport share. Loop only. */
#ifndef KI_TRANSPORT_CURL_INTERNAL_H
#define KI_TRANSPORT_CURL_INTERNAL_H

#include "src/auth/credentials.h"
#include "src/transport/curl_pool.h"
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

/* --- curl_setup.c ----------------------------------------------------------------------------------------------------------- */

/* The server and the way to it: what all requests of a transport have in common. */
typedef struct ki_curl_identity {
    const ki_allocator *allocator;
    const ki_config *config; /* shared */
    const char *server;      /* for messages; the config's */
    bool is_https;
    ki_secret base;                /* what URLs begin with: the server's, or with tls-server-name in the host's place */
    ki_secret host;                /* "Host: …" with tls-server-name: the server's own; else not given */
    struct curl_slist *connect_to; /* with tls-server-name: where the server really is */
    ki_secret proxy;               /* "": none */
} ki_curl_identity;

ki_status ki_curl_identity_init(ki_curl_identity *identity, const ki_allocator *allocator, const ki_config *config,
                                ki_error *err);
void ki_curl_identity_clear(ki_curl_identity *identity);

/* Tells an easy handle all that depends on server and request. `*ret_headers` must live as long as the handle, then ki_curl_free_headers.
 * Errors: KI_ERR_NO_MEMORY, KI_ERR_LIMIT, KI_ERR_INVALID, KI_ERR_UNSUPPORTED (by this libcurl). */
ki_status ki_curl_setup(CURL *easy, const ki_curl_identity *identity, const ki_request *request,
                        struct curl_slist **ret_headers, ki_error *err);
/* And then what depends on who we are. `set` must live as long as the handle. */
ki_status ki_curl_present(CURL *easy, const ki_curl_identity *identity, const ki_credential_set *set,
                          struct curl_slist **headers, ki_error *err);

/* Wipes and frees. NULL is accepted. */
void ki_curl_free_headers(struct curl_slist *headers);

/* --- curl_error.c ----------------------------------------------------------------------------------------------------------- */

/* What a transfer's end means; `detail` is libcurl's error text, `config` names server and files. Call it for failures only. `by_proxy`: that is whom we connect to. */
void ki_curl_error(CURL *easy, CURLcode code, const char *detail, const ki_config *config, bool by_proxy,
                   ki_error *err);
/* The system gave no socket, with this errno; libcurl's result does not tell. */
void ki_curl_no_socket(int number, const char *server, ki_error *err);

/* --- curl.c ----------------------------------------------------------------------------------------------------------------- */

typedef struct ki_curl_transport ki_curl_transport;

typedef enum ki_exchange_state {
    KI_EXCHANGE_QUEUED,  /* for service */
    KI_EXCHANGE_WAITING, /* for credentials */
    KI_EXCHANGE_ACTIVE,
    KI_EXCHANGE_CANCELLED,
    KI_EXCHANGE_ENDING
} ki_exchange_state;

struct ki_exchange {
    ki_curl_transport *transport;
    ki_curl_pool *pool; /* NULL before it is active; a ping has its own from the start */
    struct ki_exchange *next, *previous;
    CURL *easy;
    struct curl_slist *headers;
    ki_credential_set *set; /* what it was sent with */
    ki_response_sink sink;
    ki_exchange_state state;
    bool head_given;
    bool is_endless; /* a watch: ended and sent again it loses nothing */
    bool is_ping;
    bool opened;    /* a socket of its own, where it did not wait for another's connection */
    bool is_safe;   /* may go twice: it changes nothing */
    bool is_paused; /* its receiver wants no data now */
    unsigned attempts;
    int local_port;                     /* of the connection that it went out on: which one that is; 0: none yet */
    bool suspected;                     /* a deadline has passed once; a second look decides */
    int64_t idle_timeout_ns, last_byte; /* for the idle deadline: at first when it was sent */
    int64_t began, heard;               /* when it was sent, and when a byte of its answer came last; 0: none yet */
    ki_timer idle, total;
    int no_socket;        /* errno of the last try to make one; 0: there is one, or none was needed */
    size_t head_bytes;    /* of all header lines: 1xx, head, trailers */
    int64_t retry_after;  /* seconds that a Retry-After header says, or -1 */
    ki_error own_failure; /* why a callback of ours ended the transfer; code 0: it did not */
    char detail[CURL_ERROR_SIZE];
};

struct ki_curl_transport {
    ki_transport base; /* must be first */
    ki_engine *engine;
    const ki_allocator *allocator;
    ki_curl_identity identity;
    ki_credentials *credentials;
    uint64_t tls_number; /* of the certificates that the pools' connections were made with */
    ki_curl_pools pools;
    ki_exchange *exchanges, *last_exchange; /* in the order of sending */
    size_t queued, waiting, cancelled;      /* of the exchanges: how many are in that state */
    ki_task service;
};

/* Sends `request` on a connection of `pool`, whatever the limits, with the credentials that are at hand. */
ki_status ki_curl_ping(ki_curl_pool *pool, const ki_request *request, const ki_response_sink *sink,
                       ki_exchange **ret_exchange, ki_error *err);
/* Ends it with an error, now. Its pool may be gone afterwards, and every other exchange too. Never from inside libcurl. */
void ki_curl_end(ki_exchange *exchange, const ki_error *err);
ki_curl_transport *ki_curl_transport_of(ki_curl_pools *pools);

/* --- curl_silence.c --------------------------------------------------------------------------------------------------------- */

/* HTTP/2's connections carry many exchanges, and libcurl cannot ping. So one that has been silent is asked for something small. */
void ki_curl_silence_fired(ki_timer *timer, void *user);
/* An exchange of the pool has begun, or its connection is known to speak HTTP/2. */
void ki_curl_silence_begin(ki_curl_pool *pool);

#endif
