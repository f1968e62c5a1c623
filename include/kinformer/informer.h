/* informer.h: a local, always current copy of one resource's objects, and handlers that hear of each change.
 *
 * Made by a factory (factory.h), which owns it. Handlers, indexers, transform and error handler are usually set before the
 * start; handlers and indexers may also come later. Reading the copy: lister.h. */
#ifndef KINFORMER_INFORMER_H
#define KINFORMER_INFORMER_H

#include <kinformer/error.h>
#include <kinformer/object.h>
#include <kinformer/resource.h>
#include <kinformer/view.h>

KI_BEGIN_DECLS

typedef struct ki_informer ki_informer;

/* A handler of an informer. A plain value: copied freely, never freed; `{ NULL, 0 }` is none. `id` is never given twice. */
typedef struct ki_registration {
    ki_informer *informer;
    uint64_t id;
} ki_registration;

/* ---- what to watch ---- */

typedef struct ki_informer_options {
    size_t size;                /* sizeof(ki_informer_options); set by the macro */
    const char *namespace_name; /* NULL: the factory's, else all; of no meaning to cluster-scoped resources */
    const char *label_selector; /* NULL: none; the server selects */
    const char *field_selector;
    const ki_field *view;     /* NULL: none (view.h); must outlive the informer */
    int64_t resync_ms;        /* 0: the factory's, else none; < 0: none; less than 1000 counts as 1000 */
    int64_t page_size;        /* objects per list page; 0: 500 where the server pages */
    bool no_streaming_list;   /* list by pages even where the server can stream its list */
    bool keep_managed_fields; /* else metadata.managedFields is dropped */
    size_t object_limit;      /* bytes of one object as JSON; 0: 32 MiB; a larger one is reported and left out */
    /* Lists at this interval, page by page beside the watch, and compares with the copy. What differs twice in a row, an event that the
     * server has lost, is reported and listed anew. 0: never; less than 10000 counts as 10000. */
    int64_t audit_ms;
    bool check_streaming_list; /* lists again after each streaming list, at its version, and compares; as above */
    /* How long after the first internal error (500) within a watch it is only watched again; then listed. 0: listed at once. */
    int64_t internal_error_retry_ms;
    /* Changes pass through one queue in the order of their arrival, and each list is taken as one step that readers see whole or not at
     * all. Else they are gathered by key, keys in the order of their first arrival, and a list is taken key by key. */
    bool in_order;
} ki_informer_options;

#define KI_INFORMER_OPTIONS(...) ((ki_informer_options){ .size = sizeof(ki_informer_options), __VA_ARGS__ })

/* ---- handlers ---- */

typedef enum ki_event_type {
    KI_EVENT_ADD = 1,
    KI_EVENT_UPDATE = 2,
    KI_EVENT_DELETE = 3
} ki_event_type;

/* One change. Objects are borrowed for the length of the call; ki_object_ref keeps them. */
typedef struct ki_event {
    const ki_object *obj;     /* the new state; on delete the last known one */
    const ki_object *old;     /* on update: what this handler was told before; else NULL */
    bool is_in_initial_list;  /* on add: it was there when the informer, or this handler, began */
    bool is_resync;           /* on update: nothing changed, a periodic reminder */
    bool final_state_unknown; /* on delete: it went while nobody watched; obj may not be its very last state */
    ki_informer *informer;
    ki_event_type type; /* which of the handler's functions is called */
} ki_event;

/* Any of them may be NULL. The calls of one registration come one at a time, in order, under no lock of the library; they
 * may call anything but functions that wait (those answer KI_ERR_DEADLOCK). In C++ no exception may leave them: they are noexcept (export.h).
 * Threads: with run and start each registration has its own thread, or the loop's if it asked for it; with step the one that steps. */
typedef struct ki_handler {
    void (*on_add)(const ki_event *event, void *user) KI_NOEXCEPT;
    void (*on_update)(const ki_event *event, void *user) KI_NOEXCEPT;
    void (*on_delete)(const ki_event *event, void *user) KI_NOEXCEPT;
    /* Once, after the last initial on_add has returned. */
    void (*on_synced)(ki_informer *informer, void *user) KI_NOEXCEPT;
    void (*on_removed)(void *user) KI_NOEXCEPT; /* the very last call: free `user` here. Also when the informer goes. */
    /* With a filter an object exists for this handler only while it is true: an update that makes it true is an add, one that makes it
     * false a delete; a deletion is told where the object was. Must give the same answer for the same object. */
    bool (*filter)(const ki_object *obj, void *user) KI_NOEXCEPT;
} ki_handler;

