/* request.h: a request and its response, without I/O. A response has one body or a watch. One thread at a time. */
#ifndef KT_REQUEST_REQUEST_H
#define KT_REQUEST_REQUEST_H

#include <kinformer/error.h>

#include "src/base/buffer.h"
#include "testing/access/auth.h"

enum {
    KT_BODY_MAX = 3 * 1024 * 1024, /* bytes of a request's body */
    KT_TARGET_MAX = 16 * 1024      /* bytes of a path with its query */
};

/* The response is complete, an error or not: the functions of the REST layer stop. */
#define KT_RESPONDED KI_ERR_HTTP

/* A request that waits (GET /_wait) is made again when its wait has ended. */
typedef enum kt_wait {
    KT_WAIT_BEGINS,
    KT_WAIT_MET, /* what it waits for was so */
    KT_WAIT_LATE /* its time has passed */
} kt_wait;

typedef struct kt_request {
    const char *method; /* "GET", …; a HEAD is a GET without its body: the front's work */
    const char *target; /* path and query, percent-encoded */
    const char *accept; /* these two: a header's value, or NULL */
    const char *content_type;
    const char *user_agent; /* the default field manager */
    const kt_user *user;    /* the user of the client certificate; NULL: none */
    ki_str body;
    const char *authorization; /* these three: a header's value, or NULL */
    const char *host;
    const char *origin;
    kt_user as;           /* the impersonated user (Impersonate-…); no name: none */
    bool bad_certificate; /* the client certificate is expired or of another CA */
    bool is_local;        /* the client runs on this machine */
    bool from_network;    /* authenticate and authorize the request; false: allow everything, and do not wait */
    kt_wait wait;
} kt_request;

typedef struct kt_watch kt_watch; /* the watch of a response (watch.h) */

typedef struct kt_response {
    int status;
    const char *content_type;       /* static */
    int retry_after_s;              /* seconds; -1: no such header */
    char allow[64];                 /* the Allow header of a 405; "": none */
    ki_buffer warnings;             /* the Warning headers, one a line */
    ki_buffer body;                 /* the complete body if `watch` is NULL */
    kt_watch *watch;                /* the source of the body; NULL: none */
    struct kt_fault_stream *faults; /* the faults of this response; NULL: none */
    struct kt_condition *until; /* there is no response yet, but when this is so, or after `wait_ms`; NULL: there is */
    int64_t wait_ms;
} kt_response;

#endif
