/* shared_informer.h: makes, starts and stops an informer, for the factory and for tests. A program uses
 * <kinformer/informer.h>. "Loop" is meant as in engine.h: the caller of an idle engine counts as the loop. */
#ifndef KI_CACHE_SHARED_INFORMER_H
#define KI_CACHE_SHARED_INFORMER_H

#include <kinformer/factory.h>

#include "src/base/internal_api.h"
#include "src/cache/store/store.h"
#include "src/engine/engine.h"
#include "src/object/format.h"
#include "src/object/selection.h"
#include <kinformer/parts/list_watch.h>
#include <kinformer/parts/queue.h>
#include <kinformer/parts/reflector.h>

enum {
    KI_INFORMER_KEY_MAX = 320 /* bytes of a key: a namespace and a name */
};

typedef struct ki_shared_informer_options {
    ki_engine *engine;
    ki_list_watch *list_watch; /* the informer owns it if ki_informer_new succeeds; NULL: of a set of namespaces */
    ki_selection *selection;   /* what the source selects; the informer takes a reference */
    ki_object_format *format;  /* makes its objects; outlives the informer; NULL: the informer makes none itself */
    ki_informer_options given; /* the program's, with the factory's defaults; its texts are not used later */
    const ki_factory_options *factory; /* the program's; outlives the informer; NULL: defaults */
    const void *owner;                 /* of the callbacks (callback.h): the factory; NULL: the informer */
    uint64_t seed;                     /* of key hashes */
    ki_list_watch *check_source;       /* a second source, for consistency checks; owned as list_watch; NULL: none */
    /* Makes the source of one namespace of a set. Loop. */
    ki_status (*make_source)(ki_selection *selection, void *user, ki_list_watch **ret_source, ki_error *err);
    void *make_source_user;
    ki_informer **running; /* the first of the running informers of the factory; outlives the informer; NULL: none */
} ki_shared_informer_options;

/* The names of a set of namespaces, sorted, each once. Immutable, with references. */
typedef struct ki_namespaces ki_namespaces;
/* Copies names. Any thread. Errors: KI_ERR_INVALID, KI_ERR_LIMIT (no names of a set), KI_ERR_NO_MEMORY. */
ki_status ki_namespaces_new(const ki_allocator *allocator, const char *const *names, size_t count,
                            ki_namespaces **ret_set, ki_error *err);
void ki_namespaces_unref(ki_namespaces *set);
/* As ki_informer_set_namespaces, of an informer that has a set; takes a reference. Any thread. Errors: KI_ERR_STATE. */
ki_status ki_informer_give_namespaces(ki_informer *informer, ki_namespaces *set, ki_error *err);

/* Any thread. `*options` is copied. */
ki_status ki_informer_new(const ki_shared_informer_options *options, ki_informer **ret_informer, ki_error *err);

/* Returns what the informer was made with; `owner` and `factory` are not NULL. Its sources may be gone. Any thread. */
KI_INTERNAL_API const ki_shared_informer_options *ki_informer_made_with(const ki_informer *informer);
/* Returns the informer's transform; its `transform` is NULL: none. Any thread, after freeze. */
KI_INTERNAL_API ki_transform_step ki_informer_transform_step(const ki_informer *informer);
/* Returns true if the informer's cache can have an object under the key, by its namespace. Any thread. */
KI_INTERNAL_API bool ki_informer_has_namespace(const ki_informer *informer, const char *key);

/* Calls `on_deltas` after each step with the deltas that it processed, under no lock, on the loop. Before the start;
 * one observer at most. */
void ki_informer_observe(ki_informer *informer, void (*on_deltas)(const ki_deltas *deltas, void *user), void *user);
/* Returns the observer's `user`; NULL: none. Any thread. */
void *ki_informer_observer(const ki_informer *informer);

/* From now on rejects settings that are allowed only before the start. Any thread. */
void ki_informer_freeze(ki_informer *informer);
/* Starts to list and watch, and starts the listeners. Loop. KI_ERR_NO_MEMORY, KI_ERR_SYSTEM: nothing has started, and
 * the caller may retry. KI_ERR_STATE: started or stopped before. */
ki_status ki_informer_start(ki_informer *informer, ki_error *err);
/* Removes a running informer, which stays valid for calls until it is freed. The cache is empty at once, and each call
 * that needs a running informer returns an error. The loop then stops the informer, as ki_informer_stop does, and frees
 * what other threads do not use. Any thread. KI_ERR_NO_MEMORY: nothing has changed. */
ki_status ki_informer_remove(ki_informer *informer, ki_error *err);
/* Any thread. */
KI_INTERNAL_API bool ki_informer_is_removed(const ki_informer *informer);
/* Removes the handlers of a removed informer. Any thread; the caller holds no lock. */
void ki_informer_remove_handlers(ki_informer *informer);
/* Ends reflector and process loop, then asks the listeners to end. Loop. Repeatable. */
void ki_informer_stop(ki_informer *informer);
/* Waits until each listener's thread has ended. After stop. Any thread but theirs, one at a time. */
void ki_informer_join(ki_informer *informer);
/* Cancels the tasks that other threads may have posted after the stop. Loop; after join. */
void ki_informer_cancel_tasks(ki_informer *informer);
/* Calls each outstanding on_removed, then frees the informer. After join, and after ki_informer_cancel_tasks if the
 * loop still runs. NULL is accepted. */
void ki_informer_free(ki_informer *informer);

enum {
    KI_INFORMER_WHY_MAX = KI_HEALTH_MESSAGE_MAX + 32 /* bytes with the closing zero */
};
/* Writes the state and its cause, for example "blocked: forbidden: list pods in all namespaces". Returns `why`. Any
 * thread. */
const char *ki_informer_why(const ki_informer *informer, char why[KI_INFORMER_WHY_MAX]);
/* Sets "the informer of … is stopped", and why if it was removed or the loop has ended by itself. Any thread. */
ki_status ki_informer_set_stopped(const ki_informer *informer, ki_status status, ki_error *err);
/* Keeps the last state of an object that is gone and that the cache never had, unless there is another under its key.
 * Loop; not under change_lock. */
void ki_informer_add_deleted(ki_informer *informer, ki_object *obj);
/* Gives an error of the category "try again" the category of the informer's cause if the informer is blocked: somebody
 * must act first. `err` may be NULL. Any thread. */
void ki_informer_note_blocked(const ki_informer *informer, ki_error *err);
/* Returns KI_OK if the informer has synced; else an error with the reason. Any thread. */
ki_status ki_informer_sync_cause(const ki_informer *informer, ki_error *ret_cause);

/* Returns the monotonic time `timeout_ms` from now; INT64_MAX for a negative or very long timeout. */
int64_t ki_deadline_of_timeout(int64_t timeout_ms);
/* Waits until `deadline_ns` of the monotonic clock; otherwise as ki_informer_wait_for_sync. With `ret_blocked`, which
 * may be NULL, the wait also ends, with KI_OK, once the informer is blocked; `*ret_blocked` is then true. */
ki_status ki_informer_wait_until_synced(ki_informer *informer, int64_t deadline_ns, bool *ret_blocked, ki_error *err);

#endif
