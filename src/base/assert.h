/* assert.h: executable invariants. Builds with KI_ASSERTIONS (the presets debug, tsan, fuzz and sim) check them: one
 * that does not hold prints its place and text, and aborts. Other builds do not evaluate them: the library never ends
 * the process of a program. KI_HELD (engine/thread.h) and KI_ON_LOOP (engine/engine.h) are made of it. */
#ifndef KI_BASE_ASSERT_H
#define KI_BASE_ASSERT_H

#include "src/base/internal_api.h"

#include <stdbool.h>
#include <stddef.h>

KI_INTERNAL_API void ki_assert_failed(const char *file, int line, const char *text) __attribute__((noreturn, cold));

#ifdef KI_ASSERTIONS
enum {
    KI_HAS_ASSERTIONS = 1
};
#else
enum {
    KI_HAS_ASSERTIONS = 0
};
#endif
/* The condition is compiled in each build, so that it stays valid. It has no effects. */
#define KI_ASSERT_AS(condition, text) \
    (!KI_HAS_ASSERTIONS || (condition) ? (void)0 : ki_assert_failed(__FILE__, __LINE__, text))
#define KI_ASSERT(condition) KI_ASSERT_AS(condition, #condition)

#endif
