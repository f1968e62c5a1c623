/* curl_internal.h: what the files of the libcurl transport share. Loop only. */
#ifndef KI_TRANSPORT_CURL_INTERNAL_H
#define KI_TRANSPORT_CURL_INTERNAL_H

#include "src/auth/credentials.h"
#include "src/base/kept_error.h"
#include "src/transport/curl_pool.h"
#include "src/transport/metered.h"
#include "src/transport/transport.h"

#include <curl/curl.h>

/* The oldest libcurl with which all tests run. */
#define KI_CURL_VERSION_MIN 0x075801
#define KI_CURL_VERSION_MIN_TEXT "7.88.1"
#if LIBCURL_VERSION_NUM < KI_CURL_VERSION_MIN
#error "kinformer needs libcurl 7.88.1 or later"
#endif

enum {
    KI_CURL_CONNECT_TIMEOUT_MS = 30000, /* name, TCP and TLS together */
    KI_CURL_BUFFER_SIZE = 128 * 1024,   /* maximum bytes of one read */
    KI_CURL_KEEPALIVE_IDLE_S = 15,      /* a dead peer is detected after idle + interval * count = 45 s */
    KI_CURL_KEEPALIVE_INTERVAL_S = 10,
    KI_CURL_KEEPALIVE_COUNT = 3,
    KI_CURL_REPORT_MS = 100,         /* a busy exchange has one on_read in this time: each one costs two system calls */
    KI_CURL_HEAD_LIMIT = 256 * 1024, /* bytes of all header lines of a response, with 1xx responses and trailers */
    KI_CURL_URL_LIMIT = 64 * 1024    /* bytes of server and target together */
};

/* --- curl_setup.c ------------------------------------------------------------------------------------------------- */

/* What all requests of a transport share: the server and how to connect to it. */
typedef struct ki_curl_identity {
    const ki_allocator *allocator;
    const ki_config *config; /* shared */
    const char *server;      /* for messages; borrowed from the config */
    bool is_https;
    bool has_http2;                /* over TLS, if the server agrees, and libcurl was built with it */
    ki_secret base;                /* prefix of URLs: the server's URL, or with tls-server-name as the host */
    ki_secret host;                /* "Host: …" with the server's own name, if tls-server-name is set; else NULL */
    struct curl_slist *connect_to; /* the server's own address, if tls-server-name is set */
    ki_secret proxy;               /* "": none */
    ki_secret authorities;         /* of SSL_CERT_FILE and SSL_CERT_DIR; NULL: none */
    bool replaces_file;            /* `authorities` takes the place of libcurl's file of authorities */
    bool replaces_folder;          /* …, of its folder */
} ki_curl_identity;

ki_status ki_curl_identity_init(ki_curl_identity *identity, const ki_allocator *allocator, const ki_config *config,
                                ki_error *err);
void ki_curl_identity_clear(ki_curl_identity *identity);

/* Sets the options that depend on server and request. `*ret_headers` must outlive the handle; free it with
 * ki_curl_free_headers. Errors: KI_ERR_NO_MEMORY, KI_ERR_LIMIT, KI_ERR_INVALID, KI_ERR_UNSUPPORTED (by this
 * libcurl). */
ki_status ki_curl_setup(CURL *easy, const ki_curl_identity *identity, const ki_request *request,
                        struct curl_slist **ret_headers, ki_error *err);
/* Sets the options that depend on the credentials. Call it after ki_curl_setup. `set` must outlive the handle. */
ki_status ki_curl_present(CURL *easy, const ki_curl_identity *identity, const ki_credential_set *set,
                          struct curl_slist **headers, ki_error *err);

/* Wipes and frees the headers, which can have a token. NULL is allowed. */
void ki_curl_free_headers(struct curl_slist *headers);

/* --- curl_error.c ------------------------------------------------------------------------------------------------- */

/* Sets the error of a failed transfer. `detail` is libcurl's error text, `config` names server and files. `proxy` is
 * the proxy's URL; "": none. */
void ki_curl_error(CURL *easy, CURLcode code, const char *detail, const ki_config *config, const char *proxy,
                   ki_error *err);
/* Sets the error for a socket that the system did not create; `number` is the errno. libcurl's result does not have
 * it. */
void ki_curl_no_socket(int number, const char *server, ki_error *err);

/* --- curl.c ------------------------------------------------------------------------------------------------------- */

typedef struct ki_curl_transport ki_curl_transport;

