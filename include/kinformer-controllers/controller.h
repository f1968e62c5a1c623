/* controller.h: a controller: calls a reconcile function for the key of each object that changed.
 *
 *     static ki_status reconcile(ki_reconcile *call, const char *key, void *user, ki_error *err) {
 *         ki_object *foo = ki_informer_get(foos, key);
 *         …                                     compare the actual with the desired state, and write the difference
 *         return KI_OK;
 *     }
 *
 *     ki_controller_new(factory, &KI_CONTROLLER_OPTIONS(.name = "foo", .reconcile = reconcile, .workers = 2),
 *                       &controller, &err) ||
 *     ki_controller_for(controller, &foo_resource, &KI_CONTROLLER_WATCH(.predicate = ki_predicate_generation_changed),
 *                       &foos, &err) ||                                                   each Foo
 *     ki_controller_owns(controller, KI_DEPLOYMENTS, NULL, &deployments, &err) ||         the Foo of each Deployment
 *     ki_factory_run(factory, &err)
 *
 * A key is "namespace/name", or "name". Events only queue keys: the function reads the caches, not the events. One
 * worker at a time processes a key; a key that changes meanwhile is processed again afterwards. No reconcile starts
 * before all informers that are watched at the start have synced. The concepts are those of controller-runtime:
 * controller, watch, predicate, reconcile, result.
 *
 * Leadership: with an elector, the requests of a reconcile belong to the term in which the reconcile began. Once this
 * process no longer leads, none of them is sent any more, and each that waits for the rate limit, for a retry or for a
 * response ends with KI_ERR_CANCELLED; what is on the wire by then can still arrive. This holds for the requests that
 * the reconcile function makes, and for those that the callback of such a request makes. What the program has to do: a
 * deferred reconcile that makes a request anywhere else, on a thread of its own or in a timer, names its term:
 * KI_REQUEST_OPTIONS(.term = ki_reconcile_term(call)).
 *
 * Own writes: after a reconcile, the next one of its key waits until the caches of the watched informers have what it
 * wrote, at most 10 s. No worker waits meanwhile. So an event of a child does not make the function read an object
 * without the status that it wrote just before. Counted are creates, updates, patches, applies and deletes of one
 * object by ki_factory_client that belong to the reconcile (as for leadership), also those that end after it. A key
 * does not wait for an object that no watched informer selects, a dry run, a deletion of a collection, or a raw
 * request.
 *
 * Lack of memory: a key that cannot be queued is queued later. A deletion can be lost, with a log message, if memory
 * does not even suffice to remember the object; each watch has memory for 256 objects reserved. */
#ifndef KINFORMER_CONTROLLERS_CONTROLLER_H
#define KINFORMER_CONTROLLERS_CONTROLLER_H

#include <kinformer-controllers/leader.h>
#include <kinformer-controllers/workqueue.h>
#include <kinformer/client.h>
#include <kinformer/factory.h>
#include <kinformer/lister.h>
#include <kinformer/unstructured.h>

KI_BEGIN_DECLS

typedef struct ki_controller ki_controller;
typedef struct ki_reconcile ki_reconcile; /* one run of the reconcile function */

/* ---- reconciling ---- */

/* Brings the cluster to the state that the object under `key` specifies. The object may be deleted. Returns KI_OK when
 * the key is done: its failures are reset, unless a function below requests otherwise, and `err` is ignored. Returns an
 * error to process the key again after the delay of the controller's rate limits; the controller logs `err`, which is
 * never NULL: a conflict as a warning, all else as an error.
 * Threads: with ki_engine_run and ki_engine_start called on a worker of the controller, where the function may wait
 * (ki_client_do, ki_informer_wait_for_version). With ki_engine_step called on the loop, where the function must not
 * wait: use ki_client_send and ki_reconcile_defer. No lock of the library is held. */
typedef ki_status (*ki_reconcile_function)(ki_reconcile *call, const char *key, void *user, ki_error *err) KI_NOEXCEPT;

/* Processes the key again after the delay of the rate limits. After several calls of this function and
 * ki_reconcile_requeue_after the last call applies. An error of the reconcile function overrides both. Threads: inside
 * the reconcile function, or before ki_reconcile_finish. */
