/* reflector.h: lists, then watches, then keeps watching whatever happens: keeps a queue fed with one resource's changes. On the loop.
 *
 * A state machine: at any time either one list or watch is under way, or the timer is set for what comes next. */
#ifndef KI_CACHE_REFLECTOR_H
#define KI_CACHE_REFLECTOR_H

#include <kinformer/informer.h>

#include "src/base/buffer.h"
#include "src/base/wide_map.h"
#include "src/cache/backoff.h"
#include "src/cache/list_watch.h"
#include "src/cache/metrics.h"
#include "src/cache/queue.h"
#include "src/cache/transform.h"
#include "src/cache/unreadable.h"
#include "src/engine/engine.h"

enum {
    KI_RESOURCE_VERSION_MAX = 127, /* bytes of a list's or bookmark's resource version */
    KI_RETRY_AFTER_MAX_MS = 24 * 60 * 60 * 1000
};

typedef struct ki_reflector_options {
    ki_engine *engine;
    ki_list_watch *list_watch; /* borrowed */
    ki_queue *queue;           /* borrowed */
    const char *name;          /* of the resource, for messages; borrowed */
    int64_t page_size;         /* 0: KI_REFLECTOR_PAGE where the server pages */
    bool no_streaming_list;
    bool may_go; /* the resource's type: where the server does not know it for a while, its objects are gone */
    int64_t internal_error_retry_ns; /* how long after the first internal error in a watch it is only watched again */
    ki_metrics_record *metrics;      /* borrowed; NULL: nothing is counted */
    ki_unreadable *unreadable;       /* borrowed: the objects whose state could not be read */
    ki_transform_step transform;     /* of each object as it is decoded */
    ki_object *(*known)(const char *key, void *user); /* a reference to what the store has, or NULL */
    /* It is in another state. `retry_at`: when it goes on by itself; -1: nothing planned. */
    void (*on_state)(ki_state state, const ki_error *cause, int64_t retry_at, void *user);
    void (*on_listed)(size_t listed, int64_t total, void *user); /* total -1: unknown */
    void (*on_error)(const ki_error *err, void *user);           /* a list or a watch failed */
    void (*on_bad_object)(const ki_error *err, const char *key, void *user);
    /* Says what an object adds to the digest of a streaming list. NULL: none is made, and on_streamed is not called. */
    uint64_t (*digest)(const ki_object *obj, void *user);
    /* A streaming list is whole; it is about to go into the queue. */
    void (*on_streamed)(const char *version, uint64_t digest, size_t count, void *user);
    /* Takes over the objects of a list that is given up, and the array. NULL: they are released at once. */
    void (*on_dropped)(ki_object **objects, size_t count, void *user);
    void (*on_progress)(void *user); /* a list is in the queue, or the last synced resource version is another one */
    void *user;
} ki_reflector_options;

typedef enum ki_reflector_step {
    KI_REFLECT_NOTHING,
    KI_REFLECT_BEGIN,       /* the streaming list, else the list */
    KI_REFLECT_LIST,        /* the list */
    KI_REFLECT_LIST_PAGE,   /* its next page */
    KI_REFLECT_LIST_FULL,   /* the same list once more, in one piece */
    KI_REFLECT_LIST_LATEST, /* the list at "" */
    KI_REFLECT_WATCH,
    KI_REFLECT_CHECK,    /* does the server still know the version that is watched from? */
    KI_REFLECT_FIND_TYPE /* does the server have the resource at all? Then from the beginning */
} ki_reflector_step;

typedef enum ki_reflector_phase {
    KI_REFLECTOR_RESTS, /* the timer is set for `next` */
    KI_REFLECTOR_LISTS,
    KI_REFLECTOR_STREAMS, /* a streaming list before its end */
    KI_REFLECTOR_WATCHES,
    KI_REFLECTOR_CHECKS
} ki_reflector_phase;

/* A list in progress; assigned whole when a list begins. */
typedef struct ki_list_progress {
    char version[KI_RESOURCE_VERSION_MAX + 1];        /* requested */
    char result_version[KI_RESOURCE_VERSION_MAX + 1]; /* of the first page */
    int64_t began_at;
    size_t pages;
    size_t empty_pages;    /* in a row, up to now */
    size_t thin_pages;     /* the same */
    size_t objects_before; /* the current page */
    bool has_pages;        /* more than one page; also where the list was then requested in one piece */
    bool is_full;          /* in one piece, since a continue token had expired */
    bool is_latest;        /* at "", since the version was expired or too large */
} ki_list_progress;

