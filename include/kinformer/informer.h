/* informer.h: a local cache of one resource's objects, kept current by list and watch, and handlers that are called for
 * each change.
 *
 * A factory (factory.h) makes and owns informers. Handlers and indexers can be added before or after the start. The
 * transform, the watch error handler and the state handler must be set before the start. lister.h reads the cache. The
 * semantics are those of client-go 0.37's SharedIndexInformer. kinformer.h says what "the loop" and
 * "in a handler" mean.
 *
 * Fork: in a process that was forked after the start, the cache cannot be read and nothing has synced (engine.h). */
#ifndef KINFORMER_INFORMER_H
#define KINFORMER_INFORMER_H

#include <kinformer/error.h>
#include <kinformer/object.h>
#include <kinformer/resource.h>
#include <kinformer/view.h>

KI_BEGIN_DECLS

typedef struct ki_informer ki_informer;

/* How the changes of an informer wait between the server and its cache. */
typedef enum ki_queue_kind {
    /* In the order of their arrival, as in client-go's informers since 0.36. A list is applied in one step: a snapshot
     * has all of it or nothing. */
    KI_QUEUE_IN_ORDER = 0,
    /* By key, keys in the order of their first change, as in client-go's informers before 0.36 (DeltaFIFO). All queued
     * changes of a key are one step; a list is applied key by key. */
    KI_QUEUE_DELTA_FIFO = 1
} ki_queue_kind;

/* A handler that was added to an informer. A plain value: copy it freely, never free it. `{ NULL, 0 }` is no handler.
 * An `id` is never reused. */
typedef struct ki_registration {
    ki_informer *informer;
    uint64_t id;
} ki_registration;

/* ---- what to watch ---- */

/* Strings are copied, in this struct and in what it points to; `view` alone must outlive the informer. */
typedef struct ki_informer_options {
    size_t size;                /* sizeof(ki_informer_options); set by the macro */
    const char *namespace_name; /* NULL: the factory's; "": all namespaces. Ignored for cluster-scoped resources */
    const char *label_selector; /* "app=web"; the server selects; NULL or "": all objects */
    const char *field_selector; /* "spec.nodeName=node-1"; the server selects; NULL or "": all objects */
    const ki_field *view;       /* the program's struct (view.h); must outlive the informer; NULL: no view */
    /* Period of resync updates. 0: the factory's; < 0: no resync; values from 1 to 999 are raised to 1000. For handlers
     * that repeat what can fail or be undone elsewhere. */
    int64_t resync_ms;
    int64_t page_size;        /* objects of one page; 0: 500 for a list at version "" or "0", else no limit */
    bool keep_managed_fields; /* keep metadata.managedFields, which is dropped otherwise */
    /* Interval of consistency checks; 0: none; values from 1 to 9999 are raised to 10000. A check lists beside the
     * watch, page by page, and compares with the cache. If an object differs in two checks in a row, it is reported,
     * and the informer relists. For a server, or a proxy before it, that may lose events. */
    int64_t consistency_check_ms;
    /* How changes are queued; 0: KI_QUEUE_IN_ORDER. With both, the handlers get what a relist deletes before what it
     * adds. KI_QUEUE_DELTA_FIFO is for objects that change faster than they are processed: it costs one step of the
     * cache for all queued changes of an object. Errors: KI_ERR_INVALID (another value). */
    ki_queue_kind queue;
    /* For this long after its deletion an object can still be read (lister.h, deleted objects); also one that was
     * fetched, after the server said that it is gone (fetch.h). 0: deleted objects are not kept. */
    int64_t keep_deleted_ms;
    /* The name of a set of namespaces, such as "tenants"; instead of `namespace_name`. ki_informer_set_namespaces says
     * which namespaces are in the set, also while the informer runs. Each informer has a set of its own;
     * ki_factory_set_namespaces sets those of all informers with this name. One resource can have several informers,
     * with sets of different names. Until the first set the informer has no namespace, has not synced, and is in
     * KI_STATE_CONNECTING once it is started. Metrics and messages have the name in parentheses. 1 to 63 of a-z, 0-9
     * and "-". Not with consistency_check_ms, a cluster-scoped resource, a resource by name or a source of the
     * program's own. */
    const char *namespace_set;
    /* What the cache keeps of each object (object.h). An informer is shared by those who ask for the same.
     * KI_KEEP_VIEW needs `view`; KI_KEEP_KEYS excludes it. With KI_KEEP_METADATA a view has fields of the metadata,
     * kind and apiVersion; another is KI_ERR_INVALID. A selector of what is not kept is KI_ERR_INVALID for
     * registrations and listers, and so is an index by its path (ki_indexer.path); index functions read what is kept.
     * Labels are kept with KI_KEEP_VIEW if the view has metadata.labels as a ki_string_map. With KI_KEEP_KEYS handlers
     * have no filter. */
    ki_keep keep;
    /* Never pack. Otherwise the JSON of the objects is packed once they take 256 KiB, against that of an object of the
     * same owner, with zstd and a dictionary of their own (docs/performance.md). What readers get does not change. A
     * field by path, or the JSON, of a packed object takes longer; key, labels, view and the like do not. An informer
     * that is shared has the value of the first request. */
    bool plain;
    /* A threshold that is reported, in bytes of the cache's objects (ki_health.object_bytes); 0: none. When the objects
     * take more, the informer reports KI_ERR_LIMIT once, to the watch error handler and in the log;
     * ki_health.is_over_memory_limit and the metric informer_over_memory_limit show it until the objects take a tenth
     * less than the threshold. Nothing else changes: a cache that lacks objects would be wrong. The program can remove
     * the informer, request one that keeps less, or end. What packed objects have in common counts. Indexes,
     * dictionaries of zstd, and objects that only the program still holds do not. */
    size_t memory_limit;
} ki_informer_options;

