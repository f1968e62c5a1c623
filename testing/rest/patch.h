/* patch.h: merge patches, from one JSON to another; nothing here knows of storage. */
#ifndef KT_REST_PATCH_H
#define KT_REST_PATCH_H

#include "src/base/buffer.h"
#include "testing/rest/rest.h"
#include "testing/schema/schema.h"
#include "testing/values/arena.h"

#include <yyjson.h>

/* A JSON merge patch (RFC 7396). NULL for lack of memory. */
yyjson_mut_val *kt_patch_merge(kt_arena *arena, yyjson_mut_doc *doc, yyjson_val *old, yyjson_val *patch);
/* A strategic merge patch by the schema: lists merged by their keys, and the directives $patch, $retainKeys, $setElementOrder and
 * $deleteFromPrimitiveList. NULL for lack of memory, or where the patch is none: then `*ret_why` is a static text. */
yyjson_mut_val *kt_patch_strategic(kt_arena *arena, yyjson_mut_doc *doc, const kt_spot *spot, yyjson_val *old,
                                   yyjson_val *patch, const char **ret_why);

enum {
    KT_PATCH_MEMORY_MAX =
        256 * 1024 * 1024, /* what the operations of a JSON patch may fill: each copy can double the object */
    KT_PATCH_STEPS_MAX = 100 * 1000 * 1000, /* members and elements that they may look at */
    KT_PATCHED_MAX = 2 * KT_BODY_MAX        /* bytes of what comes out */
};

/* RFC 6902 as the real server reads it (gopkg.in/evanphx/json-patch.v4): `test` takes a member that is not there for null, `replace` adds such a member,
 * `copy` from it gives null, a missing value is null, `add` and `copy` do not take the root, element numbers may be negative, have a sign and leading
 * zeros, a `~` before anything but 0 and 1 stands for itself, and what stands before a path's first slash is skipped. Appends what `patch` makes of `old`. `*ret_code` is 0, 422 where the patch does not fit, makes no object or one that is deeper than
 * KT_JSON_MAX_DEPTH, or 413 where it would be too large or take too long; then nothing of use is in `out`. */
ki_status kt_patch_json(const ki_allocator *allocator, yyjson_val *old, yyjson_val *patch, ki_buffer *out,
                        int *ret_code);

#endif
