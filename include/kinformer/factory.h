/* factory.h: the informers of a program: one for each resource and selection, shared by all its callers, started and
 * stopped together. The semantics are those of client-go 0.37's SharedInformerFactory.
 *
 * Fork: a factory may be made before a fork and started after it. A process that is forked after the start cannot use
 * the factory (engine.h). */
#ifndef KINFORMER_FACTORY_H
#define KINFORMER_FACTORY_H

#include <kinformer/config.h>
#include <kinformer/engine.h>
#include <kinformer/informer.h>
#include <kinformer/metrics.h>

KI_BEGIN_DECLS

typedef struct ki_factory ki_factory;

enum {
    KI_FACTORY_NAME_MAX = 253 /* bytes of a factory's name */
};

/* Options without a counterpart in ki_informer_options hold for all informers of the factory. A program that needs
 * others for one resource makes a second factory. */
typedef struct ki_factory_options {
    size_t size; /* sizeof(ki_factory_options); set by the macro */
    /* The program's engine. The program drives it, and frees it after the factory. NULL: the factory makes an engine of
     * its own. */
    ki_engine *engine;
    /* Of the factory's own engine; copied. Beside `engine` they are KI_ERR_INVALID: KI_ENGINE_OPTIONS sets them. */
    const ki_allocator *allocator; /* NULL: malloc */
    const ki_log *log;             /* NULL: no log; see ki_log_stderr */
    const char *namespace_name;    /* of informers that name none; copied; NULL: all namespaces */
    int64_t resync_ms; /* of informers that name none; 0: no resync; values from 1 to 999 are raised to 1000 */
    /* Changes the options of each informer that is requested, before it is found or made: another resync period or page
     * size for one resource, a selector for all. `options` has what was requested, with the factory's defaults; what
     * the function puts there must stay valid until the request returns, and a view until the informer is freed.
     * `resource` of a resource by name has plural and group alone. Threads: called on each thread that requests an
     * informer, under no lock. NULL: none (client-go's WithTweakListOptions and WithCustomResyncConfig). */
    void (*tweak)(const ki_resource *resource, ki_informer_options *options, void *user) KI_NOEXCEPT;
    /* The transform of each informer; ki_informer_set_transform replaces it. NULL: none (client-go's WithTransform). */
    ki_transform transform;
    void *user; /* of `tweak` and `transform`; must stay valid until the factory is freed */
    /* For tests: each informer checks every second whether the program has modified a cached object, and reports such
     * an object to the watch error handler. Cached objects must not be modified. A check reads all objects in one step
     * of the loop. The environment variable KUBE_CACHE_MUTATION_DETECTOR=true turns the check on, too. */
    bool detect_mutations;
    int requests_per_second; /* the client's rate limit; 0: the configuration's; < 0: no limit */
    int request_burst;       /* requests at once before the rate limit applies; 0: the configuration's */
    /* The wait after the first failure of a list or watch; it doubles with each further one up to the longest. Each
     * wait is multiplied by a random number from 1 to 2. After a failure to connect the first three waits are an
     * eighth, a quarter and half of the first. A watch whose connection is lost is opened again after a random part
     * of one second, whatever these are. 0: 800 and 30000, as in client-go; one that is 0 gives way to the other.
     * Values from 1 to 9 are raised to 10.
     * Errors: KI_ERR_INVALID (below 0, above a day, the longest shorter than the first). */
    int64_t backoff_first_ms;
    int64_t backoff_longest_ms;
    int requests_in_flight; /* the client's bound of requests in flight (client.h); 0: 32; < 0: none */
    /* Label "name" of the metrics of its informers and requests; copied. Give each factory of a process that exports
     * the metrics of several another name, as client-go's WithInformerName does. NULL: "". */
    const char *name;
    /* ki_factory_wait_for_sync also ends once each informer that has not synced is blocked (KI_STATE_BLOCKED). For a
     * program that has nothing to do without permissions, or can work without some of its resources. */
    bool waits_end_when_blocked;
    /* List in pages, even if the server offers streaming lists (KEP-3157). For a proxy that holds streams back: the
     * first list would wait 30 s for it. */
    bool no_streaming_list;
    size_t object_limit; /* largest object, in bytes of JSON; 0: 32 MiB. Larger objects are reported and skipped */
    /* How long an object that ki_informer_get_or_fetch fetched (fetch.h) is remembered. 0: 5 s; while the informer is
     * blocked 10 min. "There is none" and error responses are remembered for 5 s at most. Errors: KI_ERR_INVALID (below
     * 0). */
    int64_t keep_fetched_ms;
    size_t keep_fetched_max; /* names that an informer remembers; the oldest go first; 0: 1000 */
} ki_factory_options;

