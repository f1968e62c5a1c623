/* convert.h: the built-in resources with several versions: which version stores the objects, and the conversion
 * between versions. */
#ifndef KT_CLUSTER_CONVERT_H
#define KT_CLUSTER_CONVERT_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>
#include <kinformer/resource.h>

#include "src/base/buffer.h"

#include <yyjson.h>

/* Returns the version that stores the objects of `resource`; NULL: `resource` itself. */
const ki_resource *kt_convert_store_of(const ki_resource *resource);
/* Appends `root`, an object of the other version, converted to `resource`. Errors: KI_ERR_NO_MEMORY. */
ki_status kt_convert(const ki_allocator *allocator, const ki_resource *resource, yyjson_val *root, ki_buffer *out);

#endif
