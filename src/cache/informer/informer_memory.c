/* informer_memory.c: where an informer's memory is, counted when it is asked for (any thread), and the limit of its
 * objects' memory, which is reported (the loop). Above it the informer continues: a cache that lacks objects would be
 * wrong. */
#include <kinformer/memory.h>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/cache/informer/informer_parts.h"
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
    ki_snapshot_unref(snapshot);
    return trees;
}

static size_t bytes_of(const ki_memory *memory) {
    return memory->fields + memory->plain_bodies + memory->packed_bodies + memory->dictionaries;
}

/* Its own sum: a dictionary can be of deleted objects alone. */
static size_t deleted_bytes(const ki_informer *informer) {
    ki_object_memory_sum sum = { .codec_count = 0 };
    size_t trees = informer->deleted.objects.store ? add_store(informer->deleted.objects.store, &sum) : 0;
    return trees + bytes_of(&sum.memory) - sum.memory.dictionaries;
}

void ki_informer_memory_sized(ki_informer *informer, ki_memory *ret_memory, size_t size) {
    ki_object_memory_sum sum = { .codec_count = 0 };
    if (!ki_engine_is_forked(informer->options.engine)) { /* else nothing of the informer may be read */
        sum.memory.indexes = add_store(informer->store, &sum);
        sum.memory.deleted = deleted_bytes(informer);
        const ki_object_format *format = informer->options.format;
        if (format) {
            sum.memory.shared = ki_object_format_group_bytes(format);
            ki_object_format_add_memory(format, &sum);
        }
        sum.memory.waiting = ki_change_log_bytes(&informer->processor.log);
        sum.memory.total =
            bytes_of(&sum.memory) + sum.memory.shared + sum.memory.indexes + sum.memory.deleted + sum.memory.waiting;
    }
    memcpy(ret_memory, &sum.memory, size < sizeof sum.memory ? size : sizeof sum.memory);
}

/* --- the limit ---------------------------------------------------------------------------------------------------- */

size_t ki_informer_object_bytes(const ki_informer *informer) {
    const ki_object_format *format = informer->options.format;
    if (!format ||
        atomic_load(&informer->removal.is_begun)) /* what shared it is freed later, and nothing counts again */
        return ki_store_object_bytes(informer->store);
    return ki_store_object_bytes(informer->store) + ki_object_format_group_bytes(format) +
           ki_object_format_base_bytes(format);
}

bool ki_informer_is_over_limit(const ki_informer *informer) {
    return atomic_load(&informer->is_over_limit);
}

void ki_informer_check_memory(ki_informer *informer) {
    size_t limit = informer->options.given.memory_limit, bytes = limit ? ki_informer_object_bytes(informer) : 0;
    bool was_over = atomic_load(&informer->is_over_limit), is_over = bytes > (was_over ? limit - limit / 10 : limit);
    atomic_store(&informer->is_over_limit, is_over);
    if (was_over || !is_over)
        return;
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_LIMIT, "the cache's objects take %zu bytes, more than the informer's memory_limit of %zu",
                 bytes, limit);
    ki_log_write(ki_engine_log(informer->options.engine), KI_LOG_WARNING, "informer", "%s: %s",
                 informer->options.selection->name, ki_error_message(&err));
    ki_informer_report(informer, &err, "");
}
