/* controller.h: calls a function for each object that changed until the cluster is as the object asks: a controller.
 *
 *     static ki_status reconcile(ki_reconcile *call, const char *key, void *user, ki_error *err) {
 *         ki_object *foo = ki_informer_get(foos, key);
 *         …                                                    compare what is with what should be, and write the difference
 *         return KI_OK;
 *     }
 *
 *     ki_controller_new(factory, &KI_CONTROLLER_OPTIONS(.name = "foo", .reconcile = reconcile, .workers = 2), &controller, &err) ||
 *     ki_controller_watch(controller, foos, NULL, &err) ||                                                each Foo itself
 *     ki_controller_watch(controller, deployments, &KI_CONTROLLER_WATCH(.owner = &foo_resource), &err) ||    the Foo that owns it
 *     ki_factory_run(factory, &err)
 *
 * A key is "namespace/name", or "name". Events only say which key to look at: the function reads the caches, not the events. One worker at a time
 * processes a key; a key that changes meanwhile is processed again afterwards. No reconcile begins before all watched informers have synced.
 * What could not be queued for lack of memory is queued later; only a deletion can get lost, and is logged, where there is no memory even to
 * remember it (each watch always remembers 256). The concepts are those of controller-runtime: controller, watch, predicate, reconcile, result.
 *
 * All requests of the factory share one limit, by default 5 a second after 10 at once (client.h): more workers do not raise it. A controller with many
 * objects sets requests_per_second and request_burst in KI_FACTORY_OPTIONS. */
#ifndef KINFORMER_CONTROLLER_H
#define KINFORMER_CONTROLLER_H

#include <kinformer/client.h>
#include <kinformer/factory.h>
#include <kinformer/leader.h>
#include <kinformer/unstructured.h>
#include <kinformer/workqueue.h>

KI_BEGIN_DECLS

typedef struct ki_controller ki_controller;
typedef struct ki_reconcile ki_reconcile; /* one call of the reconcile function */

/* ---- reconciling ---- */

/* Makes the cluster what the object under `key` asks for. The object may be gone.
 * Returns KI_OK: the key is done, and its failures are forgotten, unless one of the functions below says otherwise; what `err` holds does not
 * count. Returns an error: the key is processed again after the delay of the controller's rate limits; `err`, which is never NULL, is logged.
 * Threads: with run and start one of the controller's workers, which may wait (ki_client_do and friends, ki_informer_wait_for_version). With a
 * stepped engine the loop, which may not: there the function calls ki_client_send and ki_reconcile_defer. No lock of the library is held. */
typedef ki_status (*ki_reconcile_function)(ki_reconcile *call, const char *key, void *user, ki_error *err) KI_NOEXCEPT;

/* Processes the key again after the delay of the rate limits. The last call of this function and the next one counts. An error that the
 * reconcile function returns wins over both. Threads: inside the reconcile function, or before ki_reconcile_finish. */
KI_API void ki_reconcile_requeue(ki_reconcile *call);
/* Processes the key again after `delay_ms`, at once where that is 0 or less. The failures of the key are forgotten. */
KI_API void ki_reconcile_requeue_after(ki_reconcile *call, int64_t delay_ms);
/* Marks the error that the function returns as final: the key is processed again only when an event queues it. */
KI_API void ki_reconcile_is_terminal(ki_reconcile *call);

/* Lets the reconcile go on after the function has returned KI_OK: the key is being processed until ki_reconcile_finish. Where the function
 * returns an error all the same, the reconcile ends with that, and ki_reconcile_finish must not be called.
 * Ownership: `call` is valid until ki_reconcile_finish. Threads: inside the reconcile function. */
KI_API void ki_reconcile_defer(ki_reconcile *call);
/* Ends a deferred reconcile: with success where `cause` is NULL, else with an error, as if the function had returned it.
 * Must be called once, also after ki_controller_stop: ki_factory_free waits for it. Requests of the factory's client that are under way then end with
 * KI_ERR_CANCELLED, so that their callbacks can call it. Threads: any, also before the function has returned. Blocks: no. */
