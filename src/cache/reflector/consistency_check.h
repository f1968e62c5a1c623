/* consistency_check.h: compares the cache with a list that a second source makes beside the watch. On the loop.
 *
 * A server may lose an event, or leave an object out of a streaming list: the check compares the list with the store.
 *
 * A check uses memory for one page of objects, eight bytes for each listed key, and one snapshot of the store.
 * An object also differs while its change is on the way to the store. The check therefore compares differing objects
 * again once the watch has reached the list's version. It reports a difference only if a second list confirms it. */
#ifndef KI_CACHE_CONSISTENCY_CHECK_H
#define KI_CACHE_CONSISTENCY_CHECK_H

#include "src/base/buffer.h"
#include "src/base/map.h"
#include "src/cache/reflector/metrics.h"
#include "src/cache/reflector/reflector.h"
#include "src/cache/store/deferred_free.h"
#include "src/cache/store/store.h"
#include <kinformer/parts/list_watch.h>

enum {
    KI_CONSISTENCY_CHECK_MIN_MS = 10000, /* the shortest interval */
    KI_CONSISTENCY_DIFFERENCES_MAX = 100 /* differing objects; a check ignores further ones */
};

typedef struct ki_consistency_check_options {
    ki_engine *engine;
    ki_list_watch *list_watch; /* borrowed; no other user */
    const ki_store *store;
    int64_t interval_ns; /* between checks */
    ki_metrics_record *metrics;
    uint64_t seed;
    bool (*is_watching)(void *user); /* returns true while the store is expected to catch up with the server */
    /* Called when the cache differs from the server, with the key of the first differing object. `relist`: a relist may
     * help. Also called when a list failed and the check ended: key "". */
    void (*on_error)(const ki_error *err, const char *key, bool relist, void *user);
    void *user;
    ki_deferred *deferred; /* borrowed; releases snapshots in slices */
} ki_consistency_check_options;

typedef struct ki_difference {
    ki_object *obj;   /* the listed object; the store's object if it is unlisted */
    bool is_unlisted; /* in the store, not in the list */
} ki_difference;

typedef struct ki_differences {
    ki_difference *items; /* room for KI_CONSISTENCY_DIFFERENCES_MAX; NULL: none */
    size_t count;
} ki_differences;

typedef enum ki_consistency_check_step {
    KI_CONSISTENCY_BEGIN,
    KI_CONSISTENCY_PAGE,
    KI_CONSISTENCY_WALK,   /* search the store for objects that were not listed */
    KI_CONSISTENCY_COMPARE /* compare the differing objects again */
} ki_consistency_check_step;

typedef struct ki_consistency_check {
    ki_consistency_check_options options;
    ki_timer timer;
    ki_consistency_check_step next;
    int passes;         /* lists of this check that differed from the store */
    int64_t not_before; /* the end of a Retry-After */
    /* the list */
    ki_buffer continue_token;
    char version[KI_RESOURCE_VERSION_MAX + 1]; /* the list's */
    size_t pages;
    size_t listed;
    bool has_nameless;  /* the list has an unusable object without a key, so missing keys prove nothing */
    ki_map listed_keys; /* of objects in `before`, which has the text */
    /* the comparison */
    ki_snapshot *before; /* the store when the list began */
    ki_cursor cursor;
    int64_t compares_until;
    ki_differences differences, confirmed; /* of the current list, and of the first list */
    uint64_t relisted;                     /* digest of the differences at the last relist; 0: none */
    /* Checks with the same differences between two relists, and those that are left until the next one. */
    uint64_t pause, checks_left;
} ki_consistency_check;

/* Makes a check. The caller frees it. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_consistency_check_new(const ki_consistency_check_options *options, ki_consistency_check **ret_check,
                                   ki_error *err);
/* Schedules the first check. */
void ki_consistency_check_start(ki_consistency_check *check);
/* Cancels the list and frees everything. No effect for NULL. */
void ki_consistency_check_free(ki_consistency_check *check);

#endif
