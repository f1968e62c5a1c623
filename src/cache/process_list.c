/* process_list.c: the process step for a whole list or resync of the in-order queue, a slice at a time.
 *
 * The first slices stage the next snapshot. One step publishes it, so readers see the whole list or nothing of it.
 * Further slices notify the listeners of the differences between the list and the snapshot before it. If staging fails,
 * because memory runs out or an index was added meanwhile, the staged state is dropped and the list starts over; the
 * old snapshot stays. If notifying fails, it resumes at the same place. A handler that is added in between replays the
 * published snapshot and gets no other notification of this list. */
#include "src/base/error.h"
#include "src/cache/delta_apply.h"
#include "src/cache/informer_parts.h"
#include "src/object/object.h"

/* One slice of the work. */
typedef struct slice {
    ki_informer *informer;
    ki_list_work *work;
    const ki_deltas *deltas;
    ki_notifier notifier;
    size_t left; /* units */
    ki_error *err;
} slice;

void ki_list_work_end(ki_list_work *work) {
    size_t all = SIZE_MAX;
    (void)ki_snapshot_drain_some(&work->waste, &all);
    if (!work->before)
        return;
    ki_snapshot_free(work->before);
    work->before = NULL;
    ki_wide_map_free(&work->listed);
}

static ki_object *known_before(const slice *s, const char *key) {
    return ki_tree_get(&s->work->before->schema->objects, &s->work->before->items, ki_str_of(key));
}

static void begin_phase(slice *s, ki_list_phase phase) {
    s->work->phase = phase;
    s->work->at = 0;
    s->work->cursor = (ki_cursor)KI_CURSOR_INIT;
}

/* --- staging ------------------------------------------------------------------------------------------------------ */

static ki_status begin(slice *s) {
    ki_informer *informer = s->informer;
    bool is_list = s->deltas->kind == KI_DELTAS_REPLACE;
    const char *version = is_list ? s->deltas->resource_version : "";
    bool fits = strlen(version) <= KI_RESOURCE_VERSION_MAX;
    ki_status status = is_list ? ki_store_begin(informer->store, fits ? version : NULL, s->err) : KI_OK;
    if (status)
        return status;
    s->work->before = ki_store_snapshot(informer->store);
    ki_wide_map_init(&s->work->listed, ki_engine_allocator(informer->engine), informer->options.seed);
    begin_phase(s, is_list ? KI_LIST_COLLECTS : KI_LIST_RESYNCS);
    return KI_OK;
}

/* Drops the staged state and starts over. */
static void start_over(slice *s) {
    ki_wide_map_free(&s->work->listed);
    ki_snapshot_drain_begin(&s->work->waste, ki_store_abandon(s->informer->store));
    ki_snapshot_free(s->work->before); /* the store holds a reference to it or to a later one */
    s->work->before = NULL;
    begin_phase(s, KI_LIST_BEGINS);
}

/* Collects the next kept or listed key. */
static ki_status collect_next(slice *s) {
    const ki_deltas *deltas = s->deltas;
    size_t at = s->work->at;
    if (at == deltas->kept_count + deltas->count) {
        begin_phase(s, deltas->keeps_all ? KI_LIST_PUTS : KI_LIST_DELETES);
        return KI_OK;
    }
    s->work->at++;
    if (at < deltas->kept_count)
        return ki_wide_map_put(&s->work->listed, ki_str_of(deltas->kept[at]), NULL, NULL);
    at -= deltas->kept_count;
    return ki_wide_map_put(&s->work->listed, ki_str_of(ki_object_key(deltas->objects[at])), (void *)(uintptr_t)(at + 1),
                           NULL);
}

/* Returns true for the last object of its key in the list. Only that one counts. */
static bool is_last(const slice *s, size_t at) {
    ki_str key = ki_str_of(ki_object_key(s->deltas->objects[at]));
    return (uintptr_t)ki_wide_map_get(&s->work->listed, key) == at + 1;
}

/* Returns the next known object if it is not listed, else NULL. `*ret_more` is false after the last. */
static ki_object *next_unlisted(slice *s, bool *ret_more) {
    ki_object *known = ki_tree_next(&s->work->before->items, &s->work->cursor);
    *ret_more = known != NULL;
    return known && !ki_wide_map_has(&s->work->listed, ki_str_of(ki_object_key(known))) ? known : NULL;
}

static ki_status delete_next(slice *s) {
    bool more;
    const ki_object *gone = next_unlisted(s, &more);
    if (!more)
        begin_phase(s, KI_LIST_PUTS);
    return gone ? ki_store_stage_delete(s->informer->store, ki_object_key(gone)) : KI_OK;
}

/* Stages only new and changed objects: a list without changes does not change the store. */
static ki_status put_next(slice *s) {
    size_t at = s->work->at;
    if (at == s->deltas->count) {
        begin_phase(s, KI_LIST_PUBLISHES);
        return KI_OK;
    }
    s->work->at++;
    if (!is_last(s, at))
        return KI_OK;
    ki_object *obj = s->deltas->objects[at];
    const ki_object *known = known_before(s, ki_object_key(obj));
    return known && ki_object_is_same_state(obj, known) ? KI_OK : ki_store_stage_put(s->informer->store, obj);
}

static ki_status publish(slice *s) {
    ki_informer *informer = s->informer;
    ki_status status = ki_store_end(informer->store, KI_OK, "storing a list", s->err);
    if (status)
        return status;
    /* Keeps the old version if the list's is too long. */
    (void)ki_reflector_copy_version(informer->store_version, s->deltas->resource_version, NULL);
    if (informer->queue->ops->length(informer->queue) == 0)
        ki_unreadable_catch_up(&informer->unreadable);
    ki_processor_begin_list(&informer->processor);
    begin_phase(s, s->deltas->keeps_all ? KI_LIST_NOTIFIES : KI_LIST_NOTIFIES_DELETED);
    return KI_OK;
}

