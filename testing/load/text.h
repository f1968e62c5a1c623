/* text.h: fills in the load's templates. One thread. */
#ifndef KT_LOAD_TEXT_H
#define KT_LOAD_TEXT_H

#include "src/base/buffer.h"

enum {
    KT_LOAD_FIELDS = 128,
    KT_LOAD_TIME_SIZE = 21
};

/* Values by letter. Borrowed. */
typedef struct kt_load_fields {
    ki_str values[KT_LOAD_FIELDS];
} kt_load_fields;

static inline void kt_load_set(kt_load_fields *fields, char letter, const char *text) {
    fields->values[(unsigned char)letter] = ki_str_of(text);
}

/* Returns a template of template.h with " in place of '. NULL on failure. Ownership: freed with ki_free. */
char *kt_load_compile(const ki_allocator *allocator, const char *text);
/* Appends a compiled template. A field's value can contain fields. Sets `out->failed` on failure. */
void kt_load_append(ki_buffer *out, const char *text, const kt_load_fields *fields);
/* Writes "2024-05-17T09:30:00Z". */
void kt_load_format_time(int64_t unix_seconds, char ret_text[KT_LOAD_TIME_SIZE]);

#endif
