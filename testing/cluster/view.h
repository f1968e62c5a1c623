/* view.h: the versions of one resource. Each is a kt_storage of its own, with a path, watches and a schema; the objects and their history are in
 * one of them, the store. An object is kept as it was written and read in the version that is asked for. Under the cluster's guard. */
#ifndef KT_CLUSTER_VIEW_H
#define KT_CLUSTER_VIEW_H

#include "testing/cluster/storage.h"

/* Makes `view` a version of what `store` keeps; once, before it has objects. */
void kt_view_join(kt_storage *view, kt_storage *store);
/* Is it the one version by which a walk over all storages should look at the store's objects? */
bool kt_view_leads(const kt_storage *view);
/* May its objects be of another version than its own? */
bool kt_view_converts(const kt_storage *view);
/* The object in the version of `view`. Ownership: a reference. Errors: KI_ERR_NO_MEMORY, KI_ERR_LIMIT. */
ki_status kt_view_object(const kt_storage *view, kt_object *obj, kt_object **ret_obj);
/* The object's JSON in the version of `view`. Ownership: the caller frees the document. */
ki_status kt_view_read(const kt_storage *view, kt_object *obj, yyjson_doc **ret_doc);

#endif
