/* causes.h: the problems found in an object's fields, as the causes of a Status and as its message. One thread. */
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
    KT_CAUSE_TOO_MANY,
    KT_CAUSE_TYPE
} kt_cause_type;

enum {
    KT_CAUSES_MAX = 100,
    KT_CAUSES_SIZE_MAX = 256 * 1024 /* bytes of the message after which no problem is added */
};

typedef struct kt_causes {
    ki_buffer json; /* the elements of Status.details.causes, without brackets */
    ki_buffer text; /* the same problems as one message */
    size_t count;
} kt_causes;

void kt_causes_init(kt_causes *causes, const ki_allocator *allocator);
void kt_causes_free(kt_causes *causes);
/* Returns whether no further problem is added, so that a check can end. */
bool kt_causes_is_full(const kt_causes *causes);
/* Adds a problem, unless the causes are full. REQUIRED, FORBIDDEN and TOO_LONG do not use `value`. Lack of memory sets
 * `failed` in the buffers. */
void kt_causes_add(kt_causes *causes, kt_cause_type type, const char *field, ki_str value, const char *detail);
/* As kt_causes_add. `quoted`: the message shows the value as a JSON string, otherwise as it is. */
void kt_causes_add_value(kt_causes *causes, kt_cause_type type, const char *field, ki_str value, bool quoted,
                         const char *detail);
#endif
