/* audit.c: lists in pages, compares each object with a snapshot from the beginning of the list, then searches the snapshot for objects that were
 * not listed. See audit.h. */
#include "src/cache/audit.h"

#include "src/base/error.h"
#include "src/base/memory.h"

enum {
    PAGE = 500,
    FIRST_PRINTS = 16, /* capacity of a part */
    EMPTY_PAGES_MAX = 100,
    CONTINUE_TOKEN_MAX = 1 << 16 /* bytes */
};
#define IDLE KI_SECONDS(90)          /* a list without a byte for this long has a dead connection */
#define SETTLE KI_SECONDS(2)         /* between two comparisons */
#define SETTLE_TOTAL KI_SECONDS(120) /* a quiet watch has a bookmark each minute */

/* --- ending ---------------------------------------------------------------------------------------------------------------------- */

static void drop_suspects(ki_suspects *suspects) {
    for (size_t i = 0; i < suspects->count; i++)
        ki_object_unref(suspects->items[i].obj);
    suspects->count = 0;
}

static void drop_list(ki_audit *audit) {
    if (audit->before)
        audit->options.on_wasted(audit->before, audit->options.user);
    audit->before = NULL;
    for (size_t i = 0; i < KI_AUDIT_PARTS; i++) {
        ki_free(ki_engine_allocator(audit->options.engine), audit->prints[i].items);
        audit->prints[i] = (ki_prints){ .items = NULL };
    }
    ki_buffer_reset(&audit->continue_token, 0);
}

static void go(ki_audit *audit, ki_audit_step next, int64_t in_ns) {
    int64_t at = ki_engine_now(audit->options.engine) + in_ns;
    audit->next = next;
    ki_timer_set(&audit->timer, at < audit->not_before ? audit->not_before : at);
}

/* Ends the audit and schedules the next one: after the interval, and after a Retry-After. */
static void rest(ki_audit *audit) {
    drop_list(audit);
    drop_suspects(&audit->suspects);
    drop_suspects(&audit->confirmed);
    audit->is_check = false;
    audit->passes = 0;
    audit->next = KI_AUDIT_BEGIN;
    if (audit->options.interval_ns > 0)
        go(audit, KI_AUDIT_BEGIN, audit->options.interval_ns);
    else
        ki_timer_cancel(&audit->timer);
}

/* Records a Retry-After. The next audit or check waits for it. */
static void note_retry_after(ki_audit *audit, const ki_error *err) {
    int64_t asked_ms = err->retry_after_ms < KI_RETRY_AFTER_MAX_MS ? err->retry_after_ms : KI_RETRY_AFTER_MAX_MS;
    if (asked_ms > 0)
        audit->not_before = ki_engine_now(audit->options.engine) + KI_MILLISECONDS(asked_ms);
}

static void fail(ki_audit *audit, const ki_error *why) {
    ki_error err = *why; /* `why` may be part of what is freed here */
    ki_error_prefix(&err, "%s", audit->is_check ? "checking a streaming list" : "auditing");
    note_retry_after(audit, &err);
    rest(audit);
    audit->options.on_failure(&err, audit->options.user);
}

static void give_up(ki_audit *audit) {
    ki_error err = KI_ERROR_INIT;
    audit->options.list_watch->ops->cancel(audit->options.list_watch);
    ki_error_no_memory(&err, "comparing");
    fail(audit, &err);
}

/* --- listed keys ------------------------------------------------------------------------------------------------------------- */

static uint64_t hash_of(const char *text, uint64_t seed) {
    return ki_hash(text, strlen(text), seed);
}

static uint64_t print_of(const ki_audit *audit, const char *key) {
    return hash_of(key, audit->options.seed) | 1;
}

/* A list's digest is the sum of these hashes, so it does not depend on the order of the objects. */
uint64_t ki_audit_digest(const ki_audit *audit, const ki_object *obj) {
    uint64_t seed = hash_of(ki_object_uid(obj), print_of(audit, ki_object_key(obj)));
    return hash_of(ki_object_resource_version(obj), seed);
}

static uint64_t *place_of(const ki_prints *prints, uint64_t print) {
    size_t at = (size_t)(print >> 1) & (prints->capacity - 1);
    while (prints->items[at] != 0 && prints->items[at] != print)
        at = (at + 1) & (prints->capacity - 1);
    return &prints->items[at];
}

