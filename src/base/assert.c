/* assert.c: the end of a process whose invariant does not hold, in builds with assertions only. */
#include "src/base/assert.h"

#ifdef KI_ASSERTIONS
#include <stdio.h>
#include <stdlib.h>

void ki_assert_failed(const char *file, int line, const char *text) {
    (void)fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, text);
    abort();
}
#endif
