/* cluster.h: a model of a cluster's storage: objects of any resource, one global resource version, history,
 * compaction. It has no HTTP; rest/ calls it for requests. Time is an argument.
 *
 * Threads: one at a time. A caller "holds the cluster" if no other thread can call it meanwhile: the HTTP front has a
 * mutex for that. */
#ifndef KT_CLUSTER_CLUSTER_H
#define KT_CLUSTER_CLUSTER_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>
#include <kinformer/resource.h>

#include "src/base/string_view.h"
#include "src/engine/thread.h"

#include <stdbool.h>

typedef struct kt_cluster kt_cluster;

typedef struct kt_cluster_options {
    uint64_t seed;             /* seed of uids, generated names and tokens without `random`; of faults by chance */
    uint64_t (*random)(void);  /* 64 bits that nobody can guess, for uids, generated names and tokens; NULL: `seed` */
    uint64_t first_revision;   /* the first resource version; 0: 1 */
    size_t compact_after;      /* most events in the history; 0: 100,000 */
    int64_t compact_age_ms;    /* greatest age of an event in the history; 0: no limit (etcd's default: 5 min) */
    int64_t bookmark_every_ms; /* interval of bookmarks; 0: 60,000, as in the real server */
    size_t compact_bytes;      /* most bytes of objects in the history; 0: 256 MiB */
    bool no_streaming_list; /* no streaming lists: sendInitialEvents gets the error response of a server without them */
    int64_t start_ms;       /* Unix epoch milliseconds: creation time of the first namespaces */
    bool collects_garbage;  /* run the owner garbage collector (gc.c) */
} kt_cluster_options;

/* Creates a cluster with the first namespaces. `allocator` NULL: malloc; `options` NULL: all defaults. Errors:
 * KI_ERR_NO_MEMORY. */
ki_status kt_cluster_new(const ki_allocator *allocator, const kt_cluster_options *options, kt_cluster **ret_cluster,
                         ki_error *err);
/* Frees the cluster. The caller frees every response with a watch first. NULL is allowed. */
void kt_cluster_free(kt_cluster *cluster);

/* From now on `lock` guards the cluster; NULL: one thread has it. */
void kt_cluster_set_lock(kt_cluster *cluster, const ki_mutex *lock);
/* Returns the users, tokens and rules (access/auth.h). */
struct kt_auth *kt_cluster_auth(kt_cluster *cluster);
const ki_allocator *kt_cluster_allocator(const kt_cluster *cluster);
/* Returns the current resource version. */
uint64_t kt_cluster_revision(const kt_cluster *cluster);
/* Forgets the history up to and including `revision` (0: all of it). Older watches and continue tokens then get 410. */
void kt_cluster_compact(kt_cluster *cluster, uint64_t revision);
/* Ends all watches cleanly, as a restarting server does. */
void kt_cluster_close_watches(kt_cluster *cluster);
/* Cuts all watches: they send nothing more, and have no clean end. */
void kt_cluster_cut_watches(kt_cluster *cluster);
/* Returns the number of open watches of a resource, in all its versions (NULL: of all resources). */
size_t kt_cluster_open_watches(const kt_cluster *cluster, const ki_resource *resource);
/* Restores the state of `events` revisions ago, or the oldest state in the history. Sets the resource version back
 * and cuts all watches, as a restore from a backup does. */
ki_status kt_cluster_rewind(kt_cluster *cluster, uint64_t events, int64_t now_ms);
/* Keeps the present objects, tokens, rules and faults as the state to which kt_cluster_return_to_start returns. Errors:
 * KI_ERR_NO_MEMORY; the state that was kept before stays. */
ki_status kt_cluster_keep_start(kt_cluster *cluster);
/* Returns to the state of kt_cluster_keep_start (without it: of a new cluster), as changes that watches get: what has
 * changed is deleted, and what is missing is added with its uid. Tokens, rules and faults that were added since go; the
 * others begin anew. Forgets the requests. Errors: KI_ERR_NO_MEMORY, for objects; the caller calls it again. */
ki_status kt_cluster_return_to_start(kt_cluster *cluster, int64_t now_ms);
/* Deletes everything, creates the first namespaces again, and sets the resource version back: a restore from an empty
 * backup. */
ki_status kt_cluster_reset(kt_cluster *cluster, int64_t now_ms, ki_error *err);
/* Returns the injected faults (faults/fault.h). */
struct kt_faults *kt_cluster_faults(kt_cluster *cluster);
/* Returns the requests of clients so far (request/request_log.h). */
struct kt_request_log *kt_cluster_requests(kt_cluster *cluster);
/* Returns the number of objects of a resource in all namespaces. */
size_t kt_cluster_count(const kt_cluster *cluster, const ki_resource *resource);

/* ---- direct reads and writes, without HTTP: for the embedded server, the load, tests and the simulation ---- */

/* `resource` is compared by group, version and plural, here and below.
 *
 * Creates an object, or replaces the object of the same name. Sets apiVersion, kind, uid, resourceVersion,
 * generation and creationTimestamp. Stores all other fields as they are, also managedFields and status. Creates a
 * missing namespace. `ret_revision` may be NULL.
 * Errors: KI_ERR_PARSE, KI_ERR_INVALID (no name, no namespace, unknown resource), KI_ERR_NO_MEMORY. */
ki_status kt_cluster_put_json(kt_cluster *cluster, const ki_resource *resource, ki_str json, int64_t now_ms,
                              uint64_t *ret_revision, ki_error *err);
/* Removes an object at once, regardless of finalizers; a namespace with all its objects. `ns` is NULL for
 * cluster-scoped resources.
 * Errors: KI_ERR_NOT_FOUND, KI_ERR_NO_MEMORY. */
ki_status kt_cluster_delete(kt_cluster *cluster, const ki_resource *resource, const char *ns, const char *name,
                            int64_t now_ms, ki_error *err);
/* Removes all objects of a resource (NULL: of all resources) in a namespace (NULL: in all) at once, as
 * kt_cluster_delete. The first namespaces stay.
 * Errors: KI_ERR_INVALID (no such resource), KI_ERR_NO_MEMORY: some are removed. */
ki_status kt_cluster_delete_all(kt_cluster *cluster, const ki_resource *resource, const char *ns, int64_t now_ms,
                                ki_error *err);
/* Returns an object's compact JSON with kind and apiVersion.
 * Ownership: borrowed until the next change of the cluster.
 * Errors: KI_ERR_NOT_FOUND. */
ki_status kt_cluster_get(const kt_cluster *cluster, const ki_resource *resource, const char *ns, const char *name,
                         ki_str *ret_json);
/* Returns each object in key order. `*cursor` starts at 0. False after the last one. The cluster cannot change
 * during the walk.
 * Ownership: borrowed. */
bool kt_cluster_next(const kt_cluster *cluster, const ki_resource *resource, size_t *cursor, ki_str *ret_key,
                     ki_str *ret_json);

#endif
