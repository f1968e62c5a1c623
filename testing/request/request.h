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

/* What ended a wait (GET /_wait). Its request is made again then. */
typedef struct kt_waited {
    ki_status status; /* KI_OK: what it waited for was so; KI_ERR_TIMEOUT: not yet; otherwise why it cannot become so */
    uint64_t count;   /* how many there were */
    ki_error why;     /* of a failure */
} kt_waited;

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
    kt_user as;              /* the impersonated user (Impersonate-…); no name: none */
    bool bad_certificate;    /* the client certificate is expired or of another CA */
    bool is_local;           /* the client runs on this machine */
    bool from_network;       /* authenticate and authorize the request; false: allow everything, and do not wait */
    const kt_waited *waited; /* what ended the wait of this request; NULL: it has not waited */
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