#define KI_FACTORY_OPTIONS(...) KI_SIZED_(ki_factory_options, __VA_ARGS__)

/* Makes a factory for the cluster of `config`. `config` is copied. `options` may be NULL.
 * Ownership: the caller frees the factory with ki_factory_free. Blocks: no.
 * Errors: KI_ERR_INVALID, KI_ERR_SYSTEM, KI_ERR_NO_MEMORY, KI_ERR_UNSUPPORTED (the process has a yyjson of another
 * version than the library was built for: docs/guide/install.md). */
KI_API KI_MUST_CHECK ki_status ki_factory_new(const ki_config *config, const ki_factory_options *options,
                                              ki_factory **ret_factory, ki_error *err);

/* Makes a factory with the configuration of ki_config_new_default: the cluster that the program runs in, else the
 * kubeconfig's.
 * Ownership: as ki_factory_new. Blocks: reads files. Errors: those of ki_factory_new and ki_config_new_default. */
KI_API KI_MUST_CHECK ki_status ki_factory_new_default(const ki_factory_options *options, ki_factory **ret_factory,
                                                      ki_error *err);

/* Returns the informer of a resource, and makes it at the first call. Repeated calls return the same informer if they
 * have the same resource, namespace (or set), selectors (as texts) and `keep`. The other options of the first call
 * apply, and those of later calls are ignored without an error: `resync_ms`, `page_size`, `queue`, `keep_deleted_ms`,
 * `keep_managed_fields`, `plain`, `memory_limit` and checks. Only the view must be
 * that of the first call (same paths in the same words, members and struct size, in the same order), or none: another
 * one is KI_ERR_INVALID, and the message names both. Any user reads other fields by path. `options` may be NULL.
 * ki_factory_start starts informers that were made after a start. The informer of a source that is no API server:
 * ki_factory_informer_for (parts/list_watch.h).
 * Ownership: borrowed from the factory; `resource` is copied with its strings. Threads: any. Blocks: no.
 * Errors: KI_ERR_STATE (the factory or its engine is stopped), KI_ERR_PARSE (a selector, or a path of the view),
 * KI_ERR_INVALID (the namespace, a name of the resource, or an option), KI_ERR_LIMIT, KI_ERR_NO_MEMORY,
 * KI_ERR_UNSUPPORTED (a built-in resource that cannot be listed, such as KI_TOKENREVIEWS). */
KI_API KI_MUST_CHECK ki_status ki_factory_informer(ki_factory *factory, const ki_resource *resource,
                                                   const ki_informer_options *options, ki_informer **ret_informer,
                                                   ki_error *err);

/* Returns the informer of the resource with this name. A built-in resource has any name of ki_resource_find, and its
 * informer is that of ki_factory_informer. Any other resource is named by plural and group, as its
 * CustomResourceDefinition is: "widgets.example.com". Its informer finds version, kind and scope in the server's
 * discovery before each list. It waits for a definition that is not there, or that is removed: its state is then
 * KI_STATE_BLOCKED, its health says "the server has no resource widgets.example.com: the CRD is not installed", and it
 * asks again after 30 s at most. It uses the version that the server prefers among those that have the resource. Until
 * it has found the resource, ki_informer_resource has neither version nor kind ("").
 * Ownership, Threads, Blocks: as ki_factory_informer.
 * Errors: as ki_factory_informer; KI_ERR_INVALID also for another name without a group. */
