/* past_deletions.c: see past_deletions.h. */
#include "src/cache/reflector/past_deletions.h"

#include "src/base/memory.h"
#include "src/base/string_view.h"

#include <string.h>

static uint64_t hash_of(const char *uid) {
    return ki_hash(uid, strlen(uid), 0);
}

void ki_past_deletions_add(ki_past_deletions **ret_past, const ki_allocator *allocator, const ki_object *obj,
                           const char *version) {
    const char *uid = ki_object_uid(obj);
    size_t size = strlen(version) + 1;
    if (!uid[0] || size > KI_PAST_VERSION_MAX)
        return;
    ki_past_deletions *past = *ret_past ? *ret_past : ki_alloc_zero(allocator, sizeof *past);
    *ret_past = past;
    if (!past)
        return;
    size_t place = (size_t)(past->count++ % KI_PAST_DELETIONS_MAX);
    past->items[place].uid = hash_of(uid);
    memcpy(past->items[place].version, version, size);
}

bool ki_past_deletions_have(const ki_past_deletions *past, const ki_object *obj) {
    if (!past)
        return false;
    size_t count = past->count < KI_PAST_DELETIONS_MAX ? (size_t)past->count : KI_PAST_DELETIONS_MAX;
    uint64_t uid = hash_of(ki_object_uid(obj));
    const char *version = ki_object_resource_version(obj);
    for (size_t i = 0; i < count; i++)
        if (past->items[i].uid == uid && ki_resource_version_compare(version, past->items[i].version) == KI_ORDER_OLDER)
            return true;
    return false;
}
