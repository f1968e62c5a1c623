/* validate_pod.h: what is wrong with a pod's spec, also within a template. Called by validate_object.c. */
#ifndef KT_SCHEMA_VALIDATE_POD_H
#define KT_SCHEMA_VALIDATE_POD_H

#include "testing/values/causes.h"

#include <yyjson.h>

/* Adds what is wrong with `spec`; `path` is where it stands, "spec.template.spec". Without `checks_mounts` a mounted volume need not be among the
 * spec's own: a stateful set's claims are volumes too. */
void kt_validate_pod_spec(kt_causes *causes, const char *path, yyjson_val *spec, bool checks_mounts);
/* Adds what an update of a pod may not change. Both have their defaults. */
void kt_validate_pod_update(kt_causes *causes, const ki_allocator *allocator, yyjson_val *old_spec, yyjson_val *spec);

/* Adds a cause with the field that printf's `format` and arguments give. A hundred are enough: more are left out. */
void kt_validate_add(kt_causes *causes, kt_cause_type type, ki_str value, bool quoted, const char *detail,
                     const char *format, ...) KI_PRINTF(6, 7);

#endif
