/* nearest.c: finds the known word closest to a mistyped one. */
#include "flags.h"

#include <string.h>

enum {
    WORD_MAX = 64
};

static size_t smallest(size_t a, size_t b, size_t c) {
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Returns the number of insertions, deletions, replacements and swaps of neighbours between two words. */
static size_t distance(const char *a, const char *b) {
    size_t rows[3][WORD_MAX + 1];
    size_t a_size = strlen(a);
    size_t b_size = strlen(b);
    if (a_size > WORD_MAX || b_size > WORD_MAX)
        return WORD_MAX;

    for (size_t j = 0; j <= b_size; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_size; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i - 1) % 3];
        const size_t *above_that = rows[(i + 1) % 3]; /* i - 2 */
        row[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            row[j] = smallest(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && above_that[j - 2] + 1 < row[j]) {
                row[j] = above_that[j - 2] + 1;
            }
        }
    }
    return rows[a_size % 3][b_size];
}

const char *nearest(const char *word, size_t count, const char *(*at)(size_t index, const void *user),
                    const void *user) {
    const char *best = NULL;
    size_t best_distance = strlen(word) / 3 + 1; /* a greater distance is not a typing error */
    if (best_distance > 3)
        best_distance = 3;
    for (size_t i = 0; i < count; i++) {
        const char *candidate = at(i, user);
        size_t d = distance(word, candidate);
        if (d < best_distance || (d == best_distance && !best)) {
            best = candidate;
            best_distance = d;
        }
    }
    return best;
}
