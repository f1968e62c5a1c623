/* storage.h: the objects of one resource in key order, the history of their changes, and the open watches. Part of a
 * cluster, which assigns the revisions. write.c, write_delete.c, direct.c and start.c change it; rest/page.c and
 * request/watch.c read it. The caller holds the cluster. */
#ifndef KT_CLUSTER_STORAGE_H
#define KT_CLUSTER_STORAGE_H

#include "src/base/ring.h"
#include "testing/cluster/cluster.h"
#include "testing/cluster/object.h"
#include "testing/cluster/strategy.h"
#include "testing/crd/custom.h"
#include "testing/schema/schema.h"

typedef enum kt_event_type {
    KT_ADDED,
    KT_MODIFIED,
    KT_DELETED
} kt_event_type;

typedef struct kt_event {
    kt_event_type type;
    uint64_t revision;
    int64_t time_ms;
    kt_object *obj; /* of a deletion: the last object with the deletion's revision */
    kt_object *old; /* NULL for KT_ADDED */
} kt_event;

/* The head of an open watch (request/watch.h). The cluster wakes and ends it. */
typedef struct kt_watcher {
    struct kt_storage *storage;
    struct kt_watcher *next;
    struct kt_watcher *previous;
    bool closed;         /* the watch ends before the event `closed_seq` */
    bool ended;          /* the watch ends at once */
    bool is_cut;         /* it ends without a clean end of its response */
    uint64_t closed_seq; /* sequence number of the first event after the close */
    bool woken;          /* woken since the reader last found no event */
    void (*wake)(void *user);
    bool (*is_gone)(void *user); /* returns true if the client has closed its connection; NULL: nobody knows */
    void *user;
} kt_watcher;

/* The objects at one revision. Readers of the same revision share it. */
typedef struct kt_snapshot {
    uint32_t refs;
    const ki_allocator *allocator;
    uint64_t revision;
    size_t count;
    kt_object *objects[];
} kt_snapshot;

typedef struct kt_storage {
    kt_cluster *cluster;
    kt_object **objects; /* sorted by key */
    size_t count;
    size_t capacity;
    ki_ring history;      /* of kt_event */
    uint64_t first_seq;   /* sequence number of the history's first event */
    kt_snapshot *present; /* snapshot of the current objects; NULL until somebody needs it */
    kt_watcher *watchers; /* open watches */

    /* ---- the resource (kt_storage_describe) ---- */
    const ki_resource_info *info;
    ki_str api_version; /* "v1" or "apps/v1" */
    const kt_strategy *strategy;
    bool has_status;          /* the resource has a status subresource */
    kt_spot spot;             /* of an object; its type is NULL for custom resources */
    yyjson_val *defaults;     /* of a new object, with its first status; NULL: none */
    const char *const *paths; /* of the resource's own selectable fields; NULL ends them */

    /* Versions of the resource (view.h). The store has the objects and the history; every version has its own
     * `present` and `watchers`. */
    struct kt_storage *store;     /* the storage with the objects: itself or another version */
    struct kt_storage *next_view; /* of the store: list of its other versions */
    bool converts;                /* stored objects can be of another version */
    bool is_served;               /* discovery lists the resource */

    /* ---- custom resources (crd/custom.h) ---- */
    char *path;             /* key in cluster->by_path */
    kt_custom *custom;      /* the owner of `info`, `spot` and `paths`; NULL: built-in */
    kt_custom *old_customs; /* replaced definitions that open watches can still use */
    uint64_t sync_round;    /* last run of kt_crd_sync that found the definition */
    struct kt_storage *next_retired;
} kt_storage;

/* Frees the storage's definitions. No watch is open any more. */
void kt_storage_free_customs(kt_storage *storage);

/* Sets what is known of the storage's resource. `path`: "GROUP/VERSION/PLURAL", borrowed. */
void kt_storage_describe(kt_storage *storage, const ki_resource_info *info, ki_str path);

/* ---- the storages of a cluster (cluster.c) ---- */

/* Returns the storage of a resource; NULL if the cluster has none. */
kt_storage *kt_storage_find(const kt_cluster *cluster, ki_str group, ki_str version, ki_str plural);
kt_storage *kt_storage_of(const kt_cluster *cluster, const ki_resource *resource);
/* Returns the served storages in the order of discovery; NULL after the last one. */
kt_storage *kt_storage_at(const kt_cluster *cluster, size_t index);

/* ---- its objects ---- */

/* Returns the object; NULL if there is none. Ownership: borrowed. */
kt_object *kt_storage_get(const kt_storage *storage, ki_str ns, ki_str name);
/* Returns the index of the first of `count` objects whose key is not less than `key` (`after`: is greater). */
size_t kt_objects_bound(kt_object *const *objects, size_t count, ki_str key, bool after);
/* Finds the objects of a namespace; empty `ns`: all objects. */
void kt_objects_range(kt_object *const *objects, size_t count, ki_str ns, size_t *ret_begin, size_t *ret_end);

/* Commits a change: adds or replaces `obj`, or removes its key (KT_DELETED), records the event and wakes the
 * watches. `obj` has the cluster's next revision. On success the storage owns the reference. */
ki_status kt_storage_commit(kt_storage *storage, kt_event_type type, kt_object *obj, int64_t now_ms);

/* Returns the current objects, or those at an earlier revision. Ownership: a reference. Errors: KI_ERR_EXPIRED
 * (compacted), KI_ERR_NO_MEMORY. */
ki_status kt_storage_present(kt_storage *storage, kt_snapshot **ret_snapshot);
ki_status kt_storage_past(kt_storage *storage, uint64_t revision, kt_snapshot **ret_snapshot);
void kt_snapshot_unref(kt_snapshot *snapshot); /* NULL is allowed */

/* ---- its history ---- */

/* Returns the sequence number of the first event after `revision`, and the event with a number (NULL: not yet
 * there). Numbers below first_seq are compacted. */
uint64_t kt_storage_seq_after(const kt_storage *storage, uint64_t revision);
const kt_event *kt_storage_event(const kt_storage *storage, uint64_t seq);

/* ---- its open watches ---- */

/* Adds a watch to `storage`; removes it. */
void kt_watcher_add(kt_watcher *watcher, kt_storage *storage);
void kt_watcher_remove(kt_watcher *watcher);

/* Returns the number of watches that are not ended or to be ended. */
size_t kt_watchers_count(const kt_storage *storage);
/* Ends all watches of a storage: after the events so far, or at once. A later change does not reach them. */
void kt_watchers_close_all(kt_storage *storage);
void kt_watchers_end_all(kt_storage *storage);
/* Ends all watches of a storage at once, without a clean end. */
void kt_watchers_cut_all(kt_storage *storage);

#endif
