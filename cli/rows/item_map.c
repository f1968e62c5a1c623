/* item_map.c: see item_map.h. */
#include "item_map.h"

#include <stdlib.h>
#include <string.h>

enum {
    SIZE_FIRST = 64
};

static size_t hash_of(const char *key) {
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * UINT64_C(1099511628211);
    return (size_t)hash;
}

bool item_map_open(item_map *map) {
    *map = (item_map){ .size = SIZE_FIRST, .chains = calloc(SIZE_FIRST, sizeof(item *)) };
    return map->chains;
}

void item_map_close(item_map *map) {
    free(map->chains);
    *map = (item_map){ .chains = NULL };
}

item **item_map_find(const item_map *map, const char *key) {
    item **at = &map->chains[hash_of(key) & (map->size - 1)];
    while (*at && strcmp(ki_object_key((*at)->obj), key) != 0)
        at = &(*at)->next;
    return at;
}

/* Doubles the map. Without memory it stays as it is, with longer chains. */
static void grow(item_map *map) {
    size_t size = map->size * 2;
    item **chains = calloc(size, sizeof(item *));
    if (!chains)
        return;
    for (size_t i = 0; i < map->size; i++) {
        for (item *it = map->chains[i], *next; it; it = next) {
            item **at = &chains[hash_of(ki_object_key(it->obj)) & (size - 1)];
            next = it->next;
            it->next = *at;
            *at = it;
        }
    }
    free(map->chains);
    map->chains = chains;
    map->size = size;
}

void item_map_put(item_map *map, item **place, item *it) {
    bool is_more = !*place;
    it->next = is_more ? NULL : (*place)->next;
    *place = it;
    map->count += is_more;
    if (map->count > map->size)
        grow(map);
}

void item_map_remove(item_map *map, item **place) {
    *place = (*place)->next;
    map->count--;
}
