/* spec.h: what a person asks of the server in one line: "KIND,name=value,name=a+b". Rules, tokens and faults are written so.
 * One thread. */
#ifndef KT_VALUES_SPEC_H
#define KT_VALUES_SPEC_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/base/string_view.h"

enum {
    KT_SPEC_FIELDS_MAX = 24,
    KT_SPEC_MAX = 4096
}; /* fields of a line, and its bytes */

typedef struct kt_spec_field {
    ki_str name;
    ki_str value;
} kt_spec_field;

typedef struct kt_spec {
    const ki_allocator *allocator;
    char *text;  /* what everything here points into */
    ki_str kind; /* the first word, where it has no '='; else empty */
    kt_spec_field fields[KT_SPEC_FIELDS_MAX];
    size_t count;
} kt_spec;

/* Takes a line apart. `what` names it in messages ("a rule"); `known` are the names that it may have, ended by NULL.
 * Ownership: the caller frees it with kt_spec_free. Errors: KI_ERR_INVALID, KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
ki_status kt_spec_parse(const ki_allocator *allocator, const char *what, const char *const *known, const char *line,
                        kt_spec *ret_spec, ki_error *err);
void kt_spec_free(kt_spec *spec); /* harmless on a zeroed one */

/* The value of a field; data NULL where there is none. */
ki_str kt_spec_get(const kt_spec *spec, const char *name);
/* A whole number between `min` and `max`; `*ret_value` stays without the field. */
ki_status kt_spec_number(const kt_spec *spec, const char *name, int64_t min, int64_t max, int64_t *ret_value,
                         ki_error *err);
/* "250ms", "2s", "1m" or a plain number of milliseconds. */
ki_status kt_spec_duration_ms(const kt_spec *spec, const char *name, int64_t *ret_ms, ki_error *err);

/* Is `word` one of `list`, which is "a+b+c"? Everything is in "*" and in a list that is not there (data NULL); "ab*" has all that begin
 * so. */
bool kt_words_have(ki_str list, ki_str word);

#endif
