/* fault.h: the faults that a server was told to show, and which of them strike a request. Belongs to a cluster, under its guard. */
#ifndef KT_FAULTS_FAULT_H
#define KT_FAULTS_FAULT_H

#include "src/base/buffer.h"
#include "testing/values/spec.h"

enum {
    KT_FAULTS_MAX = 256,                  /* at a time */
    KT_FAULT_BYTES_MAX = 64 * 1024 * 1024 /* of one object that is made too large */
};

typedef enum kt_fault_kind {
    KT_FAULT_STATUS,      /* code=503 [reason= message= retry-after=]: an error Status */
    KT_FAULT_ERROR_EVENT, /* code=410 [reason= message=] event=N: an ERROR event before the watch's N-th, then its end */
    KT_FAULT_TOO_LARGE,   /* shape=new|old [as=event event=N]: the resource version is too large */
    KT_FAULT_GARBAGE,     /* which=N: 200 with something that is no answer */
    KT_FAULT_CLOSE,       /* the connection is closed without an answer */
    KT_FAULT_DELAY,       /* time=500ms: the answer comes later */
    KT_FAULT_EMPTY_PAGE,  /* a list's page without items, but with a continue token */
    KT_FAULT_STALE,       /* events=N: lists and watches start at a state of N changes ago */
    KT_FAULT_REPEAT,      /* events=N: a watch starts N revisions earlier than was asked */
    KT_FAULT_END,         /* event=N: the watch ends cleanly before its N-th event (0: at once) */
    KT_FAULT_CUT,         /* bytes=N: the connection is cut after N bytes of the body */
    KT_FAULT_SILENT,      /* bytes=N: nothing more comes after N bytes, and the connection stays */
    KT_FAULT_LOSE,        /* event=N: the N-th event does not come */
    KT_FAULT_AGAIN,       /* event=N times=K: the N-th event comes K times more */
    KT_FAULT_BAD_EVENT,   /* event=N which=M: something that cannot be decoded in place of the N-th event */
    KT_FAULT_HUGE_EVENT,  /* event=N bytes=M: an annotation of M bytes in the N-th event's object */
    KT_FAULT_AHEAD,       /* event=N: a bookmark with the N-th event's version comes before it */
    KT_FAULT_SHUFFLE,     /* the initial events of a streaming list in another order */
    KT_FAULT_NO_END,      /* the bookmark that ends the initial events never comes */
    KT_FAULT_NO_BOOKMARK, /* no bookmarks at all */
    KT_FAULT_CHUNKS,      /* size=N: at most so many bytes in each chunk */
    KT_FAULT_BANDWIDTH,   /* rate=N: bytes a second */
    KT_FAULT_CLOSE_AFTER, /* the answer closes the connection, as a server does that wants its clients elsewhere */
    /* of the server as a whole: */
    KT_FAULT_COMPACT,       /* history is forgotten */
    KT_FAULT_CLOSE_WATCHES, /* all watches end cleanly */
    KT_FAULT_RESTART,       /* down=1s: all connections are cut, new ones refused for so long */
    KT_FAULT_REWIND,        /* events=N: back to the state of N changes ago; its version goes back too */
    KT_FAULT_RESET,         /* everything is lost */
    KT_FAULT_KINDS
} kt_fault_kind;

typedef struct kt_fault kt_fault;

typedef struct kt_faults {
    const ki_allocator *allocator;
    kt_fault *first;
    size_t count;
    uint64_t last_id;
    uint64_t random;
    void (*changed)(void *user); /* told of a new one; may be NULL */
    void *user;
} kt_faults;

enum {
    KT_NEVER = -1
};

/* What strikes one request, for the stages after the choice. */
typedef struct kt_strike {
    bool any;
    bool close;       /* no answer */
    bool close_after; /* Connection: close */
    bool empty_page;
    int64_t delay_ms;
    int64_t behind;         /* revisions; 0: none */
    int64_t earlier;        /* revisions */
    int64_t cut_at;         /* bytes; KT_NEVER */
    int64_t silent_at;      /* bytes */
    int64_t chunk;          /* 0: whatever comes */
    int64_t bytes_a_second; /* 0: no limit */

    /* a watch's frames; numbers of events from 1, KT_NEVER */
    int64_t end_at;
    int64_t error_at;
    int64_t lose;
    int64_t again;
    int64_t again_times;
    int64_t bad;
    int64_t bad_which;
    int64_t huge;
    int64_t huge_bytes;
    int64_t ahead;
    bool shuffle;
    bool no_end;
    bool no_bookmark;
    char *error_frame; /* what the ERROR event is; freed with kt_strike_free */
    uint64_t random;
} kt_strike;

void kt_faults_init(kt_faults *faults, const ki_allocator *allocator, uint64_t seed);
void kt_faults_clear(kt_faults *faults);
/* Adds one. `now_ms` is when its times count from. Errors: KI_ERR_INVALID, KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
ki_status kt_faults_add(kt_faults *faults, const char *line, int64_t now_ms, uint64_t *ret_id, ki_error *err);
ki_status kt_faults_remove(kt_faults *faults, uint64_t id, ki_error *err);
/* {"faults":[{"id":1,"fault":"…","requests":12,"injected":2}]} */
ki_status kt_faults_append(const kt_faults *faults, ki_buffer *out);

struct kt_call;
/* What strikes this call: KI_OK, or KI_ERR_HTTP where a fault has answered it. `strike` is the caller's, freed in any case. */
ki_status kt_faults_strike(kt_faults *faults, struct kt_call *call, kt_strike *strike);
void kt_strike_init(kt_strike *strike);
void kt_strike_free(kt_strike *strike, const ki_allocator *allocator);

/* Something is to be done with the server as a whole now: taken out, or put off to its next time, and told. False where nothing is due;
 * then `*ret_next_ms` is when to ask again (INT64_MAX: when a fault was added). */
typedef struct kt_action {
    kt_fault_kind kind;
    int64_t down_ms;
    int64_t events;
} kt_action;
bool kt_faults_next_action(kt_faults *faults, int64_t now_ms, kt_action *ret_action, int64_t *ret_next_ms);

/* ---- answer.c ---- */
ki_status kt_fault_answer_status(struct kt_call *call, const kt_spec *spec);
ki_status kt_fault_answer_too_large(struct kt_call *call, const kt_spec *spec);
ki_status kt_fault_answer_garbage(struct kt_call *call, const kt_spec *spec);
/* An ERROR event's frame. NULL for lack of memory. */
char *kt_fault_error_frame(struct kt_call *call, const kt_spec *spec);
/* A page without items that is followed by the one that was asked for. */
ki_status kt_fault_empty_page(struct kt_call *call);

/* ---- http.c: /_faults ---- */
bool kt_fault_http_is(const struct kt_call *call);
ki_status kt_fault_http(struct kt_call *call);

#endif
