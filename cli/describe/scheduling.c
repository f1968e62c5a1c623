/* scheduling.c: where a pod may run: tolerations, spread constraints. */
#include "selector.h"
#include "template.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Elements with the same text keep their order. */
static int by_text(const char *path, const void *a, const void *b) {
    yyjson_val *const *left = a, *const *right = b;
    int order = strcmp(text_at(*left, path), text_at(*right, path));
    return order ? order : *left < *right ? -1 : *left > *right;
}

static int by_key(const void *a, const void *b) {
    return by_text("key", a, b);
}

static int by_topology_key(const void *a, const void *b) {
    return by_text("topologyKey", a, b);
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
    yyjson_val **sorted = elements_sorted(s, tolerations, by_key);
    sheet_write(s, 0, "%s:\t%s", title, sorted ? "" : "<none>\n");
    for (size_t i = 0; sorted && i < yyjson_arr_size(tolerations); i++) {
        sheet_write(s, 0, "%s", i ? "\t" : "");
        write_toleration(s, sorted[i]);
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
    yyjson_val **sorted = elements_sorted(s, constraints, by_topology_key);
    if (sorted)
        sheet_write(s, 0, "%sTopology Spread Constraints:\t", space);
    for (size_t i = 0; sorted && i < yyjson_arr_size(constraints); i++) {
        yyjson_val *one = sorted[i];
        sheet_write(s, 0, "%s%s%s:%s when max skew %" PRId64 " is exceeded", i ? space : "", i ? "\t" : "",
                    text_at(one, "topologyKey"), text_at(one, "whenUnsatisfiable"), integer_at(one, "maxSkew"));
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
