/* client_stage.h: a client with a virtual clock, over a server in the same process that sends scripted responses. */
#ifndef TESTS_SUPPORT_CLIENT_STAGE_H
#define TESTS_SUPPORT_CLIENT_STAGE_H

#include <kinformer/client.h>

#include "testing/memory/transport.h"
#include "tests/support/test_engine.h"

enum {
    CLIENT_REPLIES = 16,
    CLIENT_TIMES = 64,
    CLIENT_NEVER = -1 /* a status: no response at all */
};

typedef struct client_reply {
    int status;             /* 0: no head; or CLIENT_NEVER */
    int64_t retry_after_ms; /* -1: none; without a head 0: the server refused the stream */
    const char *body;       /* NULL: empty */
    ki_status ended;        /* KI_OK: cleanly */
} client_reply;

typedef struct client_stage {
    test_engine engine;
    ki_transport *transport;
    ki_client *client;
    client_reply script[CLIENT_REPLIES]; /* by request; the last one again and again */
    int script_size;
    /* what the server got */
    int requests;
    size_t bytes;                /* of all bodies */
    int64_t times[CLIENT_TIMES]; /* of the first requests, in ms */
    char line[2048];             /* the last request: METHOD TARGET TYPE BODY */
    /* the calls of client_stage_response */
    int ends;
    ki_error err;
    ki_response *response;
} client_stage;

/* Opens a stage whose only response is 200 with "{}". `more` has options besides engine and transport, or is NULL. */
void client_stage_open(client_stage *self, const ki_client_options *more);
/* Opens a stage with an allocator and the script in `self`, which is zero otherwise. client_stage_close follows in any
 * case. */
ki_status client_stage_try(client_stage *self, const ki_allocator *allocator, const ki_client_options *more);
void client_stage_close(client_stage *self);

/* A request's callback; `user` is the stage. Keeps what it got last. */
void client_stage_response(const ki_response *response, const ki_error *err, void *user);

#endif