KI_API void ki_reconcile_finish(ki_reconcile *call, const ki_error *cause);

/* Ownership: borrowed until the reconcile ends. */
KI_API const char *ki_reconcile_key(const ki_reconcile *call);
KI_API ki_controller *ki_reconcile_controller(const ki_reconcile *call);
/* Returns true where the controller stops, or where this process leads no more: a long reconcile should end soon. Threads: any. */
KI_API bool ki_reconcile_is_cancelled(const ki_reconcile *call);

/* ---- a controller's life ---- */

typedef struct ki_controller_options {
    size_t size;      /* sizeof(ki_controller_options); set by the macro */
    const char *name; /* of its metrics, logs and threads; UTF-8; unique in the factory; needed; copied */
    ki_reconcile_function reconcile;
    void *user;
    int workers; /* reconciles at once, deferred ones too; 0: 1 */
    /* Of keys that failed; NULL: exponential from 5 ms to 1000 s for each key, 10 a second after 100 for all. */
    const ki_rate_limit *rate_limits;
    size_t rate_limit_count;
    /* One order for all keys; else keys of the first list and of resyncs come after keys that changed. */
    bool no_priority;
    int64_t stop_timeout_ms; /* how long a stop of the factory waits for running reconciles; 0: 30 s */
    /* Reconciles only while this process leads; NULL: always. Of the same engine, and freed after the controller. While another process leads, events
     * queue nothing, deletions neither; each term begins with the keys of all objects, for which predicates are asked as for an add. */
    ki_elector *elector;
} ki_controller_options;

#define KI_CONTROLLER_OPTIONS(...) ((ki_controller_options){ .size = sizeof(ki_controller_options), __VA_ARGS__ })

/* Makes a controller of the factory's engine. It starts with the next ki_factory_start or ki_factory_run, as informers do. It stops with the
 * factory, before informers and client do, so that running reconciles can end. With a host's stepped engine the host calls ki_factory_stop and goes on
 * stepping until ki_informer_health says KI_STATE_STOPPED: informers stop last. ki_factory_shutdown does not give them that time.
 * Ownership: the caller's, freed with ki_controller_free before the factory. Blocks: no.
 * Errors: KI_ERR_INVALID, KI_ERR_LIMIT (1024 workers are the most), KI_ERR_EXISTS (the name), KI_ERR_STATE (the factory is stopped), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_controller_new(ki_factory *factory, const ki_controller_options *options,
                                                 ki_controller **ret_controller, ki_error *err);

/* Stops the controller, waits for running reconciles, and frees it. Inside its own reconcile, map and predicate functions, and on the loop, it does not
 * wait: the last reconcile that ends frees the controller, at the latest ki_factory_free waits for that. NULL is accepted.
 * Blocks: until running reconciles have ended, deferred ones too. */
KI_API void ki_controller_free(ki_controller *controller);

/* Stops the controller: no reconcile begins any more, and what is queued is dropped. Repeatable. NULL is accepted.
 * Threads: any, reconciles too. Blocks: no. */
KI_API void ki_controller_stop(ki_controller *controller);

/* Returns the controller's queue, for keys that come from elsewhere: a timer, another system.
 * Ownership: borrowed from the controller. Threads: any. */
KI_API ki_workqueue *ki_controller_queue(ki_controller *controller);

/* Returns the metrics of a controller beside those of its queue (ki_workqueue_metric_at) by number from 0, to register them; NULL past the last.
 * ki_factory_metrics_text has both. Ownership: static. Threads: any. */
KI_API const ki_metric *ki_controller_metric_at(size_t index);

/* ---- what it watches ---- */

/* Takes the keys that a map function adds. */
typedef struct ki_requests ki_requests;
/* Adds a key; copied. Errors: as ki_workqueue_add; after KI_ERR_NO_MEMORY the controller maps the object again later. */
KI_API ki_status ki_requests_add(ki_requests *requests, const char *key);

