/* admit.h: what the admission plugins Priority and RuntimeClass of the real server do with a new pod. change.c and
 * assign.c call it. */
#ifndef KT_ADMISSION_ADMIT_H
#define KT_ADMISSION_ADMIT_H

#include "testing/request/call.h"

#include <yyjson.h>

/* Responds 403 if the pod names a class that does not exist, or contradicts its class. `name`: the pod's. */
ki_status kt_admit_check(kt_call *call, ki_str name, yyjson_val *root);
/* Sets in a new pod what its classes say: priority, preemption policy and overhead. Errors: KI_ERR_NO_MEMORY. */
ki_status kt_admit_set(kt_call *call, yyjson_mut_doc *doc, yyjson_mut_val *root);
/* Keeps the priority and the preemption policy of the pod `old_root` in an update that has the defaults. */
bool kt_admit_keep(yyjson_mut_doc *doc, yyjson_mut_val *root, yyjson_val *old_root);

#endif