typedef enum ki_delivery {
    KI_DELIVER_ALL =
        0, /* every change, however many wait. On the loop about 1,000, then the watch waits; else unbounded, as in client-go */
    KI_DELIVER_LATEST =
        1 /* at most one change waits per key: old = what the handler saw last, obj = the newest; deletes are kept */
} ki_delivery;

typedef struct ki_registration_options {
    size_t size; /* sizeof(ki_registration_options); set by the macro */
    ki_delivery delivery;
    bool on_loop; /* call on the loop's thread: no thread of its own, and the duty not to block */
    /* 0: the informer's; < 0: none; less than 1000 counts as 1000. Once the informer has started it looks no more often than it
     * did: a shorter period becomes its own, and where it has none there is none. */
    int64_t resync_ms;
    const char *name; /* for logs and metrics; copied; NULL: "handler" */
} ki_registration_options;

#define KI_REGISTRATION_OPTIONS(...) ((ki_registration_options){ .size = sizeof(ki_registration_options), __VA_ARGS__ })

/* Adds a handler with default options. It first hears of every object that is there, as adds with is_in_initial_list, then of
 * every change, with nothing lost or doubled in between.
 * Ownership: `handler` is copied; `user` is the caller's until on_removed. Threads: any, at any time, handlers too. Blocks: at most
 * while the loop takes 64 objects.
 * Errors: KI_ERR_STATE after the informer stopped, KI_ERR_NO_MEMORY, KI_ERR_SYSTEM (no more threads). */
KI_API KI_MUST_CHECK ki_status ki_informer_add_handler(ki_informer *informer, const ki_handler *handler, void *user,
                                                       ki_error *err);

/* The same with options and a handle. `options` and `ret_registration` may be NULL. The handle is there before the handler's first call.
 * Ownership: a value. It must not be used after the informer is freed. */
KI_API KI_MUST_CHECK ki_status ki_informer_register(ki_informer *informer, const ki_handler *handler, void *user,
                                                    const ki_registration_options *options,
                                                    ki_registration *ret_registration, ki_error *err);

/* Removes a handler. After this returns, no new callback starts except on_removed; one that is running completes before on_removed.
 * Threads: any, at any time, handlers too, its own too. Blocks: at most while the loop takes 64 objects.
 * Errors: KI_ERR_NOT_FOUND where it is not a handler of this informer, or no longer one. */
KI_API KI_MUST_CHECK ki_status ki_informer_remove_handler(ki_informer *informer, ki_registration registration,
                                                          ki_error *err);

/* Returns true once the handler has returned from every initial add; false for one that was removed. Threads: any. Blocks: no. */
KI_API bool ki_registration_has_synced(ki_registration registration);
/* Returns how many changes wait for the handler; 0 for one that was removed. Threads: any. Blocks: no. */
KI_API size_t ki_registration_pending(ki_registration registration);

/* ---- before the start ---- */

/* Changes each object before it is queued and stored. Gives a reference: `obj` itself with one more, or another made by
 * ki_object_with_json. Key and resource version stay those of `obj` whatever is done. Called as soon as
 * an object is decoded, also within a list. Where it fails, the cache keeps the last state (ki_health.unreadable), and a deletion is reported with that state.
 * Threads: called on the loop; must not block. Errors: KI_ERR_STATE after the start. */
typedef ki_status (*ki_transform)(ki_object *obj, ki_object **ret_obj, void *user) KI_NOEXCEPT;
KI_API KI_MUST_CHECK ki_status ki_informer_set_transform(ki_informer *informer, ki_transform transform, void *user,
                                                         ki_error *err);

/* Hears of every failed list and watch, and of each object that was set aside; `key` is "" where it is none or unknown.
 * Threads: called on the loop; must not block. Errors: KI_ERR_STATE after the start. */
typedef void (*ki_watch_error_handler)(ki_informer *informer, const ki_error *cause, const char *key,
                                       void *user) KI_NOEXCEPT;
KI_API KI_MUST_CHECK ki_status ki_informer_set_watch_error_handler(ki_informer *informer,
                                                                   ki_watch_error_handler handler, void *user,
                                                                   ki_error *err);