#define KI_INFORMER_OPTIONS(...) KI_SIZED_(ki_informer_options, __VA_ARGS__)

/* ---- a set of namespaces ---- */

enum {
    KI_NAMESPACES_MAX = 1000 /* namespaces of a set */
};

/* Sets the namespaces of an informer with `.namespace_set`, before or after its start. They replace the namespaces of
 * the call before. Each namespace has a list and a watch of its own; cache, handlers and waits are one.
 *
 *   - A namespace that is added is listed, then watched, also one that was in the set some time ago.
 *   - The objects of a namespace that is removed are deleted, with final_state_unknown, after all changes that were
 *     read of the namespace before.
 *   - Nothing happens to a namespace that stays.
 *   - The set may be empty. The state is then KI_STATE_WATCHING, the message "no namespaces are set", and staleness_ms
 *     -1.
 *
 * The informer has synced once each namespace of its set is listed, and at once if the first set is empty. Another set
 * does not undo that. Adds of namespaces that come later are not is_in_initial_list; on_namespaces_synced is called
 * when a changed set is complete.
 *
 * Until each namespace of the new set is listed, ki_health.staleness_ms is -1, and ki_informer_wait_for_version without
 * a key cannot succeed. The cache has no resource version while a namespace is not listed. Afterwards age and resource
 * version are those of the namespace that is furthest behind; a quiet namespace gets a bookmark about once a minute.
 * With a key, ki_informer_wait_for_version waits for the key's namespace alone.
 *
 * ki_health.state is the worst state of all namespaces, with the message of the first namespace in that state. The
 * other namespaces work all the same: ki_informer_namespace_health has the health of each.
 *
 * The loop applies the set; of several calls before that, the last one counts. If memory runs out on the loop, the
 * watch error handler is called, and the loop tries again after a second.
 * Ownership: the names are copied. Threads: any, also in a handler. Blocks: until the loop has applied 64 objects at
 * most.
 * Errors, after which nothing has changed: KI_ERR_INVALID (no name of a namespace; an informer without
 * `.namespace_set`), KI_ERR_LIMIT (more than KI_NAMESPACES_MAX), KI_ERR_STATE (stopped or removed),
 * KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_informer_set_namespaces(ki_informer *informer, const char *const *names, size_t count,
                                                          ki_error *err);

/* ---- handlers ---- */

