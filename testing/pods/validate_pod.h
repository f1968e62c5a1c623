/* validate_pod.h: checks a pod's spec, also inside a template. validate_object.c calls it. */
#ifndef KT_PODS_VALIDATE_POD_H
#define KT_PODS_VALIDATE_POD_H

#include "testing/validation/checked.h"

/* Adds the problems of `spec`. `path` is its place, such as "spec.template.spec". `stateful_set`: the spec of
 * the StatefulSet that has this template, whose claims are volumes too; NULL: none. */
void kt_validate_pod_spec(kt_causes *causes, const char *path, yyjson_val *spec, yyjson_val *stateful_set);
/* Adds a problem if an update changes fields of a pod that it cannot change. Both specs have their defaults. */
void kt_validate_pod_update(kt_checked *c);

#endif
