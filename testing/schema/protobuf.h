/* protobuf.h: bodies in Kubernetes' protobuf as JSON: what typed clients and kubectl create send. Any thread. */
#ifndef KT_SCHEMA_PROTOBUF_H
#define KT_SCHEMA_PROTOBUF_H

#include "src/base/buffer.h"
#include "testing/schema/schema.h"

#define KT_PROTOBUF_TYPE "application/vnd.kubernetes.protobuf"

enum {
    KT_PROTOBUF_MAX_DEPTH = 64
}; /* of messages in messages */

/* Appends the object in `data` (with its "k8s\0" in front) to `out` as JSON with kind and apiVersion, as the typed object would
 * be written. Errors: KI_ERR_PARSE, `*ret_why` is a static text; KI_ERR_NO_MEMORY. `out` is spoilt then. */
ki_status kt_protobuf_to_json(ki_str data, ki_buffer *out, const char **ret_why);

#endif
