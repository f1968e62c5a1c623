/* log.h: passes lines to the program's log callback; formats them only if there is one. */
#ifndef KI_BASE_LOG_H
#define KI_BASE_LOG_H

#include "src/base/internal_api.h"

#include <kinformer/log.h>

#include <stdbool.h>

enum {
    KI_LOG_LINE_MAX = 1024 /* bytes; longer lines are cut */
};

/* Replaces control characters by spaces: an entry is one line, and sends no sequences to a terminal. */
void ki_log_on_one_line(char *text);

/* Writes a line, as one. `log` may be NULL or have no callback. */
KI_INTERNAL_API void ki_log_write(const ki_log *log, ki_log_level level, const char *component, const char *format, ...)
    KI_PRINTF(4, 5);

#endif
