/* validate_probe.h: checks what a container is asked and told: probes, and handlers of its lifecycle.
 * validate_container.c calls it. */
#ifndef KT_PODS_VALIDATE_PROBE_H
#define KT_PODS_VALIDATE_PROBE_H

#include "testing/values/causes.h"

#include <yyjson.h>

/* Adds the problems of the probes and the lifecycle of a container of the pod `spec`. `path`: the container's place.
 * `is_init`: it ends before the others begin, and can have none of them. */
void kt_check_probes(kt_causes *causes, const char *path, yyjson_val *container, yyjson_val *spec, bool is_init);

#endif
