/* informer_deleted.c: keeps an informer's deleted objects for a while. The process step adds a deleted object before it
 * publishes the deletion, so a reader who does not find the object finds the deleted one. A timer drops objects. */
#include "src/cache/informer/informer_parts.h"

#define TRIM_RETRY KI_SECONDS(1) /* after lack of memory */

static void set_timer(ki_informer *informer, int64_t at) {
    if (at == INT64_MAX)
        ki_timer_cancel(&informer->deleted.timer);
    else
        ki_timer_set(&informer->deleted.timer, at);
}

static void trim(ki_timer *timer, void *user) {
    (void)timer;
    ki_informer *informer = user;
    int64_t now = ki_engine_now(informer->options.engine);
    size_t units = KI_INFORMER_SLICE;
    ki_fair_mutex_lock(&informer->change_lock);
    ki_status status = ki_deleted_objects_trim(&informer->deleted.objects, now, &units);
    int64_t next = ki_deleted_objects_next_trim(&informer->deleted.objects, now);
    ki_fair_mutex_unlock(&informer->change_lock);
    (void)ki_engine_work(informer->options.engine, (int)(KI_INFORMER_SLICE - units));
    set_timer(informer, status ? now + TRIM_RETRY : next);
}

void ki_informer_open_deleted(ki_informer *informer) {
    if (informer->deleted.objects.store)
        ki_timer_init(&informer->deleted.timer, informer->options.engine, trim, informer);
}

ki_status ki_informer_stage_deleted(ki_informer *informer, ki_object *obj) {
    if (!informer->deleted.objects.store)
        return KI_OK;
    size_t units = 2; /* so that their number stays below its limit while many are deleted */
    ki_object *kept;
    ki_status status = ki_informer_kept(obj, &kept);
    if (status)
        return status;
    status = ki_deleted_objects_stage(&informer->deleted.objects, kept);
    ki_object_unref(kept);
    if (!status) /* the timer retries what fails */
        (void)ki_deleted_objects_trim(&informer->deleted.objects, ki_engine_now(informer->options.engine), &units);
    (void)ki_engine_work(informer->options.engine, 1);
    return status;
}

void ki_informer_end_deleted(ki_informer *informer) {
    informer->deleted.objects.is_ended = true;
    if (informer->deleted.objects.queue.count > 0)
        set_timer(informer, ki_engine_now(informer->options.engine));
}

void ki_informer_publish_deleted(ki_informer *informer) {
    int64_t now = ki_engine_now(informer->options.engine);
    ki_deleted_objects_publish(&informer->deleted.objects, now);
    if (!ki_timer_is_set(&informer->deleted.timer))
        set_timer(informer, ki_deleted_objects_next_trim(&informer->deleted.objects, now));
}

void ki_informer_add_deleted(ki_informer *informer, ki_object *obj) {
    ki_object *known = ki_informer_get_or_deleted(informer, ki_object_key(obj), NULL);
    ki_object_unref(known);
    if (known)
        return;
    ki_fair_mutex_lock(&informer->change_lock);
    bool runs = informer->life.is_started && !informer->life.is_stopped && !informer->deleted.objects.is_ended;
    /* Without memory it is not kept. */
    if (runs && !ki_informer_stage_deleted(informer, obj) && informer->deleted.objects.staged)
        ki_informer_publish_deleted(informer);
    ki_fair_mutex_unlock(&informer->change_lock);
}
