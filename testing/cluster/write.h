/* write.h: changes to objects with what the server adds to them: uid, times, generation, managedFields, finalizers.
 * Called by the REST verbs after they checked the request, and by the cluster's direct interface. Under the cluster's guard. */
#ifndef KT_CLUSTER_WRITE_H
#define KT_CLUSTER_WRITE_H

#include "testing/cluster/storage.h"
#include "testing/schema/validate.h"

/* What becomes of an object's dependents when it is deleted (metav1.DeletionPropagation). */
typedef enum kt_propagation {
    KT_PROPAGATE_DEFAULT, /* as the object's finalizers say, else as its kind does */
    KT_PROPAGATE_BACKGROUND,
    KT_PROPAGATE_FOREGROUND,
    KT_PROPAGATE_ORPHAN
} kt_propagation;

typedef struct kt_write {
    kt_storage *storage;
    int64_t now_ms;
    bool dry_run;               /* everything but the commit */
    ki_str manager;             /* whose entry of managedFields this writes; empty: they stay as they came */
    yyjson_val *applied;        /* the configuration of a server-side apply; NULL: an update */
    const char *subresource;    /* "" for the object itself */
    kt_propagation propagation; /* of a deletion */
} kt_write;

/* All of them give a reference to the new state through `ret_obj`.
 *
 * A new object from `root`, named `name` in `ns`; status comes from `status_root`. */
ki_status kt_write_create(const kt_write *write, ki_str ns, ki_str name, yyjson_val *root, yyjson_val *status_root,
                          kt_object **ret_obj);
/* `old` gets the metadata of `body`, the status of `status_root` and all else of `root`. Where nothing changes there is no new
 * revision; where the last finalizer of a deleted object went, the object goes. */
ki_status kt_write_update(const kt_write *write, kt_object *old, yyjson_val *old_root, yyjson_val *body,
                          yyjson_val *root, yyjson_val *status_root, kt_object **ret_obj);
/* Takes the object out, or marks it as deleted where finalizers keep it; `propagation` sets and removes the garbage collector's finalizers.
 * `*ret_gone` tells which; of a dry run, which it would have been. A namespace is emptied as well. */
ki_status kt_write_delete(const kt_write *write, kt_object *old, kt_object **ret_obj, bool *ret_gone);
/* Takes it out whatever its finalizers say. */
ki_status kt_write_remove(const kt_write *write, kt_object *old, kt_object **ret_obj);

/* Makes the object at the next revision and, but for a dry run, commits it. */
ki_status kt_write_store(const kt_write *write, kt_event_type type, const kt_meta *meta, yyjson_val *root,
                         yyjson_val *status_root, kt_object **ret_obj);
bool kt_write_is_namespace(const kt_write *write);

/* `prefix` and five characters, as the server answers generateName. */
void kt_write_generate_name(kt_cluster *cluster, ki_str prefix, char *ret_name, size_t size);
enum {
    KT_UID_SIZE = 37
};
void kt_write_make_uid(kt_cluster *cluster, char ret_uid[KT_UID_SIZE]);
/* Takes over what a client may set of metadata: generateName, labels, annotations, ownerReferences, finalizers. */
void kt_write_meta_from(kt_meta *meta, yyjson_val *given);
/* Does this resource count metadata.generation? Has it a status subresource? */
bool kt_write_has_generation(const ki_resource_info *info);
bool kt_write_has_status(const ki_resource_info *info);

#endif
