/* json_schema.h: the built-in types as OpenAPI schemas, for kubectl explain and for clients that validate. */
#ifndef KT_SCHEMA_JSON_SCHEMA_H
#define KT_SCHEMA_JSON_SCHEMA_H

#include "src/base/buffer.h"
#include "testing/schema/schema.h"

/* Appends the members of components.schemas for one group version: its built-in kinds and every type that they use, and
 * the type of metadata. */
ki_status kt_json_schema_append(ki_buffer *out, ki_str group, ki_str version);

#endif
