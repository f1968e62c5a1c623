/* factory.h: the informers of a program: one per resource and selection, shared by all who ask; started and stopped together. */
#ifndef KINFORMER_FACTORY_H
#define KINFORMER_FACTORY_H

#include <kinformer/config.h>
#include <kinformer/engine.h>
#include <kinformer/informer.h>
#include <kinformer/metrics.h>

KI_BEGIN_DECLS

typedef struct ki_factory ki_factory;
struct ki_transport;

typedef struct ki_factory_options {
    size_t size;       /* sizeof(ki_factory_options); set by the macro */
    ki_engine *engine; /* the host's, which drives it and outlives the factory; NULL: the factory has one of its own */
    const ki_allocator *allocator;  /* of its own engine; copied; NULL: malloc */
    const ki_log *log;              /* of its own engine; copied; NULL: silent */
    const char *namespace_name;     /* of all informers that name none; NULL: all namespaces */
    int64_t resync_ms;              /* of all informers that name none; 0: none; less than 1000 counts as 1000 */
    struct ki_transport *transport; /* in place of a network, for tests; outlives the factory; NULL: libcurl */
    const ki_metrics *metrics;      /* the program's metrics library (metrics.h); copied; NULL: none */
    /* For tests: every second each informer looks whether an object of its copy was written to, which nobody may, and names it to the watch
     * error handler. Costs a pass over all of them. Also with the environment's KUBE_CACHE_MUTATION_DETECTOR=true. */
    bool detect_mutations;
    int requests_per_second; /* of the client's own limit; 0: the configuration's; negative: no limit */
    int request_burst;       /* 0: the configuration's */
} ki_factory_options;

#define KI_FACTORY_OPTIONS(...) ((ki_factory_options){ .size = sizeof(ki_factory_options), __VA_ARGS__ })

/* A factory for the cluster of `config` (copied; may be NULL with a transport). `options` may be NULL.
 * Ownership: the caller's, freed with ki_factory_free. Errors: KI_ERR_NO_MEMORY, KI_ERR_SYSTEM, KI_ERR_INVALID. Blocks: no. */
KI_API KI_MUST_CHECK ki_status ki_factory_new(const ki_config *config, const ki_factory_options *options,
                                              ki_factory **ret_factory, ki_error *err);

/* The same for the cluster that the program is in, else that of the kubeconfig. Errors: also those of ki_config_new_default. */
KI_API KI_MUST_CHECK ki_status ki_factory_new_default(const ki_factory_options *options, ki_factory **ret_factory,
                                                      ki_error *err);

/* The informer of a resource. Asked again with the same resource, namespace and selectors, it gives the same one; the first
 * caller's other options win. A view is shared, too: who asks again names the same one (the same paths, members and struct size, in the
 * same order) or none; with another it is KI_ERR_EXISTS, also where the first had none. `options` may be NULL.
 * Ownership: borrowed from the factory. `resource` is copied, its strings too. Threads: any. Blocks: no.
 * Errors: KI_ERR_EXISTS, KI_ERR_STATE after stop, also the engine's, KI_ERR_PARSE (a selector, a view's path), KI_ERR_INVALID (a namespace, or a
 * name of the resource), KI_ERR_LIMIT, KI_ERR_NO_MEMORY,
 * KI_ERR_UNSUPPORTED (a built-in that cannot be listed and watched: KI_TOKENREVIEWS). */
KI_API KI_MUST_CHECK ki_status ki_factory_informer(ki_factory *factory, const ki_resource *resource,
                                                   const ki_informer_options *options, ki_informer **ret_informer,
                                                   ki_error *err);

/* The host's engine or, where it gave none, the factory's own, which nobody but ki_factory_start or _run should drive.
 * Ownership: borrowed. */
KI_API ki_engine *ki_factory_engine(const ki_factory *factory);

/* Starts every informer that is not started yet; repeatable. With an engine of its own the factory starts that too, on a thread of its own; with
 * the host's it is the host that drives it (ki_engine_step, run or start).
 * Threads: any. Blocks: no. Errors: KI_ERR_STATE after stop, also the engine's, KI_ERR_SYSTEM, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_factory_start(ki_factory *factory, ki_error *err);

/* Starts the informers and runs the loop on this thread until ki_factory_stop, SIGINT or SIGTERM; then shuts down. A signal begins the same orderly stop
 * as ki_factory_stop; a second one ends the loop at once. A program that starts threads of its own before calls ki_block_signals before them.
 * At once KI_OK where the factory is stopped already.
 * Blocks: yes. Errors: KI_ERR_STATE, KI_ERR_DEADLOCK, KI_ERR_SYSTEM, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_factory_run(ki_factory *factory, ki_error *err);

/* Waits until all started informers have synced, at most `timeout_ms` (< 0: for ever); those that are not started are not waited
 * for. Threads and errors as ki_informer_wait_for_sync; the message of a timeout names those that have not, each with the
 * reason: "pods in default (blocked: forbidden: list pods in namespace default)". That a cache has synced does not mean that handlers have run. */
KI_API KI_MUST_CHECK ki_status ki_factory_wait_for_sync(ki_factory *factory, int64_t timeout_ms, ki_error *err);
/* The same without waiting: true where nothing is started. Threads: any. Blocks: no. */
KI_API bool ki_factory_has_synced(const ki_factory *factory);

/* Asks everything to end, in this order: controllers end their reconciles, electors release their Leases and recorders send their events, informers
 * stop. Then run returns, and started threads end by themselves. With a host's stepped engine the host goes on stepping until ki_informer_health says
 * KI_STATE_STOPPED. Threads of the program that work only while it leads must end before: see leader.h. Repeatable. ki_engine_stop also
 * stops the factory, but at once: no reconcile is waited for, and no Lease is released.
 * Threads: any, handlers too; a signal handler sets a flag for the loop, or calls ki_engine_stop. Blocks: no. */
KI_API void ki_factory_stop(ki_factory *factory);

/* Stops and waits: reflectors and controllers first, then the handlers' threads; nothing is called afterwards.
 * What still waits for a handler is dropped. Threads: any but the library's own and handlers: KI_ERR_DEADLOCK. With a host's
 * stepped engine: on the thread that steps. Blocks: until running handlers have returned. */
KI_API KI_MUST_CHECK ki_status ki_factory_shutdown(ki_factory *factory, ki_error *err);

/* Shuts down if that has not happened, and frees factory and informers; each registration's on_removed is its last call. NULL is accepted.
 * Threads: as ki_factory_shutdown, but it must not be called where that would answer KI_ERR_DEADLOCK. */
KI_API void ki_factory_free(ki_factory *factory);

KI_END_DECLS

#endif
