/* source.c: one informer that a controller watches: queues keys for its events.
 *
 * The handler runs on the loop. If a key cannot be queued for lack of memory, the source keeps the object and queues
 * its keys later. If the source cannot keep the object either, it walks all objects of the informer later. A walk does
 * not find a deleted object, so a lost deletion is logged. A source of a controller that does not lead ignores events:
 * the walk at the start of the next term finds the current objects. */
#include "controllers/controller/controller.h"
#include "src/base/array.h"
#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/memory.h"
#include "src/cache/informer/shared_informer.h"
#include "src/engine/callback.h"
#include "src/object/keep.h"
#include "src/object/selector.h"

#include <string.h>

/* --- keys of an object -------------------------------------------------------------------------------------------- */

struct ki_reconcile_keys {
    ki_workqueue *queue;
    int priority;
    ki_status status; /* KI_ERR_NO_MEMORY: at least one key was not queued */
};

ki_status ki_reconcile_keys_add(ki_reconcile_keys *keys, const char *key) {
    if (!keys)
        return KI_ERR_INVALID;
    ki_status status = ki_workqueue_add_with(keys->queue, key, &KI_ADD_OPTIONS(.priority = keys->priority));
    if (status == KI_ERR_NO_MEMORY)
        keys->status = status;
    return status;
}

/* Returns true if `api_version` ("group/version" or "version") is of `group`. */
static bool is_of_group(const char *api_version, const char *group) {
    const char *slash = strchr(api_version, '/');
    if (!slash)
        return group[0] == '\0';
    size_t size = strlen(group);
    return (size_t)(slash - api_version) == size && memcmp(api_version, group, size) == 0 && !strchr(slash + 1, '/');
}

static void add_owner(const ki_source *source, const ki_object *obj, const char *name, ki_reconcile_keys *keys) {
    char key[KI_WORKQUEUE_KEY_MAX + 1];
    const char *namespace_name = source->is_owner_namespaced ? ki_object_namespace(obj) : "";
    if (name[0] && ki_key_join(namespace_name, name, key, sizeof key))
        (void)ki_reconcile_keys_add(keys, key); /* `keys` keeps the failure */
}

/* Adds the keys of owners of the source's kind. Without `any_owner` only the first reference with controller: true
 * counts. */
static void add_owners(const ki_source *source, const ki_object *obj, ki_reconcile_keys *keys) {
    ki_owner_reference *references = NULL;
    size_t count = 0;
    ki_status status = ki_object_owner_references(obj, &references, &count, NULL);
    if (status == KI_ERR_NO_MEMORY)
        keys->status = status;
    if (status)
        return;
    for (size_t i = 0; i < count; i++) {
        const ki_owner_reference *owner = &references[i];
        if (!source->any_owner && !owner->controller)
            continue;
        if (strcmp(owner->kind, source->owner_kind) == 0 && is_of_group(owner->api_version, source->owner_group))
            add_owner(source, obj, owner->name, keys);
        if (!source->any_owner)
            break;
    }
    ki_owner_references_free(references);
}

/* Queues the keys of an object. Errors: KI_ERR_NO_MEMORY: at least one key was not queued. */
static ki_status queue_keys(const ki_source *source, const ki_object *obj, int priority) {
    const ki_controller *controller = source->controller;
    ki_reconcile_keys keys = { .queue = controller->queue, .priority = priority };
    if (source->map)
        source->map(obj, &keys, source->user);
    else if (source->by_owner)
        add_owners(source, obj, &keys);
    else
        (void)ki_reconcile_keys_add(&keys, ki_object_key(obj));
    return keys.status;
}

/* --- missed objects ----------------------------------------------------------------------------------------------- */

/* Keeps an object whose keys could not be queued. `is_there`: the informer's cache has the object, so a walk finds
 * it. */
static void remember(ki_source *source, const ki_object *obj, bool is_there) {
    KI_ON_LOOP(source->controller->engine);
    ki_controller *controller = source->controller;
    ki_controller_retry_in(controller, KI_CONTROLLER_RETRY);
    if (!(is_there && source->missed_count >= KI_SOURCE_MISSED_MAX) &&
        !KI_ARRAY_RESERVE(controller->allocator, source->missed, source->missed_count, source->missed_room))
        source->missed[source->missed_count++] = ki_object_ref(obj);
    else if (is_there)
        source->must_walk = true;
    else
        ki_log_write(ki_engine_log(controller->engine), KI_LOG_ERROR, "controller",
                     "%s: out of memory: the deletion of %s is not processed", controller->name, ki_object_key(obj));
}

static void drop_walk(ki_source *source) {
    ki_snapshot_free(source->snapshot); /* in steps: a relist meanwhile can leave it all objects */
    source->snapshot = NULL;
    source->cursor = (ki_cursor)KI_CURSOR_INIT;
}