typedef enum ki_event_type {
    KI_EVENT_ADD = 1,
    KI_EVENT_UPDATE = 2,
    KI_EVENT_DELETE = 3
} ki_event_type;

/* One change. The objects are borrowed until the handler returns; ki_object_ref keeps an object longer. */
typedef struct ki_event {
    const ki_object *obj;     /* the new state; on delete the last known state */
    const ki_object *old;     /* on update: the state of this handler's previous event; else NULL */
    bool is_in_initial_list;  /* on add: the object existed when the informer started, or when this handler was added */
    bool is_resync;           /* on update: a periodic resync, or a relist that changes nothing */
    bool final_state_unknown; /* on delete: the delete event was missed, and `obj` may be out of date */
    ki_informer *informer;
    ki_event_type type; /* which function of the handler is called */
} ki_event;

/* Functions that are called for changes. Each may be NULL, but at least one of on_add, on_update, on_delete,
 * on_synced, on_changed and on_namespaces_synced is set. The calls of one registration come one at a time, in order,
 * and under no lock of the library. A handler may call any function. Functions that wait for an informer or a factory
 * return KI_ERR_DEADLOCK there; functions that wait for a response (client.h) return it on the loop only. In C++ no
 * exception may leave a handler: the functions are noexcept (export.h).
 * Threads: with ki_engine_run and ki_engine_start each registration has a thread of its own, or uses the loop's thread
 * (`on_loop`). With ki_engine_step the thread that steps calls all handlers. */
typedef struct ki_handler {
    void (*on_add)(const ki_event *event, void *user) KI_NOEXCEPT;
    void (*on_update)(const ki_event *event, void *user) KI_NOEXCEPT;
    void (*on_delete)(const ki_event *event, void *user) KI_NOEXCEPT;
    /* Called once, after the last initial on_add has returned. */
    void (*on_synced)(ki_informer *informer, void *user) KI_NOEXCEPT;
    /* The last call of a registration, when the handler is removed or the informer is freed. Frees `user`. */
    void (*on_removed)(void *user) KI_NOEXCEPT;
    /* Returns true for the objects that this handler is for. An update is delivered as an add if the filter accepts
     * only the new state, and as a delete if the filter accepts only the old state. A delete is delivered if the filter
     * accepts the previous state. The filter must return the same value for the same object. NULL: all objects. */
    bool (*filter)(const ki_object *obj, void *user) KI_NOEXCEPT;
    /* For a program that lists the cache again after changes (lister.h), rather than following each. Called once after
     * on_synced, then after changes of objects that match and after on_namespaces_synced: when no further change is
     * queued for this handler, and at the latest after 100 changes. Many changes thus cause one call, and each is in
     * the cache when it comes. Resyncs do not cause one. */
    void (*on_changed)(ki_informer *informer, void *user) KI_NOEXCEPT;
    /* Called when a changed set of namespaces is complete: each namespace of it is listed, also one without an object,
     * and the calls for the changes up to then have returned. The first set is complete at on_synced. Sets that follow
     * each other quickly can have one call together. A set that is replaced before it is complete has no call.
     * ki_informer_namespace_health has the present state of each namespace. */
    void (*on_namespaces_synced)(ki_informer *informer, void *user) KI_NOEXCEPT;
} ki_handler;