KI_API KI_MUST_CHECK ki_status ki_factory_informer_by_name(ki_factory *factory, const char *resource_name,
                                                           const ki_informer_options *options,
                                                           ki_informer **ret_informer, ki_error *err);

/* As ki_informer_set_namespaces, of each informer of the factory whose `.namespace_set` is `set_name`, also of those
 * that a controller or `tweak` has made. An informer that is requested later needs a call of its own.
 * Errors, after which nothing has changed: those of ki_informer_set_namespaces; KI_ERR_NOT_FOUND (no informer has a set
 * of this name), KI_ERR_STATE (the factory or its engine is stopped). */
KI_API KI_MUST_CHECK ki_status ki_factory_set_namespaces(ki_factory *factory, const char *set_name,
                                                         const char *const *names, size_t count, ki_error *err);

/* Stops an informer and removes it from the factory, for all its users; the others continue. Its handlers get
 * on_removed and no deletes; a running call completes before. Its waits end with KI_ERR_CANCELLED. Its cache is empty
 * at once, and each function that needs a running informer returns an error. A controller that watches the informer
 * continues with its other watches. A later ki_factory_informer of the same resource makes a new informer, which lists
 * anew after the next ki_factory_start.
 * Ownership: the informer stays valid, without its cache, until the factory is freed. Threads: any, also in a
 * handler. Blocks: until the loop has applied 64 objects at most.
 * Errors: KI_ERR_NOT_FOUND (removed before, or not an informer of this factory), KI_ERR_STATE (the factory or its
 * engine is stopped), KI_ERR_NO_MEMORY. After an error nothing has changed. */
KI_API KI_MUST_CHECK ki_status ki_factory_remove_informer(ki_factory *factory, ki_informer *informer, ki_error *err);

/* Returns the program's engine, or the factory's own. Only ki_factory_start and ki_factory_run may drive the factory's
 * own engine.
 * Ownership: borrowed from the factory. Threads: any. */
KI_API ki_engine *ki_factory_engine(const ki_factory *factory);

/* Starts every informer that is not started yet. Repeatable. A factory with its own engine also starts that engine, on
 * a new thread. The program drives its own engine itself (ki_engine_step, ki_engine_run or ki_engine_start).
 * Threads: any. Blocks: no.
 * Errors: KI_ERR_STATE (the factory or its engine is stopped), KI_ERR_SYSTEM, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_factory_start(ki_factory *factory, ki_error *err);

/* Starts the informers and runs the loop on this thread until ki_factory_stop, SIGINT or SIGTERM, then shuts the
 * factory down. The first signal stops the factory as ki_factory_stop does; a second signal ends the loop at once,
 * or is consumed if the loop ends anyway; a signal after the loop has the program's own effect. A
 * program that starts threads before this call must call ki_block_signals first. Returns KI_OK at once if the factory
 * is stopped already.
 * Blocks: yes.
 * Errors: KI_ERR_STATE (the loop runs already), KI_ERR_DEADLOCK (called in a handler), KI_ERR_SYSTEM,
 * KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_factory_run(ki_factory *factory, ki_error *err);

/* Whether one informer has synced. */
typedef struct ki_sync_result {
    ki_informer *informer;
    const char *name; /* of what it caches: "pods in default (app=web)" */
    bool synced;
    ki_error cause; /* why it has not, such as "blocked: forbidden: list pods in namespace default"; else code KI_OK */
} ki_sync_result;

/* One result for each started informer. The informers and their names are borrowed from the factory. */
typedef struct ki_sync_results {
    ki_sync_result *results;
    size_t count;
    const ki_allocator *allocator; /* private */
} ki_sync_results;