void ki_source_forget(ki_source *source) {
    while (source->missed_count > 0)
        ki_object_unref(source->missed[--source->missed_count]);
    source->must_walk = false;
    drop_walk(source);
}

void ki_source_queue_all(ki_source *source) {
    KI_ASSERT(source->controller);
    drop_walk(source);
    source->must_walk = true;
    ki_task_post(&source->controller->tasks.catch_up);
}

/* Queues the keys of the walk's next object. */
static ki_status walk_on(ki_source *source) {
    KI_ASSERT(source->snapshot);
    ki_cursor before = source->cursor;
    const ki_object *obj = ki_snapshot_next(source->snapshot, &source->cursor);
    if (!obj) {
        drop_walk(source);
        return KI_OK;
    }
    const ki_event event = { .obj = obj, .informer = source->informer, .type = KI_EVENT_ADD };
    if (source->predicate && !source->predicate(&event, source->user))
        return KI_OK;
    ki_status status = queue_keys(source, obj, KI_PRIORITY_LOW);
    if (status)
        source->cursor = before;
    return status;
}

/* Does one unit of work. *ret_more is false if nothing was left to do. */
static ki_status catch_up_one(ki_source *source, bool *ret_more) {
    *ret_more = true;
    if (source->missed_count > 0) {
        const ki_object *obj = source->missed[source->missed_count - 1];
        ki_status status = queue_keys(source, obj, 0);
        if (status)
            return status;
        source->missed_count--;
        ki_object_unref(obj);
        return KI_OK;
    }
    if (source->snapshot)
        return walk_on(source);
    if (source->must_walk) {
        source->must_walk = false;
        source->snapshot = ki_informer_snapshot(source->informer);
        return KI_OK;
    }
    *ret_more = false;
    return KI_OK;
}

ki_status ki_source_catch_up(ki_source *source, bool *ret_more) {
    KI_ON_LOOP(source->controller->engine);
    ki_controller *controller = source->controller;
    ki_status status;
    bool has_work_left;
    ki_callback callback;
    ki_callback_enter(&callback, controller);
    do {
        status = catch_up_one(source, ret_more);
        has_work_left = ki_engine_work(controller->engine, 1);
    } while (!status && *ret_more && has_work_left && !atomic_load(&controller->is_stopping));
    ki_callback_leave(&callback);
    return status;
}

/* --- events ------------------------------------------------------------------------------------------------------- */

static void queue_event(ki_source *source, const ki_event *event) {
    if (source->predicate && !source->predicate(event, source->user))
        return;
    bool is_unchanged = event->is_resync || (event->old && strcmp(ki_object_resource_version(event->old),
                                                                  ki_object_resource_version(event->obj)) == 0);
    int priority = event->is_in_initial_list || is_unchanged ? KI_PRIORITY_LOW : 0;
    bool is_by_key = !source->map && !source->by_owner; /* the old object has the same key */
    if (event->old && !is_by_key && queue_keys(source, event->old, priority))
        remember(source, event->old, false);
    if (queue_keys(source, event->obj, priority))
        remember(source, event->obj, event->type != KI_EVENT_DELETE);
}

static void on_event(const ki_event *event, void *user) {
    KI_ON_LOOP(((ki_source *)user)->controller->engine);
    KI_ASSERT(((ki_source *)user)->has_handler);
    ki_source *source = user;
    const ki_controller *controller = source->controller;
    if (atomic_load(&controller->is_stopping) || !atomic_load(&controller->leads))
        return;
    ki_callback callback;
    ki_callback_enter(&callback, controller); /* the program's functions may free the controller */
    queue_event(source, event);
    ki_callback_leave(&callback);
}

/* Counts a source whose first objects have not all come as synced. */
static void end_sync(ki_source *source) {
    ki_controller *controller = source->controller;
    if (source->is_synced)
        return;
    source->is_synced = true;
    ki_mutex_lock(&controller->mutex);
    KI_ASSERT(controller->state.unsynced > 0);
    controller->state.unsynced--;
    ki_mutex_unlock(&controller->mutex);
    ki_controller_try_to_begin(controller);
}

static void on_synced(ki_informer *informer, void *user) {
    (void)informer;
    end_sync(user);
}

static void discard(ki_source *source);

/* The handler or the informer was removed. Without a controller the source was freed before. */
static void on_removed(void *user) {
    ki_source *source = user;
    KI_ASSERT(source->has_handler);
    source->has_handler = false;
    if (source->controller)
        end_sync(source);
    else
        discard(source);
}

/* --- new, free ---------------------------------------------------------------------------------------------------- */

static const ki_handler handler = {
    .on_add = on_event, .on_update = on_event, .on_delete = on_event, .on_synced = on_synced, .on_removed = on_removed
};

