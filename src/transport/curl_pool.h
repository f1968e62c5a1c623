/* curl_pool.h: libcurl multi handles on the engine's epoll and timers, each with its connections. Loop only.
 *
 * A pool takes new exchanges until it is full or retired; with the last exchange of a retired one it goes. Over TLS a pool is, but for
 * moments, one connection of HTTP/2: libcurl opens a second one only where the server allows fewer streams than the pool takes. */
#ifndef KI_TRANSPORT_CURL_POOL_H
#define KI_TRANSPORT_CURL_POOL_H

#include "src/engine/engine.h"

#include <curl/curl.h>

enum {
    KI_CURL_POOL_STREAMS =
        90, /* of the 100 that API servers allow; the rest is for what asks whether the connection lives */
    KI_CURL_SILENCE_S = 30,        /* a connection of HTTP/2 that has been silent for so long is asked */
    KI_CURL_SILENCE_ANSWER_S = 15, /* and given up where no byte comes for so long */
};

typedef struct ki_curl_pools ki_curl_pools;
typedef struct ki_curl_socket ki_curl_socket;

typedef struct ki_curl_pool {
    ki_curl_pools *owner;
    CURLM *multi;
    ki_timer timer; /* libcurl's own */
    ki_curl_socket *sockets;
    size_t exchanges; /* pings too */
    bool retired;
    bool is_http1;    /* the server, or what is before it, answers so: each exchange needs a connection */
    bool wake;        /* a connection was made, or not: those that wait for it are to be asked again */
    ki_status failed; /* a socket could not be watched: its exchanges would hang */
    struct ki_curl_pool *next;
    /* curl_silence.c's */
    bool is_http2;
    int64_t last_byte;
    ki_timer silence;
    struct ki_exchange *ping; /* under way */
    int64_t ping_sent;
} ki_curl_pool;

struct ki_curl_pools {
    ki_engine *engine;
    const ki_allocator *allocator;
    size_t limit;                        /* of one pool's exchanges; 0: none */
    ki_curl_pool *first;                 /* the newest */
    bool in_curl;                        /* libcurl is calling us: it may not be called */
    void (*after)(ki_curl_pools *pools); /* libcurl has worked, and returned */
    void (*silent)(ki_timer *timer, void *user);
};

/* The pool for a new exchange. NULL: no memory. */
ki_curl_pool *ki_curl_pools_current(ki_curl_pools *pools);
void ki_curl_pools_retire_all(ki_curl_pools *pools);
/* Frees the pools that are retired and empty. */
void ki_curl_pools_sweep(ki_curl_pools *pools);
/* No exchange is left. */
void ki_curl_pools_clear(ki_curl_pools *pools);

#endif