typedef struct ki_registration_options {
    size_t size; /* sizeof(ki_registration_options); set by the macro */
    /* Call the handler on the loop's thread; the handler must not block. It slows the watch down: with about 200
     * changes queued the informer stops reading. The queue of a handler with a thread of its own is unbounded, as in
     * client-go: one that is slower than the changes adds keys to a work queue (kinformer-controllers/workqueue.h). */
    bool on_loop;
    /* Period of resync updates for this handler. 0: the informer's; < 0: no resync; values from 1 to 999 are raised to
     * 1000. Before the start, a shorter period than the informer's becomes the informer's. After the start, a shorter
     * period is raised to the informer's; if the informer has no resync by then, this handler gets none. */
    int64_t resync_ms;
    const char *name; /* for logs and metrics; copied; NULL: "handler" */
    /* Only objects that match (selector.h) exist for this handler, as with a filter. Copied; NULL or "": all. The
     * informer's own selectors select at the server, these in the program. */
    const char *label_selector;
    const char *field_selector;
} ki_registration_options;

#define KI_REGISTRATION_OPTIONS(...) KI_SIZED_(ki_registration_options, __VA_ARGS__)

/* Adds a handler. The handler first gets every cached object as an add with is_in_initial_list, then every change.
 * Nothing is lost or delivered twice between the two. `options` may be NULL (the defaults), and so may
 * `ret_registration`. `*ret_registration` is set before the handler's first call.
 * Ownership: `handler` and `options` are copied; `user` must stay valid until on_removed. The registration is a value;
 * do not use it after the informer is freed. Threads: any, at any time, also in a handler. Blocks: until the loop has
 * applied 64 objects at most.
 * Errors, after which nothing of the handler is called: KI_ERR_INVALID (a handler without a function; a filter or a
 * selector of something that the cache does not keep), KI_ERR_PARSE and KI_ERR_LIMIT (as ki_selector_new), KI_ERR_STATE
 * (the informer is stopped or removed), KI_ERR_NO_MEMORY, KI_ERR_SYSTEM (no more threads). */
KI_API KI_MUST_CHECK ki_status ki_informer_add_handler(ki_informer *informer, const ki_handler *handler, void *user,
                                                       const ki_registration_options *options,
                                                       ki_registration *ret_registration, ki_error *err);

/* Removes a handler. After this returns, no new call starts except on_removed; a running call completes before
 * on_removed.
 * Threads: any, at any time, also in the handler itself. Blocks: until the loop has applied 64 objects at most.
 * Errors: KI_ERR_NOT_FOUND (not a handler of this informer, or removed before). */
KI_API KI_MUST_CHECK ki_status ki_informer_remove_handler(ki_informer *informer, ki_registration registration,
                                                          ki_error *err);

/* Returns true once all initial on_add calls and on_synced have returned; false for a removed handler. Threads: any.
 * Blocks: no. */
KI_API bool ki_registration_has_synced(ki_registration registration);
/* Waits until ki_registration_has_synced, for at most `timeout_ms` (< 0: no limit).
 * Threads, Blocks: as ki_informer_wait_for_sync.
 * Errors: as ki_informer_wait_for_sync; KI_ERR_NOT_FOUND (the handler was removed). */
KI_API KI_MUST_CHECK ki_status ki_registration_wait_for_sync(ki_registration registration, int64_t timeout_ms,
                                                             ki_error *err);
/* Returns the number of changes queued for the handler; 0 for a removed handler. Threads: any. Blocks: no. */
KI_API size_t ki_registration_pending(ki_registration registration);

/* ---- settings before the start ---- */

/* Changes an object as soon as it is decoded, before it is queued and stored; also within a list. Returns a reference
 * through `ret_obj`: `obj` itself with one more reference (ki_object_ref), or a new object made by ki_object_with_json,
 * which keeps the key and resource version of `obj`. A write of the whole object (ki_client_update) is of what the
 * transform left: the server then removes what it dropped. After a failure the cache keeps the object's last state
 * (ki_health.unreadable, with the message of `err`, never NULL), and a deletion is delivered with that state. A
 * transform cannot drop an object: a selector or a handler's filter does that.
 * Threads: called on the loop; must not block. */
