/* string_map.c: see string_map.h. */
#include "src/object/string_map.h"

#include <string.h>

ki_string_map ki_string_map_of_labels(const ki_object *obj) {
    size_t count = ki_object_label_count(obj);
    return (ki_string_map){ count ? (const char *)obj + 1 : NULL, count };
}

/* Returns the object whose labels the map is; NULL: the map has an array. */
static const ki_object *object_of(const ki_string_map *map) {
    bool is_labels = (uintptr_t)map->of_ & 1;
    return is_labels ? (const ki_object *)(const void *)((const char *)map->of_ - 1) : NULL;
}

const char *ki_string_map_get(const ki_string_map *map, const char *name) {
    if (!map || !name)
        return NULL;
    const ki_object *obj = object_of(map);
    if (obj)
        return ki_object_label(obj, name);
    const ki_string_pair *pairs = map->of_;
    for (size_t i = 0; pairs && i < map->count; i++)
        if (strcmp(pairs[i].name, name) == 0)
            return pairs[i].value;
    return NULL;
}

bool ki_string_map_at(const ki_string_map *map, size_t index, const char **ret_name, const char **ret_value) {
    if (!map || !map->of_ || index >= map->count)
        return false;
    const ki_object *obj = object_of(map);
    if (obj)
        return ki_object_label_at(obj, index, ret_name, ret_value);
    const ki_string_pair *pairs = map->of_;
    if (ret_name)
        *ret_name = pairs[index].name;
    if (ret_value)
        *ret_value = pairs[index].value;
    return true;
}
