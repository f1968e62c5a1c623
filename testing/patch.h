/* patch.h: the four kinds of patches, from one JSON to another; nothing here knows of storage. */
#ifndef KT_PATCH_H
#define KT_PATCH_H

#include <yyjson.h>

/* A strategic merge patch: maps are merged, lists of objects by their key, $patch and $deleteFromPrimitiveList obeyed. NULL for
 * lack of memory. `is_apply`: an applied configuration, which has no directives and whose nulls do not delete. */
yyjson_mut_val *kt_patch_strategic(yyjson_mut_doc *doc, yyjson_val *old, yyjson_val *patch, bool is_apply);
/* Takes those fields out of `obj` that `before` (a fieldsV1 tree) owned and `now` does not set. */
void kt_patch_prune(yyjson_mut_val *obj, yyjson_val *before, yyjson_val *now);

#endif
