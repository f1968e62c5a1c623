/* make_object.h: objects for tests, from a line of text. On one thread; memory is malloc's; anything
 * that fails ends the test program. */
#ifndef TESTS_SUPPORT_MAKE_OBJECT_H
#define TESTS_SUPPORT_MAKE_OBJECT_H

#include <kinformer/object.h>

/* A ConfigMap by "namespace/name" or "name", with labels "a=b,c=d" (or NULL). A reference of the caller's. */
ki_object *make_object(const char *key, const char *resource_version, const char *labels);
ki_object *make_object_from_json(const char *json);

#endif
