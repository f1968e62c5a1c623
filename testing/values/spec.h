/* spec.h: parses a line such as "KIND,name=value,name=a+b", by which a user configures the server: rules, tokens,
 * faults. One thread. */
#ifndef KT_VALUES_SPEC_H
#define KT_VALUES_SPEC_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/base/string_view.h"

enum {
    KT_SPEC_FIELDS_MAX = 24, /* fields of a line */
    KT_SPEC_MAX = 4096       /* bytes of a line */
};

typedef struct kt_spec_field {
    ki_str name;
    ki_str value;
} kt_spec_field;

typedef struct kt_spec {
    const ki_allocator *allocator;
    char *text;  /* owns the bytes of all other members */
    ki_str kind; /* the first part if it has no '='; otherwise empty */
    kt_spec_field fields[KT_SPEC_FIELDS_MAX];
    size_t count;
} kt_spec;

/* Parses a line. `what` names the line in messages ("a rule"). `known` has the allowed field names; NULL ends it.
 * Ownership: the caller frees the result with kt_spec_free.
 * Errors: KI_ERR_INVALID, KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
ki_status kt_spec_parse(const ki_allocator *allocator, const char *what, const char *const *known, const char *line,
                        kt_spec *ret_spec, ki_error *err);
void kt_spec_free(kt_spec *spec); /* may be zeroed */

/* Returns the value of a field; data is NULL if the line does not have the field. */
ki_str kt_spec_get(const kt_spec *spec, const char *name);
/* Reads a whole number from `min` to `max`. `*ret_value` stays unchanged if the line does not have the field. */
ki_status kt_spec_number(const kt_spec *spec, const char *name, int64_t min, int64_t max, int64_t *ret_value,
                         ki_error *err);
/* Reads "250ms", "2s", "1m", "1h" or a plain number of milliseconds, up to 24 hours. False for any other text. */
bool kt_duration_ms(ki_str text, int64_t *ret_ms);
/* Reads a duration. `*ret_ms` stays unchanged without the field. */
ki_status kt_spec_duration_ms(const kt_spec *spec, const char *name, int64_t *ret_ms, ki_error *err);

/* Returns true if `list` ("a+b+c") contains `value`. A missing list (data NULL) contains everything; "*" matches
 * everything, and "ab*" all that begins with "ab". */
bool kt_spec_list_has(ki_str list, ki_str value);

#endif
