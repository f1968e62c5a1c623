/* value.h: JSON values, and the texts that Kubernetes has for amounts and times. */
#ifndef KINFORMER_VALUE_H
#define KINFORMER_VALUE_H

#include <kinformer/error.h>

#include <stdbool.h>

KI_BEGIN_DECLS

typedef enum ki_value_type {
    KI_VALUE_NULL = 0,
    KI_VALUE_BOOL = 1,
    KI_VALUE_INT = 2,    /* a number without point and exponent that fits int64_t */
    KI_VALUE_DOUBLE = 3, /* any other number */
    KI_VALUE_STRING = 4,
    KI_VALUE_ARRAY = 5,
    KI_VALUE_OBJECT = 6
} ki_value_type;

/* A JSON value. */
typedef struct ki_value {
    ki_value_type type;
    bool boolean;
    int64_t integer;
    double number;     /* also set for KI_VALUE_INT */
    char *text;        /* the string, or compact JSON of an array or object; ends with a zero; else NULL */
    size_t text_size;  /* without the closing zero */
    const void *owner; /* private */
} ki_value;

#define KI_VALUE_INIT \
    { KI_VALUE_NULL, false, 0, 0.0, NULL, 0, NULL }

/* Gets the next member of an array or object, without parsing again and without allocating:
 *     ki_value containers = KI_VALUE_INIT, container;
 *     if (!ki_object_field(obj, "spec.containers", &containers, NULL))
 *         while (ki_value_next(&containers, NULL, &container)) …
 *     ki_value_clear(&containers);
 * Returns false past the last member, and for a value of another type. The walk changes the text of `value`, which is
 * not JSON after the first call. A member that is an array or object can be walked in turn.
 * `*ret_name` is the member's name, NULL in an array; `ret_name` may be NULL. A name with a zero character (\u0000)
 * ends there.
 * Ownership: name and member are borrowed from `value`, until it is cleared. Threads: one at a time. Blocks: no. */
KI_API bool ki_value_next(ki_value *value, const char **ret_name, ki_value *ret_member);
/* Frees the text of a value and empties the value. */
KI_API void ki_value_clear(ki_value *value);

/* Converts a quantity such as "500m", "1.5Gi" or "1e3" as apimachinery's resource.Quantity does: `*ret_units` as
 * Value(), parts of 1 rounded away from 0; `*ret_milli` as MilliValue(), thousandths, rounded likewise. An amount
 * beyond 2^63 - 1 or its negative is that number. Either result may be NULL. Threads: any. Blocks: no.
 * Errors: KI_ERR_PARSE (not a quantity), KI_ERR_LIMIT (the thousandths exceed 64 bits). */
KI_API KI_MUST_CHECK ki_status ki_quantity_read(const char *text, int64_t *ret_units, int64_t *ret_milli,
                                                ki_error *err);
/* Converts a time such as "2026-01-02T03:04:05Z" (RFC 3339) to milliseconds since 1970; further digits are dropped.
 * Threads: any. Blocks: no. Errors: KI_ERR_PARSE. */
KI_API KI_MUST_CHECK ki_status ki_time_read(const char *text, int64_t *ret_unix_ms, ki_error *err);

KI_END_DECLS

#endif