KI_API void ki_reconcile_requeue(ki_reconcile *call);
/* Processes the key again after `delay_ms` (0 or less: at once) and resets the key's failures. Threads: as
 * ki_reconcile_requeue. */
KI_API void ki_reconcile_requeue_after(ki_reconcile *call, int64_t delay_ms);
/* Marks the error that the function returns as final: only a new event processes the key again. Threads: as
 * ki_reconcile_requeue. */
KI_API void ki_reconcile_set_terminal(ki_reconcile *call);
/* Says that the program has logged the error, such as an exception with its traceback: the controller does not.
 * Threads: as ki_reconcile_requeue. */
KI_API void ki_reconcile_set_logged(ki_reconcile *call);

/* Continues the reconcile after the function has returned KI_OK: the key stays in processing until ki_reconcile_finish.
 * If the function returns an error instead, the reconcile ends with the error, and ki_reconcile_finish must not be
 * called.
 * Ownership: `call` is valid until ki_reconcile_finish. Threads: inside the reconcile function. */
KI_API void ki_reconcile_defer(ki_reconcile *call);
/* Ends a deferred reconcile: successfully if `cause` is NULL, else with `cause` as the function's error. Must be called
 * exactly once, also after ki_controller_stop: ki_factory_free waits for the call, after ending all requests of the
 * factory's client with KI_ERR_CANCELLED.
 * Threads: any, also before the function has returned. Blocks: no. */
KI_API void ki_reconcile_finish(ki_reconcile *call, const ki_error *cause);

/* Returns the key. Ownership: borrowed until the reconcile ends. */
KI_API const char *ki_reconcile_key(const ki_reconcile *call);
/* Returns the controller. Ownership: borrowed. */
KI_API ki_controller *ki_reconcile_controller(const ki_reconcile *call);
/* Returns true if the controller is stopping, or if the term in which the reconcile began has ended. A long reconcile
 * should check this and end early. Threads: any. */
KI_API bool ki_reconcile_is_cancelled(const ki_reconcile *call);
/* Returns the term of leadership in which the reconcile began, for ki_request_options.term (see the top). Without an
 * elector such requests belong to no term.
 * Ownership: borrowed until the reconcile ends. Threads: any. */
KI_API const ki_term *ki_reconcile_term(const ki_reconcile *call);

/* ---- new, stop, free ---- */

typedef struct ki_controller_options {
    size_t size;                     /* sizeof(ki_controller_options); set by the macro */
    const char *name;                /* required; for metrics, logs and threads; UTF-8; unique in the factory; copied */
    ki_reconcile_function reconcile; /* required */
    void *user;                      /* of `reconcile` */
    int workers;                     /* number of concurrent reconciles, with deferred ones; 0: 1; at most 1024 */
    /* The delay of failed keys; copied. NULL: exponential from 5 ms to 1000 s for each key. To limit all keys together
     * as well, add KI_RATE_LIMIT_BUCKET. */
    const ki_rate_limit *rate_limits;
    size_t rate_limit_count;
    /* Processes all keys in one order. Otherwise keys of the initial list and of resyncs come after keys that
     * changed. */
    bool no_priority;
    int64_t stop_timeout_ms; /* time that a stop of the factory waits for running reconciles; 0: 30 s */
    /* Reconciles only while this process leads. The elector must be of the same engine, and is freed after the
     * controller. While another process leads, events queue no keys, not even deletions. Each term of leadership starts
     * with the keys of all objects that the predicates accept as adds. NULL: always reconciles. */
    ki_elector *elector;
    /* The next reconcile of a key does not wait for the writes of the last one (see the top). */
    bool no_wait_for_writes;
} ki_controller_options;

#define KI_CONTROLLER_OPTIONS(...) KI_SIZED_(ki_controller_options, __VA_ARGS__)

