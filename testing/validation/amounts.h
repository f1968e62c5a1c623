/* amounts.h: the names of resources such as "cpu", and lists of their amounts. */
#ifndef KT_VALIDATION_AMOUNTS_H
#define KT_VALIDATION_AMOUNTS_H

#include "testing/validation/checked.h"

/* Checks the name of a resource: qualified with a domain, or one of the standard names. Returns true if it is valid. */
bool kt_check_resource_name(kt_causes *causes, const char *field, ki_str name);
/* Checks the name of a resource that a quota limits. */
void kt_check_quota_name(kt_causes *causes, const char *field, ki_str name);
/* Checks the name of a resource that a container requests. */
void kt_check_container_resource_name(kt_causes *causes, const char *field, ki_str name);
/* Checks that an amount is not negative, and whole if its resource is counted. */
void kt_check_amount(kt_causes *causes, const char *field, ki_str name, yyjson_val *val);

#endif
