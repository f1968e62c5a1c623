/* builtin.h: the table of the built-in types and kinds. schema.c uses it. */
#ifndef KT_SCHEMA_BUILTIN_H
#define KT_SCHEMA_BUILTIN_H

#include "testing/schema/schema.h"

typedef struct kt_kind {
    const char *group;
    const char *version;
    const char *kind;
    uint16_t type; /* index in kt_builtin_schema.types */
} kt_kind;

extern const kt_schema kt_builtin_schema;
extern const kt_kind kt_builtin_kinds[];
extern const size_t kt_builtin_kind_count;

#endif