/* Makes a controller on the factory's engine. The controller starts with the next ki_factory_start or ki_factory_run.
 * It stops with the factory, before informers and client, so that running reconciles can complete. A program that steps
 * its engine calls ki_factory_stop and continues to step until ki_informer_health reports KI_STATE_STOPPED, because
 * informers stop last; ki_factory_shutdown there does not wait for running reconciles.
 * Ownership: the caller frees the controller with ki_controller_free before the factory. Blocks: no.
 * Errors: KI_ERR_INVALID, KI_ERR_LIMIT (more than 1024 workers), KI_ERR_EXISTS (the name), KI_ERR_STATE (the factory is
 * stopped), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_controller_new(ki_factory *factory, const ki_controller_options *options,
                                                 ki_controller **ret_controller, ki_error *err);

/* Stops the controller, waits for running reconciles, and frees the controller. On the loop, and in the controller's
 * own functions, this function does not wait: the controller is freed when its last reconcile has ended, before
 * ki_factory_free returns. NULL is accepted.
 * Blocks: until running reconciles have ended, also deferred ones. */
KI_API void ki_controller_free(ki_controller *controller);

/* Stops the controller: drops the queued keys and starts no further reconcile. Repeatable. NULL is accepted.
 * Threads: any, also in a reconcile. Blocks: no. */
KI_API void ki_controller_stop(ki_controller *controller);

/* Gets the failure for a person to look at: the worst one of the keys that failed and have not succeeded since. A
 * terminal failure is worse than one that is retried; then more failures in a row are. After the end of a term of
 * leadership there is none. If more than 16 keys fail, the worst 16 are kept; another key returns with its next
 * failure. Threads: any. Blocks: no. */
KI_API void ki_controller_get_failure(const ki_controller *controller, ki_controller_failure *ret_failure);

/* Returns the controller's queue, to add keys from other sources such as a timer or another system.
 * Ownership: borrowed from the controller. Threads: any. */
KI_API ki_workqueue *ki_controller_queue(ki_controller *controller);

/* ---- watches ---- */

/* The keys that a map function adds (in controller-runtime the requests of EnqueueRequestsFromMapFunc). */
typedef struct ki_reconcile_keys ki_reconcile_keys;
/* Adds a key. After KI_ERR_NO_MEMORY the controller maps the object again later. Ownership: the key is copied. Errors:
 * as ki_workqueue_add. */
KI_API ki_status ki_reconcile_keys_add(ki_reconcile_keys *keys, const char *key);

/* Returns true to process an event, false to skip it. Threads: called on the loop; must not block. */
typedef bool (*ki_predicate)(const ki_event *event, void *user) KI_NOEXCEPT;

typedef struct ki_controller_watch_options {
    size_t size; /* sizeof(ki_controller_watch_options); set by the macro */
    /* Queues the key of the object's controller (in its owner references), if that has this group and kind. Copied.
     * NULL: queues the object's own key. */
    const ki_resource *owner;
    /* With `owner`, and in ki_controller_owns: the keys of all owners of that group and kind, not only of the
     * controller. */
    bool any_owner;
    /* Queues the keys that this function adds. Not together with `owner`. Threads: called on the loop; must not
     * block. */
    void (*map)(const ki_object *obj, ki_reconcile_keys *keys, void *user) KI_NOEXCEPT;
    ki_predicate predicate; /* NULL: no event is skipped */
    void *user;             /* of `map` and `predicate` */
    /* For ki_controller_for and ki_controller_owns: of the informer that they make. NULL: the defaults. */
    const ki_informer_options *informer_options;
} ki_controller_watch_options;

#define KI_CONTROLLER_WATCH(...) KI_SIZED_(ki_controller_watch_options, __VA_ARGS__)

/* Reconciles the objects of a resource (controller-runtime's For): makes the factory's informer and queues the key of
 * each object that changes. Once for each controller. `options` (may be NULL) has neither `owner` nor `map`.
 *
 * A status that the reconcile function writes changes the object, too. Where the server counts the generation, a
 * program can skip such events: &KI_CONTROLLER_WATCH(.predicate = ki_predicate_generation_changed). That also skips
 * changes of labels, annotations and finalizers.
 * Ownership: the informer is borrowed from the factory; its life is that of ki_factory_informer. `ret_informer` may be
 * NULL. Threads: any. Blocks: no.
 * Errors: as ki_factory_informer and ki_controller_watch; KI_ERR_STATE (called before). After an error the factory may
 * have the informer. */
