/* json_schema.h: types as the OpenAPI documents describe them: for kubectl explain, and for any client that validates. */
#ifndef KT_SCHEMA_JSON_SCHEMA_H
#define KT_SCHEMA_JSON_SCHEMA_H

#include "src/base/buffer.h"
#include "testing/schema/schema.h"

/* Appends the members of components.schemas: the kinds of one group version, and every type that they need. */
ki_status kt_json_schema_append(ki_buffer *out, ki_str group, ki_str version);

#endif
