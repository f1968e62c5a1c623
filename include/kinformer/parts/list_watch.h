/* parts/list_watch.h: a source of objects: lists and watches of one resource (client-go's ListerWatcher). A building
 * block of an informer, with the weaker promise of store.h.
 *
 * ki_list_watch_new makes the source of an API server's objects. A program can have a source of its own: a struct that
 * begins with a ki_list_watch, and a table of functions. `list`, `watch`, `cancel` and `free` are needed.
 * ki_factory_informer_for makes an informer of it.
 *
 *     static const ki_list_watch_ops ops = { .no_streaming_list = true, .list = list, .watch = watch, … };
 *     struct my_source { ki_list_watch base; … } source = { .base = { &ops } };
 *
 * Threads: everything on the loop, or while nothing drives the engine. */
#ifndef KINFORMER_PARTS_LIST_WATCH_H
#define KINFORMER_PARTS_LIST_WATCH_H

#include <kinformer/client.h>
#include <kinformer/factory.h>

KI_BEGIN_DECLS

typedef struct ki_list_watch ki_list_watch;

/* ---- requests ---- */

/* A source of the program's own may ignore `limit` (its one page is the last), `allow_bookmarks`, the timeouts and the
 * versions. A request that it never ends stays open; health says "no response", or "no data" within a list. A watch
 * that ignores `resource_version` brings what has changed since the list. */
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

/* ---- responses ---- */

/* A list page's metadata. The strings are valid during the call. */
typedef struct ki_list_result {
    const char *resource_version; /* where the watch begins; "" of a source without versions */
    const char *continue_token;   /* "" for the last page */
    int64_t remaining_item_count; /* -1: unknown */
} ki_list_result;

/* An unusable object or event. Valid during the call. */
typedef struct ki_bad_object {
    const ki_error *err;
    const char *key;              /* "namespace/name"; "" if unreadable */
    const char *resource_version; /* "" if unreadable */
    bool is_deleted;              /* a DELETED event */
    bool is_foreign;              /* of another kind, or no object: the object that has changed is unknown */
    bool is_bookmark;             /* no object has changed */
} ki_bad_object;

/* The callbacks of a list. Objects are borrowed: ref to keep. on_end is called exactly once, last. The callbacks may
 * be called from inside `list` and `watch`. Any of them may call `cancel`: then no further one is called. */
typedef struct ki_list_handler {
    void (*on_object)(ki_object *obj, void *user) KI_NOEXCEPT;
    /* Called for an unusable object. The list continues. */
    void (*on_bad_object)(const ki_bad_object *bad, void *user) KI_NOEXCEPT;
    /* `err` NULL: the page is complete, and `result` has its metadata. After KI_ERR_EXPIRED or KI_ERR_TOO_LARGE_RV of a
     * list at a version the reflector lists at once, without a version; after any other error after a delay. */
    void (*on_end)(const ki_list_result *result, const ki_error *err, void *user) KI_NOEXCEPT;
    void *user;
} ki_list_handler;

