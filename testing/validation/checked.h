/* checked.h: an object while it is validated, and what the checks of all kinds share. One thread. */
#ifndef KT_VALIDATION_CHECKED_H
#define KT_VALIDATION_CHECKED_H

#include "testing/values/arena.h"
#include "testing/values/causes.h"
#include "testing/values/json.h"

enum {
    KT_COMPARED_MAX = 1000 /* elements of a list that are compared with each other */
};

typedef struct kt_checked {
    kt_causes *causes;
    kt_arena arena;
    yyjson_val *old; /* NULL: a new object */
    yyjson_val *root;
    yyjson_val *old_spec;
    yyjson_val *spec;
    const char *what; /* the kind in messages, such as "deployment" */
    ki_str ns;        /* of the request */
} kt_checked;

#define KT_PORT_RANGE "must be between 1 and 65535, inclusive"
#define KT_VALUES_NEEDED "must be specified when `operator` is 'In' or 'NotIn'"
#define KT_VALUES_FORBIDDEN "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
#define KT_NOT_AN_OPERATOR "not a valid selector operator"
#define KT_IMMUTABLE "field is immutable"
#define KT_NOT_NEGATIVE "must be greater than or equal to 0"

/* Returns true if the values are equal, or both nothing. */
bool kt_is_same(kt_checked *c, yyjson_val *a, yyjson_val *b);
/* Returns true if two objects are the same but for the members `but`, a list that NULL ends. */
bool kt_is_same_but(kt_checked *c, yyjson_val *a, yyjson_val *b, const char *const *but);
/* Returns true if this is so for the elements of two lists. */
bool kt_is_list_same_but(kt_checked *c, yyjson_val *a, yyjson_val *b, const char *const *but);

/* Returns true if `text` is one of the first `end` elements of a list, or their text at `key` if that is not NULL.
 * Returns false for an `end` of more than KT_COMPARED_MAX. */
static inline bool kt_is_earlier(yyjson_val *list, size_t end, const char *key, ki_str text) {
    return end <= KT_COMPARED_MAX && kt_json_list_has(list, end, key, text);
}

/* Adds a cause for the field that `format` and its arguments name. Ignores causes after the first hundred. */
void kt_validate_add(kt_causes *causes, kt_cause_type type, ki_str value, bool quoted, const char *detail,
                     const char *format, ...) KI_PRINTF(6, 7);
void kt_add_required(kt_checked *c, const char *field);
/* Adds an "Invalid value" that shows `val` as JSON. */
void kt_add_json(kt_checked *c, const char *field, yyjson_val *val, const char *detail);
/* As kt_add_json, with another type of cause that shows its value. */
void kt_add_json_as(kt_checked *c, kt_cause_type type, const char *field, yyjson_val *val, const char *detail);
/* Adds `detail` if `val` is a number below `least`. */
void kt_check_least(kt_checked *c, const char *field, yyjson_val *val, int64_t least, const char *detail);
/* Adds a "Too many" if the list has more than `most` elements. Returns false then: most lists' elements are not checked
 * after that. */
bool kt_check_most(kt_causes *causes, const char *field, yyjson_val *list, size_t most);
/* Checks that `text` is one of `known`, a comma-separated list. */
void kt_check_known(kt_causes *causes, const char *field, ki_str text, const char *known);
/* Checks that `val` is one of `known`, a comma-separated list. An absent value is valid. */
void kt_check_one_of(kt_causes *causes, const char *field, yyjson_val *val, const char *known);
/* Checks that the member `name` at `path` is one of `known`, a comma-separated list. An absent value is valid. */
void kt_check_choice(kt_causes *causes, const char *path, const char *name, yyjson_val *val, const char *known);
/* Checks that an update keeps a member of the spec; `field` is "spec.NAME". */
void kt_check_stays(kt_checked *c, const char *field);
/* Adds `detail` if `val` is a quantity that is not above 0. */
void kt_check_positive(kt_checked *c, const char *field, yyjson_val *val, const char *detail);
/* Checks a number of at least 0, or a percentage such as "25%" of at most `most`. */
void kt_check_number_or_percent(kt_checked *c, const char *field, yyjson_val *val, unsigned most);
/* Checks the name of a label. */
void kt_check_key(kt_causes *causes, const char *field, ki_str key);
/* Checks the key of a config map or secret. */
void kt_check_config_key(kt_causes *causes, const char *field, ki_str key);
/* Checks a metav1.LabelSelector. */
void kt_check_selector(kt_causes *causes, const char *field, yyjson_val *selector);

#endif
