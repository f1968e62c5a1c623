/* nearest.c: the optimal string alignment distance, bounded: who is too long or too short by more than the best so far is not looked at. */
#include "src/object/nearest.h"

enum {
    NAME_MAX_LENGTH = 63
}; /* longer words are nobody's resource */

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

/* How many letters have to be put in, left out, changed or swapped with their neighbour (optimal string alignment). */
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

bool ki_nearest_begin(ki_nearest *nearest, const char *word) {
    ki_str rest;
    *nearest = (ki_nearest){ .word = ki_str_split(ki_str_of(word), '.', &rest) };
    if (nearest->word.size < 2 || nearest->word.size > NAME_MAX_LENGTH)
        return false;
    nearest->best_distance = nearest->word.size / 3 + 1; /* one slip for each three letters, at most */
    return true;
}

void ki_nearest_try(ki_nearest *nearest, const char *candidate, const char *answer) {
    ki_str other = ki_str_of(candidate);
    size_t size = nearest->word.size;
    size_t apart = other.size > size ? other.size - size : size - other.size;
    if (apart >= nearest->best_distance || other.size > NAME_MAX_LENGTH || other.size == 0)
        return;
    size_t d = distance(nearest->word, other);
    if (d < nearest->best_distance) {
        nearest->best_distance = d;
        nearest->best = answer;
    }
}
