/* pattern.h: matches a string against a schema's pattern. Authors of definitions write patterns, so the cost of one
 * match has limits. */
#ifndef KT_CRD_PATTERN_H
#define KT_CRD_PATTERN_H

#include "src/base/string_view.h"

enum {
    KT_PATTERN_MAX = 128,                  /* bytes of a pattern; longer patterns are not checked */
    KT_PATTERN_WEIGHT_MAX = 2048,          /* characters of a pattern after expanding its repetitions */
    KT_PATTERN_WORK_MAX = 16 * 1024 * 1024 /* limit of (expanded characters × bytes of the text) */
};

/* Returns true if `text`, which ends with a zero byte, does not match. Returns false also for a pattern that this
 * server cannot read or that exceeds a limit. */
bool kt_pattern_mismatches(const char *pattern, ki_str text);

#endif
