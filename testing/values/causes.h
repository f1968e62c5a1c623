/* causes.h: the problems found in an object's fields, as the causes of a Status and as one text. One thread. */
#ifndef KT_VALUES_CAUSES_H
#define KT_VALUES_CAUSES_H

#include "src/base/buffer.h"

typedef enum kt_cause_type {
    KT_CAUSE_REQUIRED,
    KT_CAUSE_INVALID,
    KT_CAUSE_FORBIDDEN,
    KT_CAUSE_NOT_SUPPORTED,
    KT_CAUSE_DUPLICATE,
    KT_CAUSE_NOT_FOUND,
    KT_CAUSE_TOO_LONG,
    KT_CAUSE_TYPE
} kt_cause_type;

typedef struct kt_causes {
    ki_buffer json;
    ki_buffer text;
    size_t count;
} kt_causes;

void kt_causes_init(kt_causes *causes, const ki_allocator *allocator);
void kt_causes_free(kt_causes *causes);
/* Adds a problem. `value` is the field's value (unused for REQUIRED, FORBIDDEN and TOO_LONG). A lack of memory marks the buffers as failed. */
void kt_causes_add(kt_causes *causes, kt_cause_type type, const char *field, ki_str value, const char *detail);
/* The same; `quoted` says whether the value is shown in quotes. */
void kt_causes_add_value(kt_causes *causes, kt_cause_type type, const char *field, ki_str value, bool quoted,
                         const char *detail);
#endif
