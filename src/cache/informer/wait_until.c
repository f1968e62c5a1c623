/* wait_until.c: ki_informer_wait_until: waits for a condition over events (client-go's UntilWithSync). A handler on the
 * loop calls the caller's condition. After the wait the condition is never called again. */
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/base/refcount.h"
#include "src/cache/informer/informer_parts.h"
#include "src/cache/informer/shared_informer.h"
#include "src/engine/callback.h"

typedef struct until {
    const ki_allocator *allocator;
    ki_informer *informer;
    ki_refcount refs;        /* of the handler and the waiting thread */
    ki_mutex condition_lock; /* held while the condition is called */
    bool is_done;            /* under `condition_lock` */
    ki_wait_condition condition;
    void *user;
    bool is_met; /* under the informer's `waits.lock` */
} until;

static void release(void *user) {
    until *self = user;
    if (!ki_refcount_dec(&self->refs))
        return;
    ki_mutex_destroy(&self->condition_lock);
    ki_free(self->allocator, self);
}

static void check_condition(until *self, const ki_event *event) {
    ki_mutex_lock(&self->condition_lock);
    bool is_met = !self->is_done && self->condition(self->informer, event, self->user);
    self->is_done |= is_met;
    ki_mutex_unlock(&self->condition_lock);
    if (!is_met)
        return;
    ki_mutex_lock(&self->informer->waits.lock);
    self->is_met = true;
    ki_cond_broadcast(&self->informer->waits.changed);
    ki_mutex_unlock(&self->informer->waits.lock);
}

static void on_event(const ki_event *event, void *user) {
    check_condition(user, event);
}

static void on_synced(ki_informer *informer, void *user) {
    (void)informer;
    check_condition(user, NULL);
}

static ki_status begin(ki_informer *informer, ki_wait_condition condition, void *user, until **ret_until,
                       ki_registration *ret_registration, ki_error *err) {
    static const ki_handler handler = {
        .on_add = on_event, .on_update = on_event, .on_delete = on_event, .on_synced = on_synced, .on_removed = release
    };
    const ki_allocator *allocator = ki_engine_allocator(informer->options.engine);
    until *self = ki_alloc_zero(allocator, sizeof *self);
    if (!self)
        return ki_error_no_memory(err, "waiting for a condition");
    *self = (until){ .allocator = allocator, .informer = informer, .condition = condition, .user = user };
    ki_refcount_init(&self->refs);
    ki_refcount_inc(&self->refs); /* the handler's */
    ki_status status = ki_mutex_init(&self->condition_lock, err);
    if (status) {
        ki_free(allocator, self);
        return status;
    }
    status = ki_informer_add_handler(informer, &handler, self,
                                     &KI_REGISTRATION_OPTIONS(.on_loop = true, .resync_ms = -1, .name = "wait"),
                                     ret_registration, err);
    if (status) {
        ki_mutex_destroy(&self->condition_lock);
        ki_free(allocator, self);
        return status;
    }
    *ret_until = self;
    return KI_OK;
}

static ki_status result_of(ki_informer *informer, bool is_met, bool is_done, ki_error *err) {
    if (is_met)
        return KI_OK;
    if (is_done)
        return ki_informer_set_stopped(informer, KI_ERR_CANCELLED, err);
    char why[KI_INFORMER_WHY_MAX];
    return ki_error_set(err, KI_ERR_TIMEOUT, "the condition on %s was not met in time (%s)",
                        informer->options.selection->name, ki_informer_why(informer, why));
}

ki_status ki_informer_wait_until(ki_informer *informer, ki_wait_condition condition, void *user, int64_t timeout_ms,
                                 ki_error *err) {
    if (!informer || !condition)
        return ki_error_set(err, KI_ERR_INVALID, "ki_informer_wait_until without an informer or a condition");
    if (ki_engine_check_process(informer->options.engine, err))
        return KI_ERR_STATE;
    if (ki_callback_is_inside(informer->options.owner) || ki_engine_on_loop(informer->options.engine))
        return ki_error_set(err, KI_ERR_DEADLOCK, "waiting for %s on a thread that it needs",
                            informer->options.selection->name);
    int64_t deadline = ki_deadline_of_timeout(timeout_ms);
    until *self;
    ki_registration registration;
    ki_status status = begin(informer, condition, user, &self, &registration, err);
    if (status)
        return status;
    ki_mutex_lock(&informer->waits.lock);
    bool in_time = true;
    while (!self->is_met && !ki_informer_has_ended(informer) && in_time)
        in_time = ki_engine_wait(informer->options.engine, &informer->waits.changed, &informer->waits.lock, deadline);
    bool is_met = self->is_met, is_done = ki_informer_has_ended(informer);
    ki_mutex_unlock(&informer->waits.lock);
    ki_mutex_lock(&self->condition_lock); /* waits for a running call; later calls do not use `user` */
    self->is_done = true;
    ki_mutex_unlock(&self->condition_lock);
    status = ki_informer_remove_handler(informer, registration, NULL); /* not found: the informer has ended */
    (void)status;
    release(self);
    return result_of(informer, is_met, is_done, err);
}