typedef enum ki_exchange_state {
    KI_EXCHANGE_QUEUED,  /* waits for service */
    KI_EXCHANGE_WAITING, /* waits for credentials */
    KI_EXCHANGE_ACTIVE,
    KI_EXCHANGE_CANCELLED,
    KI_EXCHANGE_ENDING
} ki_exchange_state;

struct ki_exchange {
    ki_curl_transport *transport;
    ki_curl_pool *pool;           /* NULL before it is active */
    ki_exchange **list;           /* that of its state */
    ki_exchange *next, *previous; /* there */
    CURL *easy;
    struct curl_slist *headers;
    ki_credential_set *set; /* the credentials it was sent with */
    ki_response_sink sink;
    ki_metered metered;
    ki_exchange_state state;
    bool head_delivered;
    bool is_endless; /* a watch: can be ended and sent again without loss */
    bool is_watch;   /* endless, with its head: counted in `watches` of its pool */
    bool is_ping;
    bool opened;     /* libcurl opened a socket for it */
    bool is_stalled; /* its socket did not connect, and libcurl has opened no other one: counted in its pool */
    int sockets;     /* that libcurl waits for, until it is connected */
    bool is_safe;    /* GET or HEAD: may be sent twice */
    bool is_paused;  /* the receiver has paused it */
    struct {
        bool is_due;          /* bytes were delivered, and no on_read followed */
        bool has_mark;        /* `mark` is set: on_read follows once libcurl has read up to there */
        ki_curl_arrival mark; /* what had arrived when the mark was set */
        int64_t next;         /* no mark is set before this time */
    } report;                 /* what on_read has told */
    bool is_read;             /* the response has ended, and all of it was delivered */
    bool is_cancelled;        /* cancelled inside on_read while it ends: no on_end */
    bool is_refused;          /* the server refused the last attempt's HTTP/2 stream, and so has not done the request */
    unsigned attempts;
    int local_port;                     /* local port of its connection, which identifies the connection; 0: none yet */
    bool suspected;                     /* a timeout has passed; checked again after pending bytes */
    int64_t idle_timeout_ns, last_byte; /* last_byte starts as the time of sending */
    int64_t began, last_received;       /* time of sending, and of the last received byte (0: none) */
    ki_timer idle, total;
    int no_socket;             /* errno of the last failed socket(); 0: none failed */
    size_t head_bytes;         /* bytes of all header lines: 1xx, head, trailers */
    int64_t retry_after;       /* seconds of a Retry-After header, or -1 */
    ki_kept_error own_failure; /* of our callback that ended the transfer */
    char detail[CURL_ERROR_SIZE];
};

struct ki_curl_transport {
    ki_transport base; /* must be first */
    ki_engine *engine;
    const ki_allocator *allocator;
    ki_curl_identity identity;
    ki_credentials *credentials;
    uint64_t tls_number;       /* number of the certificates of the current connections */
    bool has_new_certificates; /* than those: the connections are to be replaced */
    ki_curl_pools pools;
    ki_exchange *queued, *waiting, *active, *cancelled; /* by state, in order of sending */
    size_t unreported;                                  /* number of exchanges whose report is due */
    ki_timer report;                                    /* when on_read of some exchange is due */
    ki_task service;
};

/* Sends `request` on a connection of `pool`, regardless of the pool's limit, with the current credentials. */
ki_status ki_curl_ping(ki_curl_pool *pool, const ki_request *request, const ki_response_sink *sink,
                       ki_exchange **ret_exchange, ki_error *err);
/* Ends an exchange with an error at once. Afterwards its pool and every other exchange may be freed. Never call it
 * inside libcurl. */
void ki_curl_end(ki_exchange *exchange, const ki_error *err);
ki_curl_transport *ki_curl_transport_of(ki_curl_pools *pools);

/* --- curl_pool.c: what has arrived -------------------------------------------------------------------------------- */

/* Bytes were passed to the receiver: on_read follows. */
void ki_curl_note_delivered(ki_exchange *exchange);
/* Calls on_read of one exchange, of those whose report is due. Returns false if there is none to call now; it is called
 * again when one is due. */
bool ki_curl_report_one_read(ki_curl_transport *transport);

/* --- curl_silence.c ----------------------------------------------------------------------------------------------- */

/* Starts the silence timer of an HTTP/2 pool. Call it when an exchange begins or when the pool turns out to be
 * HTTP/2. */
void ki_curl_silence_begin(ki_curl_pool *pool);

#endif
