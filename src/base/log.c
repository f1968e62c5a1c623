/* log.c: formats a line on the stack and passes it to the program's callback. */
#include "src/base/log.h"

#include <stdarg.h>
#include <stdio.h>

static bool is_enabled(const ki_log *log, ki_log_level level) {
    if (!log || !log->write)
        return false;
    ki_log_level max_level = log->max_level ? log->max_level : KI_LOG_INFO;
    return level <= max_level;
}

void ki_log_on_one_line(char *text) {
    for (char *at = text; *at; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = ' ';
    }
}

void ki_log_write(const ki_log *log, ki_log_level level, const char *component, const char *format, ...) {
    if (!is_enabled(log, level))
        return;
    char line[KI_LOG_LINE_MAX];
    va_list args;
    va_start(args, format);
    int written = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (written < 0)
        return;
    ki_log_on_one_line(line);
    log->write(level, component, line, log->user);
}