static ki_status check(const ki_controller *controller, const ki_informer *informer,
                       const ki_controller_watch_options *options, ki_error *err) {
    const ki_shared_informer_options *made_with = ki_informer_made_with(informer);
    if (made_with->engine != controller->engine)
        return ki_error_set(err, KI_ERR_INVALID, "controller %s and the informer of %s are of different engines",
                            controller->name, made_with->selection->name);
    if (options->owner && options->map)
        return ki_error_set(err, KI_ERR_INVALID, "a watch has either an owner or a map function");
    if (options->any_owner && !options->owner)
        return ki_error_set(err, KI_ERR_INVALID, "a watch of any owner names the owner's resource");
    ki_keep keep = ki_keep_of_all(&made_with->given, made_with->format);
    if (options->owner && !ki_keep_has_metadata(keep))
        return ki_error_set(err, KI_ERR_INVALID, "a watch by owner of %s, but the cache keeps only the %s",
                            made_with->selection->name, ki_keep_name(keep));
    if (options->owner && (!options->owner->group || !options->owner->kind || !options->owner->kind[0]))
        return ki_error_set(err, KI_ERR_INVALID, "the owner's resource needs a group (\"\" for the core) and a kind");
    return KI_OK;
}

/* Frees a source that has no handler. */
static void discard(ki_source *source) {
    const ki_allocator *allocator = source->allocator;
    KI_ASSERT(!source->snapshot || source->missed_room > 0);
    ki_source_forget(source);
    ki_free(allocator, source->missed);
    ki_selector_free(source->selector);
    ki_free(allocator, source->owner_group);
    ki_free(allocator, source->owner_kind);
    ki_free(allocator, source);
}

/* Parses the informer's selectors, for own_writes.c. Errors: KI_ERR_NO_MEMORY. */
static ki_status parse_selectors(ki_source *source, ki_error *err) {
    const ki_selection *selection = ki_informer_made_with(source->informer)->selection;
    source->has_selector = selection->label_selector[0] || selection->field_selector[0];
    if (!source->has_selector)
        return KI_OK;
    ki_status status = ki_selector_new_of(source->allocator, selection->label_selector, selection->field_selector,
                                          &source->selector, NULL);
    return status == KI_ERR_NO_MEMORY ? ki_error_no_memory(err, "watching an informer") : KI_OK;
}

static ki_status fill(ki_source *source, const ki_controller_watch_options *options, ki_error *err) {
    const ki_allocator *allocator = source->controller->allocator;
    source->by_owner = options->owner != NULL;
    source->any_owner = options->any_owner;
    source->map = options->map;
    source->predicate = options->predicate;
    source->user = options->user;
    if (options->owner) {
        source->is_owner_namespaced = options->owner->namespaced;
        source->owner_group = ki_strdup(allocator, options->owner->group);
        source->owner_kind = ki_strdup(allocator, options->owner->kind);
    }
    source->missed = ki_alloc_array(allocator, KI_SOURCE_MISSED_MIN, sizeof *source->missed);
    source->missed_room = KI_SOURCE_MISSED_MIN;
    if (!source->missed || (options->owner && (!source->owner_group || !source->owner_kind)))
        return ki_error_no_memory(err, "watching an informer");
    if (parse_selectors(source, err))
        return KI_ERR_NO_MEMORY;
    return ki_informer_add_handler(source->informer, &handler, source,
                                   &KI_REGISTRATION_OPTIONS(.on_loop = true, .name = source->controller->name),
                                   &source->registration, err);
}

ki_status ki_source_new(ki_controller *controller, ki_informer *informer, const ki_controller_watch_options *options,
                        ki_source **ret_source, ki_error *err) {
    KI_HELD(&controller->mutex);
    ki_status status = check(controller, informer, options, err);
    if (status)
        return status;
    ki_source *source = ki_alloc_zero(controller->allocator, sizeof *source);
    if (!source)
        return ki_error_no_memory(err, "watching an informer");
    source->controller = controller;
    source->allocator = controller->allocator;
    source->informer = informer;
    source->has_handler = true;
    controller->state.unsynced++; /* before the registration: the handler may be called at once */
    status = fill(source, options, err);
    if (status) {
        controller->state.unsynced--;
        discard(source);
        return status;
    }
    *ret_source = source;
    return KI_OK;
}

void ki_source_free(ki_source *source) {
    KI_ON_LOOP(source->controller->engine);
    ki_source_forget(source);
    source->controller = NULL;
    if (!source->has_handler) {
        discard(source);
        return;
    }
    ki_status status = ki_informer_remove_handler(source->informer, source->registration, NULL);
    (void)status; /* an error means that the informer is removed: on_removed is coming */
}
