/* past_deletions.h: the last objects whose deletion a reflector has read. A server that repeats events after a resume
 * sends their earlier states again: these are no new objects. Loop only. Allocated with the first deletion; without
 * memory nothing is recorded. */
#ifndef KI_CACHE_PAST_DELETIONS_H
#define KI_CACHE_PAST_DELETIONS_H

#include <kinformer/allocator.h>
#include <kinformer/object.h>

enum {
    KI_PAST_DELETIONS_MAX = 64,
    KI_PAST_VERSION_MAX = 24 /* bytes of a version with the closing zero; others are not recorded */
};

typedef struct ki_past_deletions {
    struct {
        uint64_t uid; /* a hash */
        char version[KI_PAST_VERSION_MAX];
    } items[KI_PAST_DELETIONS_MAX]; /* a ring */
    uint64_t count;                 /* of all that were added */
} ki_past_deletions;

/* Records the deletion of an object at a version. `*past` may be NULL; the caller frees it with ki_free. */
void ki_past_deletions_add(ki_past_deletions **past, const ki_allocator *allocator, const ki_object *obj,
                           const char *version);
/* Returns true for a state from before a deletion of the same object (uid). A state of the deletion's own version can
 * be of an object that is visible again. */
bool ki_past_deletions_have(const ki_past_deletions *past, const ki_object *obj);

#endif
