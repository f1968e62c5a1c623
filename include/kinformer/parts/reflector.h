/* parts/reflector.h: lists a source's objects, then watches them, and puts all changes into a queue, or keeps a store
 * current (client-go's Reflector). Recovers from every failure. A building block of an informer, with the weaker
 * promise of store.h.
 *
 * Threads: everything on the loop, or while nothing drives the engine. */
#ifndef KINFORMER_PARTS_REFLECTOR_H
#define KINFORMER_PARTS_REFLECTOR_H

#include <kinformer/engine.h>
#include <kinformer/parts/list_watch.h>
#include <kinformer/parts/queue.h>

KI_BEGIN_DECLS

typedef struct ki_reflector ki_reflector;

/* The program's transform; `transform` NULL: objects stay unchanged. */
typedef struct ki_transform_step {
    ki_transform transform;
    void *user;
} ki_transform_step;

/* Every function may be NULL. They are called on the loop, and must not block. */
typedef struct ki_reflector_options {
    size_t size;               /* sizeof(ki_reflector_options); set by the macro */
    ki_engine *engine;         /* borrowed */
    ki_list_watch *list_watch; /* borrowed */
    ki_queue *queue;           /* borrowed; of the same allocator as the engine; NULL: `store` */
    const char *name;          /* what is listed, such as "pods in default (app=x)"; for messages; borrowed */
    int64_t page_size;         /* objects of one page; 0: as in ki_informer_options */
    /* no_streaming_list and the two of backoff are used; borrowed; NULL: their defaults. */
    const ki_factory_options *factory;
    ki_transform_step transform; /* applied to each decoded object */
    /* With its `get`, an object that a list repeats is in memory once. With `store`: that store's. */
    ki_known_objects known;
    /* Called for each new state. `cause` is NULL without a failure. `retry_at`: the time of the next attempt, as
     * ki_engine_now has it, in nanoseconds; -1: none is planned. */
    void (*on_state)(ki_state state, const ki_error *cause, int64_t retry_at, void *user) KI_NOEXCEPT;
    /* The progress of a list; total -1: unknown. */
    void (*on_listed)(size_t listed, int64_t total, void *user) KI_NOEXCEPT;
    void (*on_error)(const ki_error *err, void *user) KI_NOEXCEPT; /* a list or a watch failed; the reflector retries */
    /* An object could not be read and is skipped. The queue keeps the known one. */
    void (*on_bad_object)(const ki_error *err, const char *key, void *user) KI_NOEXCEPT;
    /* The queue received a list or an event, or the version changed (ki_reflector_resource_version). */
    void (*on_progress)(void *user) KI_NOEXCEPT;
    void *user;
    /* In place of `queue`: the reflector applies all changes to this store, some in each step of the loop, in the order
     * of their arrival; a reader can see a part of a list. Nothing else changes the store. Once nothing waits, the
     * store is at the version of the last list or event. A change that the store rejects is reported to `on_error` and
     * dropped; after a lack of memory the reflector retries. Borrowed. */
    ki_store *store;
} ki_reflector_options;

#define KI_REFLECTOR_OPTIONS(...) KI_SIZED_(ki_reflector_options, __VA_ARGS__)

/* Makes a reflector. It sends nothing before ki_reflector_start. The engine, the source, and the queue or the store are
 * needed.
 * Ownership: the caller frees the reflector with ki_reflector_free, before what it borrows. Blocks: no.
 * Errors: KI_ERR_INVALID, KI_ERR_NO_MEMORY, KI_ERR_SYSTEM. */
KI_API KI_MUST_CHECK ki_status ki_reflector_new(const ki_reflector_options *options, ki_reflector **ret_reflector,
                                                ki_error *err);
/* Begins with a list at the loop's next step. NULL is accepted. */
KI_API void ki_reflector_start(ki_reflector *reflector);
/* Returns the version of the last list, event or bookmark that is in the queue; "" before the first list, and for NULL
 * (client-go's LastSyncResourceVersion). Ownership: borrowed until the loop's next step. */
KI_API const char *ki_reflector_resource_version(const ki_reflector *reflector);
/* Cancels the running request and frees the reflector. NULL is accepted. */
KI_API void ki_reflector_free(ki_reflector *reflector);

KI_END_DECLS

#endif
