/* version.c: see version.h. */
#include "testing/values/version.h"

#include "src/base/string_view.h"

#include <stdbool.h>

typedef struct version {
    int stage; /* 2: generally available, 1: beta, 0: alpha */
    uint64_t major;
    uint64_t minor; /* the number after "beta" or "alpha" */
} version;

/* Reads a number without a leading 0 from `*text` and advances `*text` past it. */
static bool take_number(const char **text, uint64_t *ret_number) {
    size_t size = strspn(*text, "0123456789");
    bool is_number = **text != '0' && ki_str_to_uint64((ki_str){ *text, size }, UINT64_MAX, ret_number);
    *text += size;
    return is_number;
}

static bool parse(const char *text, version *ret) {
    static const char *const stages[] = { "alpha", "beta" };
    *ret = (version){ .stage = 2 };
    if (*text++ != 'v' || !take_number(&text, &ret->major))
        return false;
    for (int i = 0; i < 2 && *text; i++) {
        size_t size = strlen(stages[i]);
        if (strncmp(text, stages[i], size) != 0)
            continue;
        text += size;
        ret->stage = i;
        return take_number(&text, &ret->minor) && !*text;
    }
    return !*text;
}

int kt_version_compare(const char *a, const char *b) {
    version one, other;
    bool is_one = parse(a, &one), is_other = parse(b, &other);
    if (!is_one || !is_other)
        return is_one || is_other ? (is_one ? -1 : 1) : strcmp(a, b);
    if (one.stage != other.stage)
        return one.stage > other.stage ? -1 : 1;
    if (one.major != other.major)
        return one.major > other.major ? -1 : 1;
    return one.minor == other.minor ? 0 : one.minor > other.minor ? -1 : 1;
}
