/* pattern.h: whether a text matches a schema's pattern. Patterns are written by whoever may write definitions: what one costs is bounded. */
#ifndef KT_CRD_PATTERN_H
#define KT_CRD_PATTERN_H

#include "src/base/string_view.h"

enum {
    KT_PATTERN_MAX = 128,                  /* bytes of a pattern; longer ones are not looked at */
    KT_PATTERN_WEIGHT_MAX = 2048,          /* characters of one whose repetitions are written out */
    KT_PATTERN_WORK_MAX = 16 * 1024 * 1024 /* its weight times the text's bytes */
};

/* True where the pattern can be read and does not match. What this server cannot read, or could not match within its limits, it does not
 * refuse for. `text` ends with a zero. */
bool kt_pattern_refuses(const char *pattern, ki_str text);

#endif
