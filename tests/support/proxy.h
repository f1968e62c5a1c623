/* proxy.h: a TCP proxy on 127.0.0.1, in its own thread, between a client and an HTTP server on loopback. Passes
 * bytes on and injects faults. Parses only the heads of requests, which have no body. Functions can be called from
 * any thread; a call affects all later bytes. */
#ifndef TESTS_SUPPORT_PROXY_H
#define TESTS_SUPPORT_PROXY_H

#include <stdbool.h>
#include <stddef.h>

typedef struct proxy proxy;

typedef enum proxy_fault {
    PROXY_CLOSE,    /* closes the connection cleanly */
    PROXY_RESET,    /* resets the connection */
    PROXY_STALL,    /* passes nothing on to the client until proxy_release */
    PROXY_INSERT,   /* inserts the text */
    PROXY_OVERWRITE /* replaces as many bytes by the text */
} proxy_fault;

/* Starts a proxy for "http://127.0.0.1:PORT". Fails the test if it cannot. */
proxy *proxy_start(const char *server_url);
void proxy_free(proxy *proxy);
const char *proxy_url(const proxy *proxy);

/* Injects one fault: after `offset` more bytes to a client, or with a `needle` after `offset` bytes of the needle.
 * `text` may be NULL. Borrows both texts. */
void proxy_inject(proxy *proxy, const char *needle, size_t offset, proxy_fault what, const char *text);
/* Limits the bytes of one write to the client; 0: no limit. */
void proxy_set_segment(proxy *proxy, size_t bytes);
/* Keeps the server's bytes until proxy_release, which passes them on in one write. */
void proxy_hold(proxy *proxy);
void proxy_release(proxy *proxy);
/* Closes the proxy's port, or opens it again. */
void proxy_refuse(proxy *proxy, bool is_refusing);
/* Responds to the next `times` requests with this text and closes the connection. Requests of an earlier call come
 * first. Borrows the text. */
void proxy_response(proxy *proxy, const char *text, size_t times);
/* Ends all connections. Held bytes are lost. */
void proxy_cut_all(proxy *proxy, proxy_fault close_or_reset);

size_t proxy_requests(proxy *proxy);
/* Copies the path and query of a request, numbered from 0. Has the last 128. */
void proxy_target(proxy *proxy, size_t number, char *ret_target, size_t size);

/* Wait; fail the test after a minute. */
void proxy_wait_requests(proxy *proxy, size_t count);
void proxy_wait_injected(proxy *proxy);
void proxy_wait_held(proxy *proxy, size_t bytes);

#endif
