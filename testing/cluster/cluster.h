/* cluster.h: a model of a cluster's storage: objects of any resource, one global resource version, history, compaction.
 * It knows nothing of HTTP; rest.c turns requests into calls of it. Time is an argument. One thread at a time. */
#ifndef KT_CLUSTER_CLUSTER_H
#define KT_CLUSTER_CLUSTER_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>
#include <kinformer/resource.h>

#include "src/base/string_view.h"

#include <stdbool.h>

typedef struct kt_cluster kt_cluster;

typedef struct kt_cluster_options {
    uint64_t seed;             /* of uids and generated names */
    uint64_t first_revision;   /* the resource version that it starts at; 0: 1 */
    size_t compact_after;      /* events of history kept; 0: 100,000 */
    int64_t compact_age_ms;    /* and for how long; 0: for ever (the real one: 5 min) */
    int64_t bookmark_every_ms; /* 0: 60,000, as the real one */
    size_t compact_bytes;      /* and how many bytes of objects history may hold at most; 0: 256 MiB */
    bool no_watch_list;    /* as a server without streaming lists: sendInitialEvents is refused as such a server does */
    int64_t start_ms;      /* Unix epoch: when the first namespaces were made */
    bool collects_garbage; /* objects go with their owners; see gc.h */
} kt_cluster_options;

ki_status kt_cluster_new(const ki_allocator *allocator, const kt_cluster_options *options, kt_cluster **ret_cluster,
                         ki_error *err);
/* Every response with a watch is freed before. */
void kt_cluster_free(kt_cluster *cluster);

/* Who may what; see auth.h. */
struct kt_auth *kt_cluster_auth(kt_cluster *cluster);
const ki_allocator *kt_cluster_allocator(const kt_cluster *cluster);
/* The cluster's resource version now. */
uint64_t kt_cluster_revision(const kt_cluster *cluster);
/* Forgets all history up to and including `revision` (0: everything until now): older watches and continue tokens get 410. */
void kt_cluster_compact(kt_cluster *cluster, uint64_t revision);
/* Ends all watches cleanly, as a restarting server does. */
void kt_cluster_close_watches(kt_cluster *cluster);
/* Back to the state of `events` revisions ago, or as far as history goes; the resource version goes back too, and all watches are cut: a server
 * that was restored from a backup. */
ki_status kt_cluster_rewind(kt_cluster *cluster, uint64_t events, int64_t now_ms);
/* Back to the beginning: nothing but the first namespaces. */
ki_status kt_cluster_reset(kt_cluster *cluster, int64_t now_ms, ki_error *err);
/* The faults that it shows; see faults/fault.h. */
struct kt_faults *kt_cluster_faults(kt_cluster *cluster);
/* Objects of one resource (all namespaces). */
size_t kt_cluster_count(const kt_cluster *cluster, const ki_resource *resource);

/* The fast way in and out, without HTTP, for load and tests. `resource` is compared by group, version and plural.
 *
 * Creates the object, or replaces it where its name is taken. The server fills in apiVersion, kind, uid, resourceVersion,
 * generation and creationTimestamp; all else, managedFields and status too, is stored as given. Its namespace is created where
 * it does not exist. `ret_revision` may be NULL.
 * Errors: KI_ERR_PARSE, KI_ERR_INVALID (no name, no namespace, not a known resource), KI_ERR_NO_MEMORY. */
ki_status kt_cluster_put_json(kt_cluster *cluster, const ki_resource *resource, ki_str json, int64_t now_ms,
                              uint64_t *ret_revision, ki_error *err);
/* Removes it at once, finalizers or not (a namespace: with all that is in it). `ns` is NULL for resources without namespaces.
 * Errors: KI_ERR_NOT_FOUND, KI_ERR_NO_MEMORY. */
ki_status kt_cluster_delete(kt_cluster *cluster, const ki_resource *resource, const char *ns, const char *name,
                            int64_t now_ms, ki_error *err);
/* The object's compact JSON with kind and apiVersion. Ownership: borrowed until the next call that changes the cluster.
 * Errors: KI_ERR_NOT_FOUND. */
ki_status kt_cluster_get(const kt_cluster *cluster, const ki_resource *resource, const char *ns, const char *name,
                         ki_str *ret_json);
/* Walks the objects in key order: start with *cursor 0; false at the end. No changes during a walk. Ownership: borrowed. */
bool kt_cluster_next(const kt_cluster *cluster, const ki_resource *resource, size_t *cursor, ki_str *ret_key,
                     ki_str *ret_json);

#endif
