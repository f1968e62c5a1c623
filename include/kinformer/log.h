/* log.h: what the library has to say, handed to the program. Without a callback it says nothing. */
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

/* `component` is a static word such as "reflector"; `message` is one line without credentials, valid during the call.
 * Threads: called from any thread of the library. Must not block and must not call the library. */
typedef struct ki_log {
    void (*write)(ki_log_level level, const char *component, const char *message, void *user) KI_NOEXCEPT;
    void *user;
    ki_log_level max_level; /* nothing above it is formatted; 0 means KI_LOG_INFO */
} ki_log;

KI_END_DECLS

#endif
