/* nearest.c: see nearest.h. Skips candidates whose length alone exceeds the best distance so far. */
#include "src/object/nearest.h"

enum {
    NAME_MAX_LENGTH = 63 /* no resource has a longer name */
};

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool ki_equal_ignoring_case(ki_str text, const char *other) {
    for (size_t i = 0; i < text.size; i++) {
        if (!other[i] || lower(text.data[i]) != lower(other[i]))
            return false;
    }
    return other[text.size] == '\0';
}

static size_t smallest(size_t a, size_t b, size_t c) {
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Returns the optimal string alignment distance: insertions, deletions, replacements and swaps of neighbours. */
static size_t distance(ki_str a, ki_str b) {
    size_t rows[3][NAME_MAX_LENGTH + 1];
    size_t *before = rows[0], *previous = rows[1], *current = rows[2];
    for (size_t j = 0; j <= b.size; j++)
        previous[j] = j;
    for (size_t i = 1; i <= a.size; i++) {
        current[0] = i;
        for (size_t j = 1; j <= b.size; j++) {
            char x = lower(a.data[i - 1]), y = lower(b.data[j - 1]);
            current[j] = smallest(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == lower(b.data[j - 2]) && y == lower(a.data[i - 2]) &&
                before[j - 2] + 1 < current[j])
                current[j] = before[j - 2] + 1;
        }
        size_t *spare = before;
        before = previous;
        previous = current;
        current = spare;
    }
    return previous[b.size];
}

bool ki_nearest_begin(ki_nearest *nearest, const char *name) {
    ki_str rest;
    *nearest = (ki_nearest){ .name = ki_str_split(ki_str_of(name), '.', &rest) };
    if (nearest->name.size < 2 || nearest->name.size > NAME_MAX_LENGTH)
        return false;
    nearest->best_distance = nearest->name.size / 3 + 1; /* at most one error for three letters */
    return true;
}

void ki_nearest_try(ki_nearest *nearest, const char *candidate, const char *result) {
    ki_str other = ki_str_of(candidate);
    size_t size = nearest->name.size;
    size_t apart = other.size > size ? other.size - size : size - other.size;
    if (apart >= nearest->best_distance || other.size > NAME_MAX_LENGTH || other.size == 0)
        return;
    size_t d = distance(nearest->name, other);
    if (d < nearest->best_distance) {
        nearest->best_distance = d;
        nearest->best = result;
    }
}
