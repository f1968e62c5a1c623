/* processor.c: distributes to the listeners, and applies the rules of resync periods. */
#include "src/cache/listener/processor.h"

#include "src/cache/listener/listener.h"
#include "src/object/object.h"

void ki_processor_init(ki_processor *processor, const ki_allocator *allocator, int64_t resync_ns) {
    *processor = (ki_processor){ .allocator = allocator, .resync_ns = resync_ns };
    processor->end = &processor->first;
    processor->leaving_end = &processor->leaving;
    ki_changes_init(&processor->changes, allocator);
}

void ki_processor_free(ki_processor *processor) {
    ki_changes_clear(&processor->changes);
}

/* --- resync ------------------------------------------------------------------------------------------------------- */

/* Sets the listener's period: never shorter than the informer's, and none if the informer has none. */
static void settle_period(const ki_processor *processor, ki_listener *listener, int64_t now) {
    int64_t period = listener->desired_resync_ns;
    if (processor->resync_ns == 0)
        period = 0;
    else if (period > 0 && period < processor->resync_ns)
        period = processor->resync_ns;
    listener->resync_ns = period;
    listener->next_resync = now + period;
}

static void settle_periods(ki_processor *processor, int64_t now) {
    for (ki_listener *listener = processor->first; listener; listener = listener->next)
        settle_period(processor, listener, now);
}

bool ki_processor_resync_due(ki_processor *processor, int64_t now) {
    bool any = false;
    for (ki_listener *listener = processor->first; listener; listener = listener->next) {
        listener->resync_is_due = listener->resync_ns > 0 && now >= listener->next_resync;
        any = any || listener->resync_is_due;
    }
    return any;
}

void ki_processor_resync_begun(ki_processor *processor, int64_t now) {
    for (ki_listener *listener = processor->first; listener; listener = listener->next)
        if (listener->resync_is_due)
            listener->next_resync = now + listener->resync_ns;
}

/* --- adding and removing ------------------------------------------------------------------------------------------ */

static void append(ki_listener *listener, ki_listener ***end) {
    listener->next = NULL;
    listener->at = *end;
    **end = listener;
    *end = &listener->next;
}

static void take_out(ki_listener *listener, ki_listener ***end) {
    *listener->at = listener->next;
    *(listener->next ? &listener->next->at : end) = listener->at;
    listener->at = NULL;
}

void ki_processor_add(ki_processor *processor, ki_listener *listener, int64_t desired_ns, int64_t now) {
    bool has_all = processor->changes_state == KI_CHANGES_PUBLISHED; /* from its replay */
    listener->next_change = processor->notified + (has_all ? processor->changes.count : 0);
    append(listener, &processor->end);
    listener->desired_resync_ns = desired_ns;
    bool lowers = desired_ns > 0 && (processor->resync_ns == 0 || desired_ns < processor->resync_ns);
    if (!lowers || processor->started) {
        settle_period(processor, listener, now);
        return;
    }
    processor->resync_ns = desired_ns;
    settle_periods(processor, now);
}

bool ki_processor_remove(ki_processor *processor, ki_listener *listener) {
    if (!listener->at)
        return false;
    take_out(listener, &processor->end);
    append(listener, &processor->leaving_end);
    return true;
}

void ki_processor_forget(ki_processor *processor, ki_listener *listener) {
    if (listener->at)
        take_out(listener, &processor->leaving_end);
}

size_t ki_processor_load(const ki_processor *processor) {
    size_t most = 0;
    for (ki_listener *listener = processor->first; listener; listener = listener->next) {
        size_t load = listener->has_thread ? 0 : atomic_load(&listener->waiting);
        most = load > most ? load : most;
    }
    return most;
}

ki_status ki_processor_start(ki_processor *processor, bool threaded, ki_error *err) {
    for (ki_listener *listener = processor->first; listener; listener = listener->next) {
        ki_status status = ki_listener_start(listener, threaded, err);
        if (status)
            return status; /* listeners that did start wait for work */
    }
    processor->threaded = threaded;
    processor->started = true;
    return KI_OK;
}

void ki_processor_stop(ki_processor *processor) {
    for (ki_listener *listener = processor->first; listener; listener = listener->next)
        ki_listener_stop(listener);
    for (ki_listener *listener = processor->leaving; listener; listener = listener->next)
        ki_listener_stop(listener);
}

/* --- notifying ---------------------------------------------------------------------------------------------------- */

static bool is_for(const ki_listener *listener, const ki_change *change) {
    if (!change->is_resync)
        return true;
    if (change->is_listed)
        return listener->resync_ns > 0 || ki_object_gains_view(change->obj, change->old);
    return listener->resync_is_due;
}

ki_status ki_processor_stage(ki_processor *processor, const ki_change *change) {
    const ki_listener *listener = processor->first;
    while (change->is_resync && listener && !is_for(listener, change))
        listener = listener->next;
    return listener || !change->is_resync ? ki_changes_push(&processor->changes, change) : KI_OK;
}

void ki_processor_publish(ki_processor *processor) {
    processor->changes_state = processor->changes.count ? KI_CHANGES_PUBLISHED : KI_CHANGES_STAGED;
}

void ki_processor_drop(ki_processor *processor) {
    processor->changes_state = KI_CHANGES_DROPPED;
}

void ki_processor_release_some(ki_processor *processor, size_t *units) {
    if (processor->changes_state == KI_CHANGES_DROPPED && ki_changes_drop_some(&processor->changes, units))
        processor->changes_state = KI_CHANGES_STAGED;
}

/* Pushes the change to a listener; `*packed`: made for the first listener that needs it. A thread without waiting
 * changes takes the change at once. */
static ki_status push(const ki_processor *processor, ki_listener *listener, const ki_change *change,
                      ki_object **packed) {
    if (!processor->pack || !listener->has_thread || !atomic_load(&listener->waiting))
        return ki_listener_push(listener, change);
    if (!*packed)
        *packed = processor->pack(change, processor->pack_user);
    ki_change waiting = *change;
    waiting.obj = *packed;
    return ki_listener_push(listener, &waiting);
}

static ki_status push_to_all(ki_processor *processor, const ki_change *change) {
    ki_object *packed = NULL;
    ki_status status = KI_OK;
    processor->has_news = true;
    for (ki_listener *listener = processor->first; !status && listener; listener = listener->next) {
        if (listener->next_change > processor->notified)
            continue;
        status = is_for(listener, change) ? push(processor, listener, change, &packed) : KI_OK;
        if (!status)
            listener->next_change = processor->notified + 1;
    }
    ki_object_unref(packed);
    return status;
}

ki_status ki_processor_notify_next(ki_processor *processor, ki_change *ret_change) {
    if (processor->changes_state != KI_CHANGES_PUBLISHED)
        return KI_ERR_NOT_FOUND;
    ki_status status = push_to_all(processor, ki_changes_first(&processor->changes));
    if (status)
        return status;
    (void)ki_changes_pop(&processor->changes, ret_change);
    processor->notified++;
    if (!processor->changes.count)
        processor->changes_state = KI_CHANGES_STAGED;
    return KI_OK;
}

void ki_processor_mark(ki_processor *processor, ki_mark mark) {
    for (ki_listener *listener = processor->first; listener; listener = listener->next)
        ki_listener_mark(listener, mark);
    processor->has_news = true;
}

void ki_processor_wake(ki_processor *processor) {
    processor->has_news = false;
    for (ki_listener *listener = processor->first; listener; listener = listener->next)
        ki_listener_wake(listener);
}
