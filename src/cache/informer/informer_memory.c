/* informer_memory.c: where an informer's memory is, counted when it is asked for (any thread), and the limits of the
 * objects' memory (the loop).
 *
 * From half of a limit on, objects are packed. At a limit the informer continues: a cache that lacks objects would be
 * wrong. What happens then is up to the program, which gets KI_ERR_LIMIT in its watch error handler. Whether contents
 * are dropped is its choice (packing.c). */
#include <kinformer/memory.h>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/cache/informer/informer_parts.h"
#include "src/cache/listener/listener.h"
#include "src/cache/store/snapshot.h"
#include "src/object/object_memory.h"
#include "src/object/pack.h"

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
    bool is_of_all;
} excess;

/* `effect` NULL: nothing is dropped. Contents of a list are dropped before the objects take more than the limit. */
static void report(ki_informer *informer, const excess *of, const char *effect) {
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_LIMIT, "%s take %zu bytes, %s the %s of %zu%s%s", of->whose, of->bytes,
                 of->bytes > of->limit ? "more than" : "at", of->option, of->limit, effect ? ": " : "",
                 effect ? effect : "");
    ki_log_write(ki_engine_log(informer->engine), KI_LOG_WARNING, "informer", "%s: %s", informer->selection->name,
                 ki_error_message(&err));
    ki_informer_report(informer, &err, "");
}

size_t ki_informer_object_bytes(const ki_informer *informer) {
    ki_object_format *format = informer->options.format;
    if (!format || atomic_load(&informer->is_removed)) /* what shared it is freed later, and nothing counts again */
        return ki_store_object_bytes(informer->store);
    return ki_store_object_bytes(informer->store) + ki_object_format_group_bytes(ki_object_format_newest(format));
}

static excess of_informer(size_t bytes, size_t limit) {
    return (excess){ "the cache's objects", "informer's memory_limit", bytes, limit, false };
}

static excess of_factory(size_t bytes, size_t limit) {
    return (excess){ "the objects of all informers", "factory's memory_limit", bytes, limit, true };
}

/* Adds the change since the last time. */
static void add_to_account(ki_informer *informer, ki_memory_account *account, size_t bytes) {
    size_t change = bytes - informer->checked_bytes; /* may wrap */
    informer->checked_bytes = bytes;
    if (account)
        atomic_fetch_add(&account->bytes, change);
}

/* The other informers may have objects to pack, or contents to drop, or need drop no more. */
static void wake_others(const ki_informer *informer, const ki_memory_account *account) {
    for (const ki_memory_member *member = account->first; member; member = member->next)
        if (member != &informer->member)
            member->on_change(member->user);
}

/* Notes whether the limits are exceeded, and the halves of them. */
static void note_limits(ki_informer *informer, const excess *own, ki_memory_account *account) {
    bool was_over = atomic_load(&informer->is_over_limit), is_over_now = is_over(own->bytes, own->limit, was_over);
    atomic_store(&informer->is_over_limit, is_over_now);
    informer->is_scarce = is_over(own->bytes, own->limit - own->limit / 2, informer->is_scarce);
    if (is_over_now && !was_over && !ki_informer_may_drop(informer))
        report(informer, own, NULL);
    if (!account)
        return;
    ki_memory_pressure before = atomic_load(&account->pressure), pressure = ki_memory_account_pressure(account);
    if (pressure == before)
        return;
    atomic_store(&account->pressure, pressure);
    account->is_reported = account->is_reported && ki_memory_account_is_over(account);
    wake_others(informer, account);
}

/* Has the objects packed that came before there was a dictionary, or before memory was scarce. */
static void note_packing(ki_informer *informer, const ki_memory_account *account) {
    ki_object_format *format = informer->options.format;
    bool is_scarce = informer->is_scarce || (account && atomic_load(&account->pressure));
    if (!format || atomic_load(&informer->is_removed)) {
        informer->places_to_pack = 0;
        informer->packs = informer->member.packs = false;
        return;
    }
    if (is_scarce)
        ki_informer_train(informer);
    bool packs = is_scarce && ki_object_format_packs(ki_object_format_newest(format));
    if (packs && !informer->packs)
        informer->places_to_pack = KI_TREE_PLACES;
    informer->packs = packs;
    informer->member.packs = informer->places_to_pack > 0;
}

void ki_informer_note_packed(ki_informer *informer) {
    const ki_memory_account *account = informer->options.account;
    informer->member.packs = false;
    if (account)
        wake_others(informer, account);
}

bool ki_informer_waits_for_packing(const ki_informer *informer) {
    const ki_memory_account *account = informer->options.account;
    bool waits = informer->member.packs;
    for (const ki_memory_member *member = account ? account->first : NULL; member && !waits; member = member->next)
        waits = member->packs;
    return waits;
}

