/* reflector_unreadable.c: handles objects whose state cannot be read.
 *
 * In a list or streaming list: the key counts as listed, and the cache keeps the known object. If the key is unreadable
 * too, the list deletes nothing.
 *
 * In a watch: the reflector ends the watch and resumes once from the last good version, since bytes may have been
 * damaged on their way (client-go does so on invalid JSON). If the event is unreadable again, the reflector skips it
 * and marks the key until the object is readable, replaced or deleted. An unreadable deletion deletes the known object.
 * Without a known object the reflector relists. An event of another kind (a Table, say) stands for a change of an
 * object whose key is not known. */
#include "src/base/error.h"
#include "src/cache/reflector/reflector_steps.h"

static void give_up_for_memory(ki_reflector *reflector) {
    ki_error err = KI_ERROR_INIT;
    ki_error_no_memory(&err, "marking an unreadable object");
    ki_reflector_give_up(reflector, &err);
}

static void report(const ki_reflector *reflector, const ki_error *err, const char *key) {
    reflector->options.on_bad_object(err, key, reflector->options.user);
}

/* Returns the key of the object that has changed; "" if unknown. */
static const char *key_of(const ki_bad_object *bad) {
    return bad->is_foreign ? "" : bad->key;
}

static const char *version_of(const ki_bad_object *bad) {
    return bad->is_foreign ? "" : bad->resource_version;
}

bool ki_reflector_skips(const ki_reflector *reflector, const ki_object *obj) {
    const char *namespace_name = reflector->shared.namespace_name, *key = ki_object_key(obj);
    if (ki_key_is_in_namespace(key, namespace_name))
        return false;
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_PROTOCOL, "%.100s is not in namespace %s", key, namespace_name);
    report(reflector, &err, key);
    return true;
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

void ki_reflector_skip_listed(ki_reflector *reflector, const ki_bad_object *bad) {
    if (bad->err->code == KI_ERR_NO_MEMORY) { /* the object itself may be readable */
        ki_reflector_give_up(reflector, bad->err);
        return;
    }
    bool is_list = reflector->phase == KI_REFLECTOR_LISTS;
    const char *key = is_list ? bad->key : key_of(bad);
    const char *version = is_list ? bad->resource_version : version_of(bad);
    ki_unreadable_marks *marks = &reflector->listed.unreadable;
    if (!is_list && bad->is_deleted && key[0]) {
        ki_reflector_drop_collected(reflector, key);
        ki_unreadable_marks_remove(marks, key, "");
    } else if (!bad->is_bookmark && ki_unreadable_marks_put(marks, key, version, bad->err)) {
        give_up_for_memory(reflector);
        return;
    }
    report(reflector, bad->err, bad->key);
}

/* --- watches ------------------------------------------------------------------------------------------------------ */

/* Ends the watch and resumes from the last synced version. If the last event was a bookmark, resumes from the version
 * before the bookmark: some servers send a bookmark before the event of the same version (etcd#15220), and would not
 * repeat that event. */
static void resume(ki_reflector *reflector, const ki_error *cause) {
    ki_error err = *cause;
    ki_error_prefix(&err, "unreadable event; the watch resumes");
    if (reflector->watch.before_bookmark[0])
        memcpy(reflector->resource_version, reflector->watch.before_bookmark, sizeof reflector->resource_version);
    reflector->watches.has_resumed = true;
    memcpy(reflector->watches.resumed_version, reflector->resource_version, sizeof reflector->watches.resumed_version);
    reflector->options.list_watch->ops->cancel(reflector->options.list_watch);
    ki_reflector_count_watch_end(reflector);
    ki_reflector_count_silent_watch(reflector);
    ki_reflector_report(reflector, &err);
    ki_reflector_reopen(reflector, true);
}

/* Returns true if another resume would not help: the watch has already been resumed from this version, or the object is
 * known to be unreadable. */
