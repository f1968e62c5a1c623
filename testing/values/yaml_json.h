/* yaml_json.h: a YAML body as JSON, read as Kubernetes' Go libraries read it: the first document, YAML 1.1's words for true and false. */
#ifndef KT_VALUES_YAML_JSON_H
#define KT_VALUES_YAML_JSON_H

#include "src/base/buffer.h"

enum {
    KT_YAML_DEPTH_MAX = 128,
    KT_YAML_ANCHORS_MAX = 1000 /* and aliases */
};

/* Appends the JSON. An alias is a copy, and counts against the limit of `out`. Errors: KI_ERR_PARSE (`*ret_why` is a static text), KI_ERR_LIMIT,
 * KI_ERR_NO_MEMORY. */
ki_status kt_yaml_to_json(ki_str text, ki_buffer *out, const char **ret_why);

#endif
