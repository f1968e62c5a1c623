/* change.h: the last steps of a create and of an update, shared by POST, PUT, PATCH and apply. */
#ifndef KT_REST_CHANGE_H
#define KT_REST_CHANGE_H

#include "testing/cluster/write.h"
#include "testing/request/call.h"

#include <yyjson.h>

/* Fills in the defaults, checks the object and its namespace, creates it, answers 201. */
ki_status kt_change_create(kt_call *call, const kt_write *write, yyjson_val *root);
/* Checks `root`, the object as it shall be, against the path and `old`, and answers 200. `old_root` is the old one's JSON. */
ki_status kt_change_update(kt_call *call, const kt_write *write, kt_object *old, yyjson_val *old_root,
                           yyjson_val *root);
/* What the call's parameters say of writing. */
ki_status kt_change_begin(kt_call *call, kt_write *ret_write);

#endif
