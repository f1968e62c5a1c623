/* patch.h: merges patches into JSON. No storage. */
#ifndef KT_REST_PATCH_H
#define KT_REST_PATCH_H

#include "src/base/buffer.h"
#include "testing/rest/rest.h"
#include "testing/schema/schema.h"
#include "testing/values/arena.h"

#include <yyjson.h>

/* Applies a JSON merge patch (RFC 7396). NULL on failure. */
yyjson_mut_val *kt_patch_merge(kt_arena *arena, yyjson_mut_doc *doc, yyjson_val *old, yyjson_val *patch);
/* Applies a strategic merge patch by the schema: merges lists by their keys, and follows the directives $patch,
 * $retainKeys, $setElementOrder and $deleteFromPrimitiveList. NULL on failure; for an invalid patch `*ret_why` is a
 * static text. `*ret_unknown`: a member inside a RawExtension that the patch would merge, which the real server
 * cannot; its data are NULL if there is none. */
yyjson_mut_val *kt_patch_strategic(kt_arena *arena, yyjson_mut_doc *doc, const kt_spot *spot, yyjson_val *old,
                                   yyjson_val *patch, const char **ret_why, ki_str *ret_unknown);

enum {
    KT_PATCH_MEMORY_MAX = 256 * 1024 * 1024, /* bytes that the operations can use; each copy can double the object */
    KT_PATCH_STEPS_MAX = 100 * 1000 * 1000,  /* members and elements that the operations can visit */
    KT_PATCHED_MAX = 2 * KT_BODY_MAX         /* bytes of the result */
};

/* Applies a JSON patch (RFC 6902) and appends the result.
 *
 * Deviates like the real server (gopkg.in/evanphx/json-patch.v4): `test` treats a missing member as null; `replace`
 * adds a missing member; `copy` from a missing member gives null; a missing value is null; `add` and `copy` fail for
 * the root; element numbers can be negative, have a sign and leading zeros; a `~` before any character but 0 and 1
 * is a plain character; text before a path's first slash is skipped.
 *
 * `*ret_code` is 0 on success; 422 if the patch does not fit the object, or the result is no object or is deeper
 * than KT_JSON_MAX_DEPTH; 413 if the result is too large or takes too long. `out` has undefined content after an
 * error. */
ki_status kt_patch_json(const ki_allocator *allocator, yyjson_val *old, yyjson_val *patch, ki_buffer *out,
                        int *ret_code);

#endif
