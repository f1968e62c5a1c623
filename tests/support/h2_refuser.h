/* h2_refuser.h: a server on 127.0.0.1 in its own thread that speaks HTTP/2 over TLS and ends each request with
 * RST_STREAM (RFC 9113 §8.7). After REFUSED_STREAM a client can send the request again; after another code the
 * server may have handled it. One connection at a time. */
#ifndef TESTS_SUPPORT_H2_REFUSER_H
#define TESTS_SUPPORT_H2_REFUSER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    H2_INTERNAL_ERROR = 2,
    H2_REFUSED_STREAM = 7,
    H2_CANCEL = 8,
    H2_ENHANCE_YOUR_CALM = 11
};

typedef struct h2_refuser {
    unsigned char code;
    bool reads_all; /* reset after the request's end; false: after its head */
    int fd;
    int port;
    pthread_t thread;
    size_t connections, requests; /* valid after h2_refuser_stop */
} h2_refuser;

/* Certificate and key are PEM files. */
void h2_refuser_start(h2_refuser *server, unsigned char code, bool reads_all, const char *certificate, const char *key);
/* Called after its clients have closed. */
void h2_refuser_stop(h2_refuser *server);

#endif
