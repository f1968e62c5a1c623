/* validate_container.h: checks the containers of a pod's spec. validate_pod.c calls it. */
#ifndef KT_PODS_VALIDATE_CONTAINER_H
#define KT_PODS_VALIDATE_CONTAINER_H

#include "testing/pods/validate_pod_volume.h"

/* Adds the problems of the containers and init containers of `spec`, whose place is `path`. */
void kt_check_containers(kt_causes *causes, const char *path, yyjson_val *spec, const kt_volumes *volumes);

#endif
