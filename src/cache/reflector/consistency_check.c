/* consistency_check.c: lists in pages, compares each object with a snapshot from the beginning of the list, then
 * searches the snapshot for objects that were not listed. See consistency_check.h. */
#include "src/cache/reflector/consistency_check.h"

#include "src/base/error.h"
#include "src/base/memory.h"

enum {
    PAGE = 500,
    EMPTY_PAGES_MAX = 100,
    CONTINUE_TOKEN_MAX = 1 << 16 /* bytes */
};
#define IDLE KI_SECONDS(90)           /* a list without a byte for this long has a dead connection */
#define COMPARE_AGAIN KI_SECONDS(2)   /* between two comparisons */
#define COMPARE_TOTAL KI_SECONDS(120) /* a quiet watch has a bookmark each minute */

/* --- ending ------------------------------------------------------------------------------------------------------- */

static void drop_differences(const ki_consistency_check *check, ki_differences *differences) {
    for (size_t i = 0; i < differences->count; i++)
        ki_object_unref(differences->items[i].obj);
    ki_free(ki_engine_allocator(check->options.engine), differences->items);
    *differences = (ki_differences){ 0 };
}

static void drop_list(ki_consistency_check *check) {
    ki_deferred_add_snapshot(check->options.deferred, check->before);
    check->before = NULL;
    ki_map_free(&check->listed_keys);
    ki_buffer_reset(&check->continue_token, 0);
}

static void go(ki_consistency_check *check, ki_consistency_check_step next, int64_t in_ns) {
    int64_t at = ki_engine_now(check->options.engine) + in_ns;
    check->next = next;
    ki_timer_set(&check->timer, at < check->not_before ? check->not_before : at);
}

/* Ends the check and schedules the next one: after the interval, and after a Retry-After. */
static void end_check(ki_consistency_check *check) {
    drop_list(check);
    drop_differences(check, &check->differences);
    drop_differences(check, &check->confirmed);
    check->passes = 0;
    go(check, KI_CONSISTENCY_BEGIN, check->options.interval_ns);
}

/* Records a Retry-After. The next check waits for it. */
static void note_retry_after(ki_consistency_check *check, const ki_error *err) {
    int64_t requested_ms = ki_retry_after_ms(err->retry_after_ms);
    if (requested_ms > 0)
        check->not_before = ki_engine_now(check->options.engine) + KI_MILLISECONDS(requested_ms);
}

static void fail_check(ki_consistency_check *check, const ki_error *why) {
    ki_error err = *why; /* `why` can be part of the memory that end_check frees */
    ki_error_prefix(&err, "checking the cache");
    note_retry_after(check, &err);
    end_check(check);
    check->options.on_error(&err, "", false, check->options.user);
}

static void give_up(ki_consistency_check *check) {
    ki_error err = KI_ERROR_INIT;
    check->options.list_watch->ops->cancel(check->options.list_watch);
    ki_error_no_memory(&err, "comparing");
    fail_check(check, &err);
}

/* --- listed objects ----------------------------------------------------------------------------------------------- */

static uint64_t hash_of(const char *text, uint64_t seed) {
    return ki_hash(text, strlen(text), seed);
}

/* The digest of the differences is the sum of these hashes, so it does not depend on their order. */
static uint64_t hash_of_object(const ki_consistency_check *check, const ki_object *obj) {
    uint64_t seed = hash_of(ki_object_uid(obj), hash_of(ki_object_key(obj), check->options.seed));
    return hash_of(ki_object_resource_version(obj), seed);
}

/* Records that an object of the store is listed; NULL: the store does not have it, and the walk needs no record. */
static ki_status note_listed(ki_consistency_check *check, const ki_object *known) {
    return known ? ki_map_put(&check->listed_keys, ki_str_of(ki_object_key(known)), NULL, NULL) : KI_OK;
}

static ki_status add_difference(ki_consistency_check *check, const ki_object *obj, bool is_unlisted) {
    ki_differences *differences = &check->differences;
    if (!differences->items)
        differences->items = ki_alloc_array(ki_engine_allocator(check->options.engine), KI_CONSISTENCY_DIFFERENCES_MAX,
                                            sizeof *differences->items);
    if (!differences->items)
        return KI_ERR_NO_MEMORY;
    if (differences->count < KI_CONSISTENCY_DIFFERENCES_MAX)
        differences->items[differences->count++] = (ki_difference){ ki_object_ref(obj), is_unlisted };
    return KI_OK;
}

/* --- comparing ---------------------------------------------------------------------------------------------------- */

/* Returns true if the store's object has the listed version or a later one, also if the versions cannot be compared. */
static bool is_as_new(const ki_object *known, const ki_object *obj) {
    return known && ki_resource_version_compare(ki_object_resource_version(known), ki_object_resource_version(obj)) !=
                        KI_ORDER_OLDER;
}

