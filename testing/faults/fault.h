/* fault.h: the faults of a cluster, and which of them apply to a request. The caller holds the cluster. */
#ifndef KT_FAULTS_FAULT_H
#define KT_FAULTS_FAULT_H

#include "src/base/buffer.h"
#include "testing/values/spec.h"

enum {
    KT_FAULTS_MAX = 256,                  /* faults in one cluster */
    KT_FAULT_BYTES_MAX = 64 * 1024 * 1024 /* of one object that KT_FAULT_HUGE_EVENT enlarges */
};

typedef enum kt_fault_kind {
    KT_FAULT_STATUS, /* code=503 [reason= message= retry-after=]: an error response */
    /* code=410 [reason= message=] event=N: an ERROR event in place of the watch's N-th event, then its end */
    KT_FAULT_ERROR_EVENT,
    KT_FAULT_TOO_LARGE,   /* shape=new|old [as=event event=N]: the error "resource version too large" */
    KT_FAULT_GARBAGE,     /* which=N: 200 with an invalid body */
    KT_FAULT_CLOSE,       /* closes the connection without a response */
    KT_FAULT_DELAY,       /* time=500ms: delays the response */
    KT_FAULT_EMPTY_PAGE,  /* a list's page without items and with a continue token */
    KT_FAULT_STALE,       /* events=N: lists and watches start from the state N changes ago */
    KT_FAULT_REPEAT,      /* events=N: a watch starts N revisions before the requested one */
    KT_FAULT_END,         /* event=N: the watch ends cleanly before its N-th event (0: at once) */
    KT_FAULT_CUT,         /* bytes=N: cuts the connection after N bytes of the body */
    KT_FAULT_SILENT,      /* bytes=N: sends nothing after N bytes and keeps the connection */
    KT_FAULT_LOSE,        /* event=N: omits the N-th event */
    KT_FAULT_AGAIN,       /* event=N times=K: repeats the N-th event K times */
    KT_FAULT_BAD_EVENT,   /* event=N which=M: an invalid event in place of the N-th */
    KT_FAULT_HUGE_EVENT,  /* event=N bytes=M: adds a field of M bytes to the N-th event's object */
    KT_FAULT_AHEAD,       /* event=N: a bookmark with the N-th event's version before the event */
    KT_FAULT_SHUFFLE,     /* the initial events of a streaming list in random order */
    KT_FAULT_NO_END,      /* omits the bookmark after the initial events */
    KT_FAULT_NO_BOOKMARK, /* omits all other bookmarks */
    KT_FAULT_CHUNKS,      /* size=N: at most N bytes in each chunk */
    KT_FAULT_BANDWIDTH,   /* rate=N: bytes a second */
    KT_FAULT_CLOSE_AFTER, /* "Connection: close" in the response */
    /* faults of the server as a whole ("actions"): */
    KT_FAULT_COMPACT,       /* compacts the history */
    KT_FAULT_CLOSE_WATCHES, /* ends all watches cleanly */
    KT_FAULT_CUT_WATCHES,   /* cuts the connections of all watches */
    KT_FAULT_RESTART,       /* down=1s: cuts all connections and accepts none for this time */
    KT_FAULT_REWIND,        /* events=N: restores the state and resource version of N changes ago */
    KT_FAULT_RESTORE,       /* an empty backup: deletes everything, and sets the resource version back */
    KT_FAULT_KINDS
} kt_fault_kind;

typedef struct kt_fault kt_fault;

typedef struct kt_faults {
    const ki_allocator *allocator;
    kt_fault *first;
    size_t count;
    uint64_t last_id;
    uint64_t random;
    void (*changed)(void *user); /* called when a fault is added; may be NULL */
    void *user;
} kt_faults;

enum {
    KT_NEVER = -1
};

