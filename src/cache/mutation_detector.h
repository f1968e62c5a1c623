/* mutation_detector.h: finds objects that were changed in place after they entered the cache, which they must not be: compares a hash of
 * each one's memory, taken when it was stored, with what it is now. A tool for tests, off unless asked for. On the loop. */
#ifndef KI_CACHE_MUTATION_DETECTOR_H
#define KI_CACHE_MUTATION_DETECTOR_H

#include <kinformer/allocator.h>
#include <kinformer/object.h>

typedef struct ki_watched_object ki_watched_object;

typedef struct ki_mutation_detector {
    const ki_allocator *allocator;
    /* `key` is that of the moment it was stored. */
    void (*on_changed)(const ki_error *err, const char *key, void *user);
    void *user;
    ki_watched_object *fresh, *retained; /* since the last rotation, and before it */
    int64_t rotate_at;                   /* 0: not known yet */
} ki_mutation_detector;

/* How often to check, in nanoseconds; and how long at least an object is looked after, whether or not the cache still has it. */
#define KI_MUTATION_PERIOD INT64_C(1000000000)
#define KI_MUTATION_RETAIN INT64_C(120000000000)

/* Embedded; to be closed. */
void ki_mutation_detector_init(ki_mutation_detector *detector, const ki_allocator *allocator,
                               void (*on_changed)(const ki_error *err, const char *key, void *user), void *user);
/* Keeps a reference. Without memory the object is not looked after. */
void ki_mutation_detector_add(ki_mutation_detector *detector, const ki_object *obj);
/* Tells once of each that has changed. */
void ki_mutation_detector_check(ki_mutation_detector *detector, int64_t now_ns);
/* Without a check. Also on one that is zeroed or closed. */
void ki_mutation_detector_close(ki_mutation_detector *detector);

#endif