/* Decides whether an event matters: false skips the event. Threads: on the loop; must not block. */
typedef bool (*ki_predicate)(const ki_event *event, void *user) KI_NOEXCEPT;

typedef struct ki_controller_watch_options {
    size_t size; /* sizeof(ki_controller_watch_options); set by the macro */
    /* Whose key is queued: by default the object's own. */
    const ki_resource *
        owner; /* the object that is its controller by the owner references, where that is of this group and kind; copied */
    bool any_owner; /* with `owner`: each owner of that group and kind, not only the controller */
    /* The keys that this function adds. Threads: on the loop; must not block. */
    void (*map)(const ki_object *obj, ki_requests *requests, void *user) KI_NOEXCEPT;
    ki_predicate predicate; /* NULL: every event matters */
    void *user;             /* of map and predicate */
} ki_controller_watch_options;

#define KI_CONTROLLER_WATCH(...) \
    ((ki_controller_watch_options){ .size = sizeof(ki_controller_watch_options), __VA_ARGS__ })

/* Queues a key for each event of the informer, which may be another factory's of the same engine: that one is freed after this
 * controller's factory. On an update the owners, or the map function, of the old state count too. `options` may be NULL.
 * Threads: any. Blocks: no. Errors: KI_ERR_INVALID, KI_ERR_STATE (started or stopped), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_controller_watch(ki_controller *controller, ki_informer *informer,
                                                   const ki_controller_watch_options *options, ki_error *err);

/* Predicates. Each returns true for every add and delete, and for an update that changed metadata.generation (the spec, not status or
 * metadata), the labels, the annotations, or the resource version (not a resync). To combine two, write a function: a(event, user) || b(event, user). */
KI_API bool ki_predicate_generation_changed(const ki_event *event, void *user);
KI_API bool ki_predicate_labels_changed(const ki_event *event, void *user);
KI_API bool ki_predicate_annotations_changed(const ki_event *event, void *user);
KI_API bool ki_predicate_resource_version_changed(const ki_event *event, void *user);

/* ---- writes that most reconcilers make; all wait, as ki_client_do ---- */

/* Adds a finalizer to an object, or removes it. Writes nothing where the object has it, or has it not, already. The server refuses the write where the
 * object has changed since `obj` (ki_error_is_conflict): return the error, and the key is processed again. A role needs the verb patch.
 * Ownership: `ret_obj` may be NULL; `*ret_obj` is a reference to the new state, or to `obj` where nothing was written; the caller's. */
KI_API KI_MUST_CHECK ki_status ki_client_add_finalizer(ki_client *client, const ki_resource *resource,
                                                       const ki_object *obj, const char *finalizer, ki_object **ret_obj,
                                                       ki_error *err);
KI_API KI_MUST_CHECK ki_status ki_client_remove_finalizer(ki_client *client, const ki_resource *resource,
                                                          const ki_object *obj, const char *finalizer,
                                                          ki_object **ret_obj, ki_error *err);

/* Applies (server-side, by force) the status of an object: `status_json` is the value of its field "status". Another object of that name is left
 * alone (ki_error_is_conflict). A role needs the verb patch for the subresource status. */
KI_API KI_MUST_CHECK ki_status ki_client_apply_status(ki_client *client, const ki_resource *resource,
                                                      const ki_object *obj, const char *field_manager,
                                                      const char *status_json, ki_object **ret_obj, ki_error *err);

/* Applies (server-side, by force) a child of `owner`. `child` has apiVersion, kind and name; its namespace, the owner's, and the controller reference
 * are set here. For a child in another namespace, which cannot have an owner reference, call ki_client_apply. A role needs the verbs create and patch.
 * Errors: also those of ki_unstructured_json, KI_ERR_INVALID (a cluster-scoped child of a namespaced owner). */
KI_API KI_MUST_CHECK ki_status ki_client_apply_child(ki_client *client, const ki_resource *resource,
                                                     const ki_object *owner, const char *field_manager,
                                                     ki_unstructured *child, ki_object **ret_obj, ki_error *err);

KI_END_DECLS

#endif
