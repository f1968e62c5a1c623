/* health.c: see health.h. */
#include "src/cache/informer/health.h"

#include "src/engine/engine.h"
#include "src/object/resource_table.h"

#include <stdio.h>
#include <string.h>

ki_status ki_health_init(ki_health_record *record, ki_health_stuck *stuck, int64_t now, ki_error *err) {
    static const ki_error none = KI_ERROR_INIT;
    *record = (ki_health_record){ .stuck = stuck, .since = now, .retry_at = -1, .list_total = -1, .cause = none };
    return ki_mutex_init(&record->mutex, err);
}

void ki_health_destroy(ki_health_record *record) {
    ki_selection_unref(record->selection);
    ki_mutex_destroy(&record->mutex);
}

void ki_health_set_selection(ki_health_record *record, ki_selection *selection) {
    static const ki_error none = KI_ERROR_INIT;
    ki_mutex_lock(&record->mutex);
    ki_selection *before = record->selection;
    if (before != selection) {
        record->selection = ki_selection_ref(selection);
        record->cause = none;
    }
    ki_mutex_unlock(&record->mutex);
    if (before != selection)
        ki_selection_unref(before);
}

/* Returns the visible state. */
static ki_state shown(const ki_health_record *record) {
    KI_HELD(&record->mutex);
    bool is_stuck = record->stuck && record->stuck->is_stuck;
    return is_stuck && record->state != KI_STATE_STOPPED ? KI_STATE_BACKING_OFF : record->state;
}

bool ki_health_set_state(ki_health_record *record, ki_state state, const ki_error *cause, int64_t retry_at,
                         int64_t now) {
    static const ki_error none = KI_ERROR_INIT;
    ki_mutex_lock(&record->mutex);
    ki_state before = shown(record);
    bool has_new_cause = cause && strcmp(cause->message, record->cause.message) != 0;
    if (record->state != state)
        record->since = now;
    record->state = state;
    /* A retry keeps the last failure as its cause. */
    if (cause || state != KI_STATE_CONNECTING)
        record->cause = cause ? *cause : none;
    record->retry_at = retry_at;
    bool changed = shown(record) != before || has_new_cause;
    ki_mutex_unlock(&record->mutex);
    return changed;
}

bool ki_health_set_stuck(ki_health_record *record, const ki_error *cause, int64_t retry_at, int64_t now) {
    ki_mutex_lock(&record->mutex);
    ki_state before = shown(record);
    if (cause && !record->stuck->is_stuck)
        record->stuck->since = now;
    record->stuck->is_stuck = cause != NULL;
    if (cause)
        record->stuck->cause = *cause;
    record->stuck->retry_at = retry_at;
    bool changed = shown(record) != before;
    ki_mutex_unlock(&record->mutex);
    return changed;
}

void ki_health_set_attempts(ki_health_record *record, ki_attempt failed, ki_attempt next) {
    ki_mutex_lock(&record->mutex);
    record->failed_attempt = failed;
    record->next_attempt = next;
    ki_mutex_unlock(&record->mutex);
}

void ki_health_set_listed(ki_health_record *record, size_t listed, int64_t total) {
    ki_mutex_lock(&record->mutex);
    /* The total of a page is valid until the next page has another. */
    if (total >= 0 || listed == 0)
        record->list_total = total;
    record->listed = listed;
    ki_mutex_unlock(&record->mutex);
}

void ki_health_count_skipped(ki_health_record *record) {
    ki_mutex_lock(&record->mutex);
    record->skipped++;
    ki_mutex_unlock(&record->mutex);
}

static int64_t milliseconds_until(int64_t at, int64_t now) {
    if (at < 0)
        return -1;
    return at <= now ? 0 : (at - now) / KI_MILLISECONDS(1);
}

static bool waits(ki_state state) {
    return state == KI_STATE_BACKING_OFF || state == KI_STATE_BLOCKED;
}

