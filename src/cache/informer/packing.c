/* packing.c: what the cache keeps of objects: less than all (ki_keep), or all of it with a packed body (pack.h).
 * Objects of a list are packed as they arrive (listed_objects.c), those of events when they are stored: handlers get
 * the plain object. It is packed for the handlers, too, if one of them has a thread and changes wait already
 * (process_item.c). Loop. */
#include "src/cache/informer/informer_parts.h"

#include "src/cache/store/snapshot.h"
#include "src/object/pack.h"

ki_status ki_informer_kept(ki_object *obj, ki_object **ret_kept) {
    ki_object *kept;
    ki_status status = ki_object_key_only(obj, &kept, NULL);
    if (status)
        return status;
    *ret_kept = ki_object_pack(kept);
    ki_object_unref(kept);
    return KI_OK;
}

void ki_informer_train(ki_informer *informer) {
    ki_object_format *format = informer->options.format;
    size_t bytes = ki_store_object_bytes(informer->store), count = 0;
    ki_object *samples[KI_BODY_SAMPLES_MAX] = { NULL };
    if (!format || !ki_object_format_is_due(format, bytes))
        return;
    ki_snapshot *snapshot = ki_store_snapshot(informer->store);
    ki_cursor cursor = KI_CURSOR_INIT;
    ki_object *obj = ki_tree_next(&snapshot->items, &cursor); /* in the order of hashes: spread over the cache */
    for (; obj && count < KI_BODY_SAMPLES_MAX; obj = ki_tree_next(&snapshot->items, &cursor))
        samples[count++] = obj;
    ki_object_format_train(format, samples, count, bytes);
    ki_snapshot_unref(snapshot);
}