static bool is_read_again(const ki_reflector *reflector, const ki_bad_object *bad) {
    if (key_of(bad)[0] && ki_unreadable_has(reflector->shared.unreadable, key_of(bad)))
        return true;
    return reflector->watches.has_resumed &&
           strcmp(reflector->watches.resumed_version, reflector->resource_version) == 0;
}

static void skip_event(ki_reflector *reflector, const ki_bad_object *bad) {
    if (ki_unreadable_add(reflector->shared.unreadable, key_of(bad), version_of(bad), reflector->resource_version,
                          bad->err))
        give_up_for_memory(reflector);
    else
        report(reflector, bad->err, bad->key);
}

/* Deletes the known object after an unreadable deletion. */
static void delete_known(ki_reflector *reflector, const ki_bad_object *bad) {
    ki_queue *queue = reflector->options.queue;
    ki_error err = *bad->err; /* cancelling the watch frees `bad` */
    ki_object *known = key_of(bad)[0] ? ki_reflector_known(reflector, key_of(bad)) : NULL;
    if (!known) { /* the key is unreadable, or the object is not in the store yet */
        report(reflector, bad->err, bad->key);
        reflector->options.list_watch->ops->cancel(reflector->options.list_watch);
        ki_reflector_count_watch_end(reflector);
        ki_reflector_wait(reflector, &err, KI_REFLECT_BEGIN);
        return;
    }
    const ki_change gone = { .type = KI_EVENT_DELETE, .obj = known, .final_state_unknown = true };
    ki_status status = queue->ops->put(queue, &gone, &err);
    if (!status)
        ki_past_deletions_add(&reflector->watches.past_deletions, ki_engine_allocator(reflector->options.engine), known,
                              version_of(bad)[0] ? version_of(bad) : ki_object_resource_version(known));
    ki_object_unref(known);
    if (status) {
        ki_reflector_give_up(reflector, &err);
        return;
    }
    ki_unreadable_settle(reflector->shared.unreadable, bad->key, "");
    report(reflector, bad->err, bad->key);
    reflector->options.on_progress(reflector->options.user);
}

/* Returns true for an older state of a known object. */
static bool is_repeated(const ki_reflector *reflector, const ki_bad_object *bad) {
    ki_object *known = key_of(bad)[0] ? ki_reflector_known(reflector, key_of(bad)) : NULL;
    bool is_older = known && ki_reflector_is_older(version_of(bad), ki_object_resource_version(known));
    ki_object_unref(known);
    return is_older && !bad->is_deleted;
}

void ki_reflector_bad_event(ki_reflector *reflector, const ki_bad_object *bad) {
    if (bad->err->code == KI_ERR_NO_MEMORY) /* the object itself may be readable */
        ki_reflector_give_up(reflector, bad->err);
    else if (bad->is_bookmark || is_repeated(reflector, bad))
        report(reflector, bad->err, bad->key);
    else if (bad->is_deleted)
        delete_known(reflector, bad);
    else if (is_read_again(reflector, bad))
        skip_event(reflector, bad);
    else
        resume(reflector, bad->err);
}

/* --- transforms --------------------------------------------------------------------------------------------------- */

bool ki_reflector_transform(ki_reflector *reflector, ki_object *obj, bool is_deleted, ki_object **ret_obj) {
    ki_error err = KI_ERROR_INIT;
    if (!ki_transform_object(&reflector->options.transform, obj, ret_obj, &err))
        return true;
    const ki_bad_object bad = { .err = &err,
                                .key = ki_object_key(obj),
                                .resource_version = ki_object_resource_version(obj),
                                .is_deleted = is_deleted };
    *ret_obj = NULL;
    if (err.code == KI_ERR_NO_MEMORY)
        ki_reflector_give_up(reflector, &err);
    else if (reflector->phase != KI_REFLECTOR_WATCHES)
        ki_reflector_skip_listed(reflector, &bad);
    else if (is_deleted)
        report(reflector, &err, bad.key); /* the caller queues the deletion without the transform */
    else
        skip_event(reflector, &bad);
    return false;
}