typedef ki_status (*ki_transform)(ki_object *obj, ki_object **ret_obj, void *user, ki_error *err) KI_NOEXCEPT;
/* Sets the transform. Threads: any. Errors: KI_ERR_STATE (the informer is started). */
KI_API KI_MUST_CHECK ki_status ki_informer_set_transform(ki_informer *informer, ki_transform transform, void *user,
                                                         ki_error *err);

/* Called for each failed list, watch and consistency check, each change that waits for memory, each skipped object,
 * each failure of an index function, each object that was modified in the cache (`detect_mutations`), each difference
 * that a consistency check finds, and at a memory limit (KI_ERR_LIMIT; `memory_limit` says when). `key` is "" if no
 * object is concerned or its key is unknown. Above 100 skipped objects a second, one call reports the rest.
 * Threads: called on the loop; must not block. */
typedef void (*ki_watch_error_handler)(ki_informer *informer, const ki_error *cause, const char *key,
                                       void *user) KI_NOEXCEPT;
/* Sets the watch error handler. Threads: any. Errors: KI_ERR_STATE (the informer is started). */
KI_API KI_MUST_CHECK ki_status ki_informer_set_watch_error_handler(ki_informer *informer,
                                                                   ki_watch_error_handler handler, void *user,
                                                                   ki_error *err);

/* ---- health ---- */

typedef enum ki_state {
    KI_STATE_NOT_STARTED = 0,
    KI_STATE_CONNECTING = 1, /* a request is sent, or about to be; no response yet */
    KI_STATE_LISTING = 2,    /* objects of a list are arriving */
    KI_STATE_WATCHING = 3,   /* the watch is open (see ki_informer_has_synced for the first list) */
    /* Waits before the next attempt; see ki_health.cause. Also between two lists of what cannot be watched. */
    KI_STATE_BACKING_OFF = 4,
    /* Waits as in KI_STATE_BACKING_OFF, but a person must act: credentials, permissions, a certificate that cannot be
     * verified, a malformed request (a field selector), a resource that is not installed, or one that an informer by
     * name finds without the verb list (KI_ERR_UNSUPPORTED). */
    KI_STATE_BLOCKED = 5,
    KI_STATE_STOPPED = 6
} ki_state;

/* What an informer attempts next. */
typedef enum ki_attempt {
    KI_ATTEMPT_NONE = 0,
    KI_ATTEMPT_LIST = 1,
    KI_ATTEMPT_STREAMING_LIST = 2,
    KI_ATTEMPT_WATCH = 3,
    KI_ATTEMPT_STORE = 4 /* to store a change that could not be stored for lack of memory */
} ki_attempt;

enum {
    KI_HEALTH_MESSAGE_MAX = 256 /* bytes of a message, with the closing zero */
};

typedef struct ki_health {
    ki_state state;
    int64_t since_ms;    /* time in this state */
    int64_t retry_in_ms; /* time until the next attempt; -1: no attempt is planned */
    /* Why the informer backs off or is blocked. While connecting: the previous failure, or that no response has
     * arrived. Else code KI_OK. */
    ki_error cause;
    size_t listed;      /* objects of the current list that have arrived */
    int64_t list_total; /* objects that the current list will have; -1: unknown */
    size_t objects;     /* objects in the cache */
    uint64_t skipped;   /* objects skipped since the start */
    /* Upper bound of the cache's age: the time since the arrival of the last event, bookmark or list that is completely
     * in the cache, with everything that had arrived before it. It grows while received bytes wait to be read: while
     * the watch pauses, or while the host does not run the engine. A list counts from its request. An event that is
     * dropped, because it repeats the known state of its object or an older one, does not count. The bound is relative
     * to the API server, which can itself lag. The watch of a quiet resource brings a bookmark about once a
     * minute. -1: no list yet, or an empty set of namespaces. */
    int64_t staleness_ms;
    ki_attempt next;   /* the attempt after `retry_in_ms`; KI_ATTEMPT_NONE: none is planned */
    uint64_t failures; /* consecutive failed attempts since the last list, event or bookmark */
    /* The cause for a person, such as 'forbidden: list pods in all namespaces (user "jane")'; "" if there is no cause.
     * While watching: "there is no namespace shop" if the server said so, else "". An informer of one namespace asks
     * after an empty list, and with each new watch until the namespace exists; without the right to get the namespace
     * it says nothing. */
    char message[KI_HEALTH_MESSAGE_MAX];
    /* Objects whose current state could not be read: malformed, larger than the limit, or the transform failed. The
     * cache keeps the last readable state. `staleness_ms` and resource versions do not apply to these objects. */
    size_t unreadable;
    /* The first unreadable object and the reason, such as "default/big: …"; "" if there is none. */
    char unreadable_message[KI_HEALTH_MESSAGE_MAX];
    size_t object_bytes;       /* memory of the objects in the cache, with what they share: memory_limit counts it */
    bool is_over_memory_limit; /* they took more than memory_limit, and do not take a tenth less yet */
} ki_health;

