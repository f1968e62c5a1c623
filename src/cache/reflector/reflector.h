/* reflector.h: lists one resource, then watches it, and puts the objects and events into a queue. Recovers from every
 * failure. On the loop.
 *
 * The reflector is a state machine. Either one request (list, watch or check) is running, or the timer is set for the
 * next step. */
#ifndef KI_CACHE_REFLECTOR_H
#define KI_CACHE_REFLECTOR_H

#include <kinformer/parts/reflector.h>

#include "src/base/backoff.h"
#include "src/base/buffer.h"
#include "src/base/map.h"
#include "src/cache/queue/queue.h"
#include "src/cache/reflector/metrics.h"
#include "src/cache/reflector/past_deletions.h"
#include "src/cache/reflector/transform.h"
#include "src/cache/reflector/unreadable.h"
#include "src/engine/engine.h"

enum {
    KI_RESOURCE_VERSION_MAX = 127 /* bytes of a list's or bookmark's resource version */
};

/* Returns KI_ERR_INVALID for a source that lacks a function that it needs. */
ki_status ki_list_watch_check(const ki_list_watch *list_watch, ki_error *err);

/* What an informer shares with its reflector. */
typedef struct ki_reflector_shared {
    bool is_custom;             /* a custom type: the server may stop serving it; its objects then count as deleted */
    bool is_initial;            /* its first list is part of the initial population, whatever came before */
    const char *namespace_name; /* borrowed; its lists have all objects of this namespace; NULL: all objects */
    ki_metrics_record *metrics; /* borrowed; NULL: no metrics */
    ki_freshness *freshness;    /* borrowed; NULL: not recorded */
    ki_unreadable *unreadable;  /* borrowed; the unreadable objects */
    /* Takes ownership of a cancelled list's objects and of the array. NULL: the reflector releases them at once. */
    void (*on_dropped)(ki_object **objects, size_t count, void *user);
} ki_reflector_shared;

typedef enum ki_reflector_step {
    KI_REFLECT_NOTHING,
    KI_REFLECT_BEGIN,       /* a streaming list, or a plain list if streaming is off */
    KI_REFLECT_LIST,        /* a plain list */
    KI_REFLECT_LIST_PAGE,   /* the list's next page */
    KI_REFLECT_LIST_FULL,   /* the same list again, without pages */
    KI_REFLECT_LIST_LATEST, /* a list at "" */
    KI_REFLECT_WATCH,
    KI_REFLECT_CHECK,    /* ask whether the server knows the last synced version */
    KI_REFLECT_FIND_TYPE /* ask whether the server has the resource; KI_REFLECT_BEGIN follows */
} ki_reflector_step;

typedef enum ki_reflector_phase {
    KI_REFLECTOR_WAITS, /* no request is running; the timer is set for `next` */
    KI_REFLECTOR_LISTS,
    KI_REFLECTOR_STREAMS, /* a streaming list, before the end of the initial events */
    KI_REFLECTOR_WATCHES,
    KI_REFLECTOR_CHECKS,
    KI_REFLECTOR_FINDS_TYPE
} ki_reflector_phase;

/* A list in progress. The whole struct is assigned when a list begins. */
typedef struct ki_list_progress {
    char version[KI_RESOURCE_VERSION_MAX + 1];        /* requested */
    char result_version[KI_RESOURCE_VERSION_MAX + 1]; /* the first page's */
    int64_t began_at;
    size_t pages;
    size_t empty_pages;    /* consecutive empty pages, up to the last page */
    size_t thin_pages;     /* consecutive pages with hardly an object, up to the last page */
    size_t objects_before; /* objects before the current page */
    bool has_pages;        /* the server answered with more than one page; kept for KI_REFLECT_LIST_FULL */
    bool is_full;          /* requested without pages, after a continue token had expired */
    bool is_latest;        /* requested at "", after the version had expired or was too large */
} ki_list_progress;

/* A watch in progress. The whole struct is assigned when a watch is opened. */
typedef struct ki_watch_progress {
    int64_t opened_at;
    bool reports_reading;   /* the source says when everything that had arrived was read */
    bool has_queued_events; /* events are in the queue, and what arrived with them may not be read yet */
    bool is_accepted;       /* the server accepted the watch */
    bool shows_version;     /* the server has shown that it knows the version: by an event, bookmark, ERROR or list */
    bool has_advanced;      /* the last synced version has changed since the opening */
    bool holds_version; /* opened at "" or "0": ADDED events do not advance the version until another event arrives */
    uint64_t events;
    /* where the watch started; an older bookmark is of a restored server. While the version is held: the highest one of
     * the ADDED events */
    char version[KI_RESOURCE_VERSION_MAX + 1];
    /* an event below the last synced version changed the store, or a deletion had the version of the known state */
    bool has_older_change;
    /* the version before the last event if the last event was a bookmark, else "" */
    char before_bookmark[KI_RESOURCE_VERSION_MAX + 1];
} ki_watch_progress;