/* --- reports ------------------------------------------------------------------------------------------------------ */

/* Returns true if any informer of the factory can do something about its limit. */
static bool can_shrink(const ki_memory_account *account) {
    bool can = false;
    for (const ki_memory_member *member = account->first; member && !can; member = member->next)
        can = member->packs || member->can_drop;
    return can;
}

/* Returns the limit that contents are dropped for: the one of which more is taken. */
static excess dropped_for(const ki_informer *informer) {
    const ki_memory_account *account = informer->options.account;
    const excess own = of_informer(informer->checked_bytes + ki_informer_expected_bytes(informer),
                                   informer->options.given.memory_limit);
    if (!account || !account->limit)
        return own;
    const excess all = of_factory(ki_memory_account_bytes(account), account->limit);
    double of_own = own.limit ? (double)own.bytes / (double)own.limit : 0;
    return of_own > (double)all.bytes / (double)all.limit ? own : all;
}

/* Reports the first object that lost its content, and if none has its content any more; again once all had theirs, and
 * there was room. Objects of a list lose it as they arrive, before the store is above the limit. */
static void report_drops(ki_informer *informer, ki_memory_account *account) {
    size_t without = ki_store_without_content(informer->store);
    bool has_none =
        without && informer->is_above && !ki_informer_content_count(informer) && !ki_informer_expected_bytes(informer);
    const excess of = dropped_for(informer);
    if (without && !informer->has_reported_drop) {
        informer->has_reported_drop = true;
        report(informer, &of, "objects lose their content");
    }
    if (has_none && !informer->has_reported_none) {
        informer->has_reported_none = true;
        informer->knows_total = of.is_of_all;
        if (of.is_of_all && !can_shrink(account))
            account->is_reported = true;
        report(informer, &of, "no object of this informer has content any more");
    }
    if (!without && !informer->is_above)
        informer->has_reported_drop = informer->has_reported_none = informer->knows_total = false;
}

/* Reports that the objects of all informers take more than their limit, and nothing is left to be done about it. An
 * informer without content whose program knows leaves that to others. */
static void report_all(ki_informer *informer, ki_memory_account *account) {
    if (!ki_memory_account_is_over(account) || account->is_reported || informer->knows_total || can_shrink(account))
        return;
    const excess of = of_factory(ki_memory_account_bytes(account), account->limit);
    account->is_reported = true;
    informer->knows_total = ki_informer_may_drop(informer);
    report(informer, &of, NULL);
}

void ki_informer_check_memory(ki_informer *informer) {
    ki_memory_account *account = informer->options.account;
    const excess own = of_informer(ki_informer_object_bytes(informer), informer->options.given.memory_limit);
    ki_informer_note_stored(informer, own.bytes);
    add_to_account(informer, account, own.bytes);
    note_limits(informer, &own, account);
    note_packing(informer, account);
    informer->is_above = atomic_load(&informer->is_over_limit) || (account && ki_memory_account_is_over(account));
    bool may_drop = ki_informer_may_drop(informer);
    informer->member.can_drop =
        may_drop && (ki_informer_content_count(informer) || ki_informer_expected_bytes(informer));
    if (may_drop)
        report_drops(informer, account);
    if (account)
        report_all(informer, account);
}

/* Returns the bytes above `bound`, if there are more than `before`. */
static size_t excess_of(size_t bytes, size_t bound, size_t before) {
    return bytes > bound && bytes - bound > before ? bytes - bound : before;
}

size_t ki_informer_excess(const ki_informer *informer) {
    const ki_memory_account *account = informer->options.account;
    size_t most = 0;
    if (atomic_load(&informer->is_over_limit))
        most = excess_of(informer->checked_bytes, ki_memory_goal(informer->options.given.memory_limit), most);
    if (account && atomic_load(&account->pressure) == KI_MEMORY_OVER)
        most = excess_of(atomic_load(&account->bytes), ki_memory_goal(account->limit), most);
    if (account && account->limit)
        most = excess_of(ki_memory_account_bytes(account), account->limit, most);
    return most;
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
    informer->member.on_change = on_account_change;
    informer->member.user = informer;
    informer->member.next = account->first;
    account->first = &informer->member;
}

void ki_informer_leave_account(ki_informer *informer) {
    ki_memory_account *account = informer->options.account;
    ki_memory_member **at = account ? &account->first : NULL;
    while (at && *at && *at != &informer->member)
        at = &(*at)->next;
    if (!at || !*at)
        return;
    *at = informer->member.next;
    if (informer->member.packs) /* others wait for it */
        wake_others(informer, account);
}

void ki_informer_clear_account(ki_informer *informer) {
    ki_informer_leave_account(informer);
    if (informer->options.account)
        atomic_fetch_sub(&informer->options.account->bytes, informer->checked_bytes);
    informer->checked_bytes = 0;
}
