/* view.h: the versions of one resource. Each version is a kt_storage with its own path, watches and schema. One of
 * them, the store, has the objects and their history. An object is stored as it was written and converted when it is
 * read. The caller holds the cluster. */
#ifndef KT_CLUSTER_VIEW_H
#define KT_CLUSTER_VIEW_H

#include "testing/cluster/storage.h"

/* Makes `view` a version of `store`. Called once, before `view` has objects. */
void kt_view_join(kt_storage *view, kt_storage *store);
/* Returns the first served version of a store; NULL: none is. */
kt_storage *kt_view_leader(kt_storage *store);
/* Returns true for one served version of each store, so that a walk over all storages visits each object once. */
bool kt_view_leads(const kt_storage *view);
/* Returns the object in the version of `view`. Ownership: a reference. Errors: KI_ERR_NO_MEMORY, KI_ERR_LIMIT. */
ki_status kt_view_object(const kt_storage *view, kt_object *obj, kt_object **ret_obj);
/* Returns the object's JSON in the version of `view`. Ownership: the caller frees the document. */
ki_status kt_view_read(const kt_storage *view, kt_object *obj, yyjson_doc **ret_doc);

#endif
