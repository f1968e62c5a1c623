/* convert.h: the built-in resources with several versions: which belong together, and how an object of one becomes one of another. */
#ifndef KT_CLUSTER_CONVERT_H
#define KT_CLUSTER_CONVERT_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>
#include <kinformer/resource.h>

#include "src/base/buffer.h"

#include <yyjson.h>

/* The version whose storage keeps the objects of `resource`; NULL: its own. */
const ki_resource *kt_convert_store_of(const ki_resource *resource);
/* Appends `root`, an object of the other version, as one of `resource`. Errors: KI_ERR_NO_MEMORY. */
ki_status kt_convert(const ki_allocator *allocator, const ki_resource *resource, yyjson_val *root, ki_buffer *out);

#endif
