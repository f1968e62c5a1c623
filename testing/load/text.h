/* text.h: fills in the load's templates, and draws what differs in each object. One thread. */
#ifndef KT_LOAD_TEXT_H
#define KT_LOAD_TEXT_H

#include "src/base/buffer.h"

enum {
    KT_LOAD_FIELDS = 128,
    KT_LOAD_SPACE = 4096, /* for the values that are made for one object */
    KT_LOAD_SUFFIX = 5    /* letters that the server adds to a generated name */
};

/* Values by letter. */
typedef struct kt_load_fields {
    ki_str values[KT_LOAD_FIELDS]; /* borrowed, or in `space` */
    size_t used;
    char space[KT_LOAD_SPACE];
} kt_load_fields;

void kt_load_clear(kt_load_fields *fields);
static inline void kt_load_set(kt_load_fields *fields, char letter, const char *text) {
    fields->values[(unsigned char)letter] = ki_str_of(text);
}
/* The value is made, and kept in `fields`. */
void kt_load_setf(kt_load_fields *fields, char letter, const char *format, ...) KI_PRINTF(3, 4);
void kt_load_set_time(kt_load_fields *fields, char letter, int64_t seconds);
/* Random hexadecimal digits, the same for the same key. */
void kt_load_set_hex(kt_load_fields *fields, char letter, uint64_t key, size_t digits);
/* Random letters as the server generates them, the same for the same key. */
void kt_load_set_letters(kt_load_fields *fields, char letter, uint64_t key, size_t count);

/* Returns 64 mixed bits of two numbers. */
uint64_t kt_load_mix(uint64_t key, uint64_t number);
void kt_load_write_letters(uint64_t key, size_t count, char *to);

/* Returns a template of template.h with " in place of '. NULL on failure. Ownership: freed with ki_free. */
char *kt_load_compile(const ki_allocator *allocator, const char *text);
/* Appends a compiled template. A field's value can contain fields. A field without a value stays. Sets `out->failed` on
 * failure. */
void kt_load_append(ki_buffer *out, const char *text, const kt_load_fields *fields);

#endif
