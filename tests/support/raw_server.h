/* raw_server.h: a server of bytes on 127.0.0.1 in a thread of its own: reads a request's head, writes what it was told to, as
 * cruelly as it was told to. One connection at a time. */
#ifndef TESTS_SUPPORT_RAW_SERVER_H
#define TESTS_SUPPORT_RAW_SERVER_H

#include <pthread.h>
#include <stddef.h>

typedef enum raw_end {
    RAW_KEEP,    /* the connection stays for the next request */
    RAW_CLOSE,   /* closed in good order */
    RAW_RESET,   /* a TCP reset */
    RAW_SILENT,  /* nothing more until the client closes */
    RAW_ENDLESS, /* the last 1024 bytes' worth of 'x' for ever, until the client closes */
} raw_end;

typedef struct raw_answer {
    const char *text;
    size_t chunk; /* bytes of one write; 0: all */
    raw_end end;
} raw_answer;

typedef struct raw_server {
    const raw_answer *answers; /* to the first request, the second, …; the last one again and again */
    size_t count;
    int fd;
    int port;
    pthread_t thread;
    size_t requests;         /* after raw_server_stop */
    size_t connections;      /* after raw_server_stop */
    char last_request[4096]; /* after raw_server_stop */
} raw_server;

void raw_server_start(raw_server *server, const raw_answer *answers, size_t count);
/* Once its clients have closed. */
void raw_server_stop(raw_server *server);
/* A port of 127.0.0.1 where nobody listens. */
int raw_server_free_port(void);

#endif
