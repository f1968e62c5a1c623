/* go_time.h: reads the times of API objects as Go's metav1.Time and metav1.MicroTime do, with their error messages. */
#ifndef KT_VALUES_GO_TIME_H
#define KT_VALUES_GO_TIME_H

#include "src/base/buffer.h"
#include "src/base/rfc3339.h"

/* Writes `text` in the form that the server stores: UTC, in whole seconds, or in microseconds if `is_micro`. Returns
 * false for other texts, and appends time.Parse's message to `error`. */
bool kt_go_time_read(ki_str text, bool is_micro, char ret_text[KI_RFC3339_SIZE], ki_buffer *error);

#endif
