/* reflector_unreadable.c: what is done about an object whose state cannot be read.
 *
 * In a list, and within a streaming list, its key counts as listed, and what is known of it stays; where the key is not known either, the list
 * deletes nothing. On a watch the stream is ended and resumed once, from the last good version (as client-go does on invalid JSON): bytes may have
 * been damaged on their way. If the event cannot be read again it is skipped, and its key is marked until the object is readable, replaced or
 * deleted. A deletion that cannot be read deletes what is known, or, with no key, is followed by a list. */
#include "src/base/error.h"
#include "src/cache/reflector_steps.h"

static void give_up_for_memory(ki_reflector *reflector) {
    ki_error err = KI_ERROR_INIT;
    ki_error_no_memory(&err, "noting an object that cannot be read");
    ki_reflector_give_up(reflector, &err);
}

static void report(const ki_reflector *reflector, const ki_error *err, const char *key) {
    reflector->options.on_bad_object(err, key, reflector->options.user);
}

/* --- lists ---------------------------------------------------------------------------------------------------------------------------- */

void ki_reflector_skip_listed(ki_reflector *reflector, const ki_bad_object *bad) {
    if (bad->err->code == KI_ERR_NO_MEMORY) { /* nothing is wrong with the object */
        ki_reflector_give_up(reflector, bad->err);
        return;
    }
    bool is_list = reflector->phase == KI_REFLECTOR_LISTS;
    ki_unreadable_marks *marks = &reflector->listed_unreadable;
    if (!is_list && bad->is_deleted && bad->key[0]) {
        ki_reflector_unstage(reflector, bad->key);
        ki_unreadable_marks_remove(marks, bad->key, "");
    } else if ((is_list || !bad->is_foreign) &&
               ki_unreadable_marks_put(marks, bad->key, bad->resource_version, bad->err)) {
        give_up_for_memory(reflector);
        return;
    }
    report(reflector, bad->err, bad->key);
}

/* --- watches -------------------------------------------------------------------------------------------------------------------------- */

/* Ends the watch and opens it again at the version that it has got to; before a bookmark that came last: some servers send one ahead of the event of its
 * version (etcd#15220), and would not send that event again. */
static void resume(ki_reflector *reflector, const ki_error *cause) {
    ki_error err = *cause;
    ki_error_prefix(&err, "an event that cannot be read; the watch is resumed");
    if (reflector->watch.before_bookmark[0])
        memcpy(reflector->resource_version, reflector->watch.before_bookmark, sizeof reflector->resource_version);
    reflector->has_resumed = true;
    memcpy(reflector->resumed_version, reflector->resource_version, sizeof reflector->resumed_version);
    reflector->options.list_watch->ops->cancel(reflector->options.list_watch);
    ki_reflector_count_watch_end(reflector);
    ki_reflector_count_wordless(reflector);
    ki_reflector_report(reflector, &err);
    ki_reflector_reopen(reflector, true);
}

/* Has the watch been resumed from here already, or is the object known to be unreadable? Then once more would not help. */
static bool is_read_again(const ki_reflector *reflector, const ki_bad_object *bad) {
    if (bad->key[0] && ki_unreadable_has(reflector->options.unreadable, bad->key))
        return true;
    return reflector->has_resumed && strcmp(reflector->resumed_version, reflector->resource_version) == 0;
}

static void skip_event(ki_reflector *reflector, const ki_bad_object *bad) {
    if (ki_unreadable_add(reflector->options.unreadable, bad->key, bad->resource_version, reflector->resource_version,
                          bad->err))
        give_up_for_memory(reflector);
    else
        report(reflector, bad->err, bad->key);
}

/* The object is gone, whatever it was in the end. */
static void delete_known(ki_reflector *reflector, const ki_bad_object *bad) {
    ki_queue *queue = reflector->options.queue;
    ki_error err = *bad->err; /* it goes with the watch */
    ki_object *known = bad->key[0] ? reflector->options.known(bad->key, reflector->options.user) : NULL;
    if (!known) { /* not known whose it is, or still on its way to the store */
        report(reflector, bad->err, bad->key);
        reflector->options.list_watch->ops->cancel(reflector->options.list_watch);
        ki_reflector_count_watch_end(reflector);
        ki_reflector_wait(reflector, &err, KI_REFLECT_BEGIN);
        return;
    }
    ki_status status = queue->ops->remove(queue, known, false, &err);
    ki_object_unref(known);
    if (status) {
        ki_reflector_give_up(reflector, &err);
        return;
    }
    ki_unreadable_settle(reflector->options.unreadable, bad->key, "");
    report(reflector, bad->err, bad->key);
    reflector->options.on_progress(reflector->options.user);
}

void ki_reflector_bad_event(ki_reflector *reflector, const ki_bad_object *bad) {
    bool is_repeated = !bad->is_deleted && bad->resource_version[0] &&
                       ki_reflector_is_older(bad->resource_version, reflector->watch.version);
    if (bad->err->code == KI_ERR_NO_MEMORY) /* nothing is wrong with the object */
        ki_reflector_give_up(reflector, bad->err);
    else if (bad->is_foreign || is_repeated)
        report(reflector, bad->err, bad->key);
    else if (bad->is_deleted)
        delete_known(reflector, bad);
    else if (is_read_again(reflector, bad))
        skip_event(reflector, bad);
    else
        resume(reflector, bad->err);
}

/* --- transforms ----------------------------------------------------------------------------------------------------------------------- */

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
        report(reflector, &err, bad.key); /* the end is told all the same */
    else
        skip_event(reflector, &bad);
    return false;
}
