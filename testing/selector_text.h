/* selector_text.h: a label selector of an object's spec as a scale and a table show it. One thread. */
#ifndef KT_SELECTOR_TEXT_H
#define KT_SELECTOR_TEXT_H

#include "src/base/buffer.h"
#include "testing/schema/arena.h"

#include <yyjson.h>

/* Appends app=web,tier in (a,b); `selector` is a LabelSelector, or a map of labels; NULL: nothing. */
void kt_selector_append_text(kt_arena *arena, yyjson_val *selector, ki_buffer *out);

#endif
