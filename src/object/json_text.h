/* json_text.h: reads JSON text without parsing all of it and without allocating, so that nothing can fail. The text is
 * valid and has no white space between its parts, as an object's body is. Any thread. */
#ifndef KI_OBJECT_JSON_TEXT_H
#define KI_OBJECT_JSON_TEXT_H

#include "src/base/string_view.h"

/* Consumes the value at the beginning of `*rest` and the separator after it. */
ki_str ki_json_text_take(ki_str *rest);
/* Returns the text between the brackets of a container that begins with `open`; else an empty view. */
ki_str ki_json_text_inside(ki_str value, char open);
/* Returns the member `name` of a map, or an empty view. */
ki_str ki_json_text_member(ki_str map, ki_str name);
/* Returns true if `value` is the JSON string of `text`. */
bool ki_json_text_is(ki_str value, ki_str text);
/* Converts the JSON string at `text`, `size` bytes with its quotes, to its characters with a closing zero, in place.
 * Returns the number of bytes without the zero. */
size_t ki_json_text_decode(char *text, size_t size);

#endif
