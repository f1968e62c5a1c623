/* builtin.c: holds the generated table of types (builtin.inc) and the short names that the table uses. */
#include "testing/schema/builtin.h"

/* Go writes fields without omitempty, and structs that are no pointers. */
#define IS_STRUCT(wrap, kind) \
    (KT_WRAP_##wrap == KT_WRAP_ONE && (KT_VALUE_##kind == KT_VALUE_OBJECT || KT_VALUE_##kind == KT_VALUE_TIME || \
                                       KT_VALUE_##kind == KT_VALUE_MICRO_TIME))
#define WRITTEN(wrap, kind, flags) \
    (!((flags) & (KT_FIELD_OMIT_EMPTY | KT_FIELD_INLINE)) || \
             (IS_STRUCT(wrap, kind) && !((flags) & (KT_FIELD_POINTER | KT_FIELD_INLINE))) \
         ? KT_FIELD_WRITTEN \
         : 0)
#define F(name, number, wrap, kind, type, flags) K(name, number, wrap, kind, type, flags, NULL, NULL)
#define K(name, number, wrap, kind, type, flags, list_keys, merge_key) \
    { name, list_keys, merge_key, number, type, (flags) | WRITTEN(wrap, kind, flags), KT_WRAP_##wrap, KT_VALUE_##kind }

enum {
    P = KT_FIELD_POINTER,
    E = KT_FIELD_OMIT_EMPTY,
    R = KT_FIELD_REQUIRED,
    I = KT_FIELD_INLINE,
    S = KT_FIELD_SET,
    L = KT_FIELD_KEYED,
    A = KT_FIELD_ATOMIC,
    M = KT_FIELD_MERGE,
    T = KT_FIELD_RETAIN,
    Y = KT_FIELD_REPLACE
};

#include "testing/schema/builtin.inc"

const kt_schema kt_builtin_schema = { types, fields, sizeof types / sizeof types[0] };
const size_t kt_builtin_kind_count = sizeof kt_builtin_kinds / sizeof kt_builtin_kinds[0];
