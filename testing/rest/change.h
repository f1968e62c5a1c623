/* change.h: the common last steps of creates and updates: for POST, PUT, PATCH and apply. */
#ifndef KT_REST_CHANGE_H
#define KT_REST_CHANGE_H

#include "testing/cluster/write.h"
#include "testing/request/call.h"

#include <yyjson.h>

/* Both take an object from kt_conform.
 * Checks the namespace, validates the object, fills in its defaults, creates it, and responds 201. */
ki_status kt_change_create(kt_call *call, const kt_write *write, yyjson_val *root);
/* Checks `root`, the new object, against the path, fills in its defaults, validates it against `old`, updates `old`,
 * and responds 200. `old_root` is the JSON of `old`.
 * Responds 404 if `old` is NULL and `root` matches the path. */
ki_status kt_change_update(kt_call *call, const kt_write *write, kt_object *old, yyjson_val *old_root,
                           yyjson_val *root);
/* Responds 400 if the object has no name, or another one than the path. */
ki_status kt_change_check_name(kt_call *call, yyjson_val *root);
/* Responds 404 if the namespace of a new object does not exist, 403 if it is being deleted. */
ki_status kt_change_check_namespace(kt_call *call, ki_str name);
/* Reads the call's parameters for writes. */
ki_status kt_change_begin(kt_call *call, kt_write *ret_write);

#endif
