/* fetch_items.c: the items of a fetcher and who waits for them. Each function takes a bounded number of steps, but for
 * the waits of one key. The caller holds the fetcher's mutex. */
#include "src/factory/fetch_parts.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/list.h"
#include "src/base/memory.h"

#include <string.h>

/* --- lists -------------------------------------------------------------------------------------------------------- */

/* Does the list that an item is in go with its state? */
static bool is_in_its_list(const ki_fetch_item *item) {
    const ki_fetcher *fetcher = item->fetcher;
    switch (item->state) {
    case KI_FETCH_WANTED:
        return item->list == &fetcher->wanted;
    case KI_FETCH_FLYING:
        return !item->list;
    case KI_FETCH_WAITING:
    case KI_FETCH_KNOWN:
    case KI_FETCH_PAST:
        return item->list == (item->waits ? NULL : &fetcher->kept) && item->due.node.is_in;
    }
    return false;
}

static bool can_follow(ki_fetch_state before, ki_fetch_state state) {
    switch (state) {
    case KI_FETCH_WANTED:
        return true;
    case KI_FETCH_FLYING:
        return before == KI_FETCH_WANTED;
    case KI_FETCH_WAITING:
        return before == KI_FETCH_FLYING || before == KI_FETCH_WANTED; /* the server is away */
    case KI_FETCH_KNOWN:
        return before == KI_FETCH_FLYING;
    case KI_FETCH_PAST:
        return before == KI_FETCH_WAITING || before == KI_FETCH_KNOWN;
    }
    return false;
}

static void leave_list(ki_fetch_item *item) {
    ki_fetch_item **list = item->list;
    if (!list)
        return;
    KI_ASSERT(list != &item->fetcher->kept || item->fetcher->kept_count > 0);
    KI_LIST_REMOVE(*list, item);
    item->fetcher->kept_count -= list == &item->fetcher->kept;
    item->list = NULL;
}

static void enter_list(ki_fetch_item *item, ki_fetch_item **list) {
    KI_LIST_APPEND(*list, item);
    item->list = list;
    item->fetcher->kept_count += list == &item->fetcher->kept;
}

static size_t kept_max(const ki_fetcher *fetcher) {
    size_t given = fetcher->made_with->factory->keep_fetched_max;
    return given ? given : KI_FETCH_MAX_REMEMBERED;
}

/* Keeps an item that nobody waits for, and drops the oldest one above the limit. */
static void keep(ki_fetch_item *item) {
    KI_ASSERT(!item->waits);
    ki_fetcher *fetcher = item->fetcher;
    enter_list(item, &fetcher->kept);
    if (fetcher->kept_count > kept_max(fetcher))
        ki_fetch_item_drop(fetcher->kept);
}

/* --- items -------------------------------------------------------------------------------------------------------- */

void ki_fetch_item_drop(ki_fetch_item *item) {
    KI_HELD(&item->fetcher->mutex);
    KI_ASSERT(!item->waits && atomic_load(&item->fetcher->count) > 0);
    ki_fetcher *fetcher = item->fetcher;
    leave_list(item);
    ki_heap_remove(&fetcher->due, &item->due.node);
    const void *removed = ki_map_remove(&fetcher->by_key, ki_str_of(item->key));
    KI_ASSERT(removed == item);
    (void)removed;
    atomic_fetch_sub(&fetcher->count, 1);
    ki_object_unref(item->obj);
    ki_free(fetcher->allocator, item);
}

static ki_fetch_item *add_item(ki_fetcher *fetcher, const char *key) {
    const ki_factory_options *given = fetcher->made_with->factory;
    size_t size = strlen(key) + 1;
    ki_fetch_item *item = ki_alloc_zero(fetcher->allocator, sizeof *item + size);
    if (!item)
        return NULL;
    memcpy(item->key, key, size);
    item->fetcher = fetcher;
    if (ki_map_put(&fetcher->by_key, ki_str_of(item->key), item, NULL)) {
        ki_free(fetcher->allocator, item);
        return NULL;
    }
    ki_backoff_init(&item->backoff, given->backoff_first_ms, given->backoff_longest_ms);
    atomic_fetch_add(&fetcher->count, 1);
    ki_fetch_item_want(item);
    return item;
}

ki_fetch_item *ki_fetch_item_of(ki_fetcher *fetcher, const char *key) {
    KI_HELD(&fetcher->mutex);
    ki_fetch_item *item = ki_map_get(&fetcher->by_key, ki_str_of(key));
    return item ? item : add_item(fetcher, key);
}

void ki_fetch_item_set(ki_fetch_item *item, ki_fetch_state state, int64_t until) {
    KI_HELD(&item->fetcher->mutex);
    KI_ASSERT(can_follow(item->state, state));
    ki_fetcher *fetcher = item->fetcher;
    bool has_end = state == KI_FETCH_WAITING || state == KI_FETCH_KNOWN || state == KI_FETCH_PAST;
    leave_list(item);
    item->state = state;
    if (has_end)
        ki_heap_put(&fetcher->due, &item->due.node, until, fetcher->sequence++);
    else
        ki_heap_remove(&fetcher->due, &item->due.node);
    if (state == KI_FETCH_WANTED)
        enter_list(item, &fetcher->wanted);
    else if (has_end && !item->waits)
        keep(item);
    KI_ASSERT(is_in_its_list(item));
    ki_task_post(&fetcher->task); /* sends it, or sets the timer */
}

void ki_fetch_item_want(ki_fetch_item *item) {
    item->since = ki_engine_clock(item->fetcher->made_with->engine);
    ki_fetch_item_set(item, KI_FETCH_WANTED, 0);
}

