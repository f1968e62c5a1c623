/* informer_memory.c: where an informer's memory is, counted when it is asked for (any thread), and the limits of the
 * objects' memory (the loop).
 *
 * At a limit the informer continues: a cache that lacks objects would be wrong. What happens then is up to the program,
 * which gets KI_ERR_LIMIT in its watch error handler. Whether contents are dropped is its choice (packing.c). */
#include <kinformer/memory.h>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/cache/informer/informer_parts.h"
#include "src/cache/listener/listener.h"
#include "src/cache/store/snapshot.h"
#include "src/object/object_memory.h"

/* --- counting ----------------------------------------------------------------------------------------------------- */

/* Adds the objects of a store's snapshot to `sum`. Returns the memory of its trees. */
static size_t add_store(const ki_store *store, ki_object_memory_sum *sum) {
    ki_snapshot *snapshot = ki_store_snapshot(store);
    ki_cursor cursor = KI_CURSOR_INIT;
    for (const ki_object *obj; (obj = ki_snapshot_next(snapshot, &cursor)) != NULL;)
        ki_object_add_memory(obj, sum);
    size_t trees = ki_snapshot_tree_memory(snapshot);
    ki_snapshot_free(snapshot);
    return trees;
}

static size_t bytes_of(const ki_memory *memory) {
    return memory->fields + memory->plain_bodies + memory->packed_bodies + memory->dictionaries;
}

/* Its own sum: a dictionary can be of deleted objects alone. */
static size_t deleted_bytes(const ki_informer *informer) {
    ki_object_memory_sum sum = { .codec_count = 0 };
    size_t trees = informer->deleted.store ? add_store(informer->deleted.store, &sum) : 0;
    return trees + bytes_of(&sum.memory) - sum.memory.dictionaries;
}

static size_t waiting_bytes(ki_informer *informer) {
    size_t bytes = 0;
    ki_fair_mutex_lock(&informer->change_lock);
    for (ki_listener *listener = informer->processor.first; listener; listener = listener->next)
        bytes += ki_listener_waiting_bytes(listener);
    ki_fair_mutex_unlock(&informer->change_lock);
    return bytes;
}

void ki_informer_memory_sized(ki_informer *informer, ki_memory *ret_memory, size_t size) {
    ki_object_memory_sum sum = { .codec_count = 0 };
    if (!ki_engine_is_forked(informer->engine)) { /* else nothing of the informer may be read */
        sum.memory.indexes = add_store(informer->store, &sum);
        sum.memory.deleted = deleted_bytes(informer);
        const ki_object_format *format = informer->options.format;
        sum.memory.shared =
            format ? ki_object_format_group_bytes(ki_object_format_newest(informer->options.format)) : 0;
        sum.memory.waiting = waiting_bytes(informer);
        sum.memory.total =
            bytes_of(&sum.memory) + sum.memory.shared + sum.memory.indexes + sum.memory.deleted + sum.memory.waiting;
    }
    memcpy(ret_memory, &sum.memory, size < sizeof sum.memory ? size : sizeof sum.memory);
}

/* --- limits ------------------------------------------------------------------------------------------------------- */

/* Returns true above the limit, and once above, until a tenth below: a cache at its limit is reported once. */
static bool is_over(size_t bytes, size_t limit, bool was_over) {
    return limit && (bytes > limit || (was_over && bytes > ki_memory_goal(limit)));
}

/* What takes too much: the objects of the informer, or of its factory. */
typedef struct excess {
    const char *whose, *option;
    size_t bytes, limit;
} excess;

static void tell(ki_informer *informer, const ki_error *err) {
    ki_log_write(ki_engine_log(informer->engine), KI_LOG_WARNING, "informer", "%s: %s", informer->selection->name,
                 ki_error_message(err));
    ki_informer_report(informer, err, "");
}

static void report(ki_informer *informer, const excess *of) {
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_LIMIT, "%s take %zu bytes, more than the %s of %zu", of->whose, of->bytes, of->option,
                 of->limit);
    tell(informer, &err);
}

size_t ki_informer_object_bytes(const ki_informer *informer) {
    ki_object_format *format = informer->options.format;
    if (!format || atomic_load(&informer->is_removed)) /* what shared it is freed later, and nothing counts again */
        return ki_store_object_bytes(informer->store);
    return ki_store_object_bytes(informer->store) + ki_object_format_group_bytes(ki_object_format_newest(format));
}

static excess of_informer(size_t bytes, size_t limit) {
    return (excess){ "the cache's objects", "informer's memory_limit", bytes, limit };
}

static excess of_factory(size_t bytes, size_t limit) {
    return (excess){ "the objects of all informers", "factory's memory_limit", bytes, limit };
}

