/* keep.h: what an object has that keeps less than all of it. Any thread. */
#ifndef KI_OBJECT_KEEP_H
#define KI_OBJECT_KEEP_H

#include "src/base/internal_api.h"
#include "src/object/path.h"

#include <kinformer/error.h>
#include <kinformer/informer.h>
#include <kinformer/object.h>
#include <kinformer/parts/object_format.h>

#define KI_KIND_OF_METADATA "PartialObjectMetadata" /* of objects of which the server sends metadata alone */
/* The request header that asks for one, or for a watch of them. A server that cannot sends the object. */
#define KI_ACCEPT_METADATA "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

/* What all objects of a cache with KI_KEEP_VIEW have if the view has the map of all labels. */
#define KI_KEEP_VIEW_AND_LABELS ((ki_keep)(KI_KEEP_KEYS + 1))

/* Returns what all objects of a cache with these options have. `format`: the first one that makes its objects; NULL:
 * the cache's source is the program's own. */
KI_INTERNAL_API ki_keep ki_keep_of_all(const ki_informer_options *options, const ki_object_format *format);
/* Returns "object", "metadata", "view", "keys" or, with labels, "view"; NULL: no value. */
KI_INTERNAL_API const char *ki_keep_name(ki_keep keep);
/* Returns true if the objects have their labels. */
bool ki_keep_has_labels(ki_keep keep);
/* Returns true if the objects have their metadata. */
KI_INTERNAL_API bool ki_keep_has_metadata(ki_keep keep);
/* Returns true if the objects have the field at a path, for a program that compares values. */
bool ki_keep_has_field(ki_keep keep, const ki_path *path);

#endif
