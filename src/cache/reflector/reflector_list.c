/* reflector_list.c: the plain list. Requests all objects, in pages or in one response, then replaces the queue's view
 * with them. */
#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/cache/reflector/reflector_steps.h"

enum {
    EMPTY_PAGES_MAX = 100, /* consecutive */
    THIN_PAGES_MAX = 1000, /* consecutive */
    THIN = 50              /* a page with less than 1/THIN of its limit is thin */
};

static void on_object(ki_object *obj, void *user) {
    ki_reflector *reflector = user;
    ki_object *kept;
    KI_ASSERT(reflector->phase == KI_REFLECTOR_LISTS);
    if (reflector->listed.count == 0)
        ki_reflector_set_state(reflector, KI_STATE_LISTING);
    reflector->heard_at = ki_engine_now(reflector->options.engine);
    if ((reflector->shared.namespace_name && ki_reflector_skips(reflector, obj)) ||
        !ki_reflector_transform(reflector, obj, false, &kept))
        return;
    ki_status status = ki_reflector_append(reflector, kept);
    ki_object_unref(kept);
    if (status) {
        ki_error err = KI_ERROR_INIT;
        ki_error_no_memory(&err, "listing");
        ki_reflector_give_up(reflector, &err);
        return;
    }
    reflector->options.on_listed(reflector->listed.count, -1, reflector->options.user);
}

static void on_bad_object(const ki_bad_object *bad, void *user) {
    ki_reflector_skip_listed(user, bad);
}

void ki_reflector_list_instead(ki_reflector *reflector, const ki_error *err, ki_reflector_step next) {
    if (err->retry_after_ms > 0) {
        ki_reflector_fail(reflector, err, next);
        return;
    }
    ki_reflector_report(reflector, err);
    ki_reflector_count_relist(reflector, next, (int)err->code);
    ki_reflector_schedule(reflector, next);
}

static void on_failure(ki_reflector *reflector, const ki_error *err) {
    bool is_stale = err->code == KI_ERR_EXPIRED || err->code == KI_ERR_TOO_LARGE_RV;
    if (err->code == KI_ERR_EXPIRED && reflector->list.pages > 0 && !reflector->list.is_full) {
        ki_reflector_list_instead(reflector, err, KI_REFLECT_LIST_FULL);
        return;
    }
    if (is_stale)
        reflector->is_unavailable = true;
    if (is_stale && !reflector->list.is_latest && reflector->list.version[0] != '\0') {
        ki_reflector_list_instead(reflector, err, KI_REFLECT_LIST_LATEST);
        return;
    }
    ki_reflector_fail(reflector, err, KI_REFLECT_BEGIN);
}

/* Returns the limit; 0: none. A watch cache ignores the limit of a list at "0". At another version a limit makes the
 * server bypass its watch cache, so there is one only if the server pages lists at "0": then it has no watch cache (as
 * client-go's paginatedResult). */
static int64_t page_size(const ki_reflector *reflector) {
    const char *version = reflector->list.version;
    if (reflector->list.is_full)
        return 0;
    if (reflector->options.page_size > 0)
        return reflector->options.page_size;
    bool at_version = version[0] != '\0' && strcmp(version, "0") != 0;
    return at_version && !reflector->is_paginated ? 0 : KI_REFLECTOR_PAGE;
}

/* Returns true if `token` is the token that requested this page. */
static bool is_same_token(const ki_reflector *reflector, const char *token) {
    const ki_buffer *sent = &reflector->listed.continue_token;
    return reflector->list.pages > 1 && ki_str_equals((ki_str){ sent->data, sent->size }, token);
}

/* Fails for a list that does not progress: a repeated token, or too many empty or thin pages. An endless list would
 * otherwise send requests without a pause. Pages below the limit are legal, even with a tenth of it. */
static ki_status check_progress(ki_reflector *reflector, const char *token, ki_error *err) {
    if (is_same_token(reflector, token))
        return ki_error_set(err, KI_ERR_PROTOCOL, "a page of the list repeats its continue token");
    size_t objects = reflector->listed.count - reflector->list.objects_before;
    int64_t limit = page_size(reflector) ? page_size(reflector) : KI_REFLECTOR_PAGE;
    bool is_thin = (int64_t)objects < limit / THIN;
    reflector->list.empty_pages = objects == 0 ? reflector->list.empty_pages + 1 : 0;
    reflector->list.thin_pages = is_thin ? reflector->list.thin_pages + 1 : 0;
    reflector->list.objects_before = reflector->listed.count;
    if (reflector->list.empty_pages > EMPTY_PAGES_MAX)
        return ki_error_set(err, KI_ERR_PROTOCOL, "more than %d consecutive empty pages of the list", EMPTY_PAGES_MAX);
    if (reflector->list.thin_pages > THIN_PAGES_MAX)
        return ki_error_set(
            err, KI_ERR_PROTOCOL,
            "more than %d consecutive pages of the list with hardly an object: the last has %zu of %lld",
            THIN_PAGES_MAX, objects, (long long)limit);
    return KI_OK;
}

