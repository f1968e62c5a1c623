/* settings.c: the settings of an informer: the transform and the error and state handlers before the start, indexers at
 * any time. */
#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/cache/informer/informer_parts.h"
#include "src/cache/store/index_build.h"
#include "src/object/keep.h"
#include "src/object/path.h"

ki_status ki_informer_check_runs(const ki_informer *informer, ki_error *err) {
    KI_HELD(&informer->change_lock);
    if (atomic_load(&informer->removal.is_begun))
        return ki_error_set(err, KI_ERR_STATE, "the informer of %s was removed", informer->options.selection->name);
    return informer->life.is_stopped ? ki_error_set(err, KI_ERR_STATE, "the informer of %s is stopped",
                                                    informer->options.selection->resource.plural)
                                     : KI_OK;
}

/* Takes the change lock, and keeps it if the setting is allowed. */
static ki_status begin_setting(ki_informer *informer, const char *what, ki_error *err) {
    ki_fair_mutex_lock(&informer->change_lock);
    ki_status status = ki_informer_check_runs(informer, err);
    if (!status && !informer->life.is_frozen)
        return KI_OK;
    ki_fair_mutex_unlock(&informer->change_lock);
    if (status)
        return status;
    return ki_error_set(err, KI_ERR_STATE, "%s of %s: only before the start", what,
                        informer->options.selection->resource.plural);
}

ki_status ki_informer_set_transform(ki_informer *informer, ki_transform transform, void *user, ki_error *err) {
    if (!informer)
        return ki_error_missing(err, "ki_informer_set_transform");
    if (ki_engine_check_process(informer->options.engine, err))
        return KI_ERR_STATE;
    ki_status status = begin_setting(informer, "the transform", err);
    if (status)
        return status;
    informer->settings.transform.transform = transform;
    informer->settings.transform.user = user;
    ki_fair_mutex_unlock(&informer->change_lock);
    return KI_OK;
}

ki_status ki_informer_set_watch_error_handler(ki_informer *informer, ki_watch_error_handler handler, void *user,
                                              ki_error *err) {
    if (!informer)
        return ki_error_missing(err, "ki_informer_set_watch_error_handler");
    if (ki_engine_check_process(informer->options.engine, err))
        return KI_ERR_STATE;
    ki_status status = begin_setting(informer, "the watch error handler", err);
    if (status)
        return status;
    informer->settings.on_error = handler;
    informer->settings.error_user = user;
    ki_fair_mutex_unlock(&informer->change_lock);
    return KI_OK;
}

ki_status ki_informer_set_state_handler(ki_informer *informer, ki_state_handler handler, void *user, ki_error *err) {
    if (!informer)
        return ki_error_missing(err, "ki_informer_set_state_handler");
    if (ki_engine_check_process(informer->options.engine, err))
        return KI_ERR_STATE;
    ki_status status = begin_setting(informer, "the state handler", err);
    if (status)
        return status;
    informer->settings.on_state = handler;
    informer->settings.state_user = user;
    ki_fair_mutex_unlock(&informer->change_lock);
    return KI_OK;
}

/* The builds of new indexes: of the store, and of the kept deleted objects. Both are published at once. */
typedef struct builds {
    ki_index_build each[2];
    size_t count;
} builds;

/* Returns an error for an index by a field that the cache does not keep: all would be indexed without a value. */
static ki_status check_path(const ki_informer *informer, const char *text, ki_error *err) {
    const ki_allocator *allocator = ki_engine_allocator(informer->options.engine);
    ki_keep keep = ki_keep_of_all(&informer->options.given, informer->options.format);
    ki_path *path = NULL;
    ki_status status = ki_path_parse(allocator, text, &path, err);
    if (status)
        return status;
    bool is_kept = ki_keep_has_field(keep, path) || (ki_keep_has_labels(keep) && ki_path_label(path).size);
    ki_path_free(allocator, path);
    if (is_kept)
        return KI_OK;
    return ki_error_set(err, KI_ERR_INVALID, "an index by %.100s, but the cache keeps only the %s", text,
                        ki_keep_name(keep));
}

static ki_status check_paths(const ki_informer *informer, const ki_indexer *indexers, size_t count, ki_error *err) {
    ki_status status = KI_OK;
    for (size_t i = 0; !status && i < count; i++)
        status = indexers[i].path ? check_path(informer, indexers[i].path, err) : KI_OK;
    return status;
}

static ki_status begin_builds(ki_informer *informer, const ki_indexer *indexers, size_t count, builds *made,
                              ki_error *err) {
    ki_store *stores[] = { informer->store, informer->deleted.objects.store };
    ki_status status = KI_OK;
    for (size_t i = 0; !status && i < 2; i++) {
        status = stores[i] ? ki_index_build_begin(&made->each[made->count], stores[i], indexers, count, err) : KI_OK;
        made->count += !status && stores[i];
    }
    return status;
}

/* Publishes all builds if all can be. Caller holds change_lock. */
static ki_status publish_builds(builds *made, bool *ret_done, ki_error *err) {
    KI_ASSERT(made->count > 0);
    ki_status status = KI_OK;
    bool are_ready = true;
    for (size_t i = 0; !status && are_ready && i < made->count; i++)
        status = ki_index_build_prepare(&made->each[i], KI_INFORMER_SLICE, &are_ready, err);
    *ret_done = !status && are_ready;
    for (size_t i = made->count; *ret_done && i-- > 0;) /* the deleted objects first: lister.c reads them last */
        ki_index_build_publish_prepared(&made->each[i]);
    return status;
}

/* Does most of the work without a lock, so that no other thread waits for it. */
static ki_status build_indexes(ki_informer *informer, builds *made, ki_error *err) {
    ki_status status = KI_OK;
    bool is_done = false;
    while (!status && !is_done) {
        for (size_t i = 0; !status && i < made->count; i++)
            status = ki_index_build_catch_up(&made->each[i], err);
        if (status)
            break;
        ki_fair_mutex_lock(&informer->change_lock);
        status = ki_informer_check_runs(informer, err);
        if (!status)
            status = publish_builds(made, &is_done, err);
        ki_fair_mutex_unlock(&informer->change_lock);
    }
    return status;
}

ki_status ki_informer_add_indexers(ki_informer *informer, const ki_indexer *indexers, size_t count, ki_error *err) {
    if (!informer || !indexers)
        return ki_error_set(err, KI_ERR_INVALID, "ki_informer_add_indexers: no informer, or no indexers");
    if (ki_engine_check_process(informer->options.engine, err))
        return KI_ERR_STATE;
    builds made = { .count = 0 };
    ki_fair_mutex_lock(&informer->change_lock);
    ki_status status = ki_informer_check_runs(informer, err);
    ki_fair_mutex_unlock(&informer->change_lock);
    if (!status)
        status = check_paths(informer, indexers, count, err);
    if (!status)
        status = begin_builds(informer, indexers, count, &made, err);
    if (!status)
        status = build_indexes(informer, &made, err);
    while (made.count > 0)
        ki_index_build_end(&made.each[--made.count]);
    return status;
}