/* The faults to inject into one response. */
typedef struct kt_injection {
    bool any;
    bool close;       /* no response */
    bool close_after; /* Connection: close */
    bool empty_page;
    int64_t delay_ms;
    int64_t stale_by;       /* revisions; 0: none */
    int64_t repeat_by;      /* revisions; 0: none */
    int64_t cut_at;         /* bytes; KT_NEVER */
    int64_t silent_at;      /* bytes; KT_NEVER */
    int64_t chunk;          /* bytes; 0: no limit */
    int64_t bytes_a_second; /* 0: no limit */

    /* Frames of a watch: numbers of events from 1; KT_NEVER */
    int64_t end_at;
    int64_t error_at;
    int64_t lose;
    struct {
        int64_t at, times;
    } again;
    int64_t bad;
    int64_t bad_which;
    int64_t huge;
    int64_t huge_bytes;
    int64_t ahead;
    bool shuffle;
    bool no_end;
    bool no_bookmark;
    char *error_frame; /* the ERROR event; kt_injection_free frees it */
    uint64_t random;
} kt_injection;

/* Initializer of a response without faults. */
#define KT_INJECTION_NONE \
    { \
        .cut_at = KT_NEVER, .silent_at = KT_NEVER, .end_at = KT_NEVER, .error_at = KT_NEVER, .lose = KT_NEVER, \
        .again = { .at = KT_NEVER }, .bad = KT_NEVER, .huge = KT_NEVER, .ahead = KT_NEVER \
    }

/* `seed` is for percent= and shuffle. */
void kt_faults_init(kt_faults *faults, const ki_allocator *allocator, uint64_t seed);
void kt_faults_clear(kt_faults *faults);
/* Adds a fault from a line. Its times count from `now_ms`. Errors: KI_ERR_INVALID, KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
ki_status kt_faults_add(kt_faults *faults, const char *line, int64_t now_ms, uint64_t *ret_id, ki_error *err);
ki_status kt_faults_remove(kt_faults *faults, uint64_t id, ki_error *err);
/* Keeps the present faults. The second function removes those that were added since, and begins anew with the
 * others. */
void kt_faults_keep_start(kt_faults *faults);
void kt_faults_return_to_start(kt_faults *faults, int64_t now_ms);
/* Gets how often a fault was injected. Errors: KI_ERR_NOT_FOUND. */
ki_status kt_faults_injected(const kt_faults *faults, uint64_t id, uint64_t *ret_count, ki_error *err);
/* Appends {"faults":[{"id":1,"fault":"…","requests":12,"injected":2}]} */
ki_status kt_faults_append(const kt_faults *faults, ki_buffer *out);

struct kt_call;
/* Selects the faults of this call. Returns KT_RESPONDED if a fault completed the response. The caller frees
 * `injection` in any case. */
ki_status kt_faults_inject(kt_faults *faults, struct kt_call *call, kt_injection *injection);
void kt_injection_free(kt_injection *injection, const ki_allocator *allocator);

/* Returns true and the next due action, and schedules its repetition. Otherwise sets `*ret_next_ms` to the time of
 * the next action (INT64_MAX: none). */
typedef struct kt_action {
    kt_fault_kind kind;
    int64_t down_ms;
    int64_t events;
} kt_action;
bool kt_faults_next_action(kt_faults *faults, int64_t now_ms, kt_action *ret_action, int64_t *ret_next_ms);

/* ---- response.c: responses in place of the real one ---- */
ki_status kt_fault_respond_status(struct kt_call *call, const kt_spec *spec);
ki_status kt_fault_respond_too_large(struct kt_call *call, const kt_spec *spec);
ki_status kt_fault_respond_garbage(struct kt_call *call, const kt_spec *spec);
/* Returns the frame of an ERROR event; NULL on failure. */
char *kt_fault_error_frame(struct kt_call *call, const kt_spec *spec);
/* Responds with a page without items, whose continue token leads to the requested page. */
ki_status kt_fault_empty_page(struct kt_call *call);

#endif