/* Writes the first `size` bytes of the informer's health. Programs call ki_informer_health, which passes the size of
 * their ki_health: later versions of the library add members at the end.
 * Threads: any. Blocks: no. */
KI_API void ki_informer_health_sized(const ki_informer *informer, ki_health *ret_health, size_t size);

/* Writes the informer's current health. State, cause and message are those of its worst namespace. Threads: any.
 * Blocks: no. */
static inline void ki_informer_health(const ki_informer *informer, ki_health *ret_health) {
    ki_informer_health_sized(informer, ret_health, sizeof *ret_health);
}

/* As ki_informer_namespace_health, which programs call, for the first `size` bytes of the health. */
KI_API bool ki_informer_namespace_health_sized(const ki_informer *informer, const char *namespace_name,
                                               ki_health *ret_health, size_t size);

/* Returns true once the whole first list of a namespace is in the cache, whether or not other namespaces are listed.
 * From then on, an object that a lookup does not find did not exist `staleness_ms` ago. Writes the namespace's health
 * to `*ret_health`, which may be NULL: the members from `state` to `unreadable_message`, except `skipped`, are the
 * namespace's, and the others the informer's. All are the informer's once it is stopped, and while it stores nothing
 * for lack of memory. For a namespace that the informer does not watch, or no longer, the function returns false, with
 * the state KI_STATE_NOT_STARTED and the message "namespace shop is not watched". An informer of all namespaces watches
 * each. Threads: any. Blocks: no. */
static inline bool ki_informer_namespace_health(const ki_informer *informer, const char *namespace_name,
                                                ki_health *ret_health) {
    return ki_informer_namespace_health_sized(informer, namespace_name, ret_health, sizeof *ret_health);
}
/* Returns the name of an attempt, such as "streaming list". Ownership: static. Threads: any. */
KI_API const char *ki_attempt_name(ki_attempt attempt);
/* Returns the name of a state, such as "watching". Ownership: static. Threads: any. */
KI_API const char *ki_state_name(ki_state state);

/* Called when the state or its cause changes. Threads: called on the loop; must not block. */
typedef void (*ki_state_handler)(ki_informer *informer, const ki_health *health, void *user) KI_NOEXCEPT;
/* Sets the state handler. Threads: any. Errors: KI_ERR_STATE (the informer is started). */
KI_API KI_MUST_CHECK ki_status ki_informer_set_state_handler(ki_informer *informer, ki_state_handler handler,
                                                             void *user, ki_error *err);

/* ---- waiting ---- */

/* Returns true once the whole first list is in the cache; false for an informer that was removed from its factory.
 * Threads: any. Blocks: no. */
KI_API bool ki_informer_has_synced(const ki_informer *informer);
/* Returns true if the informer has synced, and the set of namespaces that was given last is complete: each namespace of
 * it is listed, and the cache has no object of others. Each change of the set ends in a call of on_namespaces_synced,
 * with on_synced for the first. Without a set, as ki_informer_has_synced. Threads: any. Blocks: no. */
