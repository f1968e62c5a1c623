/* validate_pod.h: checks a pod's spec, also inside a template. validate_object.c calls it. */
#ifndef KT_VALIDATION_VALIDATE_POD_H
#define KT_VALIDATION_VALIDATE_POD_H

#include "testing/values/causes.h"

#include <yyjson.h>

/* Adds the problems of `spec`. `path` is its place, such as "spec.template.spec". `checks_mounts`: every mount needs
 * a volume of the spec (false for a StatefulSet, whose claims are volumes too). */
void kt_validate_pod_spec(kt_causes *causes, const char *path, yyjson_val *spec, bool checks_mounts);
/* Adds a problem if an update changes fields of a pod that it cannot change. Both specs have their defaults. */
void kt_validate_pod_update(kt_causes *causes, const ki_allocator *allocator, yyjson_val *old_spec, yyjson_val *spec);
/* Adds a problem if an update of the status of `old`, a whole pod, nominates a node for a pod that has one. */
void kt_validate_pod_status(kt_causes *causes, yyjson_val *old, yyjson_val *status);

#endif
