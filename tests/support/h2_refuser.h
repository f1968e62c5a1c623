/* h2_refuser.h: a server on 127.0.0.1 in a thread of its own that speaks HTTP/2 over TLS and refuses each request with RST_STREAM, REFUSED_STREAM
 * (RFC 9113, 8.7): a client may send such a request again. One connection at a time. */
#ifndef TESTS_SUPPORT_H2_REFUSER_H
#define TESTS_SUPPORT_H2_REFUSER_H

#include <pthread.h>
#include <stddef.h>

typedef struct h2_refuser {
    int fd;
    int port;
    pthread_t thread;
    size_t connections, requests; /* after h2_refuser_stop */
} h2_refuser;

/* The certificate and key are files of PEM. */
void h2_refuser_start(h2_refuser *server, const char *certificate, const char *key);
/* Once its clients have closed. */
void h2_refuser_stop(h2_refuser *server);

#endif
