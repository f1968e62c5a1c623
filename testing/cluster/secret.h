/* secret.h: a Secret's stringData, which the server takes in and does not keep: its texts go into data. Called wherever an object comes in. */
#ifndef KT_CLUSTER_SECRET_H
#define KT_CLUSTER_SECRET_H

#include <kinformer/resource.h>

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include <yyjson.h>

/* Replaces a Secret that has stringData by one that has its texts in data, where they take the place of what is there; other objects stay as they are.
 * What is no text is left out. Errors: KI_ERR_NO_MEMORY. */
ki_status kt_secret_fold(const ki_allocator *allocator, const ki_resource *resource, yyjson_doc **doc);

#endif