static ki_prints *part_of(ki_audit *audit, uint64_t print) {
    return &audit->prints[(print >> 32) % KI_AUDIT_PARTS];
}

static ki_status grow(const ki_allocator *allocator, ki_prints *prints) {
    ki_prints grown = { .count = prints->count, .capacity = prints->capacity ? prints->capacity * 2 : FIRST_PRINTS };
    grown.items = ki_alloc_zero(allocator, grown.capacity * sizeof *grown.items);
    if (!grown.items)
        return KI_ERR_NO_MEMORY;
    for (size_t i = 0; i < prints->capacity; i++)
        if (prints->items[i])
            *place_of(&grown, prints->items[i]) = prints->items[i];
    ki_free(allocator, prints->items);
    *prints = grown;
    return KI_OK;
}

static ki_status remember(ki_audit *audit, const char *key) {
    uint64_t print = print_of(audit, key);
    ki_prints *prints = part_of(audit, print);
    if (prints->count * 2 >= prints->capacity && grow(ki_engine_allocator(audit->options.engine), prints))
        return KI_ERR_NO_MEMORY;
    uint64_t *place = place_of(prints, print);
    prints->count += *place == 0;
    *place = print;
    return KI_OK;
}

static bool was_listed(ki_audit *audit, const char *key) {
    uint64_t print = print_of(audit, key);
    const ki_prints *prints = part_of(audit, print);
    return prints->capacity > 0 && *place_of(prints, print) != 0;
}

static void suspect(ki_audit *audit, const ki_object *obj, bool is_ghost) {
    ki_suspects *suspects = &audit->suspects;
    if (suspects->count < KI_AUDIT_SUSPECTS_MAX)
        suspects->items[suspects->count++] = (ki_suspect){ ki_object_ref(obj), is_ghost };
}

/* --- comparing --------------------------------------------------------------------------------------------------------------------- */

/* Returns true if the store's object has the listed version or a later one, also if the versions cannot be compared. */
static bool is_as_new(const ki_object *known, const ki_object *obj) {
    return known && ki_resource_version_compare(ki_object_resource_version(known), ki_object_resource_version(obj)) !=
                        KI_ORDER_OLDER;
}

static bool is_settled(const ki_suspect *suspected, const ki_snapshot *now) {
    const ki_object *known = ki_snapshot_get(now, ki_object_key(suspected->obj));
    if (!suspected->is_ghost)
        return is_as_new(known, suspected->obj);
    return !known || strcmp(ki_object_resource_version(known), ki_object_resource_version(suspected->obj)) != 0;
}

/* Drops the suspects that no longer differ. */
static void settle_suspects(ki_audit *audit, const ki_snapshot *now) {
    ki_suspects *suspects = &audit->suspects;
    size_t kept = 0;
    for (size_t i = 0; i < suspects->count; i++) {
        if (is_settled(&suspects->items[i], now))
            ki_object_unref(suspects->items[i].obj);
        else
            suspects->items[kept++] = suspects->items[i];
    }
    suspects->count = kept;
}

/* Returns the first suspect of both lists, with the number and the digest of all of them; NULL: none. */
static const ki_suspect *first_confirmed(const ki_audit *audit, size_t *ret_count, uint64_t *ret_digest) {
    const ki_suspect *first = NULL;
    *ret_count = 0;
    *ret_digest = 0;
    for (size_t i = 0; i < audit->suspects.count; i++) {
        const ki_suspect *a = &audit->suspects.items[i];
        for (size_t j = 0; j < audit->confirmed.count; j++) {
            const ki_suspect *b = &audit->confirmed.items[j];
            if (a->is_ghost != b->is_ghost || strcmp(ki_object_key(a->obj), ki_object_key(b->obj)) != 0)
                continue;
            first = first ? first : a;
            (*ret_count)++;
            *ret_digest += ki_audit_digest(audit, a->obj);
        }
    }
    return first;
}

