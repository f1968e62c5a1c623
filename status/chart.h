/* chart.h: charts as inline SVG, without text: their description is an attribute, and the numbers stand beside them.
 * Any thread. */
#ifndef KI_STATUS_CHART_H
#define KI_STATUS_CHART_H

#include "src/base/buffer.h"
#include "status/history.h"

/* Returns the largest value; negative: there is none. */
float ki_chart_most(const ki_history_values *values);
/* Appends a line with its area, from 0 to the largest value. A screen reader reads the description. */
void ki_chart_line(ki_buffer *out, const ki_history_values *values, const char *description);
/* Appends a small line, for a table. Screen readers skip it. */
void ki_chart_spark(ki_buffer *out, const ki_history_values *values);
/* Appends a band that is filled while the value is 1. */
void ki_chart_band(ki_buffer *out, const ki_history_values *values, const char *description);

#endif
