/* defaults.h: what the server fills in where an object of a built-in type says nothing. One thread. */
#ifndef KT_SCHEMA_DEFAULTS_H
#define KT_SCHEMA_DEFAULTS_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>
#include <kinformer/resource.h>

#include <yyjson.h>

enum {
    KT_DEFAULTS_MEMORY_MAX = 128 * 1024 * 1024 /* that an object may fill with its elements' defaults */
};

/* Of the object itself, as JSON, with the status that a new one gets; NULL: it has none. */
const char *kt_defaults_of(const ki_resource *resource);

/* Adds what the types of `root`, and of all that is nested in it, have as defaults: a port's protocol, a container's pull policy.
 * Errors: KI_ERR_NO_MEMORY, also where the document's allowance is spent. */
ki_status kt_defaults_fill(const ki_allocator *allocator, const ki_resource *resource, yyjson_mut_doc *doc,
                           yyjson_mut_val *root);

/* "Guaranteed", "Burstable" or "BestEffort", by what its containers ask for. */
const char *kt_defaults_qos(yyjson_val *pod);

#endif
