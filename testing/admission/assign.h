/* assign.h: what the server sets in an object of some kinds beside the defaults: a namespace's label, a service's
 * address, a job's selector, a claim's source. change.c calls it. */
#ifndef KT_ADMISSION_ASSIGN_H
#define KT_ADMISSION_ASSIGN_H

#include "testing/request/call.h"

#include <yyjson.h>

/* Sets them in `root`. `old_root`: the object before an update. `uid`: of a new object; NULL for an update. Errors:
 * KI_ERR_NO_MEMORY. */
ki_status kt_assign(kt_call *call, ki_str name, const char *uid, yyjson_mut_doc *doc, yyjson_mut_val *root,
                    yyjson_val *old_root);

#endif