/* Notes whether the limit is exceeded. `drops`: contents are dropped then, and that is reported in its place. Returns
 * true if it has changed. */
static bool note(ki_informer *informer, _Atomic bool *is_over_limit, const excess *of, bool drops) {
    bool was_over = atomic_load(is_over_limit), is_over_now = is_over(of->bytes, of->limit, was_over);
    atomic_store(is_over_limit, is_over_now);
    if (is_over_now && !was_over && !drops)
        report(informer, of);
    return is_over_now != was_over;
}

static void report_drop(ki_informer *informer, const char *effect) {
    const ki_memory_account *account = informer->options.account;
    bool is_of_all = !informer->options.given.memory_limit || (account && atomic_load(&account->is_over));
    const excess of = is_of_all ? of_factory(0, account->limit) : of_informer(0, informer->options.given.memory_limit);
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_LIMIT, "%s reached the %s of %zu bytes: %s", of.whose, of.option, of.limit, effect);
    tell(informer, &err);
}

/* Reports the first object that lost its content; again once all had theirs. Those of a list lose it as they arrive,
 * before the store is above the limit. */
static void note_drop(ki_informer *informer) {
    bool has_dropped = ki_store_without_content(informer->store) > 0;
    if (has_dropped && !informer->has_reported_drop)
        report_drop(informer, "objects lose their content");
    informer->has_reported_drop = has_dropped;
}

/* Adds the change since the last time. */
static void add_to_account(ki_informer *informer, ki_memory_account *account, size_t bytes) {
    size_t change = bytes - informer->checked_bytes; /* may wrap */
    informer->checked_bytes = bytes;
    if (account)
        atomic_fetch_add(&account->bytes, change);
}

/* The other informers may have contents to drop, or need drop no more. */
static void wake_others(const ki_informer *informer, const ki_memory_account *account) {
    for (const ki_memory_member *member = account->first; member; member = member->next)
        if (member != &informer->member)
            member->on_change(member->user);
}

void ki_informer_check_memory(ki_informer *informer) {
    ki_memory_account *account = informer->options.account;
    excess own = of_informer(ki_informer_object_bytes(informer), informer->options.given.memory_limit);
    add_to_account(informer, account, own.bytes);
    if (own.limit)
        (void)note(informer, &informer->is_over_limit, &own, ki_informer_may_drop(informer));
    bool is_above = atomic_load(&informer->is_over_limit);
    if (account && account->limit) {
        excess of_all = of_factory(ki_memory_account_bytes(account), account->limit);
        bool has_content =
            informer->arriving || ki_store_without_content(informer->store) < ki_store_count(informer->store);
        if (note(informer, &account->is_over, &of_all, ki_informer_may_drop(informer) && has_content))
            wake_others(informer, account);
        is_above |= atomic_load(&account->is_over);
    }
    if (is_above && !informer->is_above)
        informer->places_left = KI_TREE_PLACES;
    informer->is_above = is_above;
    if (ki_informer_may_drop(informer))
        note_drop(informer);
}

static size_t excess_of(size_t bytes, size_t limit) {
    size_t goal = ki_memory_goal(limit);
    return bytes > goal ? bytes - goal : 0;
}

size_t ki_informer_excess(const ki_informer *informer) {
    const ki_memory_account *account = informer->options.account;
    size_t own = 0, all = 0;
    if (atomic_load(&informer->is_over_limit))
        own = excess_of(informer->checked_bytes, informer->options.given.memory_limit);
    if (account && atomic_load(&account->is_over))
        all = excess_of(ki_memory_account_bytes(account), account->limit);
    return own > all ? own : all;
}

void ki_informer_report_without_content(ki_informer *informer) {
    report_drop(informer, "no object has content any more");
}

/* --- the account of all informers --------------------------------------------------------------------------------- */

static void on_account_change(void *user) {
    ki_informer *informer = user;
    ki_step_loop_wake(&informer->step_loop);
}

void ki_informer_join_account(ki_informer *informer) {
    ki_memory_account *account = informer->options.account;
    if (!account)
        return;
    informer->member = (ki_memory_member){ on_account_change, informer, account->first };
    account->first = &informer->member;
}

void ki_informer_leave_account(ki_informer *informer) {
    ki_memory_account *account = informer->options.account;
    ki_memory_member **at = account ? &account->first : NULL;
    while (at && *at && *at != &informer->member)
        at = &(*at)->next;
    if (at && *at)
        *at = informer->member.next;
}

void ki_informer_clear_account(ki_informer *informer) {
    ki_informer_leave_account(informer);
    if (informer->options.account)
        atomic_fetch_sub(&informer->options.account->bytes, informer->checked_bytes);
    informer->checked_bytes = 0;
}
