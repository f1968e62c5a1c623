/* owners.h: the objects of a cluster by the uid of each owner that they name, for its garbage collector (gc.c). Empty
 * where the collector is off. The caller holds the cluster. */
#ifndef KT_CLUSTER_OWNERS_H
#define KT_CLUSTER_OWNERS_H

#include "src/base/multimap.h"
#include "testing/cluster/storage.h"

/* An object that names an owner. */
typedef struct kt_dependent {
    ki_multimap_node node; /* in `dependents` of the cluster */
    kt_storage *store;
    kt_object *obj;
} kt_dependent;

typedef struct kt_owners {
    size_t count;
    kt_dependent each[];
} kt_owners;

/* Adds an object that is now in a store of a cluster that collects garbage. Errors: KI_ERR_NO_MEMORY. */
ki_status kt_owners_add(kt_storage *store, kt_object *obj);
/* Removes an object that is no longer in its store. NULL, or an object that was not added: does nothing. */
void kt_owners_remove(kt_cluster *cluster, kt_object *obj);
/* Returns the first dependent of an owner, NULL: none; `node.next` has the others. */
kt_dependent *kt_owners_first(const kt_cluster *cluster, ki_str uid);

#endif
