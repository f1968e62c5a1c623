/* write.h: creates, updates and deletes objects, and sets what the server sets: uid, times, generation,
 * managedFields, finalizers. The REST verbs call it after they checked the request; direct.c calls it too. The
 * caller holds the cluster. */
#ifndef KT_CLUSTER_WRITE_H
#define KT_CLUSTER_WRITE_H

#include "testing/cluster/storage.h"
#include "testing/validation/validate.h"

/* What happens to an object's dependents when it is deleted (metav1.DeletionPropagation). */
typedef enum kt_propagation {
    KT_PROPAGATE_DEFAULT, /* by the object's finalizers, otherwise by its kind */
    KT_PROPAGATE_BACKGROUND,
    KT_PROPAGATE_FOREGROUND,
    KT_PROPAGATE_ORPHAN
} kt_propagation;

typedef struct kt_write {
    kt_storage *storage;
    int64_t now_ms;
    bool dry_run;               /* do everything but the commit */
    ki_str manager;             /* the writer's field manager; empty: managedFields stay as the client sent them */
    yyjson_val *applied;        /* the configuration of a server-side apply; NULL: an update */
    const char *subresource;    /* "": the object itself */
    kt_propagation propagation; /* of a deletion */
} kt_write;

/* ---- In these functions `ret_obj` gets a reference to the new object ---- */

/* Creates `name` in `ns` from `root`, with the status of `status_root`. `uid` NULL: a new uid. */
ki_status kt_write_create(const kt_write *write, ki_str ns, ki_str name, const char *uid, yyjson_val *root,
                          yyjson_val *status_root, kt_object **ret_obj);
/* Updates `old` with the status of `status_root` and all other fields of `root`. Makes no new revision if nothing
 * changes. Removes the object if it is being deleted and has no finalizer left. */
ki_status kt_write_update(const kt_write *write, kt_object *old, yyjson_val *old_root, yyjson_val *root,
                          yyjson_val *status_root, kt_object **ret_obj);
/* Removes an object, or sets deletionTimestamp if finalizers keep it. `propagation` sets and removes the garbage
 * collector's finalizers. Also empties a namespace. `*ret_is_removed`: the object is removed (dry run: would be
 * removed). */
ki_status kt_write_delete(const kt_write *write, kt_object *old, kt_object **ret_obj, bool *ret_is_removed);
/* Removes an object regardless of its finalizers. */
ki_status kt_write_remove(const kt_write *write, kt_object *old, kt_object **ret_obj);

/* Creates the object at the next revision and commits it; of a dry run, at the present one, and commits nothing. */
ki_status kt_write_store(const kt_write *write, kt_event_type type, const kt_meta *meta, yyjson_val *root,
                         yyjson_val *status_root, kt_object **ret_obj);
bool kt_write_is_namespace(const kt_write *write);

/* Writes `prefix` and five random characters, for generateName. */
void kt_write_generate_name(kt_cluster *cluster, ki_str prefix, char *ret_name, size_t size);
enum {
    KT_UID_SIZE = 37
};
/* Writes a random version 4 UUID. */
void kt_write_make_uid(kt_cluster *cluster, char ret_uid[KT_UID_SIZE]);
/* Returns the generation of a new object with this metadata. */
uint64_t kt_write_first_generation(const kt_storage *storage, yyjson_val *given);
/* Borrows the metadata that a client can set: generateName, labels, annotations, ownerReferences, finalizers. */
void kt_write_meta_from(kt_meta *meta, yyjson_val *given);

#endif
