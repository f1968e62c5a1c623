/* own_writes.c: delays the next reconcile of a key until the caches have what the last one wrote (controller-runtime's
 * read-your-writes, without reads that block).
 *
 *     OPEN     the reconcile runs. Each request that ends adds what a cache lacks: an object at a version, or a uid
 *      |       that was deleted
 *     WAITING  the reconcile has ended, its key stays in processing. The loop waits for one unseen write after the
 *      |       other: a deletion is seen only after the creation before it
 *     CLOSED   all are seen, or 10 s have passed, or the controller stops: the key is done
 *
 * A reconcile without a write that a cache lacks leaves its log OPEN for the next one, if no request holds the log.
 * Without memory a write is not waited for. */
#include "controllers/controller/own_writes.h"

#include "controllers/controller/controller.h"
#include "src/base/assert.h"
#include "src/base/list.h"
#include "src/base/log.h"
#include "src/base/memory.h"
#include "src/cache/informer/shared_informer.h"
#include "src/object/body.h"
#include "src/object/selector.h"

#include <string.h>

/* A write that an informer's cache may lack. */
typedef struct ki_unseen {
    struct ki_unseen *next, *previous;
    ki_informer *informer;
    bool is_deletion;
    const char *mark; /* the version, or the deleted uid */
    char key[];       /* then the mark */
} ki_unseen;

/* A running request. */
struct ki_write {
    ki_own_writes *writes;
    const ki_source *source; /* the first one of its resource */
    ki_client_verb verb;
    bool is_of_subresource;
    char key[]; /* "": a create, whose response has the name */
};

/* --- which writes an informer shows ------------------------------------------------------------------------------- */

static bool is_of_resource(const ki_source *source, const ki_resource *resource) {
    const ki_resource *own = ki_informer_resource(source->informer);
    return strcmp(own->plural, resource->plural) == 0 && strcmp(own->group, resource->group) == 0;
}

/* Returns true if the informer's factory has this client. */
static bool is_of_client(const ki_source *source, const ki_client *client) {
    const void *owner = ki_informer_made_with(source->informer)->owner; /* without a factory: the informer */
    return owner != source->informer && ki_factory_client((ki_factory *)(uintptr_t)owner) == client;
}

/* Returns the first source, from this one on, whose informer has the resource in the client's cluster. */
static const ki_source *find_source(const ki_source *source, const ki_client *client, const ki_resource *resource) {
    while (source && !(is_of_resource(source, resource) && is_of_client(source, client)))
        source = source->next;
    return source;
}

static bool is_at_least(const char *version, const char *wanted) {
    ki_order order = ki_resource_version_compare(version, wanted);
    return order == KI_ORDER_SAME || order == KI_ORDER_NEWER;
}

/* Returns true if the informer will get the written object's state, and does not have it yet. An informer with an
 * object also gets the state that its selectors exclude: as a deletion. */
static bool lacks(const ki_source *source, const char *key, const ki_object *obj) {
    ki_object *cached = ki_informer_get(source->informer, key);
    bool is_behind =
        cached ? !is_at_least(ki_object_resource_version(cached), ki_object_resource_version(obj))
               : !source->has_selector || (source->selector && ki_selector_matches_whole(source->selector, obj));
    ki_object_unref(cached);
    return is_behind;
}

/* --- what a response says ----------------------------------------------------------------------------------------- */

static bool is_set(ki_str value) {
    return value.size > 0 && !ki_str_equals(value, "null") && !ki_str_equals(value, "0") && !ki_str_equals(value, "[]");
}

/* Returns true if the object is gone with this state: nothing keeps it. The last version of a gone object can be one
 * that the cache has. */
static bool is_gone(const ki_object *obj, ki_client_verb verb) {
    ki_body body = ki_body_open_surely(obj);
    bool is_marked = is_set(ki_body_metadata(&body, KI_STR("deletionTimestamp")));
    bool is_kept = is_set(ki_body_metadata(&body, KI_STR("finalizers"))) ||
                   is_set(ki_body_metadata(&body, KI_STR("deletionGracePeriodSeconds"))) ||
                   strcmp(ki_object_kind(obj), "Namespace") == 0; /* has finalizers in its spec */
    ki_body_close(obj, &body);
    return is_marked ? !is_kept : verb == KI_CLIENT_DELETE;
}

