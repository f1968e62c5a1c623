/* json.h: yyjson with the project's allocator and errors. Any thread. */
#ifndef KI_OBJECT_JSON_H
#define KI_OBJECT_JSON_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/base/string_view.h"

#include <yyjson.h>

/* `allocator` must outlive what is made with the result. */
yyjson_alc ki_json_allocator(const ki_allocator *allocator);
/* The document of `text`, freed with yyjson_doc_free. Errors: KI_ERR_PARSE with yyjson's words and the
 * position, KI_ERR_NO_MEMORY. */
ki_status ki_json_parse(const ki_allocator *allocator, ki_str text, yyjson_doc **ret_doc, ki_error *err);
/* The same; numbers stay the text that they are (yyjson's raw values), so that they are written again as they came. */
ki_status ki_json_parse_exact(const ki_allocator *allocator, ki_str text, yyjson_doc **ret_doc, ki_error *err);
/* The same as ki_json_parse where `text` may be overwritten and is followed by YYJSON_PADDING_SIZE zeros; the document's
 * strings point into it. */
ki_status ki_json_parse_in_place(const ki_allocator *allocator, char *text, size_t size, yyjson_doc **ret_doc,
                                 ki_error *err);
/* The string member `name` of `object`, or an empty view with data NULL where there is none or it is no
 * string. */
ki_str ki_json_string(yyjson_val *object, const char *name);
/* False where there is such a member, and it is neither a string nor null. */
bool ki_json_is_string_or_none(yyjson_val *object, const char *name);

#endif
