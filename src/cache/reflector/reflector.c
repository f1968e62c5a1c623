/* reflector.c: the outer loop of the reflector: the next step, the wait before it, the state between steps.
 * The steps are in reflector_list.c (lists), reflector_watch.c (watches and streaming lists), reflector_check.c (checks
 * after silent watches) and reflector_unreadable.c (unreadable objects); a list's objects in listed_objects.c. */
#include "src/cache/reflector/reflector.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/memory.h"
#include "src/cache/reflector/reflector_steps.h"

enum {
    CONTINUE_TOKEN_MAX = 1 << 16, /* bytes */
    HTTP_NOT_FOUND = 404,
    REASON_MAX = 160,
    GONE_RESPONSES = 3 /* consecutive 404 responses over at least GONE_AFTER: a starting server may lack types */
};

#define GONE_AFTER KI_SECONDS(60)
#define NO_RESPONSE KI_SECONDS(5)
#define NO_DATA KI_SECONDS(10)

/* --- steps ------------------------------------------------------------------------------------------------------ */

/* Reports every NO_RESPONSE that a request still has no response, or is not sent yet. */
static void report_no_response(ki_timer *timer, ki_reflector *reflector) {
    const ki_list_watch *list_watch = reflector->options.list_watch;
    int64_t now = ki_engine_now(reflector->options.engine);
    int lasts_s = (int)((now - reflector->connecting_since) / KI_SECONDS(1));
    char reason[REASON_MAX];
    ki_error err = KI_ERROR_INIT;
    if (list_watch->ops->waits_for && list_watch->ops->waits_for(list_watch, reason, sizeof reason)) {
        ki_error_set(&err, KI_ERR_TIMEOUT, "no request sent for %d s: %s", lasts_s, reason);
        err.category = KI_CATEGORY_CREDENTIALS;
    } else {
        ki_error_set(&err, KI_ERR_TIMEOUT, "no response for %d s", lasts_s);
    }
    reflector->options.on_state(KI_STATE_CONNECTING, &err, -1, reflector->options.user);
    ki_timer_set(timer, now + NO_RESPONSE);
}

/* Reports a list that has stalled, once until it continues. */
static void report_stall(ki_timer *timer, ki_reflector *reflector) {
    int64_t now = ki_engine_now(reflector->options.engine), due = reflector->heard_at + NO_DATA;
    bool is_stalled = now >= due;
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_TIMEOUT, "no data for %d s", (int)(NO_DATA / KI_SECONDS(1)));
    if (is_stalled != reflector->is_stalled)
        reflector->options.on_state(KI_STATE_LISTING, is_stalled ? &err : NULL, -1, reflector->options.user);
    reflector->is_stalled = is_stalled;
    ki_timer_set(timer, is_stalled ? now + NO_DATA : due);
}

static void report_silence(ki_timer *timer, void *user) {
    ki_reflector *reflector = user;
    if (reflector->is_listing)
        report_stall(timer, reflector);
    else
        report_no_response(timer, reflector);
}

void ki_reflector_schedule_at(ki_reflector *reflector, ki_reflector_step next, int64_t at) {
    KI_ON_LOOP(reflector->options.engine);
    KI_ASSERT(next != KI_REFLECT_NOTHING && reflector->is_open);
    ki_timer_cancel(&reflector->silence_timer);
    reflector->phase = KI_REFLECTOR_WAITS;
    reflector->next = next;
    ki_timer_set(&reflector->timer, at);
}

void ki_reflector_schedule(ki_reflector *reflector, ki_reflector_step next) {
    ki_reflector_schedule_at(reflector, next, ki_engine_now(reflector->options.engine));
}

static void find_type(ki_reflector *reflector);

