/* scheduling.c: where a pod may run: tolerations, spread constraints. */
#include "selector.h"
#include "template.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* An element of an array with its place, for a sort that keeps the order of equals. */
typedef struct placed {
    yyjson_val *value;
    const char *key;
    size_t place;
} placed;

static int by_key(const void *a, const void *b) {
    const placed *left = a, *right = b;
    int order = strcmp(left->key, right->key);
    return order ? order : (left->place > right->place) - (left->place < right->place);
}

/* Returns the elements sorted by the text under `path`; the caller frees them. Returns NULL without elements or if out
 * of memory, which the sheet keeps. */
static placed *sorted_by(sheet *s, yyjson_val *array, const char *path) {
    size_t size = yyjson_arr_size(array), index, count;
    placed *sorted = size ? malloc(size * sizeof *sorted) : NULL;
    yyjson_val *element;
    s->has_failed |= size && !sorted;
    if (!sorted)
        return NULL;
    yyjson_arr_foreach(array, index, count, element) {
        sorted[index] = (placed){ element, text_at(element, path), index };
    }
    qsort(sorted, size, sizeof *sorted, by_key);
    return sorted;
}

static void write_toleration(sheet *s, yyjson_val *toleration) {
    const char *key = text_at(toleration, "key"), *value = text_at(toleration, "value");
    const char *effect = text_at(toleration, "effect");
    bool is_any = strcmp(text_at(toleration, "operator"), "Exists") == 0 && !*value;
    sheet_write(s, 0, "%s%s%s%s%s", key, *value ? "=" : "", value, *effect ? ":" : "", effect);
    if (is_any)
        sheet_write(s, 0, "%sop=Exists", *key || *effect ? " " : "");
    if (value_at(toleration, "tolerationSeconds"))
        sheet_write(s, 0, " for %" PRId64 "s", integer_at(toleration, "tolerationSeconds"));
    sheet_write(s, 0, "\n");
}

void write_tolerations(sheet *s, const char *title, yyjson_val *tolerations) {
    placed *sorted = sorted_by(s, tolerations, "key");
    sheet_write(s, 0, "%s:\t%s", title, sorted ? "" : "<none>\n");
    for (size_t i = 0; sorted && i < yyjson_arr_size(tolerations); i++) {
        sheet_write(s, 0, "%s", i ? "\t" : "");
        write_toleration(s, sorted[i].value);
    }
    free(sorted);
}

static void write_selector(sheet *s, yyjson_val *constraint) {
    char *text = selector_text(constraint, "labelSelector?<none>");
    s->has_failed |= !text;
    sheet_write(s, 0, " for selector %s", text ? text : "");
    free(text);
}

void write_spread_constraints(sheet *s, yyjson_val *constraints, const char *space) {
    placed *sorted = sorted_by(s, constraints, "topologyKey");
    if (sorted)
        sheet_write(s, 0, "%sTopology Spread Constraints:\t", space);
    for (size_t i = 0; sorted && i < yyjson_arr_size(constraints); i++) {
        yyjson_val *one = sorted[i].value;
        sheet_write(s, 0, "%s%s%s:%s when max skew %" PRId64 " is exceeded", i ? space : "", i ? "\t" : "",
                    sorted[i].key, text_at(one, "whenUnsatisfiable"), integer_at(one, "maxSkew"));
        if (value_at(one, "labelSelector"))
            write_selector(s, one);
        sheet_write(s, 0, "\n");
    }
    free(sorted);
}

void write_scheduling_group(sheet *s, yyjson_val *group, const char *space) {
    if (!group)
        return;
    sheet_write(s, 0, "%sSchedulingGroup:\n", space);
    sheet_write(s, 1, "PodGroupName:\t%s\n", text_at(group, "podGroupName"));
}
