/* mutation_detector.h: finds objects of the cache that were changed in place, which is not allowed. Compares a hash of
 * each object's memory, taken when it was stored, with its present hash. A tool for tests, off by default. Loop. */
#ifndef KI_CACHE_MUTATION_DETECTOR_H
#define KI_CACHE_MUTATION_DETECTOR_H

#include <kinformer/allocator.h>
#include <kinformer/object.h>

typedef struct ki_watched_object ki_watched_object;

typedef struct ki_mutation_detector {
    const ki_allocator *allocator;
    /* `key`: the object's key when it was stored. */
    void (*on_changed)(const ki_error *err, const char *key, void *user);
    void *user;
    ki_watched_object *fresh, *retained; /* added since the last rotation; added before it */
    int64_t rotate_at;                   /* 0: not known yet */
} ki_mutation_detector;

/* The period of the checks, and the minimum time for which an object is checked, in nanoseconds. The cache may drop the
 * object earlier. */
#define KI_MUTATION_PERIOD INT64_C(1000000000)
#define KI_MUTATION_RETAIN INT64_C(120000000000)

/* Embedded. The caller must close it. */
void ki_mutation_detector_init(ki_mutation_detector *detector, const ki_allocator *allocator,
                               void (*on_changed)(const ki_error *err, const char *key, void *user), void *user);
/* Adds an object and keeps a reference. If memory runs out the object is not checked. */
void ki_mutation_detector_add(ki_mutation_detector *detector, const ki_object *obj);
/* Reports each changed object once. */
void ki_mutation_detector_check(ki_mutation_detector *detector, int64_t now_ns);
/* Releases all objects without a check. Accepts a zeroed or closed detector. */
void ki_mutation_detector_close(ki_mutation_detector *detector);

#endif