static bool is_settled(const ki_difference *difference, const ki_snapshot *now) {
    const ki_object *known = ki_snapshot_get(now, ki_object_key(difference->obj));
    if (!difference->is_unlisted)
        return is_as_new(known, difference->obj);
    return !known || strcmp(ki_object_resource_version(known), ki_object_resource_version(difference->obj)) != 0;
}

/* Drops the differences that have ended. */
static void drop_settled(ki_consistency_check *check, const ki_snapshot *now) {
    ki_differences *differences = &check->differences;
    size_t kept = 0;
    for (size_t i = 0; i < differences->count; i++) {
        if (is_settled(&differences->items[i], now))
            ki_object_unref(differences->items[i].obj);
        else
            differences->items[kept++] = differences->items[i];
    }
    differences->count = kept;
}

/* Returns the first difference that both lists have, with the number and the digest of all such differences; NULL:
 * none. */
static const ki_difference *first_confirmed(const ki_consistency_check *check, size_t *ret_count,
                                            uint64_t *ret_digest) {
    const ki_difference *first = NULL;
    *ret_count = 0;
    *ret_digest = 0;
    for (size_t i = 0; i < check->differences.count; i++) {
        const ki_difference *a = &check->differences.items[i];
        for (size_t j = 0; j < check->confirmed.count; j++) {
            const ki_difference *b = &check->confirmed.items[j];
            if (a->is_unlisted != b->is_unlisted || strcmp(ki_object_key(a->obj), ki_object_key(b->obj)) != 0)
                continue;
            first = first ? first : a;
            (*ret_count)++;
            *ret_digest += hash_of_object(check, a->obj);
        }
    }
    return first;
}

/* Returns true if a relist may end these differences. One that left them, for example because the server that served it
 * lags behind, is repeated after twice as many checks as the time before: an object whose transform fails differs for
 * ever. */
static bool is_relist_due(ki_consistency_check *check, uint64_t digest) {
    if (digest != check->relisted) {
        check->relisted = digest;
        check->pause = check->checks_left = 1;
        return true;
    }
    if (check->checks_left-- > 0)
        return false;
    check->pause *= 2;
    check->checks_left = check->pause;
    return true;
}

/* Reports the confirmed differences, and requests a relist. */
static void conclude(ki_consistency_check *check) {
    size_t count;
    uint64_t digest;
    const ki_difference *first = first_confirmed(check, &count, &digest);
    ki_metrics_add(check->options.metrics, KI_METRIC_CONSISTENCY_CHECKS, 1);
    if (!first) {
        check->relisted = 0;
        end_check(check);
        return;
    }
    ki_metrics_add(check->options.metrics, KI_METRIC_DIFFERENCES, count);
    ki_error err = KI_ERROR_INIT;
    ki_object *obj = ki_object_ref(first->obj);
    ki_error_set(&err, KI_ERR_PROTOCOL, "the cache differs from the server in %zu objects, the first: %s %s", count,
                 ki_object_key(obj),
                 first->is_unlisted ? "is deleted on the server" : "is missing or older in the cache");
    bool relist = is_relist_due(check, digest);
    end_check(check);
    check->options.on_error(&err, ki_object_key(obj), relist, check->options.user);
    ki_object_unref(obj);
}

static void compare_again(ki_consistency_check *check) {
    int64_t now = ki_engine_now(check->options.engine);
    ki_snapshot *snapshot = ki_store_snapshot(check->options.store);
    drop_settled(check, snapshot);
    bool is_behind =
        ki_resource_version_compare(ki_snapshot_resource_version(snapshot), check->version) == KI_ORDER_OLDER;
    ki_snapshot_unref(snapshot);
    bool watches = check->options.is_watching(check->options.user);
    if (check->differences.count > 0 && now < check->compares_until && (is_behind || !watches)) {
        go(check, KI_CONSISTENCY_COMPARE, COMPARE_AGAIN);
        return;
    }
    if (!watches) {
        end_check(check); /* without a watch the store cannot catch up: the reflector relists or resumes */
        return;
    }
    if (check->differences.count == 0 || ++check->passes == 2) {
        conclude(check);
        return;
    }
    check->confirmed = check->differences;
    check->differences = (ki_differences){ 0 };
    go(check, KI_CONSISTENCY_BEGIN, 0);
}

static void walk(ki_consistency_check *check) {
    const ki_object *obj = NULL;
    int walked = 0, left = ki_engine_work_left(check->options.engine);
    int at_once = left > 1 ? left : 1;
    while (!check->has_nameless && walked < at_once && (obj = ki_snapshot_next(check->before, &check->cursor))) {
        walked++;
        if (!ki_map_has(&check->listed_keys, ki_str_of(ki_object_key(obj))) && add_difference(check, obj, true)) {
            give_up(check);
            return;
        }
    }
    (void)ki_engine_work(check->options.engine, walked + 1);
    if (obj) {
        go(check, KI_CONSISTENCY_WALK, 0);
        return;
    }
    drop_list(check);
    check->compares_until = ki_engine_now(check->options.engine) + COMPARE_TOTAL;
    go(check, KI_CONSISTENCY_COMPARE, check->differences.count ? COMPARE_AGAIN : 0);
}

