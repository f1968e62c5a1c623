/* text.h: fills in the load's templates. One thread. */
#ifndef KT_LOAD_TEXT_H
#define KT_LOAD_TEXT_H

#include "src/base/buffer.h"

enum {
    KT_LOAD_FIELDS = 128
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

#endif