KI_API KI_MUST_CHECK ki_status ki_controller_for(ki_controller *controller, const ki_resource *resource,
                                                 const ki_controller_watch_options *options, ki_informer **ret_informer,
                                                 ki_error *err);
/* Watches objects that those of ki_controller_for control (controller-runtime's Owns): queues the key of the controller
 * in their owner references; with options->any_owner those of all owners of that resource. Everything else as
 * ki_controller_for, except that it may be called for any number of resources. Errors: KI_ERR_STATE also without a call
 * of ki_controller_for before. */
KI_API KI_MUST_CHECK ki_status ki_controller_owns(ki_controller *controller, const ki_resource *resource,
                                                  const ki_controller_watch_options *options,
                                                  ki_informer **ret_informer, ki_error *err);

/* ---- other watches: by a map function, of any owner, of another factory ---- */

/* Watches an informer: queues keys for each event. With `owner` or `map` an update queues the keys of the old and of
 * the new state. The informer may belong to another factory on the same engine, which is then freed after the
 * controller's factory. `options` may be NULL.
 *
 * A watch that is added after the start queues the keys of all objects that its informer has or gets; reconciles
 * continue meanwhile. An informer that was made after the start needs a ki_factory_start.
 * Threads: any. Blocks: no. Errors: KI_ERR_INVALID, KI_ERR_STATE (the controller or the informer is stopped),
 * KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_controller_watch(ki_controller *controller, ki_informer *informer,
                                                   const ki_controller_watch_options *options, ki_error *err);

/* ---- predicates; to combine two, write a function: return a(event, user) || b(event, user); ---- */

/* Returns true for adds, deletes and updates that changed metadata.generation: the spec, not status or metadata. Here
 * and below, also for updates of an object whose old state has no content (ki_keep), and so cannot be compared. */
KI_API bool ki_predicate_generation_changed(const ki_event *event, void *user);
/* Returns true for adds, deletes and updates that changed the labels. */
KI_API bool ki_predicate_labels_changed(const ki_event *event, void *user);
/* Returns true for adds, deletes and updates that changed the annotations. */
KI_API bool ki_predicate_annotations_changed(const ki_event *event, void *user);
/* Returns true for adds, deletes and updates that changed the resource version: not a resync. */
KI_API bool ki_predicate_resource_version_changed(const ki_event *event, void *user);

/* ---- writes of reconcilers: Threads, Blocks and Errors as ki_client_do ----
 *
 * `ret_obj` may be NULL. `*ret_obj` is a reference to the new state that the caller releases with ki_object_unref. Of a
 * function with an `obj` the new state has the views of `obj`, or those of options->informer.
 * As in kinformer/client.h, a function that writes a ki_unstructured frees it and returns its failure. */

/* Adds a finalizer to an object. Writes nothing if the object has the finalizer; `*ret_obj` is then `obj`. If the
 * object has changed or is gone, nothing is written: ki_error_is_conflict or ki_error_is_not_found. Return the error;
 * the key is processed again. After a success the cache still has the old resource version. Return, and let the event
 * of the change continue:
 *     if (!ki_object_has_finalizer(obj, F))
 *         return ki_client_add_finalizer(client, resource, obj, F, NULL, err);
 * A role needs the verb patch. */
KI_API KI_MUST_CHECK ki_status ki_client_add_finalizer(ki_client *client, const ki_resource *resource,
                                                       const ki_object *obj, const char *finalizer, ki_object **ret_obj,
                                                       ki_error *err);
/* Removes a finalizer from an object. Writes nothing if the object does not have the finalizer. Succeeds if the object
 * no longer exists (an old cache still has it), also if another object has its name; `*ret_obj` is then `obj`.
 * Everything else as ki_client_add_finalizer. Without the verb get the conflict with another object is returned. */
KI_API KI_MUST_CHECK ki_status ki_client_remove_finalizer(ki_client *client, const ki_resource *resource,
                                                          const ki_object *obj, const char *finalizer,
                                                          ki_object **ret_obj, ki_error *err);

/* Applies the status of an object (server-side apply with force) in the name of options->field_manager. `object` has
 * the field "status"; this function sets apiVersion, kind, and the name, namespace and uid of `obj`. If `obj` was
 * deleted and another object of a built-in type has its name, nothing is written and the server responds 422. The
 * server does not compare the uid of a custom resource. A role needs the verb patch for the subresource status. */