/* The initial population: the first list in the queue. */
typedef struct ki_initial_list {
    char version[KI_RESOURCE_VERSION_MAX + 1];
    bool has_version;
    int64_t requested_at;
} ki_initial_list;

/* The objects of the list or streaming list in progress. */
typedef struct ki_listed {
    ki_buffer continue_token;
    ki_object **objects; /* NULL items in a streaming list: deleted objects */
    size_t count, capacity;
    size_t bytes;     /* their memory */
    size_t plain_to;  /* those before this place arrived before their dictionary */
    size_t packed_to; /* those before this place are packed since, up to `plain_to` */
    ki_map places;    /* of a streaming list: each key's place in `objects`, counted from 1 */
    ki_unreadable_marks unreadable;
} ki_listed;

/* What says that the server lost the type. */
typedef struct ki_missing_type {
    bool is_type_removed; /* its objects have been deleted */
    unsigned responses;   /* consecutive 404 responses */
    int64_t since;        /* time of the first of them */
} ki_missing_type;

/* What is kept from one watch to the next. */
typedef struct ki_watches {
    ki_past_deletions *past_deletions; /* NULL: none */
    bool has_reopened;                 /* the watch was reopened without a backoff, and no good watch followed */
    bool is_counted;                   /* the metrics have the start of a watch, but not its end */
    bool has_resumed; /* a watch was resumed from `resumed_version` because the next event was unreadable */
    char resumed_version[KI_RESOURCE_VERSION_MAX + 1];
    unsigned silent;          /* consecutive accepted watches without an event, since version_known_at */
    int64_t version_known_at; /* time of the last event, list or check */
    int64_t since;            /* time of the watch's opening */
    uint64_t events_before;   /* events of the streaming list that the watch began as */
} ki_watches;

struct ki_reflector {
    ki_reflector_options options; /* every function is set */
    ki_reflector_shared shared;
    ki_reflector_phase phase;
    ki_reflector_step next;
    bool no_streaming; /* by option, or the source has no streaming lists */
    bool is_open;
    bool is_listing;        /* a list arrives */
    bool is_stalled;        /* it was reported that no more of it arrives */
    ki_timer timer;         /* the next step; during a streaming list, its deadline */
    ki_timer silence_timer; /* set while a request waits for its response, and while a list arrives */
    int64_t connecting_since;
    int64_t heard_at; /* time of the last object of a list; of a watch's opening or last byte */
    ki_backoff backoff;
    ki_attempt failed_attempt; /* the attempt that failed before this wait */

    /* known from earlier responses */
    char resource_version[KI_RESOURCE_VERSION_MAX + 1]; /* last synced; "" before the first list */
    bool is_unavailable;   /* `resource_version` had expired or was too large: list at "" */
    bool is_paginated;     /* the server split a list at "0" into pages */
    int64_t streams_since; /* time of the first streaming list since the last list was complete; KI_NEVER: none */
    ki_missing_type missing;
    ki_initial_list initial;

    /* in progress */
    ki_list_progress list; /* of a list or streaming list */
    ki_listed listed;
    ki_watch_progress watch; /* of a watch or streaming list */
    ki_watches watches;
};

/* Initializes an embedded reflector. `options` are complete, except that functions may be NULL. The caller closes it.
 * Sends nothing before start. */
void ki_reflector_open(ki_reflector *reflector, const ki_reflector_options *options, const ki_reflector_shared *shared);
/* Relists at "", because the cache differs from the server. Does nothing if a list is running or is the next step. */
void ki_reflector_relist(ki_reflector *reflector);
/* Cancels the running request. Also accepts a zeroed or closed reflector. */
void ki_reflector_close(ki_reflector *reflector);

/* Returns the attempt that follows the wait. */
ki_attempt ki_reflector_next(const ki_reflector *reflector);

/* Copies a resource version to `to`, which has KI_RESOURCE_VERSION_MAX + 1 bytes. Returns KI_ERR_PROTOCOL for a longer
 * version and then leaves `to` unchanged. */
ki_status ki_reflector_copy_version(char *to, const char *version, ki_error *err);

#endif
