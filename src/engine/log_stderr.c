/* log_stderr.c: the log callback that writes to stderr. The only place where the library prints, and only for a program
 * that asked for it. */
#include <kinformer/log.h>

#include "src/base/log.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum {
    HEADER_MAX = 96 /* bytes before the message */
};

void ki_log_stderr(ki_log_level level, const char *component, const char *message, void *user) {
    static const char letters[] = {
        [KI_LOG_ERROR] = 'E', [KI_LOG_WARNING] = 'W', [KI_LOG_INFO] = 'I', [KI_LOG_DEBUG] = 'D'
    };
    char line[HEADER_MAX + KI_LOG_LINE_MAX];
    struct timespec now = { 0, 0 };
    struct tm local = { .tm_mday = 1 };
    (void)user;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)localtime_r(&now.tv_sec, &local);
    int size = snprintf(line, sizeof line - 1, "%c%02d%02d %02d:%02d:%02d.%06ld %7ld %.32s] %s",
                        (size_t)level < sizeof letters ? letters[level] : 'I', local.tm_mon + 1, local.tm_mday,
                        local.tm_hour, local.tm_min, local.tm_sec, now.tv_nsec / 1000, (long)getpid(),
                        component ? component : "", message ? message : "");
    if (size < 0)
        return;
    ki_log_on_one_line(line);
    size_t used = (size_t)size < sizeof line - 1 ? (size_t)size : sizeof line - 2;
    line[used] = '\n';
    line[used + 1] = '\0';
    fputs(line, stderr); /* one call: the lines of several threads do not mix */
}
