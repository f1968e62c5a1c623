/* validate_ingress.h: checks an Ingress' spec. validate_object.c calls it. */
#ifndef KT_KINDS_VALIDATE_INGRESS_H
#define KT_KINDS_VALIDATE_INGRESS_H

#include "testing/values/causes.h"

#include <yyjson.h>

/* Adds the problems of rules and backends. */
void kt_validate_ingress_spec(kt_causes *causes, yyjson_val *spec);

#endif
