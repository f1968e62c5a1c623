/* informer_health.c: ki_informer_health and ki_informer_why, from the records of the informer's parts, for any thread.
 * The log of the states. */
#include "src/cache/informer/informer_parts.h"

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/string_view.h"

#include <stdio.h>
#include <string.h>

/* The health in a process that was forked after the start: nothing of the informer may be read there. */
static void describe_forked(ki_health *health) {
    *health = (ki_health){ .state = KI_STATE_STOPPED, .retry_in_ms = -1, .list_total = -1, .staleness_ms = -1 };
    (void)ki_error_set(&health->cause, KI_ERR_STATE, "%s", KI_FORKED);
    snprintf(health->message, sizeof health->message, "%s", KI_FORKED);
}

static void describe_namespaces(const ki_informer *informer, ki_health *health) {
    char name[KI_NAMESPACE_MAX + 1];
    if (ki_feeds_missing_namespace(informer, name, sizeof name))
        snprintf(health->message, sizeof health->message, "there is no namespace %s", name);
    else if (ki_feeds_are_none(informer))
        snprintf(health->message, sizeof health->message, "no namespaces are set");
}

static int64_t in_milliseconds(int64_t age) {
    return age < 0 ? -1 : age / KI_MILLISECONDS(1);
}

/* Reads the health, in a process that was not forked. Returns true while nothing can be stored for lack of memory. */
static bool read_health(const ki_informer *informer, int64_t now, ki_health *health) {
    ki_health_record *record;
    const ki_health_record *constant = &informer->health.record;
    memset(health, 0, sizeof *health);
    memcpy(&record, &constant, sizeof record); /* not const: reading takes the record's lock */
    ki_selection *selection = NULL;
    ki_attempt failed = ki_health_read(record, now, health, &selection);
    if (health->state == KI_STATE_STOPPED)
        (void)ki_engine_failure(informer->options.engine, &health->cause);
    /* Before what the cache has, which is then at least that new. */
    int64_t age = ki_feeds_age(informer, now);
    health->staleness_ms = atomic_load(&informer->namespaces.has_new) ? -1 : in_milliseconds(age);
    health->objects = ki_store_count(informer->store);
    health->object_bytes = ki_informer_object_bytes(informer);
    health->is_over_memory_limit = ki_informer_is_over_limit(informer);
    health->failures = ki_feeds_failures(informer);
    health->unreadable =
        ki_feeds_describe_unreadable(informer, health->unreadable_message, sizeof health->unreadable_message);
    ki_health_describe(health, failed, selection ? selection : informer->options.selection,
                       ki_informer_has_synced(informer));
    ki_selection_unref(selection);
    bool has_none = health->state == KI_STATE_CONNECTING && ki_feeds_are_none(informer);
    if (health->state == KI_STATE_WATCHING || health->state == KI_STATE_NOT_STARTED || has_none)
        describe_namespaces(informer, health);
    if (atomic_load(&informer->removal.is_begun))
        snprintf(health->message, sizeof health->message, "the informer was removed");
    return failed == KI_ATTEMPT_STORE;
}

void ki_informer_health_sized(const ki_informer *informer, ki_health *ret_health, size_t size) {
    ki_health health;
    if (ki_engine_is_forked(informer->options.engine))
        describe_forked(&health);
    else /* inside a slow handler on the loop the clock is later than ki_engine_now */
        (void)read_health(informer, ki_engine_clock(informer->options.engine), &health);
    memcpy(ret_health, &health, size < sizeof health ? size : sizeof health);
}

/* --- of a namespace ----------------------------------------------------------------------------------------------- */

static size_t count_objects(const ki_informer *informer, const char *namespace_name) {
    ki_snapshot *snapshot = ki_store_snapshot(informer->store);
    size_t count = informer->options.selection->resource.namespaced
                       ? ki_snapshot_count_by_index(snapshot, KI_NAMESPACE_INDEX, namespace_name)
                       : ki_snapshot_count(snapshot);
    ki_snapshot_unref(snapshot);
    return count;
}

/* Sets what a namespace without a feed has of its own. */
static void describe_absent(ki_health *health, const char *namespace_name, bool is_coming) {
    static const ki_error none = KI_ERROR_INIT;
    health->state = is_coming && health->state != KI_STATE_NOT_STARTED ? KI_STATE_CONNECTING : KI_STATE_NOT_STARTED;
    health->since_ms = 0;
    health->retry_in_ms = health->list_total = -1;
    health->next = KI_ATTEMPT_NONE;
    health->cause = none;
    health->listed = health->unreadable = 0;
    health->failures = 0;
    health->message[0] = health->unreadable_message[0] = '\0';
    if (!is_coming)
        snprintf(health->message, sizeof health->message, "namespace %.100s is not watched", namespace_name);
}

