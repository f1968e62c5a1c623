/* constant_defaults.h: the constant defaults, as defaults.c fills them in. */
#ifndef KT_SCHEMA_CONSTANT_DEFAULTS_H
#define KT_SCHEMA_CONSTANT_DEFAULTS_H

#include "testing/schema/defaults.h"
#include "testing/schema/schema.h"

/* Values that functions set. */
typedef enum kt_default {
    KT_EMPTY,
    KT_TOLERATIONS, /* of the admission plugin DefaultTolerationSeconds */
    KT_IPV4,
    KT_IPV4_AND_IPV6,
    KT_SESSION,
    KT_INGRESS,
    KT_INGRESS_AND_EGRESS,
    KT_PENDING,
    KT_METRICS,
    KT_SCALE_UP,
    KT_SCALE_DOWN,
    KT_DEFAULT_COUNT
} kt_default;

struct kt_defaults {
    const ki_allocator *allocator;
    yyjson_doc *doc; /* the JSON of the three tables of constant_defaults.c */
    yyjson_val *others[KT_DEFAULT_COUNT];
    yyjson_val *of_type[]; /* of the members of each built-in type; NULL: none */
};

#endif
