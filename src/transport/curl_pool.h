/* curl_pool.h: libcurl multi handles on the engine's epoll and timers, each with its connections. Loop only.
 *
 * A pool takes new exchanges until it is full or retired. A retired pool is freed with its last exchange. Over TLS a
 * pool normally has one HTTP/2 connection; libcurl opens another one if the server allows fewer streams than the pool
 * takes. */
#ifndef KI_TRANSPORT_CURL_POOL_H
#define KI_TRANSPORT_CURL_POOL_H

#include "src/engine/engine.h"

#include <curl/curl.h>

enum {
    KI_CURL_POOL_STREAMS = 90,   /* API servers allow 100 streams; the rest is for pings */
    KI_CURL_SILENCE_S = 30,      /* seconds of silence before a ping on an HTTP/2 connection */
    KI_CURL_PING_TIMEOUT_S = 15, /* seconds without a byte after a ping before the connection is dead */
    KI_CURL_REST_BYTES =
        64 * 1024,       /* a socket that has brought more than this does not rest: it is a list or a burst */
    KI_CURL_TICK_MS = 10 /* the longest tick of a Linux kernel, which counts the time since the last byte in ticks */
};

/* What has arrived on a connection. */
typedef struct ki_curl_arrival {
    int64_t received; /* bytes since the connection began */
    int64_t read;     /* those of `received` that libcurl has read */
    int64_t at;       /* when the last byte arrived; up to KI_CURL_TICK_MS too early */
} ki_curl_arrival;

typedef struct ki_curl_pools ki_curl_pools;
typedef struct ki_curl_socket ki_curl_socket;

typedef struct ki_curl_pool {
    ki_curl_pools *owner;
    CURLM *multi;
    ki_timer timer; /* libcurl's own */
    ki_curl_socket *sockets;
    ki_timer rest;    /* when the sockets that rest are read again */
    size_t exchanges; /* including pings */
    size_t watches;   /* those of `exchanges` that are endless and have their head */
    size_t received;  /* bytes of bodies since a socket was ready */
    size_t stalled;   /* those of `exchanges` with is_stalled */
    bool retired;
    bool is_http1;    /* the server or a proxy uses HTTP/1.1: each exchange needs a connection */
    bool wake;        /* a connection was established or failed: exchanges that wait for it must be added again */
    ki_status failed; /* set if a socket could not be watched: its exchanges would hang */
    struct ki_curl_pool *next;
    /* used by curl_silence.c */
    bool is_http2;
    int64_t last_byte;
    ki_timer silence;
    struct ki_exchange *ping; /* the current ping, or NULL */
    int64_t ping_sent;
} ki_curl_pool;

struct ki_curl_pools {
    ki_engine *engine;
    const ki_allocator *allocator;
    int64_t read_interval; /* ns between two reads of a socket that has only watches; 0: none */
    size_t limit;          /* maximum exchanges of one pool; 0: none */
    ki_curl_pool *first;   /* the newest pool */
    bool in_curl;          /* libcurl is running a callback and must not be called */
};

/* curl.c: adds, removes and ends transfers, after each call into libcurl. May free any pool. */
void ki_curl_service(ki_curl_pools *pools);
/* curl.c: libcurl waits for one socket more, or less, for a transfer. */
void ki_curl_note_socket(CURL *easy, int change);
/* curl_silence.c: sends a ping on an HTTP/2 connection that has been silent (libcurl has no PING). A timer callback;
 * `user` is the pool. */
void ki_curl_silence_fired(ki_timer *timer, void *user);

/* Returns the pool for a new exchange; NULL if out of memory. */
ki_curl_pool *ki_curl_pools_current(ki_curl_pools *pools);
/* Ends the rest of the pool's sockets. Call it when an exchange begins that is not to wait. */
void ki_curl_pool_end_rest(ki_curl_pool *pool);
void ki_curl_pools_retire_all(ki_curl_pools *pools);
/* Frees the pools that are retired and empty. */
void ki_curl_pools_sweep(ki_curl_pools *pools);
/* Frees all pools. No exchange may be left. */
void ki_curl_pools_clear(ki_curl_pools *pools);

#endif
