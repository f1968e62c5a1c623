/* pattern.c: a pattern, a zero byte, and a text. */
#include "fuzz/fuzz.h"

#include "src/base/memory.h"
#include "testing/crd/pattern.h"

enum {
    STEPS_MAX = 1000 * 1000
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ki_str text, source = ki_str_split((ki_str){ (const char *)data, size }, '\0', &text);
    kt_pattern *pattern = NULL;
    kt_pattern_problem problem = { NULL, { NULL, 0 } };
    kt_pattern_room room;
    uint64_t left = STEPS_MAX;
    if (kt_pattern_compile(&ki_allocator_default, source, &pattern, &problem)) {
        fuzz_check(problem.reason != NULL);
        return 0;
    }
    fuzz_check(pattern->count <= KT_PATTERN_STEPS_MAX);
    if (!kt_pattern_room_init(&room, &ki_allocator_default, pattern->count)) {
        bool matches = kt_pattern_matches(pattern, text, &room, &left);
        fuzz_check(matches || left > 0);
        kt_pattern_room_free(&room, &ki_allocator_default);
    }
    kt_pattern_free(pattern);
    return 0;
}
