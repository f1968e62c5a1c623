/* informer_memory.c: where an informer's memory is, counted when it is asked for (any thread), and the limits of the
 * objects' memory (the loop).
 *
 * From half of a limit on, objects are packed. At a limit the informer continues: a cache that lacks objects would be
 * wrong. What happens then is up to the program, which gets KI_ERR_LIMIT in its watch error handler (limit_reports.c).
 * Whether contents are dropped is its choice (packing.c). */
#include <kinformer/memory.h>

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
    ki_snapshot_unref(snapshot);
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
    ki_mutex_lock(&informer->registry_lock); /* not the lock that the loop has for each change */
    for (ki_listener *listener = informer->registered; listener; listener = listener->next_registered)
        bytes += ki_listener_waiting_bytes(listener);
    ki_mutex_unlock(&informer->registry_lock);
    return bytes;
}

void ki_informer_memory_sized(ki_informer *informer, ki_memory *ret_memory, size_t size) {
    ki_object_memory_sum sum = { .codec_count = 0 };
    if (!ki_engine_is_forked(informer->engine)) { /* else nothing of the informer may be read */
        sum.memory.indexes = add_store(informer->store, &sum);
        sum.memory.deleted = deleted_bytes(informer);
        ki_object_format *format = informer->options.format;
        const ki_object_format *newest = format ? ki_object_format_newest(format) : NULL;
        sum.memory.shared = newest ? ki_object_format_group_bytes(newest) : 0;
        ki_object_format_add_memory(newest, &sum);
        sum.memory.waiting = waiting_bytes(informer);
        sum.memory.total =
            bytes_of(&sum.memory) + sum.memory.shared + sum.memory.indexes + sum.memory.deleted + sum.memory.waiting;
    }
    memcpy(ret_memory, &sum.memory, size < sizeof sum.memory ? size : sizeof sum.memory);
}

/* --- limits ------------------------------------------------------------------------------------------------------- */

size_t ki_informer_object_bytes(const ki_informer *informer) {
    ki_object_format *format = informer->options.format;
    if (!format || atomic_load(&informer->is_removed)) /* what shared it is freed later, and nothing counts again */
        return ki_store_object_bytes(informer->store);
    return ki_store_object_bytes(informer->store) + ki_object_format_group_bytes(ki_object_format_newest(format));
}

bool ki_informer_exceeds_limit(const ki_informer *informer) {
    size_t goal = ki_memory_goal(informer->options.given.memory_limit);
    return ki_informer_is_over_limit(informer) && ki_informer_object_bytes(informer) > goal;
}

/* The other informers may have objects to pack, or contents to drop, or need drop no more. */
static void wake_others(const ki_informer *informer) {
    const ki_memory_account *account = informer->options.account;
    for (ki_informer *other = account ? account->first : NULL; other; other = other->next_in_account)
        if (other != informer)
            ki_step_loop_wake(&other->step_loop);
}

static void update_pressure(ki_informer *informer) {
    ki_memory_account *account = informer->options.account;
    atomic_store(&informer->pressure,
                 ki_memory_pressure_of(informer->checked_bytes, 0, informer->options.given.memory_limit,
                                       atomic_load(&informer->pressure)));
    if (!account)
        return;
    ki_memory_pressure before = atomic_load(&account->pressure), pressure = ki_memory_account_pressure(account);
    if (pressure == before)
        return;
    atomic_store(&account->pressure, pressure);
    account->is_reported = account->is_reported && ki_memory_account_is_over(account);
    wake_others(informer);
}

/* Has the objects packed that came before there was a dictionary, or before memory was scarce. The others wait. */
static void update_packing(ki_informer *informer) {
    const ki_memory_account *account = informer->options.account;
    ki_object_format *format = informer->options.format;
    ki_packing before = informer->packing;
    bool is_scarce = atomic_load(&informer->pressure) || (account && atomic_load(&account->pressure));
    bool can_pack = format && !atomic_load(&informer->is_removed);
    if (can_pack && is_scarce)
        ki_informer_train(informer);
    can_pack = can_pack && ki_object_format_packs(ki_object_format_newest(format));
    if (!can_pack || (!is_scarce && before == KI_HAS_PACKED)) {
        informer->packing = KI_PACKS_NOTHING;
    } else if (before == KI_PACKS_STORE && !informer->places) {
        informer->packing = KI_HAS_PACKED;
    } else if (is_scarce && before == KI_PACKS_NOTHING) {
        informer->packing = KI_PACKS_STORE;
        informer->places = KI_TREE_PLACES;
    }
    if (before == KI_PACKS_STORE && informer->packing != before)
        wake_others(informer);
}

void ki_informer_check_memory(ki_informer *informer) {
    bool was_over = ki_informer_is_over_limit(informer);
    ki_informer_note_stored(informer, ki_informer_object_bytes(informer));
    update_pressure(informer);
    update_packing(informer);
    ki_informer_report_limits(informer, !was_over && ki_informer_is_over_limit(informer));
}

static size_t excess_of_all(const ki_memory_account *account) {
    if (account && atomic_load(&account->pressure) == KI_MEMORY_OVER)
        return ki_memory_above(atomic_load(&account->bytes), ki_memory_goal(account->limit));
    return account && account->limit ? ki_memory_above(ki_memory_account_bytes(account), account->limit) : 0;
}

size_t ki_informer_excess(const ki_informer *informer) {
    size_t limit = informer->options.given.memory_limit, all = excess_of_all(informer->options.account);
    size_t own =
        ki_informer_is_over_limit(informer) ? ki_memory_above(informer->checked_bytes, ki_memory_goal(limit)) : 0;
    return own > all ? own : all;
}

/* --- the account of all informers --------------------------------------------------------------------------------- */

void ki_informer_join_account(ki_informer *informer) {
    ki_memory_account *account = informer->options.account;
    if (!account)
        return;
    informer->next_in_account = account->first;
    account->first = informer;
}

void ki_informer_leave_account(ki_informer *informer) {
    ki_memory_account *account = informer->options.account;
    ki_informer **at = account ? &account->first : NULL;
    while (at && *at && *at != informer)
        at = &(*at)->next_in_account;
    if (!at || !*at)
        return;
    *at = informer->next_in_account;
    if (informer->packing == KI_PACKS_STORE) /* others wait for it */
        wake_others(informer);
}