/* Returns true if the response has the state of the written object: that of most subresources shows another one. */
static bool shows_object(const ki_write *write, const ki_object *obj) {
    const char *kind = ki_informer_resource(write->source->informer)->kind;
    bool is_kind = strcmp(ki_object_kind(obj), kind) == 0 || strcmp(ki_object_kind(obj), "Scale") == 0;
    return ki_object_resource_version(obj)[0] && (!write->is_of_subresource || is_kind);
}

/* --- the list of unseen writes ------------------------------------------------------------------------------------ */

/* Adds a write to the list. Without memory it is not waited for. */
static void add_unseen(ki_own_writes *writes, ki_informer *informer, const char *key, const char *mark,
                       bool is_deletion) {
    KI_ON_LOOP(writes->controller->engine);
    size_t key_size = strlen(key) + 1, mark_size = strlen(mark) + 1;
    ki_unseen *unseen = ki_alloc(writes->allocator, sizeof *unseen + key_size + mark_size);
    if (!unseen)
        return;
    *unseen = (ki_unseen){ .informer = informer, .is_deletion = is_deletion };
    memcpy(unseen->key, key, key_size);
    unseen->mark = memcpy(unseen->key + key_size, mark, mark_size);
    ki_mutex_lock(&writes->controller->mutex);
    KI_LIST_APPEND(writes->first, unseen);
    ki_mutex_unlock(&writes->controller->mutex);
}

/* Takes the first unseen write out of the list. Returns NULL if none is left; *ret_runs then says whether a request
 * still runs. Loop. */
