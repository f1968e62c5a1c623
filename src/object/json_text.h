/* json_text.h: reads JSON text without parsing all of it and without allocating, so that nothing can fail. The text is
 * valid and has no white space between its parts, as an object's body is. Any thread. */
#ifndef KI_OBJECT_JSON_TEXT_H
#define KI_OBJECT_JSON_TEXT_H

#include "src/base/string_view.h"

/* A walk does not need the end of its array or map: other text can follow it. So each byte is passed once on the way to
 * a value.
 *     for (ki_str rest = ki_json_text_inside(text, '['); rest.size;) … ki_json_text_take(&rest) … */

/* Returns the text from the first part of the array or map on that `text` begins with; an empty view if it has none, or
 * begins with something else than `open`. */
ki_str ki_json_text_inside(ki_str text, char open);
/* Consumes the value at the beginning of `*rest` and the separator after it. Behind the last part of an array or map
 * `*rest` is empty. */
ki_str ki_json_text_take(ki_str *rest);
/* Returns the text from the member `name` on of the map that `text` begins with; an empty view if there is none. */
ki_str ki_json_text_find(ki_str text, ki_str name);
/* The same, without the text behind the member. */
ki_str ki_json_text_member(ki_str text, ki_str name);
/* Returns true if `value` is the JSON string of `text`. */
bool ki_json_text_is(ki_str value, ki_str text);
/* Converts the JSON string at `text`, `size` bytes with its quotes, to its characters with a closing zero, in place.
 * Returns the number of bytes without the zero. */
size_t ki_json_text_decode(char *text, size_t size);

#endif
