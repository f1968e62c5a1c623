/* yaml_json.h: converts a YAML body to JSON as Kubernetes' Go libraries do: only the first document; YAML 1.1
 * booleans (yes, no, on, off). */
#ifndef KT_VALUES_YAML_JSON_H
#define KT_VALUES_YAML_JSON_H

#include "src/base/buffer.h"

enum {
    KT_YAML_DEPTH_MAX = 128,
    KT_YAML_ANCHORS_MAX = 1000 /* also the limit of aliases */
};

/* Appends the JSON. Each alias becomes a copy, and the limit of `out` counts it. Errors: KI_ERR_PARSE (`*ret_why` is
 * a static text), KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
ki_status kt_yaml_to_json(ki_str text, ki_buffer *out, const char **ret_why);

#endif