static ki_unseen *take_unseen(ki_own_writes *writes, bool *ret_runs) {
    ki_mutex_lock(&writes->controller->mutex);
    ki_unseen *unseen = writes->first;
    KI_ON_LOOP(writes->controller->engine);
    if (unseen)
        KI_LIST_REMOVE(writes->first, unseen);
    *ret_runs = writes->running > 0;
    ki_mutex_unlock(&writes->controller->mutex);
    return unseen;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static ki_own_writes *writes_of(ki_write_log *log) {
    return (ki_own_writes *)(void *)((char *)log - offsetof(ki_own_writes, log));
}

static bool is_write(const ki_client_request *request, const ki_request_options *options) {
    bool is_dry = options->dry_run || (options->parameters && strstr(options->parameters, "dryRun="));
    return !is_dry && (request->verb == KI_CLIENT_CREATE || request->verb == KI_CLIENT_UPDATE ||
                       request->verb == KI_CLIENT_PATCH || request->verb == KI_CLIENT_DELETE);
}

static ki_write *new_write(ki_own_writes *writes, const ki_source *source, const ki_client_request *request,
                           const ki_request_options *options) {
    const char *ns = request->resource->namespaced && request->namespace_name ? request->namespace_name : "";
    const char *name = request->name ? request->name : "";
    size_t key_size = strlen(ns) + 1 + strlen(name) + 1;
    ki_write *write = ki_alloc(writes->allocator, sizeof *write + key_size);
    if (!write)
        return NULL;
    *write = (ki_write){ .writes = writes,
                         .source = source,
                         .verb = request->verb,
                         .is_of_subresource = options->subresource && options->subresource[0] };
    if (!name[0] || !ki_key_join(ns, name, write->key, key_size))
        write->key[0] = '\0';
    return write;
}

/* The caller's reconcile runs, or this is the loop: the controller is not freed meanwhile. */
static ki_write *begin_write(ki_write_log *log, const ki_client *client, const ki_client_request *request,
                             const ki_request_options *options) {
    ki_own_writes *writes = writes_of(log);
    if (!is_write(request, options) || atomic_load(&writes->state) == KI_OWN_WRITES_CLOSED)
        return NULL;
    ki_controller *controller = writes->controller;
    const ki_source *source = find_source(atomic_load(&controller->sources), client, request->resource);
    ki_write *write = source ? new_write(writes, source, request, options) : NULL;
    if (!write)
        return NULL;
    ki_mutex_lock(&controller->mutex);
    writes->running++;
    ki_mutex_unlock(&controller->mutex);
    return write;
}

/* Adds what the caches of the watched informers lack. Loop. */
static void note_response(const ki_write *write, const ki_response *response) {
    const ki_object *obj = ki_response_object(response);
    const ki_informer *first = write->source->informer;
    if (obj ? !shows_object(write, obj) : write->verb != KI_CLIENT_DELETE) /* a Status, as of an eviction */
        return;
    bool is_deletion = !obj || is_gone(obj, write->verb);
    const char *key = obj ? ki_object_key(obj) : write->key, *uid = ki_response_uid(response);
    if (!key[0] || (is_deletion && !uid[0]))
        return;
    const ki_client *client = ki_factory_client((ki_factory *)(uintptr_t)ki_informer_made_with(first)->owner);
    for (const ki_source *source = write->source; source;
         source = find_source(source->next, client, ki_informer_resource(first))) {
        ki_informer *informer = source->informer;
        if (ki_informer_is_removed(informer) || !ki_informer_has_synced(informer) ||
            !ki_informer_has_namespace(informer, key))
            continue;
        if (is_deletion)
            add_unseen(write->writes, informer, key, uid, true);
        else if (lacks(source, key, obj))
            add_unseen(write->writes, informer, key, ki_object_resource_version(obj), false);
    }
}

static void end_write(ki_write *write, const ki_response *response) {
    ki_own_writes *writes = write->writes;
    bool is_closed = atomic_load(&writes->state) == KI_OWN_WRITES_CLOSED; /* only the loop closes one with requests */
    if (!is_closed && response)
        note_response(write, response);
    if (!is_closed) {
        ki_mutex_lock(&writes->controller->mutex);
        KI_ASSERT(writes->running > 0);
        writes->running--;
        if (atomic_load(&writes->state) == KI_OWN_WRITES_WAITING)
            ki_task_post(&writes->task);
        ki_mutex_unlock(&writes->controller->mutex);
    }
    ki_free(writes->allocator, write);
}

/* --- waiting ------------------------------------------------------------------------------------------------------ */

static void on_seen(ki_informer *informer, ki_status status, void *user);

/* Begins to wait for an unseen write. Returns false if there is nothing to wait for: the cache has the write, the
 * informer is stopped, or memory lacks. */
static bool await(ki_own_writes *writes, const ki_unseen *unseen) {
    KI_ASSERT(!writes->awaited && atomic_load(&writes->state) == KI_OWN_WRITES_WAITING);
    ki_informer *informer = unseen->informer;
    ki_object *cached = unseen->is_deletion ? NULL : ki_informer_get(informer, unseen->key);
    bool is_seen = cached && is_at_least(ki_object_resource_version(cached), unseen->mark);
    ki_object_unref(cached);
    if (is_seen)
        return false;
    ki_refcount_inc(&writes->log.refs);
    writes->awaited = informer;
    ki_status status =
        unseen->is_deletion
            ? ki_informer_wait_for_deletion_async(informer, unseen->key, unseen->mark, -1, on_seen, writes, NULL)
            : ki_informer_wait_for_version_async(informer, unseen->key, unseen->mark, -1, on_seen, writes, NULL);
    if (!status)
        return true;
    writes->awaited = NULL;
    ki_write_log_unref(&writes->log);
    return false;
}

/* Ends the key's processing. Releases the wait's reference. The controller may be freed afterwards. */
static void close_wait(ki_own_writes *writes) {
    KI_ON_LOOP(writes->controller->engine);
    KI_ASSERT(atomic_load(&writes->state) == KI_OWN_WRITES_WAITING);
    ki_controller *controller = writes->controller;
    ki_task_cancel(&writes->task);
    ki_timer_close(&writes->timer);
    (void)ki_workqueue_done(controller->queue, writes->key);
    ki_mutex_lock(&controller->mutex);
    atomic_store(&writes->state, KI_OWN_WRITES_CLOSED);
    KI_LIST_REMOVE(writes->controller->waiting_writes, writes);
    ki_controller_note_change(controller);
    ki_mutex_unlock(&controller->mutex);
    if (writes->awaited) { /* on_seen is coming, and releases its reference */
        ki_status status = ki_informer_cancel_version_waits(writes->awaited, on_seen, writes, NULL);
        (void)status; /* not found: the wait has ended */
    }
    ki_write_log_unref(&writes->log);
}

static void expire(ki_timer *timer, void *user) {
    (void)timer;
    ki_own_writes *writes = user;
    ki_controller *controller = writes->controller;
    ki_log_write(ki_engine_log(controller->engine), KI_LOG_WARNING, "controller",
                 "%s: reconcile %s: %s%s for %d s; the next reconcile may see an older state", controller->name,
                 writes->key,
                 writes->awaited ? "its writes have not arrived in the cache of " : "a write has not ended",
                 writes->awaited ? ki_informer_made_with(writes->awaited)->selection->name : "",
                 (int)(KI_OWN_WRITES_WAIT / KI_SECONDS(1)));
    ki_mutex_lock(&controller->mutex);
    controller->results.counts[KI_COUNT_UNSEEN]++;
    ki_mutex_unlock(&controller->mutex);
    close_wait(writes);
}

static void advance(ki_task *task, void *user) {
    ki_own_writes *writes = user;
    ki_engine *engine = writes->controller->engine;
    bool runs = false;
    if (!writes->timer.engine) {
        ki_timer_init(&writes->timer, engine, expire, writes);
        ki_timer_set(&writes->timer, ki_time_after(ki_engine_now(engine), KI_OWN_WRITES_WAIT));
    }
    while (!writes->awaited) {
        ki_unseen *unseen = take_unseen(writes, &runs);
        if (!unseen) {
            if (!runs)
                close_wait(writes);
            return; /* the end of a request posts the task */
        }
        bool waits = await(writes, unseen);
        ki_free(writes->allocator, unseen);
        if (!waits && !ki_engine_work(engine, 1)) {
            ki_task_post(task);
            return;
        }
    }
}

/* The cache has the write, or the informer is stopped, or the wait was cancelled. */
static void on_seen(ki_informer *informer, ki_status status, void *user) {
    (void)informer, (void)status;
    ki_own_writes *writes = user;
    writes->awaited = NULL;
    if (atomic_load(&writes->state) == KI_OWN_WRITES_WAITING)
        ki_task_post(&writes->task);
    ki_write_log_unref(&writes->log);
}

/* --- begin and end of a reconcile --------------------------------------------------------------------------------- */

static void free_writes(ki_write_log *log) {
    KI_ASSERT(!writes_of(log)->awaited);
    ki_own_writes *writes = writes_of(log);
    for (ki_unseen *unseen; (unseen = writes->first);) {
        KI_LIST_REMOVE(writes->first, unseen);
        ki_free(writes->allocator, unseen);
    }
    ki_free(writes->allocator, writes);
}

static ki_own_writes *new_writes(ki_controller *controller) {
    ki_own_writes *writes = ki_alloc_zero(controller->allocator, sizeof *writes);
    if (!writes)
        return NULL;
    ki_refcount_init(&writes->log.refs);
    writes->log.engine = controller->engine;
    writes->log.begin = begin_write;
    writes->log.ended = end_write;
    writes->log.free = free_writes;
    writes->allocator = controller->allocator;
    writes->controller = controller;
    ki_task_init(&writes->task, controller->engine, advance, writes);
    return writes;
}

void ki_own_writes_begin(ki_reconcile *call) {
    ki_controller *controller = call->controller;
    if (!call->writes)
        call->writes = new_writes(controller);
    call->term.log = call->writes ? &call->writes->log : NULL;
}

static void close_open(ki_own_writes *writes) {
    KI_ASSERT(atomic_load(&writes->state) == KI_OWN_WRITES_OPEN);
    atomic_store(&writes->state, KI_OWN_WRITES_CLOSED);
    ki_write_log_unref(&writes->log);
}

static bool begin_wait(ki_reconcile *call) {
    KI_HELD(&call->controller->mutex);
    KI_ASSERT(atomic_load(&call->writes->state) == KI_OWN_WRITES_OPEN);
    ki_own_writes *writes = call->writes;
    if (atomic_load(&call->controller->is_stopping)) /* the log stays OPEN until ki_own_writes_free_all */
        return false;
    call->writes = NULL;
    if (writes->running > 0 || writes->first) {
        atomic_store(&writes->state, KI_OWN_WRITES_WAITING);
        writes->key = call->key;
        KI_LIST_PREPEND(writes->controller->waiting_writes, writes);
        ki_task_post(&writes->task);
        return true;
    }
    close_open(writes); /* of a request without a write, or one whose callback runs */
    return false;
}

bool ki_own_writes_end(ki_reconcile *call) {
    const ki_own_writes *writes = call->writes;
    if (!writes || (ki_refcount_is_one(&writes->log.refs) && !writes->first)) /* no request has the log any more */
        return false;
    ki_mutex_lock(&call->controller->mutex);
    bool must_wait = begin_wait(call);
    ki_mutex_unlock(&call->controller->mutex);
    return must_wait;
}

bool ki_own_writes_cancel_one(ki_controller *controller) {
    ki_mutex_lock(&controller->mutex);
    ki_own_writes *writes = controller->waiting_writes;
    ki_mutex_unlock(&controller->mutex);
    if (writes)
        close_wait(writes);
    return writes != NULL;
}

void ki_own_writes_free_all(ki_controller *controller) {
    for (ki_reconcile *call = controller->unused; call; call = call->next) {
        if (call->writes)
            close_open(call->writes);
        call->writes = NULL;
    }
}
