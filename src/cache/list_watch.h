/* list_watch.h: where a reflector's objects come from: lists and watches of one resource, whatever is behind (an API server:
 * src/client/http_list_watch.c; later a disk, another process, a recording). All on the loop. */
#ifndef KI_CACHE_LIST_WATCH_H
#define KI_CACHE_LIST_WATCH_H

#include <kinformer/error.h>
#include <kinformer/object.h>

#include <stdbool.h>

typedef struct ki_list_watch ki_list_watch;

typedef enum ki_watch_kind {
    KI_EVENT_ADDED,
    KI_EVENT_MODIFIED,
    KI_EVENT_DELETED
} ki_watch_kind;

typedef struct ki_list_options {
    const char *resource_version;       /* NULL or "": not sent */
    const char *resource_version_match; /* "Exact", "NotOlderThan", or NULL */
    const char *continue_token;         /* NULL: the first page */
    int64_t limit;                      /* 0: not sent */
    int64_t idle_timeout_ns;            /* 0: none */
} ki_list_options;

typedef struct ki_watch_options {
    const char *resource_version; /* NULL or "": not sent */
    bool allow_bookmarks;
    bool send_initial_events; /* with resourceVersionMatch=NotOlderThan */
    int64_t timeout_s;        /* timeoutSeconds; 0: not sent */
    int64_t idle_timeout_ns;  /* no byte for this long ends it with KI_ERR_TIMEOUT; 0: none */
} ki_watch_options;

/* What a list says beside its items; the strings are valid during the call. */
typedef struct ki_list_result {
    const char *resource_version;
    const char *continue_token;   /* "" where this was the last page */
    int64_t remaining_item_count; /* -1: not told */
} ki_list_result;

/* An object or event that cannot be used. Valid during the call. */
typedef struct ki_bad_object {
    const ki_error *err;
    const char *key;              /* "namespace/name" where it could be told, else "" */
    const char *resource_version; /* where it could be told, else "" */
    bool is_deleted;              /* a watch event that says that the object is gone */
    bool is_foreign; /* of another kind, or no object at all: no object of the resource has changed by it */
} ki_bad_object;

/* What comes back. Objects are borrowed: ref to keep. on_end comes exactly once, last, unless cancelled; never from inside list or watch. Any
 * callback may cancel. */
typedef struct ki_list_handler {
    void (*on_object)(ki_object *obj, void *user);
    /* The rest goes on. */
    void (*on_bad_object)(const ki_bad_object *bad, void *user);
    /* err NULL: the page is whole and `result` tells the rest. */
    void (*on_end)(const ki_list_result *result, const ki_error *err, void *user);
    void *user;
} ki_list_handler;

typedef struct ki_watch_handler {
    /* The server accepted the watch (HTTP 200). */
    void (*on_open)(void *user);
    /* Bytes have arrived, before what they complete is handed over; not where earlier ones wait to be decoded. May be NULL. */
    void (*on_bytes)(void *user);
    /* Everything that has arrived is decoded and handed over. Follows each on_bytes unless the watch ends before. NULL where on_bytes is. */
    void (*on_read)(void *user);
    void (*on_event)(ki_watch_kind kind, ki_object *obj, void *user);
    void (*on_bookmark)(const char *resource_version, bool initial_events_end, void *user);
    void (*on_bad_object)(const ki_bad_object *bad, void *user);
    /* err NULL: the server closed it cleanly. `opened`: the error came after on_open; `in_stream`: it came as an ERROR event. */
    void (*on_end)(const ki_error *err, bool opened, bool in_stream, void *user);
    void *user;
} ki_watch_handler;

/* Does the source have the resource at all? */
typedef enum ki_type_found {
    KI_TYPE_UNCERTAIN, /* what answers does not tell */
    KI_TYPE_THERE,
    KI_TYPE_MISSING
} ki_type_found;

/* Called once, not from inside, unless cancelled. `err`: the source could not be asked, or refuses; else NULL. */
typedef void (*ki_on_type_found)(ki_type_found found, const ki_error *err, void *user);

typedef struct ki_list_watch_ops {
    ki_status (*list)(ki_list_watch *list_watch, const ki_list_options *options, const ki_list_handler *handler,
                      ki_error *err);
    ki_status (*watch)(ki_list_watch *list_watch, const ki_watch_options *options, const ki_watch_handler *handler,
                       ki_error *err);
    ki_status (*find_type)(ki_list_watch *list_watch, ki_on_type_found on_found, void *user, ki_error *err);
    void (*cancel)(ki_list_watch *list_watch); /* what is under way, where anything is: nothing more comes */
    /* The watch under way brings nothing until it goes on, but for a little that is under way. NULL: it cannot. */
    void (*hold)(ki_list_watch *list_watch, bool is_held);
    void (*free)(ki_list_watch *list_watch); /* cancels first */
} ki_list_watch_ops;

/* One list, watch or search is under way at a time. */
struct ki_list_watch {
    const ki_list_watch_ops *ops;
};

#endif
