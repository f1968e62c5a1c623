/* cluster_state.h: what a cluster is made of. For cluster.c, history.c, storage.c and write.c; all else asks them. */
#ifndef KT_CLUSTER_CLUSTER_STATE_H
#define KT_CLUSTER_CLUSTER_STATE_H

#include "src/base/map.h"
#include "testing/access/auth.h"
#include "testing/cluster/storage.h"
#include "testing/faults/fault.h"

enum {
    KT_PATH_MAX_SIZE = 192
}; /* of "GROUP/VERSION/PLURAL" */

struct kt_cluster {
    ki_allocator allocator;
    kt_cluster_options options;
    uint64_t revision;
    uint64_t compacted;    /* all events up to and including this revision are forgotten */
    uint64_t random;       /* state of the generator of uids and names */
    kt_storage **storages; /* that are served: the built-in ones first */
    size_t storage_count;
    kt_storage *builtins;
    size_t builtin_count;
    size_t custom_count;     /* storages of custom resources, those that are not served any more as well */
    kt_storage *retired;     /* those */
    kt_storage *definitions; /* the custom resources' */
    uint64_t crd_synced;     /* the number of the next event of definitions when kt_crd_sync last looked */
    uint64_t crd_round;
    uint64_t gc_revision; /* the last one that kt_gc_sync looked at */
    ki_map by_path;       /* "GROUP/VERSION/PLURAL" */
    char *paths;          /* the map's keys */
    ki_ring log;          /* kt_storage *: whose event each one is, by revision */
    size_t history_bytes;
    kt_auth auth;
    kt_faults faults;
    ki_buffer scratch; /* where an object's JSON is put together */
};

uint64_t kt_cluster_random(kt_cluster *cluster);
ki_status kt_cluster_add_namespaces(kt_cluster *cluster, ki_error *err);
/* Does what controllers do after a change: serves custom resources, collects garbage. Errors: KI_ERR_NO_MEMORY; call it again then. */
ki_status kt_cluster_settle(kt_cluster *cluster, int64_t now_ms);
/* Drops history that is beyond the limits of count, bytes and age. */
void kt_cluster_trim(kt_cluster *cluster, int64_t now_ms);

#endif