typedef struct ki_watch_handler {
    /* Called when the server has accepted the watch (HTTP 200). */
    void (*on_open)(void *user) KI_NOEXCEPT;
    /* Called when bytes were read, before their events. NULL: not wanted. */
    void (*on_bytes)(void *user) KI_NOEXCEPT;
    /* Called when all that arrived before `until`, a time of ki_engine_now, is read, decoded and delivered. on_bytes
     * and on_read: both are set, or neither, and a source calls both, or neither. */
    void (*on_read)(int64_t until, void *user) KI_NOEXCEPT;
    void (*on_event)(ki_event_type type, ki_object *obj, void *user) KI_NOEXCEPT;
    void (*on_bookmark)(const char *resource_version, bool initial_events_end, void *user) KI_NOEXCEPT;
    void (*on_bad_object)(const ki_bad_object *bad, void *user) KI_NOEXCEPT;
    /* The watch has ended. `err` NULL: the server closed it cleanly. `opened`: on_open was called. `in_stream`: `err`
     * was an ERROR event. The reflector watches again from the last version
     *   - if `err` is NULL,
     *   - if an opened watch ended with KI_ERR_CONNECT, KI_ERR_TIMEOUT or KI_ERR_UNEXPECTED_EOF, not `in_stream`,
     *   - if a watch that was not opened ended with KI_ERR_CONNECT or KI_ERR_SYSTEM,
     *   - if the error has `http_status` 429.
     * It lists after any other error, such as KI_ERR_EXPIRED, and after an opened watch that ended within a second
     * without an event. */
    void (*on_end)(const ki_error *err, bool opened, bool in_stream, void *user) KI_NOEXCEPT;
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
typedef void (*ki_on_type_found)(ki_type_found found, const ki_error *err, void *user) KI_NOEXCEPT;

/* Whether the source's namespace exists. */
typedef enum ki_namespace_found {
    KI_NAMESPACE_UNCERTAIN, /* no response, or one that does not show it (403) */
    KI_NAMESPACE_THERE,
    KI_NAMESPACE_MISSING
} ki_namespace_found;

/* Called once, never from inside find_namespace, and not after cancel. */
typedef void (*ki_on_namespace_found)(ki_namespace_found found, void *user) KI_NOEXCEPT;

/* ---- a source ---- */

/* list, watch, find_type and find_namespace return an error if they cannot begin; their callbacks are then not
 * called. `options` and `handler` are valid during the call, with their strings: copy what is needed later. */
typedef struct ki_list_watch_ops {
    ki_status (*list)(ki_list_watch *list_watch, const ki_list_options *options, const ki_list_handler *handler,
                      ki_error *err) KI_NOEXCEPT;
    ki_status (*watch)(ki_list_watch *list_watch, const ki_watch_options *options, const ki_watch_handler *handler,
                       ki_error *err) KI_NOEXCEPT;
    /* Asks whether the server still has a custom resource. NULL: not supported. */
    ki_status (*find_type)(ki_list_watch *list_watch, ki_on_type_found on_found, void *user, ki_error *err) KI_NOEXCEPT;
    /* For a source of one namespace. Runs beside a list or a watch; does nothing while it runs already. NULL: not
     * supported. */
    ki_status (*find_namespace)(ki_list_watch *list_watch, ki_on_namespace_found on_found, void *user,
                                ki_error *err) KI_NOEXCEPT;
    void (*cancel)(ki_list_watch *list_watch) KI_NOEXCEPT; /* ends all running requests without further callbacks */
    /* Pauses or resumes the running watch. A few events may still come after a pause. NULL: not supported; changes that
     * come faster than handlers on the loop take them then wait in memory. */
    void (*hold)(ki_list_watch *list_watch, bool is_held) KI_NOEXCEPT;
    /* Returns true if the running request is not sent yet because its credentials are not there, and writes for what it
     * waits. NULL: requests never wait for credentials. */
    bool (*waits_for)(const ki_list_watch *list_watch, char *text, size_t size) KI_NOEXCEPT;
    void (*free)(ki_list_watch *list_watch) KI_NOEXCEPT; /* cancels first */
    bool no_streaming_list;                              /* watch does not know send_initial_events */
} ki_list_watch_ops;

/* At most one list, watch or find_type runs at a time. */
struct ki_list_watch {
    const ki_list_watch_ops *ops;
};

/* Makes the source of an API server's objects (client-go's NewListWatchFromClient). Of `options` (may be NULL) it uses
 * namespace_name (NULL: all namespaces), the selectors, keep, view and keep_managed_fields.
 * Ownership: the caller frees the source with ki_list_watch_free, before the client. Blocks: no.
 * Errors: KI_ERR_INVALID (also: a namespace_set), KI_ERR_PARSE (a selector or a path of the view), KI_ERR_UNSUPPORTED
 * (the resource cannot be listed), KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_list_watch_new(ki_client *client, const ki_resource *resource,
                                                 const ki_informer_options *options, ki_list_watch **ret_list_watch,
                                                 ki_error *err);
/* Cancels a source's requests and frees it, also a source of the program's own. NULL is accepted. */
KI_API void ki_list_watch_free(ki_list_watch *list_watch);

/* Makes the informer of a source of the program's own (client-go's InformerFor): a factory's informer in every way,
 * which later calls of ki_factory_informer with the same resource, namespace and selectors return. What the source does
 * with these is its own business. Options of the API server's source are KI_ERR_INVALID: view, keep,
 * keep_managed_fields, namespace_set, consistency_check_ms. ki_factory_options.object_limit has no effect.
 * Ownership: the informer is borrowed from the factory. With KI_OK the factory owns the source, and frees it (`free`)
 * with the informer, or on the loop when the informer is removed. Threads: any. Blocks: no.
 * Errors: KI_ERR_INVALID (also: `list`, `watch`, `cancel` or `free` is missing), KI_ERR_EXISTS (there is such an
 * informer), KI_ERR_STATE (the factory or its engine is stopped), KI_ERR_UNSUPPORTED (the resource cannot be listed),
 * KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_factory_informer_for(ki_factory *factory, const ki_resource *resource,
                                                       ki_list_watch *list_watch, const ki_informer_options *options,
                                                       ki_informer **ret_informer, ki_error *err);

KI_END_DECLS

#endif
