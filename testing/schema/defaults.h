/* defaults.h: fills in the fields that an object of a built-in type leaves out. One thread. */
#ifndef KT_SCHEMA_DEFAULTS_H
#define KT_SCHEMA_DEFAULTS_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>
#include <kinformer/resource.h>

#include <yyjson.h>

enum {
    KT_DEFAULTS_MEMORY_MAX =
        128 * 1024 * 1024 /* bytes that one object can fill with the defaults of its list elements */
};

/* Returns the defaults of a new object of this resource as JSON, with its first status; NULL if it has none. */
const char *kt_defaults_of(const ki_resource *resource);

/* Fills in the defaults of `root` and of all types nested in it, such as a port's protocol or a container's pull
 * policy.
 * Errors: KI_ERR_NO_MEMORY, also if the document exceeds its memory limit. */
ki_status kt_defaults_fill(const ki_allocator *allocator, const ki_resource *resource, yyjson_mut_doc *doc,
                           yyjson_mut_val *root);

/* Returns a pod's quality of service, "Guaranteed", "Burstable" or "BestEffort", from its containers' requests and
 * limits. */
const char *kt_defaults_qos(yyjson_val *pod);

#endif