/* Returns true if the namespace is in the cache. `health` NULL: nobody wants it. */
static bool read_namespace(const ki_informer *informer, const char *namespace_name, ki_health *health) {
    int64_t now = ki_engine_clock(informer->options.engine), age;
    bool is_stuck = health && read_health(informer, now, health);
    bool is_removed = atomic_load(&informer->removal.is_begun);
    bool runs = health && !is_removed && health->state != KI_STATE_STOPPED;
    ki_feed_found found = ki_feeds_read(informer, namespace_name, now, &age, runs && !is_stuck ? health : NULL);
    if (runs && found != KI_FEED_FOUND)
        describe_absent(health, namespace_name, found == KI_FEED_COMING);
    if (health) {
        health->staleness_ms = in_milliseconds(age);
        health->objects = count_objects(informer, namespace_name);
    }
    return age != KI_NEVER && !is_removed;
}

bool ki_informer_namespace_health_sized(const ki_informer *informer, const char *namespace_name, ki_health *ret_health,
                                        size_t size) {
    ki_health health;
    bool is_forked = ki_engine_is_forked(informer->options.engine);
    if (is_forked)
        describe_forked(&health);
    bool is_synced =
        !is_forked && read_namespace(informer, namespace_name ? namespace_name : "", ret_health ? &health : NULL);
    if (ret_health)
        memcpy(ret_health, &health, size < sizeof health ? size : sizeof health);
    return is_synced;
}

static uint64_t hash_of_message(const ki_health *health) {
    return ki_hash(health->message, strlen(health->message), 0);
}

/* Returns true if the state differs from the last logged one. Attempts of a failing informer are no change, except for
 * another failure. */
static bool is_new(const ki_informer *informer, const ki_health *health, bool has_cause) {
    const ki_state logged = informer->health.logged_state;
    bool is_new_message = hash_of_message(health) != informer->health.logged_message;
    switch (health->state) {
    case KI_STATE_BACKING_OFF:
    case KI_STATE_BLOCKED:
        return logged != health->state || is_new_message;
    case KI_STATE_CONNECTING: /* with a cause: no response for a while */
        return has_cause && (logged == KI_STATE_NOT_STARTED || logged == KI_STATE_WATCHING);
    case KI_STATE_WATCHING: /* with a message: the namespace does not exist */
        return logged != KI_STATE_WATCHING || is_new_message;
    case KI_STATE_LISTING: /* with a cause: no data for a while */
        return has_cause && logged != KI_STATE_LISTING;
    case KI_STATE_NOT_STARTED:
    case KI_STATE_STOPPED:
        return false;
    }
    return false;
}

void ki_informer_log_state(ki_informer *informer, bool has_cause) {
    ki_health health;
    ki_informer_health(informer, &health);
    if (!is_new(informer, &health, has_cause))
        return;
    informer->health.logged_state = health.state;
    informer->health.logged_message = hash_of_message(&health);
    ki_log_write(ki_engine_log(informer->options.engine), health.message[0] ? KI_LOG_WARNING : KI_LOG_INFO, "reflector",
                 "%s: %s%s%s", informer->options.selection->name, ki_state_name(health.state),
                 health.message[0] ? ": " : "", health.message);
}

const char *ki_informer_why(const ki_informer *informer, char why[KI_INFORMER_WHY_MAX]) {
    ki_health health;
    ki_informer_health(informer, &health);
    snprintf(why, KI_INFORMER_WHY_MAX, "%s%s%s", ki_state_name(health.state), health.message[0] ? ": " : "",
             health.message);
    return why;
}

void ki_informer_note_blocked(const ki_informer *informer, ki_error *err) {
    ki_health health;
    if (!err || err->category != KI_CATEGORY_RETRY)
        return;
    ki_informer_health(informer, &health);
    if (health.state == KI_STATE_BLOCKED && health.cause.code)
        err->category = health.cause.category;
}

ki_status ki_informer_sync_cause(const ki_informer *informer, ki_error *ret_cause) {
    ki_health health;
    char why[KI_INFORMER_WHY_MAX];
    ki_error_clear(ret_cause);
    if (ki_informer_has_synced(informer))
        return KI_OK;
    ki_informer_health(informer, &health);
    ki_status code = health.state == KI_STATE_STOPPED ? KI_ERR_CANCELLED : KI_ERR_TIMEOUT;
    if (health.cause.code)
        *ret_cause = health.cause;
    else
        (void)!ki_error_set(ret_cause, code, "%s", ki_state_name(health.state));
    snprintf(ret_cause->message, sizeof ret_cause->message, "%s", ki_informer_why(informer, why));
    return ret_cause->code;
}