KI_API bool ki_informer_namespaces_have_synced(const ki_informer *informer);
/* Returns the resource version at which the informer synced; "" before, for a list without one, and for NULL. A handler
 * that was added before the start has seen every change up to this version when its on_synced is called; every later
 * change has a newer version. The cache itself may be ahead by then. Ownership: borrowed from the informer. Threads:
 * any. Blocks: no. */
KI_API const char *ki_informer_synced_version(const ki_informer *informer);

/* Waits until ki_informer_has_synced, for at most `timeout_ms` (< 0: no limit).
 * Threads: any thread of the program, outside handlers. Blocks: yes; with an engine that the program steps, it
 * checks every 100 ms whether the engine was stopped.
 * Errors: KI_ERR_TIMEOUT (with the category of the cause if the informer is blocked), KI_ERR_CANCELLED (the informer is
 * stopped or removed, or the loop has ended), KI_ERR_DEADLOCK (called in a handler, on the loop's thread, or on the
 * thread that steps the engine). */
KI_API KI_MUST_CHECK ki_status ki_informer_wait_for_sync(ki_informer *informer, int64_t timeout_ms, ki_error *err);

/* Waits until the cache contains a write, for at most `timeout_ms` (< 0: no limit). `resource_version` is the version
 * that the write returned. The wait ends when the whole cache is at that version or a newer one
 * (ki_snapshot_resource_version). With a `key` (may be NULL) it ends earlier, once the cache has the object under `key`
 * at that version or a newer one, or had it before a deletion; `resource_version` may then be NULL for any version.
 * Versions that cannot be compared (ki_resource_version_compare) must be equal. Handlers may not have been called for
 * the change yet. After a cluster is restored from a backup it uses versions again: a wait can end too early until the
 * informer has relisted.
 * Threads, Blocks: as ki_informer_wait_for_sync.
 * Errors: as ki_informer_wait_for_sync; KI_ERR_INVALID (neither a key nor a version; a key that no object of the
 * informer can have: without a namespace, or of another one; unknown for a resource by name that is not found yet),
 * KI_ERR_NO_MEMORY. Returns KI_OK for a version that the cache contains also after the informer is stopped, but not
 * after it is removed. */
KI_API KI_MUST_CHECK ki_status ki_informer_wait_for_version(ki_informer *informer, const char *key,
                                                            const char *resource_version, int64_t timeout_ms,
                                                            ki_error *err);

/* Receives the end of ki_informer_wait_for_version_async or ki_informer_wait_for_deletion_async. Threads: called on the
 * loop; must not block. */
typedef void (*ki_version_handler)(ki_informer *informer, ki_status status, void *user) KI_NOEXCEPT;
/* Calls `handler` once when the cache contains a write; does not wait. `key`, `resource_version` and `timeout_ms` are
 * those of ki_informer_wait_for_version; the timeout counts on the engine's clock. The status is KI_OK, KI_ERR_TIMEOUT,
 * or KI_ERR_CANCELLED (the informer was stopped, or ki_informer_cancel_version_waits was called). The handler is never
 * called from inside this function. The number of waits is limited by memory only. All waits that a change ends are
 * decided in one step of the loop; each handler is called in a step of its own.
 * Ownership: texts are copied; `user` must stay valid until the call. Threads: any, also in a handler. Blocks: no.
 * Errors, after which the handler is not called: KI_ERR_INVALID, KI_ERR_NO_MEMORY, KI_ERR_CANCELLED (the informer is
 * stopped). */
KI_API KI_MUST_CHECK ki_status ki_informer_wait_for_version_async(ki_informer *informer, const char *key,
                                                                  const char *resource_version, int64_t timeout_ms,
                                                                  ki_version_handler handler, void *user,
                                                                  ki_error *err);

