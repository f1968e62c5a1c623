/* log.h: the program's log callback. Without a callback the library writes no log. */
#ifndef KINFORMER_LOG_H
#define KINFORMER_LOG_H

#include <kinformer/export.h>

KI_BEGIN_DECLS

typedef enum ki_log_level {
    KI_LOG_ERROR = 1,
    KI_LOG_WARNING = 2,
    KI_LOG_INFO = 3,
    KI_LOG_DEBUG = 4
} ki_log_level;

/* Receives log messages. `component` is a static name such as "reflector". `message` is one line without credentials,
 * borrowed for the call.
 * Threads: called on any thread of the library. Must not block, and must not call the library. */
typedef struct ki_log {
    void (*write)(ki_log_level level, const char *component, const char *message, void *user) KI_NOEXCEPT;
    void *user;
    ki_log_level max_level; /* messages above this level are not formatted; 0: KI_LOG_INFO */
} ki_log;

KI_END_DECLS

#endif
