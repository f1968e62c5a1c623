/* text.h: fills the load's templates in. One thread. */
#ifndef KT_LOAD_TEXT_H
#define KT_LOAD_TEXT_H

#include "src/base/buffer.h"

enum {
    KT_LOAD_FIELDS = 128,
    KT_LOAD_TIME_SIZE = 21
};

/* Values by the letter that stands for them. Borrowed. */
typedef struct kt_load_fields {
    ki_str values[KT_LOAD_FIELDS];
} kt_load_fields;

static inline void kt_load_set(kt_load_fields *fields, char letter, const char *text) {
    fields->values[(unsigned char)letter] = ki_str_of(text);
}

/* A template of template.h with " for '. NULL for lack of memory; freed with ki_free. */
char *kt_load_compile(const ki_allocator *allocator, const char *text);
/* Appends a compiled template. A field's value may have fields of its own. Failures stay in `out->failed`. */
void kt_load_append(ki_buffer *out, const char *text, const kt_load_fields *fields);
/* "2024-05-17T09:30:00Z". */
void kt_load_format_time(int64_t unix_seconds, char ret_text[KT_LOAD_TIME_SIZE]);

#endif
