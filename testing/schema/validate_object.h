/* validate_object.h: what is wrong with an object of a built-in type, in the real server's words: what is required, what does not fit together, and
 * what an update may not change. Not all that a real server checks: what tests of controllers lean on. Called by change.c. */
#ifndef KT_SCHEMA_VALIDATE_OBJECT_H
#define KT_SCHEMA_VALIDATE_OBJECT_H

#include "src/object/resource_table.h"
#include "testing/values/causes.h"

#include <yyjson.h>

/* Adds what is wrong with `root`. `old_root` is the state before, with its defaults; NULL of a new object. */
void kt_validate_object(kt_causes *causes, const ki_allocator *allocator, const ki_resource *resource,
                        yyjson_val *old_root, yyjson_val *root);
/* Does an update of this resource compare with the old state? */
bool kt_validate_compares(const ki_resource *resource);

#endif
