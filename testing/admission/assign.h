/* assign.h: what the server sets in an object of some kinds beside the defaults: a namespace's label, a service's
 * address, a job's selector, a claim's source, a pod's priority. change.c calls it. */
#ifndef KT_ADMISSION_ASSIGN_H
#define KT_ADMISSION_ASSIGN_H

#include "testing/request/call.h"

#include <yyjson.h>

/* Responds 403 if a new pod names a priority class or runtime class that does not exist, or contradicts its class.
 * `name`: the pod's. */
ki_status kt_admit_check(kt_call *call, ki_str name, yyjson_val *root);
/* Sets them in `root`. `old_root`: the object before an update. `uid`: of a new object; NULL for an update. Errors:
 * KI_ERR_NO_MEMORY. */
ki_status kt_assign(kt_call *call, ki_str name, const char *uid, yyjson_mut_doc *doc, yyjson_mut_val *root,
                    yyjson_val *old_root);

#endif
