/* validate_service.h: checks a Service's spec. validate_object.c calls it. */
#ifndef KT_KINDS_VALIDATE_SERVICE_H
#define KT_KINDS_VALIDATE_SERVICE_H

#include "testing/values/causes.h"

#include <yyjson.h>

/* Adds the problems of `spec`. `old_spec` is NULL for a new service. */
void kt_validate_service_spec(kt_causes *causes, yyjson_val *old_spec, yyjson_val *spec);
/* Adds the problems of a status' load balancer. */
void kt_validate_service_status(kt_causes *causes, yyjson_val *spec, yyjson_val *status);

#endif
