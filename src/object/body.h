/* body.h: reads the JSON of an object's body, plain or packed, and makes the packed object. */
#ifndef KI_OBJECT_BODY_H
#define KI_OBJECT_BODY_H

#include "src/base/internal_api.h"
#include "src/object/body_base.h"
#include "src/object/object.h"

/* An open body. `text` is valid until ki_body_close, at most as long as the object. Empty for an object without its
 * content. Has a closing zero. */
typedef struct ki_body {
    ki_str text;
    ki_unpacked *unpacked;
    bool is_reserve;
} ki_body;

static inline const ki_packed_body *ki_object_packed_body(const ki_object *obj) {
    return (const ki_packed_body *)(const void *)((const char *)obj + obj->body_at);
}

/* Opens the body. Errors: KI_ERR_NO_MEMORY; KI_ERR_INVALID (the object was changed in place). */
ki_status ki_body_open(const ki_object *obj, ki_body *ret_body, ki_error *err);
/* Opens the body without an error; empty if the object was changed in place. For readers that cannot fail: between this
 * call and ki_body_close they must not call the program. */
KI_INTERNAL_API ki_body ki_body_open_surely(const ki_object *obj);
KI_INTERNAL_API void ki_body_close(const ki_object *obj, const ki_body *body);
/* Returns a member of the metadata of an open body; empty without one. */
KI_INTERNAL_API ki_str ki_body_metadata(const ki_body *body, ki_str name);
/* Opens the body and gives the text, with its closing zero, to the caller, who frees it with the allocator of the
 * object's format. Errors: as ki_body_open. */
ki_status ki_body_copy(const ki_object *obj, char **ret_text, ki_error *err);
/* Opens the body and parses it. Errors: as ki_body_open; those of ki_json_parse. */
ki_status ki_body_parse(const ki_object *obj, const ki_allocator *allocator, yyjson_doc **ret_doc, ki_error *err);

#endif
