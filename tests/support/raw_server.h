/* raw_server.h: a server on 127.0.0.1 in its own thread that reads a request's head and sends the test's bytes,
 * whatever they are. One connection at a time. */
#ifndef TESTS_SUPPORT_RAW_SERVER_H
#define TESTS_SUPPORT_RAW_SERVER_H

#include <pthread.h>
#include <stddef.h>

typedef enum raw_end {
    RAW_KEEP,    /* keeps the connection for the next request */
    RAW_CLOSE,   /* closes cleanly */
    RAW_RESET,   /* TCP reset */
    RAW_SILENT,  /* sends nothing until the client closes */
    RAW_ENDLESS, /* sends 'x' until the client closes */
} raw_end;

typedef struct raw_response {
    const char *text;
    size_t chunk; /* bytes of one write; 0: all */
    raw_end end;
} raw_response;

typedef struct raw_server {
    const raw_response *responses; /* for the first request, the second, …; the last one repeats */
    size_t count;
    int fd;
    int port;
    pthread_t thread;
    size_t requests;         /* valid after raw_server_stop */
    size_t connections;      /* valid after raw_server_stop */
    char last_request[4096]; /* valid after raw_server_stop */
} raw_server;

void raw_server_start(raw_server *server, const raw_response *responses, size_t count);
/* Called after its clients have closed. */
void raw_server_stop(raw_server *server);
/* Returns a port of 127.0.0.1 on which nobody listens. */
int raw_server_free_port(void);

#endif