/* Waits until the cache has seen a deletion, for at most `timeout_ms` (< 0: no limit): until it has synced, and has no
 * object under `key`, or one with another uid. `uid` is that of the deleted object (ki_response_uid); NULL or "": until
 * no object is under `key`. An object that the deletion only marks, because of finalizers or a grace period, is in the
 * cache until it is gone: to see the mark, wait for the version of the response. If the program has just created the
 * object, the cache may not have it yet, and the wait would end at once: wait for the version of the creation first.
 * Handlers may not have been called for the deletion yet.
 * Threads, Blocks: as ki_informer_wait_for_sync.
 * Errors: as ki_informer_wait_for_sync; KI_ERR_INVALID (no key, or one that no object of the informer can have),
 * KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_informer_wait_for_deletion(ki_informer *informer, const char *key, const char *uid,
                                                             int64_t timeout_ms, ki_error *err);
/* Calls `handler` once when the cache has seen a deletion; does not wait. `key`, `uid` and `timeout_ms` are those of
 * ki_informer_wait_for_deletion; everything else is as for ki_informer_wait_for_version_async. */
KI_API KI_MUST_CHECK ki_status ki_informer_wait_for_deletion_async(ki_informer *informer, const char *key,
                                                                   const char *uid, int64_t timeout_ms,
                                                                   ki_version_handler handler, void *user,
                                                                   ki_error *err);

/* Cancels all waits of ki_informer_wait_for_version_async and ki_informer_wait_for_deletion_async with this handler and
 * user. The loop then calls the handler with KI_ERR_CANCELLED for each.
 * Threads: any, also in a handler. Blocks: no.
 * Errors: KI_ERR_NOT_FOUND (no such wait: each has ended, and its call has been made or is coming). */
KI_API KI_MUST_CHECK ki_status ki_informer_cancel_version_waits(ki_informer *informer, ki_version_handler handler,
                                                                void *user, ki_error *err);

/* Returns true to end the wait of ki_informer_wait_until. `event` is borrowed. A NULL event means that the condition
 * has been called for every object of the initial list; the condition may read the cache then. */
typedef bool (*ki_wait_condition)(ki_informer *informer, const ki_event *event, void *user) KI_NOEXCEPT;

/* Waits until `condition` returns true, for at most `timeout_ms` (< 0: no limit). The condition is called for every
 * cached object, as an add with is_in_initial_list; once with NULL when the cache has synced; then for each change. The
 * condition is not called after this function has returned.
 * Threads: as ki_informer_wait_for_sync; the condition is called on the loop, one call at a time, and must not block.
 * Blocks: as ki_informer_wait_for_sync.
 * Errors: as ki_informer_wait_for_sync; KI_ERR_INVALID, KI_ERR_STATE (the informer was stopped before),
 * KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_informer_wait_until(ki_informer *informer, ki_wait_condition condition, void *user,
                                                      int64_t timeout_ms, ki_error *err);

/* ---- objects ---- */

/* Makes an object from JSON, such as the response of a write, in the same way as the informer makes its own: with the
 * informer's view, and with kind and apiVersion filled in, but without its transform. With KI_KEEP_METADATA the object
 * has metadata alone. With KI_KEEP_VIEW it has no content, unless the informer was started with a transform: that reads
 * the content. The object is not added to the cache.
 * Ownership: `*ret_obj` is a reference that the caller releases with ki_object_unref. Threads: any. Blocks: no.
 * Errors: KI_ERR_PARSE (no JSON, no metadata, or no name), KI_ERR_INVALID, KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_informer_object_from_json(const ki_informer *informer, const char *json, size_t size,
                                                            ki_object **ret_obj, ki_error *err);

/* Returns the informer's resource; of one by name, without version and kind ("") until it is found. Ownership: borrowed
 * from the informer. Threads: any. */
KI_API const ki_resource *ki_informer_resource(const ki_informer *informer);

KI_END_DECLS

#endif
