/* fuzz.h: what each target has: libFuzzer's function, and a check that says what does not hold and ends the program. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define fuzz_check(condition) fuzz_check_that((condition), #condition, __FILE__, __LINE__)

static inline void fuzz_check_that(bool holds, const char *condition, const char *file, int line) {
    if (holds)
        return;
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}

#endif
