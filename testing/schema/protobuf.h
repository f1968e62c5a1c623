/* protobuf.h: converts bodies in Kubernetes' protobuf to JSON. Typed clients and kubectl create send protobuf. Any
 * thread. */
#ifndef KT_SCHEMA_PROTOBUF_H
#define KT_SCHEMA_PROTOBUF_H

#include "src/base/buffer.h"
#include "testing/schema/schema.h"

#define KT_PROTOBUF_TYPE "application/vnd.kubernetes.protobuf"

enum {
    KT_PROTOBUF_MAX_DEPTH = 64 /* messages inside each other */
};

/* Appends the object in `data` (which begins with "k8s\0") to `out` as JSON with kind and apiVersion. `out` has
 * undefined content after an error.
 * Errors: KI_ERR_PARSE (`*ret_why` is a static text), KI_ERR_NO_MEMORY. */
ki_status kt_protobuf_to_json(ki_str data, ki_buffer *out, const char **ret_why);

#endif