/* Reports the confirmed differences. Asks for a repair unless the last repair left the same differences (an object whose transform fails, say). */
static void conclude(ki_audit *audit) {
    size_t count;
    uint64_t digest;
    const ki_suspect *first = first_confirmed(audit, &count, &digest);
    ki_metrics_add(audit->options.metrics, KI_METRIC_CONSISTENCY_CHECKS, 1);
    if (!first) {
        audit->repaired = 0;
        rest(audit);
        return;
    }
    ki_metrics_add(audit->options.metrics, KI_METRIC_DIFFERENCES, count);
    ki_error err = KI_ERROR_INIT;
    ki_object *obj = ki_object_ref(first->obj);
    ki_error_set(&err, KI_ERR_PROTOCOL, "the copy differs from the server's objects in %zu, the first: %s %s", count,
                 ki_object_key(obj), first->is_ghost ? "is gone there" : "is missing or older here");
    bool repair = digest != audit->repaired;
    audit->repaired = digest;
    rest(audit);
    audit->options.on_difference(&err, ki_object_key(obj), repair, audit->options.user);
    ki_object_unref(obj);
}

static void settle(ki_audit *audit) {
    int64_t now = ki_engine_now(audit->options.engine);
    ki_snapshot *snapshot = ki_store_snapshot(audit->options.store);
    settle_suspects(audit, snapshot);
    bool is_behind =
        ki_resource_version_compare(ki_snapshot_resource_version(snapshot), audit->version) == KI_ORDER_OLDER;
    ki_snapshot_free(snapshot);
    bool watches = audit->options.is_watching(audit->options.user);
    if (audit->suspects.count > 0 && now < audit->settles_until && (is_behind || !watches)) {
        go(audit, KI_AUDIT_SETTLE, SETTLE);
        return;
    }
    if (!watches) {
        rest(audit); /* without a watch the store cannot catch up: the reflector relists or resumes */
        return;
    }
    if (audit->suspects.count == 0 || ++audit->passes == 2) {
        conclude(audit);
        return;
    }
    audit->confirmed = audit->suspects;
    audit->suspects.count = 0;
    go(audit, KI_AUDIT_BEGIN, 0);
}

static void walk(ki_audit *audit) {
    const ki_object *obj = NULL;
    int walked = 0, left = ki_engine_work_left(audit->options.engine);
    int at_once = left > 1 ? left : 1;
    while (!audit->has_nameless && walked < at_once && (obj = ki_snapshot_next(audit->before, &audit->cursor))) {
        walked++;
        if (!was_listed(audit, ki_object_key(obj)))
            suspect(audit, obj, true);
    }
    (void)ki_engine_work(audit->options.engine, walked + 1);
    if (obj) {
        go(audit, KI_AUDIT_WALK, 0);
        return;
    }
    drop_list(audit);
    audit->settles_until = ki_engine_now(audit->options.engine) + SETTLE_TOTAL;
    go(audit, KI_AUDIT_SETTLE, audit->suspects.count ? SETTLE : 0);
}

static void conclude_check(ki_audit *audit) {
    bool is_same = audit->listed == audit->streamed_count && audit->digest == audit->streamed_digest;
    ki_metrics_add(audit->options.metrics, KI_METRIC_CONSISTENCY_CHECKS, 1);
    if (is_same) {
        rest(audit);
        return;
    }
    ki_metrics_add(audit->options.metrics, KI_METRIC_DIFFERENCES, 1);
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_PROTOCOL,
                 "a streaming list gave %zu objects, a list at the same version %s gives %zu, or others",
                 audit->streamed_count, audit->version, audit->listed);
    rest(audit);
    audit->options.on_difference(&err, "", true, audit->options.user);
}

/* --- the list ---------------------------------------------------------------------------------------------------------------------- */

static void on_object(ki_object *obj, void *user) {
    ki_audit *audit = user;
    audit->listed++;
    if (audit->is_check) {
        audit->digest += ki_audit_digest(audit, obj);
        return;
    }
    if (remember(audit, ki_object_key(obj))) {
        give_up(audit);
        return;
    }
    if (!is_as_new(ki_snapshot_get(audit->before, ki_object_key(obj)), obj))
        suspect(audit, obj, false);
}

static void on_bad_object(const ki_bad_object *bad, void *user) {
    ki_audit *audit = user; /* not reported: the watch reports the object */
    if (audit->is_check)
        return;
    if (!bad->key[0])
        audit->has_nameless = true;
    else if (remember(audit, bad->key))
        give_up(audit);
}