static void take_step(ki_timer *timer, void *user) {
    (void)timer;
    ki_reflector *reflector = user;
    if (reflector->phase == KI_REFLECTOR_STREAMS) {
        ki_reflector_stream_deadline(reflector);
        return;
    }
    ki_reflector_step step = reflector->next;
    KI_ASSERT(reflector->phase == KI_REFLECTOR_WAITS);
    reflector->next = KI_REFLECT_NOTHING;
    switch (step) {
    case KI_REFLECT_NOTHING:
        return;
    case KI_REFLECT_BEGIN:
        if (!reflector->no_streaming) {
            ki_reflector_stream(reflector);
            return;
        }
        ki_reflector_list(reflector, KI_REFLECT_LIST);
        return;
    case KI_REFLECT_LIST:
    case KI_REFLECT_LIST_PAGE:
    case KI_REFLECT_LIST_FULL:
    case KI_REFLECT_LIST_LATEST:
        ki_reflector_list(reflector, step);
        return;
    case KI_REFLECT_WATCH:
        ki_reflector_watch(reflector);
        return;
    case KI_REFLECT_CHECK:
        ki_reflector_check(reflector);
        return;
    case KI_REFLECT_FIND_TYPE:
        find_type(reflector);
        return;
    }
}

/* --- failures ----------------------------------------------------------------------------------------------------- */

/* A resource that was listed and cannot be watched (404) is listed again, as after any other failure. */
static bool needs_a_person(const ki_error *err, ki_attempt attempt) {
    return err->http_status == 400 || err->http_status == 401 || err->http_status == 403 ||
           (err->http_status == HTTP_NOT_FOUND && attempt != KI_ATTEMPT_WATCH) ||
           err->category == KI_CATEGORY_CREDENTIALS || err->code == KI_ERR_UNSUPPORTED || /* no verb "list" */
           (err->code == KI_ERR_TLS && err->category != KI_CATEGORY_RETRY); /* a certificate that cannot be verified */
}

ki_attempt ki_reflector_next(const ki_reflector *reflector) {
    switch (reflector->next) {
    case KI_REFLECT_NOTHING:
        return KI_ATTEMPT_NONE;
    case KI_REFLECT_BEGIN:
        return reflector->no_streaming ? KI_ATTEMPT_LIST : KI_ATTEMPT_STREAMING_LIST;
    case KI_REFLECT_LIST:
    case KI_REFLECT_LIST_PAGE:
    case KI_REFLECT_LIST_FULL:
    case KI_REFLECT_LIST_LATEST:
    case KI_REFLECT_CHECK:
    case KI_REFLECT_FIND_TYPE:
        return KI_ATTEMPT_LIST;
    case KI_REFLECT_WATCH:
        return KI_ATTEMPT_WATCH;
    }
    return KI_ATTEMPT_NONE;
}

static ki_attempt current_attempt(const ki_reflector *reflector) {
    switch (reflector->phase) {
    case KI_REFLECTOR_WAITS:
        return KI_ATTEMPT_NONE;
    case KI_REFLECTOR_LISTS:
    case KI_REFLECTOR_CHECKS:
    case KI_REFLECTOR_FINDS_TYPE:
        return KI_ATTEMPT_LIST;
    case KI_REFLECTOR_STREAMS:
        return KI_ATTEMPT_STREAMING_LIST;
    case KI_REFLECTOR_WATCHES:
        return KI_ATTEMPT_WATCH;
    }
    return KI_ATTEMPT_NONE;
}

void ki_reflector_count_relist(const ki_reflector *reflector, ki_reflector_step next, int cause) {
    bool lists = next != KI_REFLECT_LIST && next != KI_REFLECT_WATCH && next != KI_REFLECT_CHECK;
    if (lists && reflector->initial.has_version)
        ki_metrics_relist(reflector->shared.metrics, cause);
}

/* Converts to seconds, for messages. */
static double seconds(int64_t ns) {
    return (double)ns / (double)KI_SECONDS(1);
}

static void report_failure(ki_reflector *reflector, const ki_error *err) {
    ki_metrics_add(reflector->shared.metrics, KI_METRIC_FAILURES, 1);
    reflector->options.on_error(err, reflector->options.user);
}

void ki_reflector_report(ki_reflector *reflector, const ki_error *err) {
    ki_log_write(ki_engine_log(reflector->options.engine), KI_LOG_DEBUG, "reflector",
                 "%s: %s; retrying within a second", reflector->options.name, ki_error_message(err));
    report_failure(reflector, err);
}