/* A watch in progress; assigned whole when a watch is opened. */
typedef struct ki_watch_progress {
    int64_t opened_at;
    int64_t heard_at;    /* the last byte, or the opening */
    int64_t bytes_at;    /* the arrival of the bytes that are being decoded; KI_NEVER: the source does not report it */
    bool has_undated;    /* events of those bytes are in the queue, and others may wait to be decoded */
    bool is_accepted;    /* the server accepted the watch */
    bool received_event; /* an event or bookmark that was neither stale nor unreadable */
    bool holds_version;  /* opened at "" or "0": until the first event that is not ADDED */
    uint64_t events;
    char opened_version[KI_RESOURCE_VERSION_MAX + 1]; /* the last synced version at the opening */
    char version[KI_RESOURCE_VERSION_MAX + 1];        /* the watch started here: older events are repetitions */
    char before_bookmark[KI_RESOURCE_VERSION_MAX +
                         1]; /* the version before the last event, where that was a bookmark; else "" */
} ki_watch_progress;

typedef struct ki_reflector {
    ki_reflector_options options;
    bool is_open;
    ki_reflector_phase phase;
    ki_reflector_step next;
    ki_timer timer;   /* while streaming: its deadline */
    ki_timer silence; /* while a request is out and nothing has come back */
    int64_t connecting_since;
    ki_backoff backoff;
    ki_attempt failed; /* what it waits for after */

    /* what it has learned */
    char resource_version[KI_RESOURCE_VERSION_MAX + 1]; /* last synced; "" before the first list */
    bool is_unavailable;                                /* that one was expired or too large */
    bool is_paginated;                                  /* a list at "0" came in pages */
    bool no_streaming;
    unsigned missing_answers; /* that the server does not know the type: 404, in a row */
    int64_t missing_since;
    bool is_gone; /* the type, and its objects have been deleted for that */

    /* the first list that was queued: the initial population */
    char initial_version[KI_RESOURCE_VERSION_MAX + 1];
    bool has_initial_version;

    /* the list or streaming list in progress */
    ki_list_progress list;
    ki_buffer continue_token;
    ki_object **objects; /* a streaming list's may have gaps */
    size_t object_count, object_capacity;
    ki_wide_map staged; /* of a streaming list: the place from 1 in `objects` of each key */
    uint64_t digest;    /* of the staged objects: the sum of what each adds */
    ki_unreadable_marks listed_unreadable;

    /* the watch in progress, or the streaming list's */
    ki_watch_progress watch;

    /* from one watch to the next */
    bool is_said_to_watch; /* in the log, with no list and no failure since */
    bool has_reopened;     /* at once, and the watch has not proved good since */
    bool has_resumed;      /* from `resumed_version`, since an event after it could not be read */
    char resumed_version[KI_RESOURCE_VERSION_MAX + 1];
    unsigned wordless; /* watches in a row that were accepted and ended without an event, since word_at */
    int64_t word_at;   /* of the last event, list or check */
    bool is_counted;   /* a watch whose end is not counted yet */
    int64_t watching_since;
    uint64_t events_before;                      /* the watch: a streaming list's */
    int64_t first_internal, last_internal_error; /* errors within watches; KI_NEVER */
} ki_reflector;

/* Embedded; to be closed. Does nothing before start. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_reflector_open(ki_reflector *reflector, const ki_reflector_options *options, ki_error *err);
void ki_reflector_start(ki_reflector *reflector);
/* What was listed and watched is wrong: lists anew, from where the truth is. Nothing where a list is under way or to come. */
void ki_reflector_relist(ki_reflector *reflector);
/* Cancels what is under way. Also on one that is zeroed or closed. */
void ki_reflector_close(ki_reflector *reflector);

/* What comes after the wait. */
ki_attempt ki_reflector_next(const ki_reflector *reflector);

/* To a place of KI_RESOURCE_VERSION_MAX + 1 bytes. KI_ERR_PROTOCOL where it is too long; then `to` is as it was. */
ki_status ki_reflector_copy_version(char *to, const char *version, ki_error *err);

#endif