/* Fails for a list that does not progress: it would send requests without a pause. */
static ki_status check_progress(const ki_audit *audit, const char *token, ki_error *err) {
    const ki_buffer *sent = &audit->continue_token;
    if (audit->pages > 1 && ki_str_equals((ki_str){ sent->data, sent->size }, token))
        return ki_error_set(err, KI_ERR_PROTOCOL, "a page of the list leads to itself");
    if (audit->pages > audit->listed + EMPTY_PAGES_MAX)
        return ki_error_set(err, KI_ERR_PROTOCOL, "more than %d empty pages of the list", EMPTY_PAGES_MAX);
    return KI_OK;
}

static void on_end(const ki_list_result *result, const ki_error *err, void *user) {
    ki_audit *audit = user;
    ki_error cause = KI_ERROR_INIT;
    if (err) {
        fail(audit, err);
        return;
    }
    ki_status status = KI_OK;
    if (audit->pages++ == 0 && !audit->is_check)
        status = ki_reflector_copy_version(audit->version, result->resource_version, &cause);
    if (!status && result->continue_token[0])
        status = check_progress(audit, result->continue_token, &cause);
    if (!status && result->continue_token[0]) {
        ki_buffer_reset(&audit->continue_token, SIZE_MAX);
        if (ki_buffer_append_string(&audit->continue_token, result->continue_token))
            status = ki_error_no_memory(&cause, "keeping a continue token");
        else
            go(audit, KI_AUDIT_PAGE, 0);
    } else if (!status && audit->is_check) {
        conclude_check(audit);
    } else if (!status) {
        audit->cursor = (ki_cursor)KI_CURSOR_INIT;
        go(audit, KI_AUDIT_WALK, 0);
    }
    if (status)
        fail(audit, &cause);
}

static void list(ki_audit *audit) {
    ki_list_options options = { .limit = PAGE, .idle_timeout_ns = IDLE };
    if (audit->next == KI_AUDIT_PAGE) {
        options.continue_token = audit->continue_token.data;
    } else {
        audit->pages = audit->listed = 0;
        audit->digest = 0;
        audit->has_nameless = false;
        if (audit->is_check) {
            options.resource_version = audit->version;
            options.resource_version_match = "Exact";
        } else {
            audit->before = ki_store_snapshot(audit->options.store);
        }
    }
    const ki_list_handler handler = { on_object, on_bad_object, on_end, audit };
    ki_error err = KI_ERROR_INIT;
    if (audit->options.list_watch->ops->list(audit->options.list_watch, &options, &handler, &err))
        fail(audit, &err);
}

static void take_step(ki_timer *timer, void *user) {
    (void)timer;
    ki_audit *audit = user;
    switch (audit->next) {
    case KI_AUDIT_BEGIN:
    case KI_AUDIT_PAGE:
        /* Without a watch there is nothing to compare with. Also, a reflector that backs off, perhaps after a Retry-After, sends no requests. */
        if (audit->options.is_watching(audit->options.user))
            list(audit);
        else
            rest(audit);
        return;
    case KI_AUDIT_WALK:
        walk(audit);
        return;
    case KI_AUDIT_SETTLE:
        settle(audit);
        return;
    }
}

/* --- open, check, close ------------------------------------------------------------------------------------------------------------ */

ki_status ki_audit_open(ki_audit *audit, const ki_audit_options *options, ki_error *err) {
    *audit = (ki_audit){ .options = *options };
    if (ki_timer_init(&audit->timer, options->engine, take_step, audit))
        return ki_error_no_memory(err, "starting an informer");
    ki_buffer_init(&audit->continue_token, ki_engine_allocator(options->engine), CONTINUE_TOKEN_MAX);
    audit->is_open = true;
    return KI_OK;
}

void ki_audit_start(ki_audit *audit) {
    rest(audit);
}

void ki_audit_check(ki_audit *audit, const char *version, uint64_t digest, size_t count) {
    audit->options.list_watch->ops->cancel(audit->options.list_watch);
    rest(audit);
    if (version[0] == '\0' || ki_reflector_copy_version(audit->version, version, NULL))
        return; /* no version to list at, or a version that is too long */
    audit->is_check = true;
    audit->streamed_count = count;
    audit->streamed_digest = digest;
    go(audit, KI_AUDIT_BEGIN, 0);
}

void ki_audit_close(ki_audit *audit) {
    if (!audit->is_open)
        return;
    audit->options.list_watch->ops->cancel(audit->options.list_watch);
    rest(audit);
    audit->is_open = false;
    ki_timer_close(&audit->timer);
    ki_buffer_free(&audit->continue_token);
}