/* A role that cannot list is as good as no informer: the program then has what a program without one would keep. */
static bool is_blocked(const ki_informer *informer) {
    ki_health health;
    ki_informer_health(informer, &health);
    bool tries_again = health.state == KI_STATE_CONNECTING && (health.cause.category == KI_CATEGORY_CREDENTIALS ||
                                                               health.cause.category == KI_CATEGORY_REQUEST);
    return health.state == KI_STATE_BLOCKED || tries_again;
}

bool ki_fetch_item_is_fresh(const ki_fetch_item *item, int64_t now) {
    KI_ASSERT(item->state == KI_FETCH_KNOWN);
    const ki_informer *informer = item->fetcher->informer;
    int64_t given = ki_informer_made_with(informer)->factory->keep_fetched_ms;
    int64_t least = given && given < KI_FETCH_REMEMBERED_MS ? given : KI_FETCH_REMEMBERED_MS;
    int64_t longest = !item->obj ? least : given ? given : KI_FETCH_BLOCKED_MS;
    if (now >= ki_time_after_ms(item->since, longest))
        return false;
    return given || now < ki_time_after_ms(item->since, least) || is_blocked(informer);
}

void ki_fetch_item_outlive(ki_fetch_item *item, int64_t now) {
    KI_HELD(&item->fetcher->mutex);
    KI_ASSERT(!item->waits);
    int64_t keep_deleted_ms = item->fetcher->made_with->given.keep_deleted_ms;
    int64_t until = item->state == KI_FETCH_WAITING ? now + ki_backoff_longest(&item->backoff) : now;
    int64_t deleted_until = item->obj && keep_deleted_ms > 0 ? ki_time_after_ms(now, keep_deleted_ms) : now;
    if (deleted_until > until)
        until = deleted_until;
    if (until > now)
        ki_fetch_item_set(item, KI_FETCH_PAST, until);
    else
        ki_fetch_item_drop(item);
}

/* --- waits -------------------------------------------------------------------------------------------------------- */

void ki_fetch_wait_add(ki_fetch_item *item, ki_fetch_wait *wait) {
    KI_HELD(&item->fetcher->mutex);
    KI_ASSERT(!wait->item);
    ki_fetcher *fetcher = item->fetcher;
    wait->item = item;
    wait->has_joined = item->state == KI_FETCH_FLYING;
    KI_LIST_APPEND(item->waits, wait);
    wait->next_wait = fetcher->waits;
    if (wait->next_wait)
        wait->next_wait->previous_wait = wait;
    wait->previous_wait = NULL;
    fetcher->waits = wait;
    if (!wait->changed && wait->deadline != INT64_MAX) {
        wait->due.is_wait = true;
        ki_heap_put(&fetcher->due, &wait->due.node, wait->deadline, fetcher->sequence++);
        ki_task_post(&fetcher->task); /* sets the timer */
    }
    if (item->list == &fetcher->kept)
        leave_list(item);
    KI_ASSERT(is_in_its_list(item));
}

void ki_fetch_forget(ki_fetch_wait *wait) {
    ki_fetch_item *item = wait->item;
    ki_fetcher *fetcher = item->fetcher;
    KI_HELD(&fetcher->mutex);
    KI_ASSERT(wait->previous_wait ? wait->previous_wait->next_wait == wait : fetcher->waits == wait);
    KI_LIST_REMOVE(item->waits, wait);
    *(wait->previous_wait ? &wait->previous_wait->next_wait : &fetcher->waits) = wait->next_wait;
    if (wait->next_wait)
        wait->next_wait->previous_wait = wait->previous_wait;
    wait->item = NULL;
    ki_heap_remove(&fetcher->due, &wait->due.node);
    if (item->waits)
        return;
    if (item->state == KI_FETCH_WANTED)
        ki_fetch_item_drop(item); /* nobody wants it any more */
    else if (item->state == KI_FETCH_WAITING)
        keep(item);
}

void ki_fetch_decide(ki_fetcher *fetcher, ki_fetch_wait *wait, ki_object *obj, const ki_error *err) {
    KI_HELD(&fetcher->mutex);
    KI_ASSERT(!wait->obj && (obj != NULL) != (err->code != KI_OK));
    wait->obj = ki_object_ref(obj);
    wait->err = *err;
    ki_multimap_remove(&fetcher->by_user, &wait->of_user);
    if (wait->item)
        ki_fetch_forget(wait);
    if (wait->changed) {
        ki_cond_broadcast(wait->changed);
        return;
    }
    KI_LIST_APPEND(fetcher->decided, wait);
    ki_task_post(&fetcher->task);
}

void ki_fetch_decide_waits(ki_fetch_item *item, int64_t last, bool also_joined, ki_object *obj, const ki_error *err) {
    ki_fetcher *fetcher = item->fetcher; /* the item ends with its last wait */
    for (ki_fetch_wait *next, *wait = item->waits; wait; wait = next) {
        next = wait->next;
        if (wait->deadline <= last && (also_joined || !wait->has_joined))
            ki_fetch_decide(fetcher, wait, obj, err);
    }
}

ki_error ki_fetch_unknown(const ki_fetch_item *item) {
    const ki_error *cause = &item->err;
    ki_error err = KI_ERROR_INIT;
    if (!cause->code) {
        ki_error_set(&err, KI_ERR_TIMEOUT, "no response about %.100s in time", item->key);
        return err;
    }
    ki_error_set(&err, KI_ERR_TIMEOUT, "%.100s is unknown: %.380s", item->key, ki_error_message(cause));
    err.category = cause->category;
    err.http_status = cause->http_status;
    err.retry_after_ms = cause->retry_after_ms;
    memcpy(err.reason, cause->reason, sizeof err.reason);
    return err;
}
