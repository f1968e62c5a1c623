/* value.h: makes ki_value from JSON. Any thread. */
#ifndef KI_OBJECT_VALUE_H
#define KI_OBJECT_VALUE_H

#include "src/object/format.h"

#include <yyjson.h>

/* Sets all members but the text of strings, arrays and objects. NULL is JSON null. */
void ki_value_set_scalar(yyjson_val *from, ki_value *value);
/* Gives the value its text, which is of the format's allocator. The value holds a reference to the format. */
void ki_value_own(ki_object_format *format, ki_value *value, char *text, size_t size);

#endif
