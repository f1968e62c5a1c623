/* zeros.h: fills in the fields that Go writes although they are zero: those without omitempty, and structs. */
#ifndef KT_SCHEMA_ZEROS_H
#define KT_SCHEMA_ZEROS_H

#include <kinformer/error.h>
#include <kinformer/resource.h>

#include <yyjson.h>

/* Fills in the zero values of `root` and of all objects in it, and replaces empty lists, which a protobuf storage
 * does not keep. Nothing happens to types that are stored as JSON. Subtracts the members that it adds from `*left`.
 * Errors: KI_ERR_NO_MEMORY, KI_ERR_LIMIT (more than `*left` members). */
ki_status kt_zeros_fill(const ki_resource *resource, yyjson_mut_doc *doc, yyjson_mut_val *root, size_t *left);

#endif
