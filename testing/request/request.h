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

typedef struct kt_request {
    const char *method; /* "GET", … */
    const char *target; /* path and query, percent-encoded */
    const char *accept; /* these two: a header's value, or NULL */
    const char *content_type;
    const char *user_agent; /* the default field manager */
    const kt_user *user;    /* the user of the client certificate; NULL: none */
    ki_str body;
    const char *authorization; /* the header's value, or NULL */
    kt_user as;                /* the impersonated user (Impersonate-…); no name: none */
    bool bad_certificate;      /* the client certificate is expired or of another CA */
    bool is_local;             /* the client runs on this machine */
    bool from_network;         /* authenticate and authorize the request; false: allow everything */
} kt_request;

/* A watch of a response: a cursor in the cluster's history, without a queue. A slow reader uses no memory, and gets
 * 410 once its position is compacted. */
typedef struct kt_watch kt_watch;
struct kt_object;

typedef struct kt_response {
    int status;
    const char *content_type;       /* static */
    int retry_after_s;              /* seconds; -1: no such header */
    char allow[64];                 /* the Allow header of a 405; "": none */
    ki_buffer warnings;             /* the Warning headers, one a line */
    ki_buffer body;                 /* the complete body if `watch` is NULL */
    kt_watch *watch;                /* the source of the body; NULL: none */
    struct kt_fault_stream *faults; /* injects faults into the watch; NULL: none */
} kt_response;

typedef enum kt_watch_state {
    KT_WATCH_WAITS, /* nothing to read now */
    KT_WATCH_MORE,  /* stopped at `max`; call again */
    KT_WATCH_ENDED  /* end the response: the timeout passed, an ERROR event was sent, or the cluster closed the watch */
} kt_watch_state;

/* Appends complete frames to `out`, until it has about `max` bytes more. Appends at least one frame if there is one. */
ki_status kt_watch_read(kt_watch *watch, int64_t now_ms, ki_buffer *out, size_t max, kt_watch_state *ret_state);
/* Reads frames for readers that can be slow. Does not copy an object of KT_WATCH_SHARED_MIN bytes or more: `out`
 * then ends with the beginning of its frame, `*ret_object` is a reference to the object (otherwise unchanged) and
 * the state is KT_WATCH_MORE. The reader sends the object's JSON and KT_WATCH_FRAME_END after `out`. So all watches
 * share one copy of a large object. */
ki_status kt_watch_read_shared(kt_watch *watch, int64_t now_ms, ki_buffer *out, size_t max,
                               struct kt_object **ret_object, kt_watch_state *ret_state);
#define KT_WATCH_FRAME_END "}\n"
enum {
    KT_WATCH_SHARED_MIN = 32 * 1024
};
/* Returns the time of the next bookmark or of the end; the watch has nothing to do before unless the cluster
 * changes. */
int64_t kt_watch_deadline(const kt_watch *watch);
/* Sets `wake`, which runs inside the cluster call that makes frames readable. It must not call the cluster. */
void kt_watch_on_ready(kt_watch *watch, void (*wake)(void *user), void *user);

#endif
