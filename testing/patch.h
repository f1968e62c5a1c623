/* patch.h: merge patches, from one JSON to another; nothing here knows of storage. */
#ifndef KT_PATCH_H
#define KT_PATCH_H

#include "testing/schema/arena.h"
#include "testing/schema/schema.h"

#include <yyjson.h>

/* A JSON merge patch (RFC 7396). NULL for lack of memory. */
yyjson_mut_val *kt_patch_merge(kt_arena *arena, yyjson_mut_doc *doc, yyjson_val *old, yyjson_val *patch);
/* A strategic merge patch by the schema: lists merged by their keys, and the directives $patch, $retainKeys, $setElementOrder and
 * $deleteFromPrimitiveList. NULL for lack of memory, or where the patch is none: then `*ret_why` is a static text. */
yyjson_mut_val *kt_patch_strategic(kt_arena *arena, yyjson_mut_doc *doc, const kt_spot *spot, yyjson_val *old,
                                   yyjson_val *patch, const char **ret_why);

#endif
