/* secret.h: a Secret's stringData. The server moves its strings into data and does not store it. */
#ifndef KT_SCHEMA_SECRET_H
#define KT_SCHEMA_SECRET_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include <yyjson.h>

/* Replaces a Secret with stringData by one without. Its strings go to data in base64 and overwrite entries there.
 * Ignores values that are no strings. Errors: KI_ERR_NO_MEMORY. */
ki_status kt_secret_merge_string_data(const ki_allocator *allocator, yyjson_doc **doc);

#endif