KI_API KI_MUST_CHECK ki_status ki_client_apply_status(ki_client *client, const ki_resource *resource,
                                                      const ki_object *obj, ki_unstructured *object,
                                                      const ki_request_options *options, ki_object **ret_obj,
                                                      ki_error *err);

/* Applies a child of `owner` (server-side apply with force) in the name of options->field_manager, with `owner` as its
 * controller. Force takes over the fields that `child` has: without spec.replicas a HorizontalPodAutoscaler keeps that
 * field. `child` has apiVersion, kind and name. The namespace is the owner's; a child of a cluster-scoped owner
 * names its own. A role needs the verbs create and patch.
 * Errors: also KI_ERR_INVALID (a namespaced owner with a child in another namespace or with a cluster-scoped child: the
 * garbage collector would delete it), KI_ERR_EXISTS (the child names another controller). */
KI_API KI_MUST_CHECK ki_status ki_client_apply_child(ki_client *client, const ki_resource *resource,
                                                     const ki_object *owner, ki_unstructured *child,
                                                     const ki_request_options *options, ki_object **ret_obj,
                                                     ki_error *err);

/* Changes `object`, a copy of `current`, to the state that it should have. `current` is NULL if the object does not
 * exist; `object` is then the new one. Can be called several times for one write. An error ends the write.
 * If `err` is then not filled, ki_client_create_or_update fills it.
 * Threads: that of ki_client_create_or_update. */
typedef ki_status (*ki_mutate_function)(ki_unstructured *object, const ki_object *current, void *user,
                                        ki_error *err) KI_NOEXCEPT;

/* Creates an object or updates it (controller-runtime's CreateOrUpdate). Compares with the cache of `informer`: calls
 * `mutate` with a copy of the cached object, and sends an update if the copy then differs. Without a cached object
 * `mutate` is called with `object`, which is created; `object` has name and namespace, and `mutate` must not change
 * them. If the cache was behind (a conflict, AlreadyExists, NotFound), the object is read from the server and `mutate`
 * is called again, at most 5 times in all; the last error is then returned. options->informer is ignored; `informer`
 * takes its place. A role needs the verbs get, create and update.
 * Errors: also KI_ERR_UNSUPPORTED (the informer keeps less than its objects, or has a transform), KI_ERR_INVALID (no
 * name, or a changed one), KI_ERR_STATE (an informer whose resource is not found yet). */
KI_API KI_MUST_CHECK ki_status ki_client_create_or_update(ki_client *client, ki_informer *informer,
                                                          ki_unstructured *object, ki_mutate_function mutate,
                                                          void *user, const ki_request_options *options,
                                                          ki_object **ret_obj, ki_error *err);

/* Claims the cached objects of `children` for `owner` by a selector, as the ControllerRefManager of Kubernetes' own
 * controllers does. Looks in the owner's namespace, or in all for a cluster-scoped owner. An object with the owner as
 * its controller is claimed if it matches, and released if not: the owner's reference is removed. An object without a
 * controller is adopted if it matches and is not being deleted: the owner becomes its controller. Before the first
 * adoption the owner is read from the server, and must have the same uid and not be being deleted. An owner that is
 * being deleted adopts and releases nothing. A child that is gone is skipped. Writes are patches with uid and resource
 * version: a child that has changed is a conflict.
 * `*ret_claimed` has the claimed objects as they are in the cache. After an error of one object the others are still
 * processed; the first error is returned. A role needs the verb get for the owner, and patch for the children.
 * Ownership: the caller frees the list with ki_object_list_free.
 * Errors: also KI_ERR_INVALID (an empty selector would adopt everything), KI_ERR_PARSE (the selector), KI_ERR_NOT_FOUND
 * (another object has the owner's name), KI_ERR_STATE (the owner has just been deleted). */
KI_API KI_MUST_CHECK ki_status ki_client_claim(ki_client *client, const ki_resource *owner_resource,
                                               const ki_object *owner, ki_informer *children,
                                               const char *label_selector, const ki_request_options *options,
                                               ki_object_list *ret_claimed, ki_error *err);

KI_END_DECLS

#endif