/* Deletes all objects of a type that the server no longer has. */
static void delete_all(ki_reflector *reflector) {
    ki_error err = KI_ERROR_INIT;
    ki_queue *queue = reflector->options.queue;
    const ki_listing nothing = { .resource_version = reflector->resource_version,
                                 .namespace_name = reflector->shared.namespace_name };
    if (queue->ops->replace(queue, &nothing, &err)) {
        report_failure(reflector, &err); /* retried after the next 404 */
        return;
    }
    ki_unreadable_take_list(reflector->shared.unreadable, &reflector->listed.unreadable, "",
                            reflector->resource_version);
    reflector->missing.is_type_removed = true;
    reflector->is_unavailable = true; /* lists at "": a server's cache may lag and still have the old objects */
    ki_log_write(ki_engine_log(reflector->options.engine), KI_LOG_WARNING, "reflector",
                 "%s: not found for %.0f s: the objects count as deleted", reflector->options.name,
                 seconds(ki_engine_now(reflector->options.engine) - reflector->missing.since));
    reflector->options.on_progress(reflector->options.user);
}

/* Counts a 404. Deletes all objects if the type is certainly gone. Returns true if find_type must decide: only a Status
 * is proof, while a 404 without a Status can come from a proxy, or from a kube-apiserver whose CustomResourceDefinition
 * was deleted. */
static bool note_missing(ki_reflector *reflector, const ki_error *cause) {
    int64_t now = ki_engine_now(reflector->options.engine);
    if (cause->http_status != HTTP_NOT_FOUND) {
        reflector->missing.responses = 0;
        return false;
    }
    if (reflector->missing.responses++ == 0)
        reflector->missing.since = now;
    bool has_objects = reflector->initial.has_version && !reflector->missing.is_type_removed;
    bool is_sure = reflector->missing.responses >= GONE_RESPONSES && now - reflector->missing.since >= GONE_AFTER;
    if (!reflector->shared.is_custom || !has_objects || !is_sure)
        return false;
    if (strcmp(cause->reason, "NotFound") != 0)
        return reflector->options.list_watch->ops->find_type != NULL;
    delete_all(reflector);
    return false;
}

static void on_type_found(ki_type_found found, const ki_error *err, void *user) {
    ki_reflector *reflector = user;
    KI_ASSERT(reflector->phase == KI_REFLECTOR_FINDS_TYPE);
    if (err) {
        ki_reflector_fail(reflector, err, KI_REFLECT_BEGIN);
        return;
    }
    if (found == KI_TYPE_MISSING)
        delete_all(reflector);
    ki_reflector_schedule(reflector, KI_REFLECT_BEGIN);
}

static void find_type(ki_reflector *reflector) {
    ki_list_watch *list_watch = reflector->options.list_watch;
    ki_error err = KI_ERROR_INIT;
    KI_ASSERT(reflector->phase == KI_REFLECTOR_WAITS);
    reflector->phase = KI_REFLECTOR_FINDS_TYPE;
    ki_reflector_set_state(reflector, KI_STATE_CONNECTING);
    if (ki_error_fill(&err, list_watch->ops->find_type(list_watch, on_type_found, reflector, &err), "find_type"))
        ki_reflector_fail(reflector, &err, KI_REFLECT_BEGIN);
}

static void forget_missing(ki_reflector *reflector) {
    reflector->missing.responses = 0;
    reflector->missing.is_type_removed = false;
}

/* Returns the backoff's wait. What needs a person waits for the longest step at most, not for up to twice as long. */
static int64_t next_wait(ki_reflector *reflector, const ki_error *cause, int64_t now) {
    double random = ki_engine_random(reflector->options.engine);
    int64_t wait = cause->code == KI_ERR_CONNECT ? ki_backoff_next_unreached(&reflector->backoff, now, random)
                                                 : ki_backoff_next(&reflector->backoff, now, random);
    return needs_a_person(cause, reflector->failed_attempt) && wait > ki_backoff_longest(&reflector->backoff) ? wait / 2
                                                                                                              : wait;
}