/* --- the list ----------------------------------------------------------------------------------------------------- */

static void on_object(ki_object *obj, void *user) {
    ki_consistency_check *check = user;
    check->listed++;
    const ki_object *known = ki_snapshot_get(check->before, ki_object_key(obj));
    if (note_listed(check, known) || (!is_as_new(known, obj) && add_difference(check, obj, false)))
        give_up(check);
}

static void on_bad_object(const ki_bad_object *bad, void *user) {
    ki_consistency_check *check = user; /* not reported here: the watch reports the object */
    if (!bad->key[0])
        check->has_nameless = true;
    else if (note_listed(check, ki_snapshot_get(check->before, bad->key)))
        give_up(check);
}

/* Fails for a list that does not progress: it would send requests without a pause. */
static ki_status check_progress(const ki_consistency_check *check, const char *token, ki_error *err) {
    const ki_buffer *sent = &check->continue_token;
    if (check->pages > 1 && ki_str_equals((ki_str){ sent->data, sent->size }, token))
        return ki_error_set(err, KI_ERR_PROTOCOL, "a page of the list repeats its continue token");
    if (check->pages > check->listed + EMPTY_PAGES_MAX)
        return ki_error_set(err, KI_ERR_PROTOCOL, "more than %d empty pages of the list", EMPTY_PAGES_MAX);
    return KI_OK;
}

static void on_end(const ki_list_result *result, const ki_error *err, void *user) {
    ki_consistency_check *check = user;
    ki_error cause = KI_ERROR_INIT;
    if (err) {
        fail_check(check, err);
        return;
    }
    ki_status status = KI_OK;
    if (check->pages++ == 0)
        status = ki_reflector_copy_version(check->version, result->resource_version, &cause);
    if (!status && result->continue_token[0])
        status = check_progress(check, result->continue_token, &cause);
    if (!status && result->continue_token[0]) {
        ki_buffer_reset(&check->continue_token, SIZE_MAX);
        if (ki_buffer_append_string(&check->continue_token, result->continue_token))
            status = ki_error_no_memory(&cause, "storing a continue token");
        else
            go(check, KI_CONSISTENCY_PAGE, 0);
    } else if (!status) {
        check->cursor = (ki_cursor)KI_CURSOR_INIT;
        go(check, KI_CONSISTENCY_WALK, 0);
    }
    if (status)
        fail_check(check, &cause);
}

static void list(ki_consistency_check *check) {
    ki_list_options options = { .limit = PAGE, .idle_timeout_ns = IDLE };
    if (check->next == KI_CONSISTENCY_PAGE) {
        options.continue_token = check->continue_token.data;
    } else {
        check->pages = check->listed = 0;
        check->has_nameless = false;
        check->before = ki_store_snapshot(check->options.store);
    }
    const ki_list_handler handler = { on_object, on_bad_object, on_end, check };
    ki_error err = KI_ERROR_INIT;
    ki_list_watch *list_watch = check->options.list_watch;
    if (ki_error_fill(&err, list_watch->ops->list(list_watch, &options, &handler, &err), "the list function"))
        fail_check(check, &err);
}

static void take_step(ki_timer *timer, void *user) {
    (void)timer;
    ki_consistency_check *check = user;
    switch (check->next) {
    case KI_CONSISTENCY_BEGIN:
    case KI_CONSISTENCY_PAGE:
        /* Without a watch the store cannot catch up with the list. A reflector that backs off must not be overtaken by
         * the requests of a check: the server may have sent a Retry-After. */
        if (check->options.is_watching(check->options.user))
            list(check);
        else
            end_check(check);
        return;
    case KI_CONSISTENCY_WALK:
        walk(check);
        return;
    case KI_CONSISTENCY_COMPARE:
        compare_again(check);
        return;
    }
}

/* --- new, start, free --------------------------------------------------------------------------------------------- */

ki_status ki_consistency_check_new(const ki_consistency_check_options *options, ki_consistency_check **ret_check,
                                   ki_error *err) {
    const ki_allocator *allocator = ki_engine_allocator(options->engine);
    ki_consistency_check *check = ki_alloc_zero(allocator, sizeof *check);
    if (!check)
        return ki_error_no_memory(err, "starting an informer");
    ki_timer_init(&check->timer, options->engine, take_step, check);
    check->options = *options;
    ki_map_init(&check->listed_keys, allocator, options->seed);
    ki_buffer_init(&check->continue_token, allocator, CONTINUE_TOKEN_MAX);
    *ret_check = check;
    return KI_OK;
}

void ki_consistency_check_start(ki_consistency_check *check) {
    end_check(check);
}

void ki_consistency_check_free(ki_consistency_check *check) {
    if (!check)
        return;
    check->options.list_watch->ops->cancel(check->options.list_watch);
    end_check(check);
    ki_timer_close(&check->timer);
    ki_buffer_free(&check->continue_token);
    ki_free(ki_engine_allocator(check->options.engine), check);
}
