/* reflector_alone.c: a reflector of the program's own, without an informer: the functions of
 * <kinformer/parts/reflector.h>. */
#include "src/cache/reflector/reflector.h"

#include <kinformer/parts/process_loop.h>

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/base/options.h"

typedef struct reflector_alone {
    ki_reflector reflector; /* first */
    ki_unreadable unreadable;
    char *name; /* owned */
    /* With a store: from the queue to the store. Owned. */
    ki_queue *queue;
    ki_process_loop *loop;
} reflector_alone;

/* --- to a store --------------------------------------------------------------------------------------------------- */

static ki_status store_change(ki_store *store, const ki_change *change, ki_error *err) {
    bool is_deleted = change->type == KI_EVENT_DELETE;
    ki_object *known = ki_store_get(store, ki_object_key(change->obj));
    bool is_repeated = known && ki_change_is_repeated(change, known);
    ki_object_unref(known);
    if (is_repeated)
        return KI_OK;
    return is_deleted ? ki_store_delete(store, ki_object_key(change->obj), NULL, err)
                      : ki_store_put(store, change->obj, NULL, err);
}

/* A change that is stored a second time, after a later one failed, changes nothing. */
static ki_status store_changes(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) {
    reflector_alone *alone = user;
    const ki_reflector_options *options = &alone->reflector.options;
    bool is_last = !deltas->is_part && !ki_queue_length(alone->queue);
    const char *version = is_last ? alone->reflector.resource_version : NULL;
    ki_status status = KI_OK;
    for (size_t i = 0; !status && i < deltas->count; i++) {
        ki_error cause = KI_ERROR_INIT;
        ki_status stored = store_change(options->store, &deltas->items[i], &cause);
        if (stored && stored != KI_ERR_NO_MEMORY && options->on_error)
            options->on_error(&cause, options->user);
        status = stored == KI_ERR_NO_MEMORY ? stored : KI_OK;
    }
    if (!status && version) /* no object has this key */
        status = ki_store_delete(options->store, "", version, err);
    *ret_requeue = status != KI_OK;
    return status;
}

static void report(const ki_error *err, int64_t retry_ms, void *user) {
    (void)retry_ms;
    const ki_reflector_options *options = &((reflector_alone *)user)->reflector.options;
    if (options->on_error)
        options->on_error(err, options->user);
}

static ki_status open_store(reflector_alone *alone, ki_reflector_options *given, uint64_t seed, ki_error *err) {
    given->known = ki_store_known_objects(given->store);
    const ki_queue_options queue = KI_QUEUE_OPTIONS(.allocator = ki_engine_allocator(given->engine), .seed = seed,
                                                    .known = given->known, .batch_size = KI_QUEUE_SLICE);
    ki_status status = ki_queue_new(&queue, &alone->queue, err);
    given->queue = alone->queue;
    if (status)
        return status;
    return ki_process_loop_new(&KI_PROCESS_LOOP_OPTIONS(.engine = given->engine, .queue = alone->queue,
                                                        .process = store_changes, .on_error = report, .user = alone),
                               &alone->loop, err);
}

/* --- new, free ---------------------------------------------------------------------------------------------------- */

static void free_parts(reflector_alone *alone, const ki_allocator *allocator) {
    ki_reflector_close(&alone->reflector);
    ki_process_loop_free(alone->loop);
    ki_queue_free(alone->queue);
    ki_free(allocator, alone->name);
    ki_free(allocator, alone);
}

static ki_status open_reflector(reflector_alone *alone, ki_reflector_options *given, ki_error *err) {
    const ki_allocator *allocator = ki_engine_allocator(given->engine);
    uint64_t seed = (uint64_t)(ki_engine_random(given->engine) * (double)UINT32_MAX);
    ki_status status = given->store ? open_store(alone, given, seed, err) : KI_OK;
    if (status)
        return status;
    alone->name = ki_strdup(allocator, given->name ? given->name : "objects");
    if (!alone->name)
        return ki_error_no_memory(err, "making a reflector");
    given->name = alone->name;
    status = ki_unreadable_init(&alone->unreadable, allocator, seed, err);
    if (status)
        return status;
    const ki_reflector_shared shared = { .unreadable = &alone->unreadable };
    ki_reflector_open(&alone->reflector, given, &shared);
    return KI_OK;
}

ki_status ki_reflector_new(const ki_reflector_options *options, ki_reflector **ret_reflector, ki_error *err) {
    ki_reflector_options given;
    if (!ret_reflector || !options)
        return ki_error_missing(err, "ki_reflector_new");
    if (KI_OPTIONS_TAKE(options, &given, "KI_REFLECTOR_OPTIONS", err))
        return KI_ERR_INVALID;
    if (!given.engine || (!given.queue && !given.store))
        return ki_error_missing(err, "ki_reflector_new");
    if (given.queue && given.store)
        return ki_error_set(err, KI_ERR_INVALID, "ki_reflector_options: .store beside .queue");
    if (ki_list_watch_check(given.list_watch, err))
        return KI_ERR_INVALID;
    if (ki_engine_check_process(given.engine, err))
        return KI_ERR_STATE;
    const ki_allocator *allocator = ki_engine_allocator(given.engine);
    reflector_alone *alone = ki_alloc_zero(allocator, sizeof *alone);
    if (!alone)
        return ki_error_no_memory(err, "making a reflector");
    ki_status status = open_reflector(alone, &given, err);
    if (status) {
        free_parts(alone, allocator);
        return status;
    }
    *ret_reflector = &alone->reflector;
    return KI_OK;
}

const char *ki_reflector_resource_version(const ki_reflector *reflector) {
    return reflector ? reflector->resource_version : "";
}

void ki_reflector_free(ki_reflector *reflector) {
    if (!reflector || ki_engine_is_forked(reflector->options.engine))
        return;
    const ki_allocator *allocator = ki_engine_allocator(reflector->options.engine);
    reflector_alone *alone = (reflector_alone *)reflector;
    ki_unreadable_destroy(&alone->unreadable);
    free_parts(alone, allocator);
}