void ki_reflector_wait(ki_reflector *reflector, const ki_error *cause, ki_reflector_step next) {
    KI_ASSERT(reflector->is_open && cause->code);
    ki_engine *engine = reflector->options.engine;
    int64_t now = ki_engine_now(engine);
    reflector->failed_attempt = current_attempt(reflector);
    int64_t wait = next_wait(reflector, cause, now);
    int64_t requested = KI_MILLISECONDS(ki_retry_after_ms(cause->retry_after_ms));
    if (requested > wait)
        wait = requested;
    ki_reflector_drop_objects(reflector);
    if (note_missing(reflector, cause))
        next = KI_REFLECT_FIND_TYPE;
    ki_freshness_failed(reflector->shared.freshness);
    ki_reflector_count_relist(reflector, next, (int)cause->code);
    ki_reflector_schedule_at(reflector, next, now + wait);
    ki_log_write(ki_engine_log(engine), KI_LOG_DEBUG, "reflector", "%s: %s; next try in %.1f s",
                 reflector->options.name, ki_error_message(cause), seconds(wait));
    bool is_blocked = needs_a_person(cause, reflector->failed_attempt);
    reflector->options.on_state(is_blocked ? KI_STATE_BLOCKED : KI_STATE_BACKING_OFF, cause, now + wait,
                                reflector->options.user);
}

void ki_reflector_fail(ki_reflector *reflector, const ki_error *err, ki_reflector_step next) {
    ki_error cause = *err; /* `err` may be part of what ki_reflector_wait frees */
    ki_reflector_wait(reflector, &cause, next);
    report_failure(reflector, &cause);
}

void ki_reflector_give_up(ki_reflector *reflector, const ki_error *err) {
    KI_ASSERT(reflector->phase != KI_REFLECTOR_WAITS);
    reflector->options.list_watch->ops->cancel(reflector->options.list_watch);
    ki_reflector_count_watch_end(reflector);
    ki_reflector_fail(reflector, err, KI_REFLECT_BEGIN);
}

void ki_reflector_set_state(ki_reflector *reflector, ki_state state) {
    int64_t now = ki_engine_now(reflector->options.engine);
    reflector->is_listing = state == KI_STATE_LISTING;
    reflector->is_stalled = false;
    if (state == KI_STATE_CONNECTING) {
        reflector->connecting_since = now;
        ki_timer_set(&reflector->silence_timer, now + NO_RESPONSE);
    } else if (reflector->is_listing) {
        reflector->heard_at = now;
        ki_timer_set(&reflector->silence_timer, now + NO_DATA);
    } else {
        ki_timer_cancel(&reflector->silence_timer);
    }
    reflector->options.on_state(state, NULL, -1, reflector->options.user);
}

ki_object *ki_reflector_known(const ki_reflector *reflector, const char *key) {
    const ki_known_objects *known = &reflector->options.known;
    return known->get ? known->get(key, known->user) : NULL;
}

/* --- resource versions and the end of a list ---------------------------------------------------------------------- */

ki_status ki_reflector_copy_version(char *to, const char *version, ki_error *err) {
    size_t size = strlen(version);
    if (size > KI_RESOURCE_VERSION_MAX)
        return ki_error_set(err, KI_ERR_PROTOCOL, "a resource version of %zu bytes", size);
    memmove(to, version, size + 1);
    return KI_OK;
}

bool ki_reflector_advance(ki_reflector *reflector, const char *version) {
    if (version[0] == '\0' || strcmp(version, reflector->resource_version) == 0)
        return false;
    ki_error err = KI_ERROR_INIT;
    if (ki_reflector_copy_version(reflector->resource_version, version, &err)) {
        ki_reflector_report(reflector, &err); /* the previous version stays valid for a watch */
        return false;
    }
    reflector->watch.has_advanced = true;
    ki_unreadable_advance(reflector->shared.unreadable, version);
    reflector->options.on_progress(reflector->options.user);
    return true;
}

void ki_reflector_note_version_known(ki_reflector *reflector) {
    reflector->watch.shows_version = true;
    reflector->watches.silent = 0;
    reflector->watches.version_known_at = ki_engine_now(reflector->options.engine);
}

