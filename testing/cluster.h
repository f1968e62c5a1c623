/* cluster.h: a model of a cluster's storage: objects of any resource, one global resource version, history, compaction.
 * It knows nothing of HTTP; rest.c turns requests into calls of it. Time is an argument. One thread at a time. */
#ifndef KT_CLUSTER_H
#define KT_CLUSTER_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>
#include <kinformer/resource.h>

#include <stdbool.h>

typedef struct kt_cluster kt_cluster;

typedef struct kt_cluster_options {
    uint64_t seed;            /* of uids and generated names */
    uint64_t first_revision;  /* the resource version that it starts at; 0: 1 */
    size_t compact_after;     /* events of history kept; 0: 100,000 */
    int64_t compact_age_ms;   /* and for how long; 0: for ever (the real one: 5 min) */
    int64_t bookmark_every_ms; /* 0: 60,000, as the real one */
    bool no_watch_list;       /* as a server without streaming lists: sendInitialEvents is refused as such a server does */
} kt_cluster_options;

ki_status kt_cluster_new(const ki_allocator *allocator, const kt_cluster_options *options, kt_cluster **ret_cluster,
                         ki_error *err);
void kt_cluster_free(kt_cluster *cluster);

/* The cluster's resource version now. */
uint64_t kt_cluster_revision(const kt_cluster *cluster);
/* Forgets all history up to and including `revision` (0: everything until now): older watches and continue tokens get 410. */
void kt_cluster_compact(kt_cluster *cluster, uint64_t revision);
/* Ends all watches cleanly, as a restarting server does. */
void kt_cluster_close_watches(kt_cluster *cluster);
/* Objects of one resource (all namespaces). */
size_t kt_cluster_count(const kt_cluster *cluster, const ki_resource *resource);

#endif
