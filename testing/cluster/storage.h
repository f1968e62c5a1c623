/* storage.h: the objects of one resource in key order, and the history of their changes. Part of a cluster, which gives the
 * revisions; under its guard. Called by write.c (changes), list.c and watch.c (reads). */
#ifndef KT_CLUSTER_STORAGE_H
#define KT_CLUSTER_STORAGE_H

#include "src/base/ring.h"
#include "testing/cluster/cluster.h"
#include "testing/cluster/object.h"
#include "testing/cluster/watchers.h"
#include "testing/crd/custom.h"

typedef enum kt_event_type {
    KT_ADDED,
    KT_MODIFIED,
    KT_DELETED
} kt_event_type;

typedef struct kt_event {
    kt_event_type type;
    uint64_t revision;
    int64_t time_ms;
    kt_object *obj; /* of a deletion: the last state with the deletion's revision */
    kt_object *old; /* NULL for ADDED */
} kt_event;

/* The objects at one revision. Shared: all who start at the same revision hold the same one. */
typedef struct kt_snapshot {
    uint32_t refs;
    const ki_allocator *allocator;
    uint64_t revision;
    size_t count;
    kt_object *objects[];
} kt_snapshot;

typedef struct kt_storage {
    kt_cluster *cluster;
    const ki_resource_info *info;
    kt_object **objects; /* by key */
    size_t count;
    size_t capacity;
    ki_ring history;      /* of kt_event */
    uint64_t first_seq;   /* the number of history's first event */
    kt_snapshot *present; /* of the state now, or NULL where nobody asked since the last change */
    kt_watcher *watchers; /* of the watches that are open */

    /* the versions of the resource; see view.h. Objects and history are the store's, `present` and `watches` each version's own. */
    struct kt_storage *store;     /* itself, or the version that keeps the objects */
    struct kt_storage *next_view; /* of the store: its other versions */
    bool is_served;

    /* of custom resources; see crd/custom.h */
    char *path;             /* the map's key */
    kt_custom *custom;      /* what `info` is the head of; NULL: built-in */
    kt_custom *old_customs; /* what watches may still look at */
    uint64_t sync_round;
    struct kt_storage *next_retired;
} kt_storage;

/* Frees what it has of its definitions; no watch is open any more. */
void kt_storage_free_customs(kt_storage *storage);

/* The cluster's storage of a resource, by what stands in a path; NULL where it has none. */
kt_storage *kt_storage_find(const kt_cluster *cluster, ki_str group, ki_str version, ki_str plural);
kt_storage *kt_storage_of(const kt_cluster *cluster, const ki_resource *resource);
/* All that are served: groups and versions together, in the order of discovery. NULL at the end. */
kt_storage *kt_storage_at(const kt_cluster *cluster, size_t index);
const ki_resource_info *kt_cluster_info_at(const kt_cluster *cluster, size_t index);
bool kt_cluster_has_no_watch_list(const kt_cluster *cluster);

kt_object *kt_storage_get(const kt_storage *storage, ki_str ns, ki_str name);
/* The first of `count` objects whose key is not less (`after`: greater) than `key`. */
size_t kt_objects_bound(kt_object *const *objects, size_t count, ki_str key, bool after);
/* Where a namespace's objects are (an empty one: all of them). */
void kt_objects_range(kt_object *const *objects, size_t count, ki_str ns, size_t *ret_begin, size_t *ret_end);

/* Makes `obj`, whose revision is the cluster's next one, the state of its key (KT_DELETED: takes the key out) and wakes the
 * watches. On success the storage owns the reference. */
ki_status kt_storage_commit(kt_storage *storage, kt_event_type type, kt_object *obj, int64_t now_ms);

/* The state now, and the state at an earlier revision (KI_ERR_EXPIRED: compacted). Ownership: a reference. */
ki_status kt_storage_present(kt_storage *storage, kt_snapshot **ret_snapshot);
ki_status kt_storage_past(kt_storage *storage, uint64_t revision, kt_snapshot **ret_snapshot);
void kt_snapshot_unref(kt_snapshot *snapshot); /* NULL is allowed */

/* The number of the first event after `revision`; the event with a number, NULL where it is still to come.
 * Numbers below first_seq are forgotten. */
uint64_t kt_storage_seq_after(const kt_storage *storage, uint64_t revision);
const kt_event *kt_storage_event(const kt_storage *storage, uint64_t seq);

#endif