/* Releases the unused part of the array, if the allocator can. */
static void shrink_objects(ki_reflector *reflector) {
    size_t count = reflector->listed.count;
    ki_object **smaller = count == 0 ? NULL
                                     : ki_realloc_array(ki_engine_allocator(reflector->options.engine),
                                                        reflector->listed.objects, count, sizeof(ki_object *));
    if (!smaller)
        return;
    reflector->listed.objects = smaller;
    reflector->listed.capacity = count;
}

/* Queues the listed objects and the marks of the unreadable ones. */
static ki_status queue_list(ki_reflector *reflector, const char *version, ki_error *err) {
    ki_queue *queue = reflector->options.queue;
    ki_unreadable *unreadable = reflector->shared.unreadable;
    ki_unreadable_marks *marks = &reflector->listed.unreadable;
    const char **kept = NULL;
    size_t kept_count = 0;
    if (ki_unreadable_reserve(unreadable, marks) || ki_unreadable_marks_keys(marks, &kept, &kept_count))
        return ki_error_no_memory(err, "queueing a list");
    shrink_objects(reflector);
    const ki_listing list = { .objects = reflector->listed.objects,
                              .count = reflector->listed.count,
                              .kept = kept,
                              .kept_count = kept_count,
                              .keeps_all = ki_unreadable_marks_has(marks, ""),
                              .resource_version = version,
                              .namespace_name = reflector->shared.namespace_name,
                              .is_initial = reflector->shared.is_initial && !reflector->initial.has_version };
    ki_status status = queue->ops->replace(queue, &list, err);
    ki_free(ki_engine_allocator(reflector->options.engine), kept);
    if (status)
        return status;
    ki_unreadable_take_list(unreadable, marks, reflector->resource_version, version);
    reflector->listed.objects = NULL; /* owned by the queue */
    reflector->listed.capacity = 0;
    return KI_OK;
}

ki_status ki_reflector_replace(ki_reflector *reflector, const char *version, ki_error *err) {
    ki_metrics_record *metrics = reflector->shared.metrics;
    ki_status status = queue_list(reflector, version, err);
    if (status)
        return status;
    int64_t now = ki_engine_now(reflector->options.engine);
    ki_metrics_observe(metrics, KI_METRIC_ITEMS_PER_LIST, (double)reflector->listed.count);
    ki_metrics_observe(metrics, KI_METRIC_LIST_DURATION,
                       (double)(now - reflector->list.began_at) / (double)KI_SECONDS(1));
    ki_freshness_succeeded(reflector->shared.freshness);
    reflector->is_unavailable = false;
    reflector->streams_since = KI_NEVER;
    ki_reflector_note_version_known(reflector);
    forget_missing(reflector);
    ki_backoff_succeeded(&reflector->backoff);
    ki_reflector_drop_objects(reflector);
    if (!reflector->initial.has_version) {
        reflector->initial.has_version = true;
        reflector->initial.requested_at = reflector->list.began_at;
        (void)ki_reflector_copy_version(reflector->initial.version, version, NULL); /* too long: stays "" */
    }
    if (version[0] == '\0')
        reflector->resource_version[0] = '\0'; /* the watch begins at "", and its events have versions */
    (void)ki_reflector_advance(reflector, version);
    reflector->options.on_progress(
        reflector->options.user); /* for an empty list at the same version: ki_reflector_advance did not call it */
    ki_freshness_set_queued_at(reflector->shared.freshness,
                               reflector->list.began_at); /* after on_progress, which counts the list as queued */
    return KI_OK;
}

/* --- open, start, close ------------------------------------------------------------------------------------------- */

ki_status ki_list_watch_check(const ki_list_watch *list_watch, ki_error *err) {
    const ki_list_watch_ops *ops = list_watch ? list_watch->ops : NULL;
    if (ops && ops->list && ops->watch && ops->cancel && ops->free)
        return KI_OK;
    return ki_error_set(err, KI_ERR_INVALID, "a list-watch needs list, watch, cancel and free");
}

