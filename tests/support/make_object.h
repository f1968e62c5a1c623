/* make_object.h: objects for tests, in one call. One thread; uses malloc; a failure ends the test program. */
#ifndef TESTS_SUPPORT_MAKE_OBJECT_H
#define TESTS_SUPPORT_MAKE_OBJECT_H

#include <kinformer/object.h>

/* Returns a ConfigMap with the key "namespace/name" or "name" and labels "a=b,c=d" (may be NULL). Ownership: a
 * reference. */
ki_object *make_object(const char *key, const char *resource_version, const char *labels);
ki_object *make_object_from_json(const char *json);

#endif
