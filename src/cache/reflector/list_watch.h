/* list_watch.h: the source of a reflector's objects: lists and watches of one resource. src/client/http_list_watch.c
 * implements the interface for an API server. All on the loop. */
#ifndef KI_CACHE_LIST_WATCH_H
#define KI_CACHE_LIST_WATCH_H

#include <kinformer/error.h>
#include <kinformer/informer.h>
#include <kinformer/object.h>

#include <stdbool.h>

typedef struct ki_list_watch ki_list_watch;

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
    int64_t idle_timeout_ns;  /* without a byte for this long the watch ends with KI_ERR_TIMEOUT; 0: none */
} ki_watch_options;

/* A list page's metadata. The strings are valid during the call. */
typedef struct ki_list_result {
    const char *resource_version;
    const char *continue_token;   /* "" for the last page */
    int64_t remaining_item_count; /* -1: unknown */
} ki_list_result;

/* An unusable object or event. Valid during the call. */
typedef struct ki_bad_object {
    const ki_error *err;
    const char *key;              /* "namespace/name"; "" if unreadable */
    const char *resource_version; /* "" if unreadable */
    bool is_deleted;              /* a DELETED event */
    bool is_foreign;  /* of another kind, or no object: a watch cannot tell from it which object has changed */
    bool is_bookmark; /* no object has changed */
} ki_bad_object;

/* The callbacks of a list. Objects are borrowed: ref to keep. on_end is called exactly once, last, never from inside
 * list or watch, and not after cancel. Any callback may cancel. */
typedef struct ki_list_handler {
    void (*on_object)(ki_object *obj, void *user);
    /* Called for an unusable object. The list continues. */
    void (*on_bad_object)(const ki_bad_object *bad, void *user);
    /* err NULL: the page is complete, and `result` has its metadata. */
    void (*on_end)(const ki_list_result *result, const ki_error *err, void *user);
    void *user;
} ki_list_handler;

typedef struct ki_watch_handler {
    /* Called when the server has accepted the watch (HTTP 200). */
    void (*on_open)(void *user);
    /* Called when bytes were read, before their events. NULL: not wanted. */
    void (*on_bytes)(void *user);
    /* Called once everything that had arrived by the time `until` is read, decoded and delivered. A source that calls
     * on_bytes calls this too. NULL if on_bytes is. */
    void (*on_read)(int64_t until, void *user);
    void (*on_event)(ki_event_type type, ki_object *obj, void *user);
    void (*on_bookmark)(const char *resource_version, bool initial_events_end, void *user);
    void (*on_bad_object)(const ki_bad_object *bad, void *user);
    /* err NULL: the server closed the watch cleanly. `opened`: the error came after on_open. `in_stream`: the error was
     * an ERROR event. */
    void (*on_end)(const ki_error *err, bool opened, bool in_stream, void *user);
    void *user;
} ki_watch_handler;

/* Whether the source has the resource. */
typedef enum ki_type_found {
    KI_TYPE_UNCERTAIN, /* the response does not show it */
    KI_TYPE_THERE,
    KI_TYPE_MISSING
} ki_type_found;

/* Called once, never from inside find_type, and not after cancel. `err`: no response, or an error response; else
 * NULL. */
typedef void (*ki_on_type_found)(ki_type_found found, const ki_error *err, void *user);

/* Whether the source's namespace exists. */
typedef enum ki_namespace_found {
    KI_NAMESPACE_UNCERTAIN, /* no response, or one that does not show it (403) */
    KI_NAMESPACE_THERE,
    KI_NAMESPACE_MISSING
} ki_namespace_found;

/* Called once, never from inside find_namespace, and not after cancel. */
typedef void (*ki_on_namespace_found)(ki_namespace_found found, void *user);

/* list, watch, find_type and find_namespace return an error if they cannot begin; their callbacks are then not
 * called. */
typedef struct ki_list_watch_ops {
    ki_status (*list)(ki_list_watch *list_watch, const ki_list_options *options, const ki_list_handler *handler,
                      ki_error *err);
    ki_status (*watch)(ki_list_watch *list_watch, const ki_watch_options *options, const ki_watch_handler *handler,
                       ki_error *err);
    ki_status (*find_type)(ki_list_watch *list_watch, ki_on_type_found on_found, void *user, ki_error *err);
    /* For a source of one namespace. Runs beside a list or a watch; does nothing while it runs already. NULL: not
     * supported. */
    ki_status (*find_namespace)(ki_list_watch *list_watch, ki_on_namespace_found on_found, void *user, ki_error *err);
    void (*cancel)(ki_list_watch *list_watch); /* ends all running requests without further callbacks */
    /* Pauses or resumes the running watch. A few events may still come after a pause. NULL: not supported. */
    void (*hold)(ki_list_watch *list_watch, bool is_held);
    /* Returns true if the running request is not sent yet because its credentials are not there, and writes for what it
     * waits. NULL: requests never wait for credentials. */
    bool (*waits_for)(const ki_list_watch *list_watch, char *text, size_t size);
    void (*free)(ki_list_watch *list_watch); /* cancels first */
} ki_list_watch_ops;

/* At most one list, watch or find_type runs at a time. */
struct ki_list_watch {
    const ki_list_watch_ops *ops;
};

#endif
