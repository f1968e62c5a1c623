/* cluster_state.h: the struct of a cluster, and what the files of this room do to it. The rooms of the REST layer read
 * its members; cluster.h is for those who use a cluster from outside. */
#ifndef KT_CLUSTER_CLUSTER_STATE_H
#define KT_CLUSTER_CLUSTER_STATE_H

#include "src/base/assert.h"
#include "src/base/map.h"
#include "src/engine/thread.h"
#include "testing/access/auth.h"
#include "testing/cluster/storage.h"
#include "testing/faults/fault.h"
#include "testing/request/request_log.h"
#include "testing/schema/defaults.h"

enum {
    KT_PATH_MAX_SIZE = 192 /* of "GROUP/VERSION/PLURAL" */
};

struct kt_cluster {
    ki_allocator allocator;
    kt_cluster_options options;
    uint64_t revision;
    uint64_t compacted;    /* the history starts after this revision */
    uint64_t random;       /* state of the generator of uids and names */
    kt_storage **storages; /* served resources, the built-in ones first */
    size_t storage_count;
    kt_storage *builtins;
    size_t builtin_count;
    size_t custom_count;     /* storages of custom resources, also those that are no longer served */
    kt_storage *retired;     /* storages that are no longer served */
    kt_storage *definitions; /* of CustomResourceDefinition */
    kt_storage *namespaces;
    kt_storage *priority_classes;
    struct {
        uint64_t synced; /* first event of definitions that kt_crd_sync has not processed */
        uint64_t round;  /* counts runs of kt_crd_sync */
    } crd;
    uint64_t gc_revision;  /* last revision that the garbage collector processed */
    ki_map dependents;     /* objects by the uid of an owner (owners.h) */
    ki_map by_path;        /* storages by "GROUP/VERSION/PLURAL" */
    char *paths;           /* keys of `by_path` */
    ki_ring log;           /* the kt_storage * of each event in the history, by revision */
    size_t history_bytes;  /* JSON of the events' objects */
    kt_defaults *defaults; /* of the built-in types */
    kt_auth auth;
    kt_faults faults;
    kt_request_log requests; /* of clients, for tests */
    struct {
        struct kt_start_part *parts;
        size_t count;
    } start;              /* the objects to which kt_cluster_return_to_start returns */
    ki_buffer scratch;    /* working space for an object's JSON */
    const ki_mutex *lock; /* of the front that serves the cluster; NULL: one thread has it */
};

/* The caller holds the cluster. */
#define KT_HOLDS(cluster) KI_ASSERT_AS(kt_cluster_is_held(cluster), "the caller holds the cluster")
bool kt_cluster_is_held(const kt_cluster *cluster); /* in builds with assertions only */

/* Returns the next random number, from the system or the cluster's seed. */
uint64_t kt_cluster_random(kt_cluster *cluster);
ki_status kt_cluster_add_namespaces(kt_cluster *cluster, ki_error *err);
/* Returns true for a namespace that every cluster has. */
bool kt_cluster_is_first_namespace(ki_str name);
void kt_cluster_free_start(kt_cluster *cluster); /* start.c */
/* gc.c: processes every change since the last call. Errors: KI_ERR_NO_MEMORY; the caller calls it again. */
ki_status kt_cluster_collect_garbage(kt_cluster *cluster, int64_t now_ms);
/* Does the controllers' work after a change: serves custom resources and collects garbage. Errors: KI_ERR_NO_MEMORY;
 * the caller calls it again. */
ki_status kt_cluster_reconcile(kt_cluster *cluster, int64_t now_ms);
/* Drops history beyond the limits of count, bytes and age. */
void kt_cluster_trim(kt_cluster *cluster, int64_t now_ms);

#endif
