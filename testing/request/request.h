/* request.h: a request and its response, without any I/O. A response is one body, or a watch that goes on. One thread at a time. */
#ifndef KT_REQUEST_REQUEST_H
#define KT_REQUEST_REQUEST_H

#include <kinformer/error.h>

#include "src/base/buffer.h"
#include "testing/access/auth.h"

enum {
    KT_BODY_MAX = 3 * 1024 * 1024,
    KT_TARGET_MAX = 16 * 1024
}; /* bytes of a request's body and of its path with query */

typedef struct kt_request {
    const char *method; /* "GET", … */
    const char *target; /* path and query as they came, percent-encoded */
    const char *accept; /* header values, or NULL */
    const char *content_type;
    const char *user_agent; /* names the field manager where the request does not */
    const kt_user *user;    /* who the connection's client certificate says it is; NULL: it has none */
    ki_str body;
    const char *authorization; /* header value, or NULL */
    kt_user as;                /* in whose name (Impersonate-…); no name: in its own */
    bool bad_certificate;      /* it has one, of another CA or another time */
    bool from_here;            /* by a client on the same machine */
    bool from_network;         /* it has to say who it is; else it may do everything */
} kt_request;

/* A watch that a response goes on with. It is a cursor into the cluster's history, not a queue: a slow reader costs nothing,
 * and finds 410 once its place is compacted. */
typedef struct kt_watch kt_watch;
struct kt_object;

typedef struct kt_response {
    int status;
    const char *content_type;       /* static */
    int retry_after_s;              /* seconds; -1: no such header */
    char allow[64];                 /* Allow header of a 405, or "" */
    ki_buffer warnings;             /* texts of Warning headers, one a line */
    ki_buffer body;                 /* whole where `watch` is NULL */
    kt_watch *watch;                /* else the body comes from it */
    struct kt_fault_stream *faults; /* what becomes of it on its way; NULL: nothing */
} kt_response;

typedef enum kt_watch_state {
    KT_WATCH_WAITS, /* nothing more now */
    KT_WATCH_MORE,  /* stopped at `max`; call again */
    KT_WATCH_ENDED /* timeoutSeconds passed, an ERROR event was sent, or the cluster closed it: end the response cleanly */
} kt_watch_state;

/* Appends whole frames to `out` until about `max` bytes (at least one frame where there is one). */
ki_status kt_watch_read(kt_watch *watch, int64_t now_ms, ki_buffer *out, size_t max, kt_watch_state *ret_state);
/* The same for readers that may be slow: an object of KT_WATCH_SHARED_MIN bytes or more is not copied. Then `out` ends with the beginning of its frame,
 * `*ret_object` is a reference to it (else it stays NULL), the state is KT_WATCH_MORE, and the frame goes on with the object's JSON and
 * KT_WATCH_FRAME_END. So watches that do not read share one copy of what they wait for. */
ki_status kt_watch_read_shared(kt_watch *watch, int64_t now_ms, ki_buffer *out, size_t max,
                               struct kt_object **ret_object, kt_watch_state *ret_state);
#define KT_WATCH_FRAME_END "}\n"
enum {
    KT_WATCH_SHARED_MIN = 32 * 1024
};
/* When it has something to do without any change in the cluster (a bookmark, its end); INT64_MAX: never. */
int64_t kt_watch_deadline(const kt_watch *watch);
/* Calls `wake` during the cluster call that made something readable; it must only take note. */
void kt_watch_on_ready(kt_watch *watch, void (*wake)(void *user), void *user);

#endif
