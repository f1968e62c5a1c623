/* service.h: what the server assigns to a service: its cluster address and its node ports. change.c calls it. */
#ifndef KT_ADMISSION_SERVICE_H
#define KT_ADMISSION_SERVICE_H

#include "testing/request/call.h"

#include <yyjson.h>

/* Responds 422 if an address or a node port is out of range, or if another service has it. `root` is valid. */
ki_status kt_service_check(kt_call *call, ki_str name, yyjson_val *root);
/* Keeps what an update leaves out, removes what the new type cannot have, and assigns the rest. `old_root` is NULL for
 * a new service. Errors: KI_ERR_NO_MEMORY. */
ki_status kt_service_assign(kt_call *call, ki_str name, yyjson_mut_doc *doc, yyjson_mut_val *root,
                            yyjson_val *old_root);

#endif
