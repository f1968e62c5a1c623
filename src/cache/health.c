/* health.c: see health.h. */
#include "src/cache/health.h"

#include "src/engine/engine.h"

ki_status ki_health_init(ki_health_record *record, int64_t now, ki_error *err) {
    static const ki_error none = KI_ERROR_INIT;
    *record = (ki_health_record){ .since = now, .retry_at = -1, .list_total = -1, .cause = none, .stuck_cause = none };
    return ki_mutex_init(&record->mutex, err);
}

void ki_health_destroy(ki_health_record *record) {
    ki_mutex_destroy(&record->mutex);
}

/* The lock is held by the caller. */
static ki_state shown(const ki_health_record *record) {
    return record->is_stuck && record->state != KI_STATE_STOPPED ? KI_STATE_BACKING_OFF : record->state;
}

bool ki_health_set_state(ki_health_record *record, ki_state state, const ki_error *cause, int64_t retry_at,
                         int64_t now) {
    static const ki_error none = KI_ERROR_INIT;
    ki_mutex_lock(&record->mutex);
    ki_state before = shown(record);
    if (record->state != state)
        record->since = now;
    record->state = state;
    record->cause = cause ? *cause : none;
    record->retry_at = retry_at;
    bool changed = shown(record) != before;
    ki_mutex_unlock(&record->mutex);
    return changed;
}

bool ki_health_set_stuck(ki_health_record *record, const ki_error *cause, int64_t retry_at, int64_t now) {
    ki_mutex_lock(&record->mutex);
    ki_state before = shown(record);
    if (cause && !record->is_stuck)
        record->stuck_since = now;
    record->is_stuck = cause != NULL;
    if (cause)
        record->stuck_cause = *cause;
    record->stuck_retry_at = retry_at;
    bool changed = shown(record) != before;
    ki_mutex_unlock(&record->mutex);
    return changed;
}

void ki_health_set_listed(ki_health_record *record, size_t listed, int64_t total) {
    ki_mutex_lock(&record->mutex);
    /* The total that a page told holds until the next page tells another. */
    if (total >= 0 || listed == 0)
        record->list_total = total;
    record->listed = listed;
    ki_mutex_unlock(&record->mutex);
}

void ki_health_count_set_aside(ki_health_record *record) {
    ki_mutex_lock(&record->mutex);
    record->set_aside++;
    ki_mutex_unlock(&record->mutex);
}

static int64_t milliseconds_until(int64_t at, int64_t now) {
    if (at < 0)
        return -1;
    return at <= now ? 0 : (at - now) / KI_MILLISECONDS(1);
}

void ki_health_read(ki_health_record *record, int64_t now, ki_health *ret_health) {
    ki_mutex_lock(&record->mutex);
    bool stuck = shown(record) != record->state;
    ret_health->state = shown(record);
    ret_health->since_ms = (now - (stuck ? record->stuck_since : record->since)) / KI_MILLISECONDS(1);
    ret_health->retry_in_ms = milliseconds_until(stuck ? record->stuck_retry_at : record->retry_at, now);
    ret_health->cause = stuck ? record->stuck_cause : record->cause;
    ret_health->listed = record->listed;
    ret_health->list_total = record->list_total;
    ret_health->set_aside = record->set_aside;
    ki_mutex_unlock(&record->mutex);
}

const char *ki_state_name(ki_state state) {
    switch (state) {
    case KI_STATE_NOT_STARTED:
        return "not started";
    case KI_STATE_CONNECTING:
        return "connecting";
    case KI_STATE_LISTING:
        return "listing";
    case KI_STATE_WATCHING:
        return "watching";
    case KI_STATE_BACKING_OFF:
        return "backing off";
    case KI_STATE_BLOCKED:
        return "blocked";
    case KI_STATE_STOPPED:
        return "stopped";
    }
    return "unknown state";
}
