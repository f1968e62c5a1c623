/* informer_memory.c: where an informer's memory is, counted when it is asked for (any thread), and the limits of the
 * objects' memory (the loop).
 *
 * At a limit the informer continues: a cache that lacks objects would be wrong. What happens then is up to the program,
 * which gets KI_ERR_LIMIT in its watch error handler. */
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
    return limit && (bytes > limit || (was_over && bytes > limit - limit / 10));
}

static void report(ki_informer *informer, size_t bytes, size_t limit, const char *whose, const char *option) {
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_LIMIT, "%s take %zu bytes, more than %s of %zu", whose, bytes, option, limit);
    ki_log_write(ki_engine_log(informer->engine), KI_LOG_WARNING, "informer", "%s: %s", informer->selection->name,
                 ki_error_message(&err));
    ki_informer_report(informer, &err, "");
}

/* Returns the bytes of the cache's objects, with what they share. */
static size_t object_bytes(const ki_informer *informer) {
    ki_object_format *format = informer->options.format;
    size_t shared = format ? ki_object_format_group_bytes(ki_object_format_newest(format)) : 0;
    return ki_store_object_bytes(informer->store) + shared;
}

void ki_informer_check_memory(ki_informer *informer) {
    ki_memory_account *account = informer->options.account;
    size_t bytes = object_bytes(informer), limit = informer->options.given.memory_limit;
    if (bytes == informer->checked_bytes)
        return;
    size_t all = account ? atomic_fetch_add(&account->bytes, bytes - informer->checked_bytes) : 0;
    all += account ? bytes - informer->checked_bytes : 0;
    informer->checked_bytes = bytes;
    bool was_over = atomic_load(&informer->is_over_limit);
    bool is_over_now = is_over(bytes, limit, was_over);
    atomic_store(&informer->is_over_limit, is_over_now);
    if (is_over_now && !was_over)
        report(informer, bytes, limit, "the cache's objects", "the informer's memory_limit");
    if (!account || !account->limit)
        return;
    was_over = account->is_over;
    account->is_over = is_over(all, account->limit, was_over);
    if (account->is_over && !was_over)
        report(informer, all, account->limit, "the objects of all informers", "the factory's memory_limit");
}

void ki_informer_leave_account(ki_informer *informer) {
    if (informer->options.account)
        atomic_fetch_sub(&informer->options.account->bytes, informer->checked_bytes);
    informer->checked_bytes = 0;
}
