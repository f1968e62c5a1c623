/* proxy.h: a TCP proxy on 127.0.0.1, in a thread of its own, between a client and an HTTP server on loopback: it passes bytes
 * on, and does to them what it is told. It reads only so much HTTP as to know a request's head (requests without a body).
 * Every function may be called from any thread while it runs; what a call asks for holds for all bytes that come after it. */
#ifndef TESTS_SUPPORT_PROXY_H
#define TESTS_SUPPORT_PROXY_H

#include <stdbool.h>
#include <stddef.h>

typedef struct proxy proxy;

typedef enum proxy_strike {
    PROXY_CLOSE,    /* the connection ends in good order */
    PROXY_RESET,    /* it is reset */
    PROXY_STALL,    /* nothing more is passed on to the client until proxy_release */
    PROXY_INSERT,   /* the text comes between */
    PROXY_OVERWRITE /* the text comes in place of as many bytes */
} proxy_strike;

/* In front of "http://127.0.0.1:PORT". The test fails where that cannot be. */
proxy *proxy_start(const char *server_url);
void proxy_free(proxy *proxy);
const char *proxy_url(const proxy *proxy);

/* Strikes once: where so many more bytes have been passed on to a client, or, with a `needle`, so many bytes of it. `text` may be
 * NULL; both texts are borrowed. */
void proxy_strike_at(proxy *proxy, const char *needle, size_t offset, proxy_strike what, const char *text);
/* Bytes of one write to the client; 0: as they come. */
void proxy_set_segment(proxy *proxy, size_t bytes);
/* Keeps what the server says, and passes it on in one write. */
void proxy_hold(proxy *proxy);
void proxy_release(proxy *proxy);
/* Nobody listens on the proxy's port, or somebody again. */
void proxy_refuse(proxy *proxy, bool is_refusing);
/* The next `times` requests, or the next after those that get another text, get this one and the end of the connection, in place of the
 * server's answer. Borrowed. */
void proxy_answer(proxy *proxy, const char *text, size_t times);
/* Ends all connections; what is held is lost. */
void proxy_cut_all(proxy *proxy, proxy_strike close_or_reset);

size_t proxy_requests(proxy *proxy);
/* The path and query of a request, by number from 0; of the last 128. */
void proxy_target(proxy *proxy, size_t number, char *ret_target, size_t size);

/* They wait; the test fails where it takes a minute. */
void proxy_wait_requests(proxy *proxy, size_t count);
void proxy_wait_struck(proxy *proxy);
void proxy_wait_held(proxy *proxy, size_t bytes);

#endif
