/* mutation_detector.c: see mutation_detector.h. One list has the objects added since the last rotation, another those
 * from before. A rotation drops the older list, so each object is checked for one to two times KI_MUTATION_RETAIN. */
#include "src/cache/store/mutation_detector.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/format.h"

#include <string.h>

struct ki_watched_object {
    ki_watched_object *next;
    const ki_object *obj; /* owned reference */
    size_t size;          /* when stored: the object's own size can be overwritten */
    uint64_t hash;
    char key[];
};

void ki_mutation_detector_init(ki_mutation_detector *detector, const ki_allocator *allocator,
                               void (*on_changed)(const ki_error *err, const char *key, void *user), void *user) {
    *detector = (ki_mutation_detector){ .allocator = allocator, .on_changed = on_changed, .user = user };
}

void ki_mutation_detector_add(ki_mutation_detector *detector, const ki_object *obj) {
    size_t key_size = strlen(ki_object_key(obj)) + 1;
    ki_watched_object *watched = ki_alloc(detector->allocator, sizeof *watched + key_size);
    if (!watched)
        return;
    watched->next = detector->fresh;
    watched->obj = ki_object_ref(obj);
    watched->size = ki_object_memory(obj);
    watched->hash = ki_object_fingerprint(obj, watched->size);
    memcpy(watched->key, ki_object_key(obj), key_size);
    detector->fresh = watched;
}

static ki_watched_object *drop(const ki_mutation_detector *detector, ki_watched_object *watched) {
    ki_watched_object *next = watched->next;
    ki_object_unref(watched->obj);
    ki_free(detector->allocator, watched);
    return next;
}

static void drop_all(const ki_mutation_detector *detector, ki_watched_object **list) {
    while (*list)
        *list = drop(detector, *list);
}

static void check_list(const ki_mutation_detector *detector, ki_watched_object **list) {
    for (ki_watched_object **at = list; *at;) {
        ki_watched_object *watched = *at;
        if (ki_object_fingerprint(watched->obj, watched->size) == watched->hash) {
            at = &watched->next;
            continue;
        }
        ki_error err = KI_ERROR_INIT;
        ki_error_set(&err, KI_ERR_INVALID, "%s was changed in place: an object of the cache must not be written to",
                     watched->key);
        detector->on_changed(&err, watched->key, detector->user);
        *at = drop(detector, watched);
    }
}

void ki_mutation_detector_check(ki_mutation_detector *detector, int64_t now_ns) {
    check_list(detector, &detector->fresh);
    check_list(detector, &detector->retained);
    if (detector->rotate_at == 0)
        detector->rotate_at = now_ns + KI_MUTATION_RETAIN;
    if (now_ns < detector->rotate_at)
        return;
    detector->rotate_at = now_ns + KI_MUTATION_RETAIN;
    drop_all(detector, &detector->retained);
    detector->retained = detector->fresh;
    detector->fresh = NULL;
}

void ki_mutation_detector_close(ki_mutation_detector *detector) {
    drop_all(detector, &detector->fresh);
    drop_all(detector, &detector->retained);
}