ki_attempt ki_health_read(ki_health_record *record, int64_t now, ki_health *ret_health, ki_selection **ret_selection) {
    ki_mutex_lock(&record->mutex);
    if (ret_selection)
        *ret_selection = record->selection ? ki_selection_ref(record->selection) : NULL;
    bool stuck = shown(record) != record->state;
    ret_health->state = shown(record);
    ret_health->since_ms = (now - (stuck ? record->stuck->since : record->since)) / KI_MILLISECONDS(1);
    ret_health->retry_in_ms = milliseconds_until(stuck ? record->stuck->retry_at : record->retry_at, now);
    ret_health->cause = stuck ? record->stuck->cause : record->cause;
    ret_health->listed = record->listed;
    ret_health->list_total = record->list_total;
    ret_health->skipped = record->skipped;
    ret_health->next = KI_ATTEMPT_NONE;
    if (ret_health->retry_in_ms >= 0 && waits(ret_health->state))
        ret_health->next = stuck ? KI_ATTEMPT_STORE : record->next_attempt;
    ki_attempt failed = stuck ? KI_ATTEMPT_STORE : record->failed_attempt;
    ki_mutex_unlock(&record->mutex);
    return failed;
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

const char *ki_attempt_name(ki_attempt attempt) {
    switch (attempt) {
    case KI_ATTEMPT_NONE:
        return "nothing";
    case KI_ATTEMPT_LIST:
        return "list";
    case KI_ATTEMPT_STREAMING_LIST:
        return "streaming list";
    case KI_ATTEMPT_WATCH:
        return "watch";
    case KI_ATTEMPT_STORE:
        return "store";
    }
    return "unknown attempt";
}

/* --- message ------------------------------------------------------------------------------------------------------ */

static void describe_missing(ki_health *health, const ki_selection *selection) {
    const ki_resource *resource = &selection->resource;
    if (selection->is_by_name)
        snprintf(health->message, sizeof health->message, "the server has no resource %s.%s%s", resource->plural,
                 resource->group, ki_resource_is_custom(resource) ? ": the CRD is not installed" : "");
    else if (ki_resource_is_custom(resource))
        snprintf(health->message, sizeof health->message, "the CRD %s.%s is not installed, or not in version %s",
                 resource->plural, resource->group, resource->version);
    else
        snprintf(health->message, sizeof health->message, "the server has no %s in version %s", resource->plural,
                 selection->api_version);
}

/* Returns true if the server is no Kubernetes API server. An unusable response of a server that the informer has listed
 * from is a fault of it. */
static bool is_no_api_server(const ki_error *cause, bool has_synced) {
    return ki_error_is_foreign(cause) && (cause->http_status || !has_synced);
}

/* Returns the user of a message such as 'pods is forbidden: User "jane" cannot list …', with its quotes, as the server
 * quotes it (Go's %q); empty: none. */
static ki_str find_user(const char *message) {
    static const char before[] = "User \"";
    const char *found = strstr(message, before);
    if (!found)
        return KI_STR("");
    const char *begin = found + sizeof before - 2, *end = begin + 1;
    while (*end && *end != '"')
        end += *end == '\\' && end[1] ? 2 : 1;
    return *end ? (ki_str){ begin, (size_t)(end + 1 - begin) } : KI_STR("");
}

/* The server authorizes a streaming list as a watch. */
static void describe_forbidden(ki_health *health, ki_attempt failed, const ki_selection *selection) {
    ki_str user = find_user(health->cause.message);
    snprintf(health->message, sizeof health->message, "forbidden: %s %s%s%.*s%s",
             failed == KI_ATTEMPT_LIST ? "list" : "watch", selection->target, user.size ? " (user " : "",
             (int)user.size, user.data, user.size ? ")" : "");
}

void ki_health_describe(ki_health *health, ki_attempt failed, const ki_selection *selection, bool has_synced) {
    const ki_error *cause = &health->cause;
    health->message[0] = '\0';
    if (cause->code == KI_OK)
        return;
    if (failed == KI_ATTEMPT_WATCH && (cause->http_status == 404 || cause->http_status == 405)) /* it was listed */
        snprintf(health->message, sizeof health->message, "cannot be watched (HTTP %d): %s is listed again and again",
                 cause->http_status, selection->target);
    else if (is_no_api_server(cause, has_synced))
        snprintf(health->message, sizeof health->message, "not a Kubernetes API server: %.*s",
                 KI_HEALTH_MESSAGE_MAX - 64, ki_error_message(cause));
    else if (cause->http_status == 401)
        snprintf(health->message, sizeof health->message, "unauthorized: the server does not accept the credentials");
    else if (cause->http_status == 403)
        describe_forbidden(health, failed, selection);
    else if (cause->http_status == 404)
        describe_missing(health, selection);
    else if (cause->http_status == 429 && strstr(cause->message, "(re)initializing"))
        /* A CRD was created or changed: kube-apiserver responds 429 until its storage is ready. */
        snprintf(health->message, sizeof health->message, "the server is preparing the storage of %s%s%s",
                 selection->resource.plural, selection->resource.group[0] ? "." : "", selection->resource.group);
    else if (cause->http_status == 429)
        snprintf(health->message, sizeof health->message, "the server is too busy");
    else if (cause->code == KI_ERR_TOO_LARGE_RV)
        snprintf(health->message, sizeof health->message,
                 "the server's state is older than the cache: the server was restored from a backup, or lags; the "
                 "informer relists");
    else if (cause->code == KI_ERR_NO_MEMORY)
        snprintf(health->message, sizeof health->message, "out of memory");
    else if (cause->http_status >= 500 && !strstr(ki_error_message(cause), "HTTP "))
        snprintf(health->message, sizeof health->message, "%.*s (HTTP %d)", KI_HEALTH_MESSAGE_MAX - 64,
                 ki_error_message(cause), cause->http_status);
    else
        snprintf(health->message, sizeof health->message, "%.*s", KI_HEALTH_MESSAGE_MAX - 1, ki_error_message(cause));
}