/* Waits until all started informers have synced, for at most `timeout_ms` (< 0: no limit). The message of
 * KI_ERR_TIMEOUT names each informer that has not synced, with the reason: "pods in default (blocked: forbidden: list
 * pods in namespace default)". Its category is KI_CATEGORY_RETRY, or that of the cause if one of them is blocked.
 * Handlers may not have been called for all objects yet: see ki_registration_has_synced. `ret_results` (may be NULL)
 * is always written: the result of each informer for KI_OK, KI_ERR_TIMEOUT, KI_ERR_CANCELLED and the cause of a
 * blocked informer, none (`count` 0) for other errors. It can be read and freed whatever is returned. A program that
 * can work without some of its resources reads there which. An informer that was made after ki_factory_start is not
 * waited for until another ki_factory_start.
 * Ownership: the caller frees the results with ki_sync_results_free. Threads, Blocks: as ki_informer_wait_for_sync.
 * Errors: as ki_informer_wait_for_sync; KI_ERR_STATE (the factory has informers, and none is started),
 * KI_ERR_NO_MEMORY (for the results). With `waits_end_when_blocked`, the cause of the first informer that is
 * blocked, such as KI_ERR_HTTP with its HTTP status and reason. */
KI_API KI_MUST_CHECK ki_status ki_factory_wait_for_sync(ki_factory *factory, int64_t timeout_ms,
                                                        ki_sync_results *ret_results, ki_error *err);
/* Frees the contents of results and empties them. */
KI_API void ki_sync_results_free(ki_sync_results *results);
/* Returns true if all started informers have synced, also if none is started. Threads: any. Blocks: no. */
KI_API bool ki_factory_has_synced(const ki_factory *factory);

/* ---- the end ----
 *
 * In order: the controllers end their reconciles, then the electors release their Leases and the event recorders send
 * their events, then all informers stop, in one step of the loop. ki_factory_stop begins that. Where a thread runs the
 * loop, ki_factory_shutdown and ki_factory_free begin it, too, and wait for it. A program that steps its engine calls
 * ki_factory_stop, and steps until an informer that it has not removed is in KI_STATE_STOPPED.
 *
 * At once: the informers stop, reconciles are not waited for, and Leases are not released. That is what ki_engine_stop
 * does, and ki_factory_shutdown and ki_factory_free before the end in order, where no thread runs the loop. It is
 * enough for a program without controllers, electors and event recorders. */

/* Stops the factory, in order. ki_factory_run then returns, and a thread of ki_factory_start ends. Threads of the
 * program that work only while it leads must end before this call (kinformer-controllers/leader.h). Repeatable.
 * Threads: any, also in a handler. Not from a signal handler: set a flag that the loop reads, or call ki_engine_stop.
 * Blocks: no. */
KI_API void ki_factory_stop(ki_factory *factory);

/* Stops the factory and waits for its end, and for that of the handlers' threads. No handler is called afterwards.
 * Changes that are queued for handlers are dropped.
 * Threads: any thread of the program, outside handlers. With an engine that the program steps: the thread that steps.
 * Blocks: until running handlers have returned.
 * Errors: KI_ERR_DEADLOCK (called in a handler or another callback, or on a thread of the library). */
KI_API KI_MUST_CHECK ki_status ki_factory_shutdown(ki_factory *factory, ki_error *err);

/* Shuts the factory down, unless that has happened, and frees it with its informers. The last call of each registration
 * is its on_removed. Threads of the program that use an informer must have ended; objects and snapshots stay valid.
 * NULL is accepted.
 * Threads: as ki_factory_shutdown; if that would return KI_ERR_DEADLOCK, nothing is freed. Blocks: as
 * ki_factory_shutdown, and while the caches' memory is released. */
KI_API void ki_factory_free(ki_factory *factory);

/* A call at the end of a factory, for what reads the factory from outside, such as a server. */
typedef struct ki_factory_end {
    void (*call)(void *user) KI_NOEXCEPT;
    void *user;
    struct ki_factory_end *next; /* private */
} ki_factory_end;

/* Adds a call, which ki_factory_free makes after the shutdown and before anything is freed.
 * Ownership: `end` is borrowed until it is called or removed. Threads: any. Blocks: no. */
KI_API void ki_factory_add_end(ki_factory *factory, ki_factory_end *end);
/* Removes a call. No effect if it was called. Threads: any, while the factory is not freed. Blocks: no. */
KI_API void ki_factory_remove_end(ki_factory *factory, ki_factory_end *end);

KI_END_DECLS

#endif
