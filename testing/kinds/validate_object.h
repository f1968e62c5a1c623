/* validate_object.h: checks an object of a built-in type, with the real server's messages: required fields, fields
 * that contradict each other, and fields that an update cannot change. Covers what tests of controllers need, not
 * everything that the real server checks. change.c calls it. */
#ifndef KT_KINDS_VALIDATE_OBJECT_H
#define KT_KINDS_VALIDATE_OBJECT_H

#include "src/object/resource_table.h"
#include "testing/values/causes.h"

#include <yyjson.h>

/* What is known about an object beside its text. */
typedef struct kt_validated {
    const ki_resource *resource;
    ki_str ns;
    bool is_status; /* the request updates the status alone */
} kt_validated;

/* Adds the problems of `root`, of a built-in type. `old_root` is the old object with its defaults; NULL for a new
 * object. */
void kt_validate_object(kt_causes *causes, const ki_allocator *allocator, const kt_validated *given,
                        yyjson_val *old_root, yyjson_val *root);
/* Checks that the phase fits deletionTimestamp. */
void kt_validate_namespace_status(kt_causes *causes, yyjson_val *root);
/* Checks the conditions that a certificate signing request must keep, and those that only its approval adds. */
void kt_validate_csr_status(kt_causes *causes, yyjson_val *old_status, yyjson_val *status, bool is_approval);
/* Returns true if there are checks of this resource's values. */
bool kt_validate_knows(const ki_resource *resource);

#endif