static ki_status keep_token(ki_reflector *reflector, const char *token, ki_error *err) {
    ki_status status = check_progress(reflector, token, err);
    if (status)
        return status;
    ki_buffer_reset(&reflector->listed.continue_token, SIZE_MAX);
    status = ki_buffer_append_string(&reflector->listed.continue_token, token);
    return status ? ki_error_set(err, status, "%s while storing a list's continue token", ki_status_name(status))
                  : KI_OK;
}

static void on_page(ki_reflector *reflector, const ki_list_result *result) {
    ki_error err = KI_ERROR_INIT;
    ki_status status = KI_OK;
    if (reflector->list.pages++ == 0)
        status = ki_reflector_copy_version(reflector->list.result_version, result->resource_version, &err);
    bool is_last = result->continue_token[0] == '\0';
    int64_t left = is_last ? 0 : result->remaining_item_count;
    int64_t total = left < 0 ? -1 : (int64_t)reflector->listed.count + left;
    reflector->options.on_listed(reflector->listed.count, total, reflector->options.user);
    if (!status)
        status = is_last ? ki_reflector_replace(reflector, reflector->list.result_version, &err)
                         : keep_token(reflector, result->continue_token, &err);
    if (status) {
        ki_reflector_fail(reflector, &err, KI_REFLECT_BEGIN);
        return;
    }
    if (!is_last) {
        reflector->list.has_pages = true;
        ki_reflector_schedule(reflector, KI_REFLECT_LIST_PAGE);
        return;
    }
    if (reflector->list.has_pages && strcmp(reflector->list.version, "0") == 0)
        reflector->is_paginated = true;
    ki_reflector_schedule(reflector, KI_REFLECT_WATCH);
}

static void on_end(const ki_list_result *result, const ki_error *err, void *user) {
    ki_reflector *reflector = user;
    ki_log_write(ki_engine_log(reflector->options.engine), KI_LOG_DEBUG, "reflector", "%s: list ended, %zu objects: %s",
                 reflector->options.name, reflector->listed.count,
                 err                                 ? ki_error_message(err)
                 : result->continue_token[0] != '\0' ? "more pages follow"
                                                     : "complete");
    if (err)
        on_failure(reflector, err);
    else
        on_page(reflector, result);
}

/* A list after one without a version is at the latest state: at "0" it could be older than the cache. */
static const char *first_version(const ki_reflector *reflector) {
    if (reflector->is_unavailable)
        return "";
    return reflector->initial.has_version ? reflector->resource_version : "0";
}

/* Begins a list at `version`. `begun` has the flags of the request; its other members are zero. */
static void begin_list(ki_reflector *reflector, const char *version, ki_list_progress begun) {
    ki_reflector_drop_objects(reflector);
    /* Cannot be too long: ki_reflector_copy_version checked the version before. */
    if (ki_reflector_copy_version(begun.version, version, NULL))
        begun.version[0] = '\0';
    begun.began_at = ki_engine_now(reflector->options.engine);
    reflector->list = begun;
    reflector->options.on_listed(0, -1, reflector->options.user);
    ki_reflector_set_state(reflector, KI_STATE_CONNECTING);
}

void ki_reflector_list(ki_reflector *reflector, ki_reflector_step step) {
    const ki_list_progress *list = &reflector->list;
    if (step == KI_REFLECT_LIST_FULL) {
        begin_list(reflector, list->version,
                   (ki_list_progress){ .is_full = true, .has_pages = list->has_pages, .is_latest = list->is_latest });
    } else if (step != KI_REFLECT_LIST_PAGE) {
        bool is_latest = step == KI_REFLECT_LIST_LATEST;
        if (!is_latest)
            ki_metrics_add(reflector->shared.metrics, KI_METRIC_LISTS, 1);
        begin_list(reflector, first_version(reflector), (ki_list_progress){ .is_latest = is_latest });
    } else if (reflector->is_listing) {
        ki_reflector_set_state(reflector, KI_STATE_LISTING);
    }
    ki_list_options options = { .limit = page_size(reflector), .idle_timeout_ns = KI_REFLECTOR_IDLE };
    if (step == KI_REFLECT_LIST_PAGE)
        options.continue_token = reflector->listed.continue_token.data;
    else
        options.resource_version = reflector->list.version;
    ki_list_handler handler = {
        .on_object = on_object, .on_bad_object = on_bad_object, .on_end = on_end, .user = reflector
    };
    ki_list_watch *list_watch = reflector->options.list_watch;
    ki_error err = KI_ERROR_INIT;
    reflector->phase = KI_REFLECTOR_LISTS;
    ki_log_write(ki_engine_log(reflector->options.engine), KI_LOG_DEBUG, "reflector",
                 "%s: list opened at \"%s\", page %zu", reflector->options.name, reflector->list.version,
                 reflector->list.pages + 1);
    if (ki_error_fill(&err, list_watch->ops->list(list_watch, &options, &handler, &err), "the list function"))
        ki_reflector_fail(reflector, &err, KI_REFLECT_BEGIN);
}
