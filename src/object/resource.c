/* resource.c: the built-in resource that a person's word means, and the one that a misspelt word may have meant. */
#include <kinformer/resource.h>

#include "src/base/string_view.h"
#include "src/object/resource_table.h"

enum {
    NAME_MAX_LENGTH = 63
}; /* longer words are nobody's resource */

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool equal_ignoring_case(ki_str text, const char *other) {
    for (size_t i = 0; i < text.size; i++) {
        if (!other[i] || lower(text.data[i]) != lower(other[i]))
            return false;
    }
    return other[text.size] == '\0';
}

static bool is_called(const ki_resource_info *info, ki_str name) {
    if (equal_ignoring_case(name, info->resource->plural) || equal_ignoring_case(name, info->singular) ||
        equal_ignoring_case(name, info->resource->kind))
        return true;
    for (size_t i = 0; info->short_names[i]; i++) {
        if (equal_ignoring_case(name, info->short_names[i]))
            return true;
    }
    return false;
}

/* Is `qualifier`, what follows the first dot of "deployments.v1.apps", this resource's group, or its version and group?
 * "pods.", "pods.v1" and "pods.v1." all mean the core group. */
static bool is_in(const ki_resource *resource, ki_str qualifier) {
    if (equal_ignoring_case(qualifier, resource->group))
        return true;
    ki_str group;
    ki_str version = ki_str_split(qualifier, '.', &group);
    return equal_ignoring_case(version, resource->version) && equal_ignoring_case(group, resource->group);
}

const ki_resource *ki_resource_find(const char *name) {
    if (!name)
        return NULL;
    ki_str qualifier;
    ki_str word = ki_str_split(ki_str_of(name), '.', &qualifier);
    if (word.size == 0)
        return NULL;
    const ki_resource_info *info;
    for (unsigned i = 0; (info = ki_resource_info_at(i)) != NULL; i++) {
        if (is_called(info, word) && (!qualifier.data || is_in(info->resource, qualifier)))
            return info->resource;
    }
    return NULL;
}

const ki_resource *ki_resource_at(unsigned index) {
    const ki_resource_info *info = ki_resource_info_at(index);
    return info ? info->resource : NULL;
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

const char *ki_resource_nearest(const char *name) {
    if (!name)
        return NULL;
    ki_str rest;
    ki_str word = ki_str_split(ki_str_of(name), '.', &rest);
    if (word.size < 2 || word.size > NAME_MAX_LENGTH)
        return NULL;
    size_t best_distance = word.size / 3 + 1; /* one slip for each three letters, at most */
    const char *best = NULL;
    const ki_resource_info *info;
    for (unsigned i = 0; (info = ki_resource_info_at(i)) != NULL; i++) {
        const char *names[] = { info->resource->plural, info->singular };
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            size_t d = distance(word, ki_str_of(names[k]));
            if (d < best_distance) {
                best_distance = d;
                best = info->resource->plural;
            }
        }
    }
    return best;
}
