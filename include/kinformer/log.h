/* log.h: the program's log callback. Without a callback the library writes no log, and a program that cannot work
 * retries silently. The simplest callback is ki_log_stderr:
 *
 *     ki_factory_new_default(&KI_FACTORY_OPTIONS(.log = &(ki_log){ .write = ki_log_stderr }), &factory, &err)
 */
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

/* Writes a message to stderr as one line in klog's form; the `write` of a ki_log, whose max_level chooses the levels.
 * After the level's letter (E, W, I or D) come month and day, the local time, the process and the component:
 *
 *     W1123 17:32:13.048211    4711 reflector] pods in shop: blocked: forbidden: list pods in namespace shop
 *
 * `user` is not used. Control characters become spaces.
 * Threads: any. Blocks: while stderr does, for example a full pipe that nobody reads. */
KI_API void ki_log_stderr(ki_log_level level, const char *component, const char *message, void *user) KI_NOEXCEPT;

KI_END_DECLS

#endif