static void ignore_state(ki_state state, const ki_error *cause, int64_t retry_at, void *user) {
    (void)state;
    (void)cause;
    (void)retry_at;
    (void)user;
}

static void ignore_listed(size_t listed, int64_t total, void *user) {
    (void)listed;
    (void)total;
    (void)user;
}

static void ignore_error(const ki_error *err, void *user) {
    (void)err;
    (void)user;
}

static void ignore_bad_object(const ki_error *err, const char *key, void *user) {
    (void)err;
    (void)key;
    (void)user;
}

static void ignore_progress(void *user) {
    (void)user;
}

/* Sets what the program leaves out. */
static void complete(ki_reflector_options *options) {
    static const ki_factory_options of_factory = { .size = sizeof of_factory };
    options->factory = options->factory ? options->factory : &of_factory;
    options->on_state = options->on_state ? options->on_state : ignore_state;
    options->on_listed = options->on_listed ? options->on_listed : ignore_listed;
    options->on_error = options->on_error ? options->on_error : ignore_error;
    options->on_bad_object = options->on_bad_object ? options->on_bad_object : ignore_bad_object;
    options->on_progress = options->on_progress ? options->on_progress : ignore_progress;
}

void ki_reflector_open(ki_reflector *reflector, const ki_reflector_options *options,
                       const ki_reflector_shared *shared) {
    const ki_allocator *allocator = ki_engine_allocator(options->engine);
    *reflector = (ki_reflector){ .options = *options, .shared = *shared, .streams_since = KI_NEVER };
    complete(&reflector->options);
    const ki_factory_options *factory = reflector->options.factory;
    reflector->no_streaming = factory->no_streaming_list || options->list_watch->ops->no_streaming_list;
    ki_timer_init(&reflector->timer, options->engine, take_step, reflector);
    ki_timer_init(&reflector->silence_timer, options->engine, report_silence, reflector);
    uint64_t seed = (uint64_t)(ki_engine_random(options->engine) * (double)UINT32_MAX);
    ki_map_init(&reflector->listed.places, allocator, seed);
    ki_unreadable_marks_init(&reflector->listed.unreadable, allocator, seed);
    ki_buffer_init(&reflector->listed.continue_token, allocator, CONTINUE_TOKEN_MAX);
    ki_backoff_init(&reflector->backoff, factory->backoff_first_ms, factory->backoff_longest_ms);
    reflector->is_open = true;
}

void ki_reflector_start(ki_reflector *reflector) {
    if (!reflector)
        return;
    ki_reflector_schedule(reflector, KI_REFLECT_BEGIN);
}

void ki_reflector_relist(ki_reflector *reflector) {
    bool is_to_watch = reflector->phase == KI_REFLECTOR_WAITS &&
                       (reflector->next == KI_REFLECT_WATCH || reflector->next == KI_REFLECT_CHECK);
    if (reflector->phase != KI_REFLECTOR_WATCHES && reflector->phase != KI_REFLECTOR_CHECKS && !is_to_watch)
        return;
    reflector->is_unavailable = true; /* lists at "": a server's cache may have the same fault */
    ki_metrics_relist(reflector->shared.metrics, KI_RELIST_INCONSISTENT);
    if (is_to_watch) {
        reflector->next = KI_REFLECT_LIST; /* at the time that is set already */
        return;
    }
    reflector->options.list_watch->ops->cancel(reflector->options.list_watch);
    ki_reflector_count_watch_end(reflector);
    ki_reflector_schedule(reflector, KI_REFLECT_LIST);
}

void ki_reflector_close(ki_reflector *reflector) {
    if (!reflector->is_open)
        return;
    reflector->is_open = false;
    reflector->options.list_watch->ops->cancel(reflector->options.list_watch);
    ki_timer_close(&reflector->timer);
    ki_timer_close(&reflector->silence_timer);
    ki_reflector_drop_objects(reflector);
    ki_buffer_free(&reflector->listed.continue_token);
    ki_free(ki_engine_allocator(reflector->options.engine), reflector->watches.past_deletions);
}