/* --- notifying ---------------------------------------------------------------------------------------------------- */

/* Ends the list or resync. The next slices release the snapshot before it. */
static void end(slice *s) {
    ki_processor_end_list(&s->informer->processor);
    ki_processor_trim(&s->informer->processor);
    ki_wide_map_free(&s->work->listed);
    ki_snapshot_drain_begin(&s->work->waste, s->work->before);
    s->work->before = NULL;
    begin_phase(s, KI_LIST_ENDS);
}

static void notify_next_deleted(slice *s) {
    bool more;
    ki_object *gone = next_unlisted(s, &more);
    if (gone)
        ki_notify_deleted(&s->notifier, gone, gone, true);
    if (!more)
        begin_phase(s, KI_LIST_NOTIFIES);
}

/* Checks the waits against one object of the list. Also called for an object that a later one of the same key
 * replaces. */
static void check_wait(const slice *s, const ki_change *delta) {
    if (atomic_load(&s->informer->wait_count) > 0)
        ki_informer_check_waits(s->informer, &(ki_deltas){ .items = delta, .count = 1 });
}

static void notify_next(slice *s) {
    size_t at = s->work->at;
    if (at == s->deltas->count) {
        end(s);
        return;
    }
    s->work->at++;
    const ki_change delta = { .type = KI_EVENT_UPDATE,
                              .is_listed = true,
                              .is_in_initial_list = s->deltas->is_in_initial_list,
                              .obj = s->deltas->objects[at] };
    check_wait(s, &delta);
    if (!is_last(s, at))
        return;
    ki_object *before = known_before(s, ki_object_key(delta.obj));
    (void)ki_delta_apply(&delta, before, &s->notifier);
    if (s->informer->options.detect_mutations &&
        before != delta.obj) /* the detector already has an unchanged instance */
        ki_mutation_detector_add(&s->informer->detector, delta.obj);
}

static void resync_next(slice *s) {
    const ki_change delta = { .type = KI_EVENT_UPDATE,
                              .is_resync = true,
                              .obj = ki_tree_next(&s->work->before->items, &s->work->cursor) };
    if (delta.obj)
        ki_notify_updated(&s->notifier, &delta, delta.obj);
    else
        end(s);
}

/* --- slices ------------------------------------------------------------------------------------------------------- */

static bool is_staging(const ki_list_work *work) {
    return work->phase > KI_LIST_BEGINS && work->phase <= KI_LIST_PUBLISHES;
}

static bool is_notifying(const ki_list_work *work) {
    return work->phase > KI_LIST_PUBLISHES && work->phase < KI_LIST_ENDS;
}

/* Does one unit. */
static ki_status do_unit(slice *s) {
    switch (s->work->phase) {
    case KI_LIST_BEGINS:
        return begin(s);
    case KI_LIST_COLLECTS:
        return collect_next(s);
    case KI_LIST_DELETES:
        return delete_next(s);
    case KI_LIST_PUTS:
        return put_next(s);
    case KI_LIST_PUBLISHES:
        return publish(s);
    case KI_LIST_NOTIFIES_DELETED:
        notify_next_deleted(s);
        break;
    case KI_LIST_NOTIFIES:
        notify_next(s);
        break;
    case KI_LIST_RESYNCS:
        resync_next(s);
        break;
    case KI_LIST_ENDS:
        break;
    }
    return KI_OK;
}

/* Works until the slice ends, or until staging changes to notifying. Reserves room in the listeners before
 * notifying. */
static ki_status run_phase(slice *s) {
    bool notifies = is_notifying(s->work);
    ki_status status = KI_OK;
    if (notifies) /* a recreated object (another uid) needs two notifications */
        status = ki_processor_reserve(&s->informer->processor, 2 * s->left, 2 * s->left);
    for (; !status && s->left > 0 && s->work->phase != KI_LIST_ENDS && is_notifying(s->work) == notifies; s->left--)
        status = do_unit(s);
    return status;
}

static ki_status do_slice(slice *s, bool *ret_done) {
    ki_list_work *work = s->work;
    ki_status status = KI_OK;
    *ret_done = false;
    while (!status && !*ret_done && ki_snapshot_drain_some(&work->waste, &s->left) && s->left > 0) {
        if (work->phase == KI_LIST_ENDS) {
            *ret_done = true;
            work->phase = KI_LIST_BEGINS;
        } else if (is_staging(work) && ki_store_is_overtaken(s->informer->store)) {
            start_over(s);
        } else {
            status = run_phase(s);
        }
    }
    if (status && is_staging(work))
        start_over(s);
    return status;
}

ki_status ki_informer_process_list(ki_informer *informer, const ki_deltas *deltas, bool *ret_done, ki_error *err) {
    size_t slice_units = ki_queue_slice(informer->queue);
    size_t units = slice_units < KI_INFORMER_SLICE ? slice_units : KI_INFORMER_SLICE;
    slice s = { .informer = informer,
                .work = &informer->list_work,
                .deltas = deltas,
                .notifier = { .processor = &informer->processor, .unreadable = &informer->unreadable },
                .left = units,
                .err = err };
    ki_status status = do_slice(&s, ret_done);
    (void)ki_engine_work(informer->engine, (int)(units - s.left));
    if (status == KI_ERR_NO_MEMORY)
        return ki_error_no_memory(err, "storing a list");
    return status ? ki_error_set(err, status, "storing a list") : KI_OK;
}
