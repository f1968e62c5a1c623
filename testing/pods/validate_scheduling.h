/* validate_scheduling.h: checks where a pod can run: tolerations, affinity, spread, gates. validate_pod.c calls it. */
#ifndef KT_PODS_VALIDATE_SCHEDULING_H
#define KT_PODS_VALIDATE_SCHEDULING_H

#include "testing/values/causes.h"

#include <yyjson.h>

/* Adds the problems of a pod's spec, whose place is `path`. */
void kt_check_scheduling(kt_causes *causes, const char *path, yyjson_val *spec);

#endif
