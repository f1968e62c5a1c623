/* defaults.h: fills in the fields that an object of a built-in type leaves out. */
#ifndef KT_SCHEMA_DEFAULTS_H
#define KT_SCHEMA_DEFAULTS_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>
#include <kinformer/resource.h>

#include "testing/schema/schema.h"

#include <yyjson.h>

/* The constant defaults, parsed. Constant; any thread. */
typedef struct kt_defaults kt_defaults;

/* Borrows `allocator`, which must outlive the result. Errors: KI_ERR_NO_MEMORY. */
ki_status kt_defaults_new(const ki_allocator *allocator, kt_defaults **ret_defaults);
void kt_defaults_free(kt_defaults *defaults); /* NULL is allowed */

/* Returns the defaults of a new object of this resource, with its first status; NULL if it has none. */
yyjson_val *kt_defaults_of(const kt_defaults *defaults, const ki_resource *resource);

/* Fills in the defaults of `root`, an object of a built-in type, and of all types nested in it, such as a port's
 * protocol or a container's pull policy, and the zeros that Go writes: of fields without omitempty, and structs.
 * Removes empty lists, which a protobuf storage does not keep; types that are stored as JSON keep them, and get no
 * zeros. `defaults` must outlive `doc`. Errors: KI_ERR_NO_MEMORY, KI_ERR_LIMIT (more than 100,000 members to add). */
ki_status kt_defaults_fill(const kt_defaults *defaults, const kt_spot *spot, yyjson_mut_doc *doc, yyjson_mut_val *root);

/* Returns a pod's quality of service, "Guaranteed", "Burstable" or "BestEffort", from its containers' requests and
 * limits. */
const char *kt_defaults_qos(yyjson_mut_val *pod);

#endif