/* ---- how it is ---- */

typedef enum ki_state {
    KI_STATE_NOT_STARTED = 0,
    KI_STATE_CONNECTING = 1, /* a request is out, nothing has come back */
    KI_STATE_LISTING = 2,    /* objects of the initial or a new list are arriving */
    KI_STATE_WATCHING = 3,   /* changes arrive as they happen; ki_informer_has_synced: the first list is in the store */
    KI_STATE_BACKING_OFF = 4, /* waits before it tries again; cause tells why */
    KI_STATE_BLOCKED =
        5, /* as backing off, but a person has to act: credentials, permission, a resource that is not installed */
    KI_STATE_STOPPED = 6
} ki_state;

/* What an informer does next. */
typedef enum ki_attempt {
    KI_ATTEMPT_NONE = 0,
    KI_ATTEMPT_LIST = 1,
    KI_ATTEMPT_STREAMING_LIST = 2,
    KI_ATTEMPT_WATCH = 3,
    KI_ATTEMPT_STORE = 4 /* a change has arrived and could not be stored */
} ki_attempt;

enum {
    KI_HEALTH_WORDS_MAX = 256
}; /* bytes with the closing zero */

typedef struct ki_health {
    ki_state state;
    int64_t since_ms;    /* how long it has been so */
    int64_t retry_in_ms; /* when it will try again; -1: nothing planned */
    ki_error
        cause; /* of backing off and blocked; while connecting the last failure, or that nothing comes back; else code KI_OK */
    size_t listed;      /* objects that have arrived of the list under way */
    int64_t list_total; /* how many it will be; -1: the server has not said */
    size_t objects;     /* in the store */
    uint64_t set_aside; /* objects that could not be used, since the start */
    /* The copy is at most as old as this, as far as the server that answers knows: the time since it last said anything on the watch, or
     * was asked for a list, and all that it had said, whole events and bookmarks, was in the store. A quiet resource's watch is silent for a minute. -1: no copy yet. */
    int64_t staleness_ms;
    ki_attempt next;                 /* what retry_in_ms is until; KI_ATTEMPT_NONE: nothing is waited for */
    uint64_t failures;               /* that it waited after in a row, since something came of a list or a watch */
    char words[KI_HEALTH_WORDS_MAX]; /* the cause for a person: "forbidden: list pods at cluster scope"; else "" */
    /* Objects whose present state could not be read: malformed, over the limit, or the transform failed. The cache keeps the last state that it could
     * read, and says nothing newer of them: neither `staleness_ms` nor a resource version speaks for them. */
    size_t unreadable;
    char unreadable_words[KI_HEALTH_WORDS_MAX]; /* the first of them and why: "default/big: …"; else "" */
} ki_health;

/* A snapshot of the first `size` bytes: ki_health grows at its end, and a program knows the one that it was built with. */
KI_API void ki_informer_health_sized(const ki_informer *informer, ki_health *ret_health, size_t size);

/* A snapshot. Threads: any. Blocks: no. */
static inline void ki_informer_health(const ki_informer *informer, ki_health *ret_health) {
    ki_informer_health_sized(informer, ret_health, sizeof *ret_health);
}
/* "streaming list". Ownership: static. Threads: any. */
KI_API const char *ki_attempt_name(ki_attempt attempt);
/* "watching". Ownership: static. Threads: any. */
KI_API const char *ki_state_name(ki_state state);

/* Called at each change of state, and where a state has another cause. Threads: on the loop; must not block. Errors: KI_ERR_STATE after the start. */
typedef void (*ki_state_handler)(ki_informer *informer, const ki_health *health, void *user) KI_NOEXCEPT;
KI_API KI_MUST_CHECK ki_status ki_informer_set_state_handler(ki_informer *informer, ki_state_handler handler,
                                                             void *user, ki_error *err);

/* Is the whole first list in the store, and processed? Threads: any. Blocks: no. */
KI_API bool ki_informer_has_synced(const ki_informer *informer);

/* Waits until it has, at most `timeout_ms` (< 0: for ever).
 * Threads: any but the library's own, handlers, and one that steps the engine: KI_ERR_DEADLOCK. Blocks: yes, without polling.
 * Errors: KI_ERR_TIMEOUT, KI_ERR_CANCELLED where the informer is stopped, or the loop has ended. */
