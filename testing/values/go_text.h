/* go_text.h: appends a JSON value as Go's fmt package prints it. The real server's messages have such texts. One
 * thread. */
#ifndef KT_VALUES_GO_TEXT_H
#define KT_VALUES_GO_TEXT_H

#include "src/base/buffer.h"
#include "testing/values/arena.h"

#include <yyjson.h>

/* Appends as %v does: map[spec:map[list:[1 x] none:<nil>]]. */
void kt_go_print(kt_arena *arena, ki_buffer *out, yyjson_val *val);
/* Appends as %#v does: map[string]interface {}{"list":[]interface {}{1, "x"}, "none":interface {}(nil)}. */
void kt_go_print_syntax(kt_arena *arena, ki_buffer *out, yyjson_val *val);
/* Returns the type that %T prints. Ownership: static. */
const char *kt_go_type(yyjson_val *val);

#endif
