/* go_json.h: checks JSON as Go's encoding/json does, with its messages, which the real server puts into responses.
 * Any thread. */
#ifndef KT_VALUES_GO_JSON_H
#define KT_VALUES_GO_JSON_H

#include "src/base/buffer.h"

/* Appends the problem of decoding `text` into a Go map, such as "unexpected end of JSON input"; nothing if `text` is
 * an object or null. Errors: KI_ERR_NO_MEMORY. */
ki_status kt_go_json_check_map(ki_str text, ki_buffer *ret_problem);

#endif