KI_API KI_MUST_CHECK ki_status ki_informer_wait_for_sync(ki_informer *informer, int64_t timeout_ms, ki_error *err);

/* Reading one's own writes: waits until the copy has seen the version that a write gave back, at most `timeout_ms` (< 0: for ever). That is
 * where the copy is at that version or a newer one (ki_snapshot_resource_version); with a `key` (else NULL) also where the object under it
 * is, or was before it was deleted. With a key and no version (NULL) any state of that object will do. Versions that cannot be compared
 * (ki_resource_version_compare) are seen only where they are the same. A handler may not have heard of it yet.
 * A cluster that was restored from a backup gives versions twice: a copy that has not noticed yet is past them.
 * Threads, Blocks: as ki_informer_wait_for_sync. Errors: those (a version that was seen is KI_OK also where the informer is stopped),
 * KI_ERR_INVALID for neither key nor version, and KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_informer_wait_for_version(ki_informer *informer, const char *key,
                                                            const char *resource_version, int64_t timeout_ms,
                                                            ki_error *err);

/* The same without waiting: `handler` is called exactly once: with KI_OK when the copy has seen it, with KI_ERR_TIMEOUT after `timeout_ms` of the
 * engine's time (< 0: never), or with KI_ERR_CANCELLED when the informer is stopped before, or by ki_informer_cancel_when_version. It is
 * called on the loop and must not block; not from inside this function. As many may wait as there is memory for; a change costs no more
 * than the waits that it ends.
 * Ownership: texts are copied; `user` is the caller's, until that call. Threads: any, handlers too. Blocks: no.
 * Errors: KI_ERR_INVALID, KI_ERR_NO_MEMORY, KI_ERR_CANCELLED where the informer is stopped, whatever it has seen: then it is not called. */
typedef void (*ki_version_handler)(ki_informer *informer, ki_status status, void *user) KI_NOEXCEPT;
KI_API KI_MUST_CHECK ki_status ki_informer_when_version(ki_informer *informer, const char *key,
                                                        const char *resource_version, int64_t timeout_ms,
                                                        ki_version_handler handler, void *user, ki_error *err);

/* Ends all waits of ki_informer_when_version with this handler and user: they are told KI_ERR_CANCELLED, on the loop, soon.
 * Threads: any, handlers too. Blocks: no.
 * Errors: KI_ERR_NOT_FOUND where nothing waits: each was told another end, or is about to be. */
KI_API KI_MUST_CHECK ki_status ki_informer_cancel_when_version(ki_informer *informer, ki_version_handler handler,
                                                               void *user, ki_error *err);

/* Returns true to end the wait. `event` is borrowed. NULL: the condition has been called for every object that was in the cache when the wait began; it
 * may read the cache now. */
typedef bool (*ki_wait_condition)(ki_informer *informer, const ki_event *event, void *user);

/* Waits until `condition` returns true, at most `timeout_ms` (< 0: for ever). The condition is called for every object that is in the cache, as an add with
 * is_in_initial_list; once with NULL when the cache has synced and these calls have returned; then for each change. After this function has
 * returned it is not called again.
 * Threads: as ki_informer_wait_for_sync; the condition is called on the loop, one call at a time, and must not block. Blocks: yes, without polling.
 * Errors: KI_ERR_TIMEOUT, KI_ERR_CANCELLED and KI_ERR_DEADLOCK as ki_informer_wait_for_sync; KI_ERR_INVALID, KI_ERR_STATE where the informer was
 * stopped before, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_informer_wait_until(ki_informer *informer, ki_wait_condition condition, void *user,
                                                      int64_t timeout_ms, ki_error *err);

/* An object from JSON as a server gives it, the answer to a write say, made as the informer's own are: with its view, and kind and
 * apiVersion filled in. It is not put into the copy; ki_mutation_cache_put takes it.
 * Ownership: `*ret_obj` is a reference, the caller's. Threads: any. Blocks: no.
 * Errors: KI_ERR_PARSE (no JSON, no metadata, no name), KI_ERR_INVALID, KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_informer_object_from_json(const ki_informer *informer, const char *json, size_t size,
                                                            ki_object **ret_obj, ki_error *err);

/* Ownership: borrowed from the informer. */
KI_API const ki_resource *ki_informer_resource(const ki_informer *informer);

KI_END_DECLS

#endif
