/* processor.c: distributes to the listeners, and applies the rules of resync periods. */
#include "src/cache/listener/processor.h"

#include "src/base/assert.h"
#include "src/base/list.h"
#include "src/cache/listener/listener.h"
#include "src/object/object.h"

ki_status ki_processor_init(ki_processor *processor, ki_engine *engine, int64_t resync_ns, ki_error *err) {
    *processor = (ki_processor){ .resync_ns = resync_ns };
    atomic_store(&processor->synced_at, UINT64_MAX);
    return ki_change_log_init(&processor->log, engine, err);
}

void ki_processor_free(ki_processor *processor) {
    ki_change_log_free(&processor->log);
}

/* --- resync ------------------------------------------------------------------------------------------------------- */

/* Sets the listener's period: never shorter than the informer's, and none if the informer has none. */
static void settle_period(const ki_processor *processor, ki_listener *listener, int64_t now) {
    int64_t period = listener->resync.desired_ns;
    if (processor->resync_ns == 0)
        period = 0;
    else if (period > 0 && period < processor->resync_ns)
        period = processor->resync_ns;
    listener->resync.period_ns = period;
    listener->reader.has_resyncs = period > 0;
    listener->resync.next = now + period;
}

static void settle_periods(ki_processor *processor, int64_t now) {
    for (ki_listener *listener = processor->first; listener; listener = listener->next)
        settle_period(processor, listener, now);
}

bool ki_processor_resync_due(ki_processor *processor, int64_t now) {
    bool any = false;
    for (ki_listener *listener = processor->first; listener; listener = listener->next) {
        bool is_over = listener->resync.period_ns > 0 && now >= listener->resync.next;
        listener->resync.is_due = ki_change_log_begin_resync(&processor->log, &listener->reader, is_over);
        any = any || listener->resync.is_due;
    }
    return any;
}

void ki_processor_resync_begun(ki_processor *processor, int64_t now) {
    for (ki_listener *listener = processor->first; listener; listener = listener->next)
        if (listener->resync.is_due)
            listener->resync.next = now + listener->resync.period_ns;
}

/* --- adding and removing ------------------------------------------------------------------------------------------ */

void ki_processor_add(ki_processor *processor, ki_listener *listener, int64_t desired_ns, int64_t now) {
    KI_ASSERT(!listener->processor);
    listener->processor = processor;
    listener->namespaces_reported = atomic_load(&processor->namespaces_count);
    ki_change_log_attach(&processor->log, &listener->reader);
    KI_LIST_APPEND(processor->first, listener);
    listener->resync.desired_ns = desired_ns;
    bool lowers = desired_ns > 0 && (processor->resync_ns == 0 || desired_ns < processor->resync_ns);
    if (!lowers || processor->started) {
        settle_period(processor, listener, now);
        return;
    }
    processor->resync_ns = desired_ns;
    settle_periods(processor, now);
}

bool ki_processor_remove(ki_processor *processor, ki_listener *listener) {
    if (!KI_LIST_HAS(listener))
        return false;
    KI_LIST_REMOVE(processor->first, listener);
    KI_LIST_APPEND(processor->leaving, listener);
    return true;
}

void ki_processor_forget(ki_processor *processor, ki_listener *listener) {
    if (KI_LIST_HAS(listener))
        KI_LIST_REMOVE(processor->leaving, listener);
}

size_t ki_processor_load(ki_processor *processor) {
    size_t most = 0;
    for (ki_listener *listener = processor->first; listener; listener = listener->next) {
        size_t load = listener->thread.is_own ? 0 : ki_change_log_load(&processor->log, &listener->reader);
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

static bool is_for_any(const ki_processor *processor, const ki_change *change) {
    const ki_listener *listener = processor->first;
    while (listener && !ki_change_reader_wants(&listener->reader, change, processor->log.end))
        listener = listener->next;
    return listener != NULL;
}

ki_status ki_processor_stage(ki_processor *processor, const ki_change *change) {
    if (change->is_resync && !is_for_any(processor, change))
        return KI_OK;
    return ki_change_log_append(&processor->log, change);
}

void ki_processor_publish(ki_processor *processor) {
    if (ki_change_log_publish(&processor->log))
        processor->has_news = true;
}

void ki_processor_drop(ki_processor *processor) {
    ki_change_log_drop(&processor->log);
}

bool ki_processor_is_behind(const ki_processor *processor) {
    const ki_listener *listener = processor->first;
    while (listener && !listener->thread.is_own)
        listener = listener->next;
    return listener && !ki_change_log_is_empty(&processor->log);
}

void ki_processor_mark(ki_processor *processor, ki_mark mark) {
    uint64_t at = atomic_load(&processor->log.published);
    if (mark == KI_MARK_SYNCED)
        atomic_store(&processor->synced_at, at);
    else
        atomic_store(&processor->namespaces_at, at);
    atomic_fetch_add(&processor->namespaces_count, mark == KI_MARK_NAMESPACES);
    processor->has_news = true;
}

void ki_processor_wake(ki_processor *processor) {
    processor->has_news = false;
    for (ki_listener *listener = processor->first; listener; listener = listener->next)
        ki_listener_wake(listener);
}
