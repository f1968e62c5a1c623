/* resource_map.c: a server's resources in one array, with the rules by which a resource name finds one. Every name in
 * the map passed ki_discovery_is_name, so it may be shown and put into paths. */
#include "src/client/resource_map.h"

#include "src/base/array.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/nearest.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum {
    CHUNK_SIZE = 16 * 1024,
    ALIGNMENT = sizeof(void *)
};

struct ki_map_chunk {
    ki_map_chunk *next;
    size_t used, size;
    _Alignas(max_align_t) char bytes[];
};

/* --- new, reference, free ----------------------------------------------------------------------------------------- */

ki_resource_map *ki_resource_map_new(const ki_allocator *allocator, uint64_t seed) {
    ki_resource_map *map = ki_alloc_zero(allocator, sizeof *map);
    if (!map)
        return NULL;
    ki_refcount_init(&map->refs);
    map->allocator = *allocator;
    ki_map_init(&map->known, &map->allocator, seed);
    return map;
}

static ki_resource_map *writable(const ki_resource_map *map) {
    return (ki_resource_map *)(uintptr_t)map; /* only the reference count changes */
}

ki_resource_map *ki_resource_map_ref(const ki_resource_map *map) {
    if (map)
        ki_refcount_inc(&writable(map)->refs);
    return writable(map);
}

void ki_resource_map_unref(const ki_resource_map *borrowed) {
    ki_resource_map *map = writable(borrowed);
    if (!map || !ki_refcount_dec(&map->refs))
        return;
    ki_allocator allocator = map->allocator;
    ki_map_free(&map->known);
    while (map->chunks) {
        ki_map_chunk *next = map->chunks->next;
        ki_free(&allocator, map->chunks);
        map->chunks = next;
    }
    ki_free(&allocator, map->entries);
    ki_free(&allocator, map->failed);
    ki_free(&allocator, map);
}

/* --- adding ------------------------------------------------------------------------------------------------------- */

static void *take_room(ki_resource_map *map, size_t size) {
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!map->chunks || map->chunks->size - map->chunks->used < size) {
        size_t room = size > CHUNK_SIZE ? size : CHUNK_SIZE;
        ki_map_chunk *chunk = ki_alloc(&map->allocator, sizeof *chunk + room);
        if (!chunk) {
            map->lacks_memory = true;
            return NULL;
        }
        *chunk = (ki_map_chunk){ .next = map->chunks, .size = room };
        map->chunks = chunk;
    }
    void *place = map->chunks->bytes + map->chunks->used;
    map->chunks->used += size;
    return place;
}

static const char *keep(ki_resource_map *map, ki_str text) {
    char *copy = take_room(map, text.size + 1);
    if (!copy)
        return NULL;
    if (text.size)
        memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    return copy;
}

static const char *const *copy_names(ki_resource_map *map, const ki_found_names *names) {
    const char **list = take_room(map, (names->count + 1) * sizeof *list);
    if (!list)
        return NULL;
    for (size_t i = 0; i < names->count; i++) {
        list[i] = keep(map, names->items[i]);
    }
    list[names->count] = NULL;
    return list;
}

bool ki_discovery_is_name(ki_str text) {
    if (text.size == 0 || text.size > KI_DISCOVERY_NAME_MAX || text.data[0] == '.')
        return false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                    c == '.' || c == '_' || c == ':';
        if (!good)
            return false;
    }
    return true;
}

/* Sets *ret_new if `known` does not have the resource yet, and adds its key. */
static ki_status claim(ki_resource_map *map, const ki_found *found, bool *ret_new) {
    ki_buffer key;
    ki_buffer_init(&key, &map->allocator, 0);
    ki_buffer_append_view(&key, found->group);
    ki_buffer_append_char(&key, '/');
    ki_buffer_append_view(&key, found->version);
    ki_buffer_append_char(&key, '/');
    ki_buffer_append_view(&key, found->plural);
    ki_str text = { key.data, key.size };
    ki_status status = key.failed;
    *ret_new = !status && !ki_map_has(&map->known, text);
    if (*ret_new) {
        const char *copy = keep(map, text);
        status = copy ? ki_map_put(&map->known, (ki_str){ copy, text.size }, map, NULL) : KI_ERR_NO_MEMORY;
    }
    ki_buffer_free(&key);
    return status ? KI_ERR_NO_MEMORY : KI_OK;
}

ki_status ki_resource_map_add(ki_resource_map *map, const ki_found *found, ki_error *err) {
    bool is_new;
    if (!ki_discovery_is_name(found->version) || !ki_discovery_is_name(found->plural) ||
        !ki_discovery_is_name(found->kind) || (found->group.size && !ki_discovery_is_name(found->group)))
        return KI_OK;
    if (map->count >= KI_DISCOVERY_RESOURCES_MAX)
        return ki_error_set(err, KI_ERR_LIMIT, "the server has more than %d resources", KI_DISCOVERY_RESOURCES_MAX);
    ki_status status = claim(map, found, &is_new);
    if (!status && !is_new)
        return KI_OK;
    if (status || KI_ARRAY_RESERVE(&map->allocator, map->entries, map->count, map->capacity))
        return ki_error_no_memory(err, "reading discovery");
    bool has_singular = ki_discovery_is_name(found->singular);
    const ki_discovered made = {
        .resource = { .group = keep(map, found->group),
                      .version = keep(map, found->version),
                      .plural = keep(map, found->plural),
                      .kind = keep(map, found->kind),
                      .namespaced = found->namespaced },
        .singular = keep(map, has_singular ? found->singular : (ki_str){ "", 0 }),
        .short_names = copy_names(map, &found->short_names),
        .categories = copy_names(map, &found->categories),
        .verbs = copy_names(map, &found->verbs),
        .subresources = copy_names(map, &found->subresources),
        .preferred = found->preferred,
    };
    if (map->lacks_memory)
        return ki_error_no_memory(err, "reading discovery");
    map->entries[map->count++] = (ki_map_entry){ .found = made };
    return KI_OK;
}

/* Marks `entry` as chosen if no entry with its group and plural is chosen yet. */
static ki_status choose(ki_resource_map *map, ki_map_entry *entry) {
    const ki_resource *resource = &entry->found.resource;
    size_t size = strlen(resource->group) + strlen(resource->plural) + 2;
    char *key = take_room(map, size);
    if (!key)
        return KI_ERR_NO_MEMORY;
    snprintf(key, size, "%s/%s", resource->group, resource->plural);
    ki_str text = { key, size - 1 };
    if (ki_map_has(&map->known, text))
        return KI_OK;
    entry->chosen = true;
    return ki_map_put(&map->known, text, map, NULL);
}

ki_status ki_resource_map_close(ki_resource_map *map) {
    ki_status status = KI_OK;
    ki_map_clear(&map->known);
    for (int preferred = 1; preferred >= 0; preferred--) {
        for (size_t i = 0; i < map->count && !status; i++) {
            if (map->entries[i].found.preferred == (preferred == 1))
                status = choose(map, &map->entries[i]);
        }
    }
    ki_map_free(&map->known);
    ki_map_init(&map->known, &map->allocator, 0);
    return status;
}

ki_status ki_resource_map_add_failed(ki_resource_map *map, const char *group, const char *version) {
    if (KI_ARRAY_RESERVE(&map->allocator, map->failed, map->failed_count, map->failed_capacity))
        return KI_ERR_NO_MEMORY;
    size_t group_size = strlen(group), size = group_size + strlen(version) + 2;
    const char *kept_group = keep(map, ki_str_of(group));
    char *name = take_room(map, size);
    if (!kept_group || !name)
        return KI_ERR_NO_MEMORY;
    snprintf(name, size, "%s%s%s", group, group_size ? "/" : "", version);
    map->failed[map->failed_count++] = (ki_map_failed){
        .name = name,
        .group = kept_group,
        .version = group_size ? name + group_size + 1 : name,
    };
    return KI_OK;
}

/* --- lookup ------------------------------------------------------------------------------------------------------- */

const ki_discovered *ki_resource_map_at(const ki_resource_map *map, size_t index) {
    return index < map->count ? &map->entries[index].found : NULL;
}

const char *ki_resource_map_failed_at(const ki_resource_map *map, size_t index) {
    return index < map->failed_count ? map->failed[index].name : NULL;
}

static bool same(ki_str text, const char *other) {
    return ki_equal_ignoring_case(text, other);
}

static bool has_name(const char *const *list, ki_str name) {
    for (; *list; list++) {
        if (same(name, *list))
            return true;
    }
    return false;
}

/* How a resource name can match, in this order; the first kind of match with a result wins. */
typedef enum match_by {
    BY_NAME,
    BY_SHORT_NAME,
    BY_KIND,
    BY_COUNT
} match_by;

static bool is_called(const ki_discovered *entry, match_by by, ki_str name) {
    switch (by) {
    case BY_NAME:
        return same(name, entry->resource.plural) || (entry->singular[0] && same(name, entry->singular));
    case BY_SHORT_NAME:
        return has_name(entry->short_names, name);
    default:
        return same(name, entry->resource.kind);
    }
}

enum {
    MEANINGS_MAX = 3 /* meanings of one name */
};

/* What to look up. `version`, `group` with NULL data: any. */
typedef struct wanted {
    ki_str name, version, group;
    bool is_prefix; /* `group` is a prefix: "autoscal" finds autoscaling */
} wanted;

static bool is_in(const char *group, const char *version, const wanted *what) {
    if (what->version.data && !same(what->version, version))
        return false;
    if (!what->group.data)
        return true;
    return what->is_prefix ? what->group.size > 0 && ki_str_starts_with(ki_str_of(group), what->group)
                           : same(what->group, group);
}

static const ki_discovered *look(const ki_resource_map *map, const wanted *what) {
    for (match_by by = BY_NAME; by < BY_COUNT; by++) {
        const ki_discovered *other = NULL; /* first match that is not its group's preferred version */
        for (size_t i = 0; i < map->count; i++) {
            const ki_discovered *entry = &map->entries[i].found;
            if (!is_called(entry, by, what->name) || !is_in(entry->resource.group, entry->resource.version, what))
                continue;
            if (entry->preferred || what->version.data)
                return entry;
            if (!other)
                other = entry;
        }
        if (other)
            return other;
    }
    return NULL;
}

/* Writes the meanings that a name can have, in the order in which they are tried. Returns their number. */
static size_t read_name(const char *name, wanted meanings[MEANINGS_MAX]) {
    if (!name || !name[0] || strlen(name) > (size_t)3 * KI_DISCOVERY_NAME_MAX)
        return 0;
    ki_str qualifier;
    wanted what = { .name = ki_str_split(ki_str_of(name), '.', &qualifier) };
    meanings[0] = what;
    if (!qualifier.data)
        return 1;
    /* The qualifier is "v1.apps" (version and group), "v1", "v1.", or a group such as "example.com": tries version and
     * group first, then the group, then the group's prefix. */
    meanings[0].version = ki_str_split(qualifier, '.', &meanings[0].group);
    if (!meanings[0].group.data)
        meanings[0].group = (ki_str){ "", 0 };
    what.group = qualifier;
    meanings[1] = what;
    what.is_prefix = true;
    meanings[2] = what;
    return MEANINGS_MAX;
}

const ki_discovered *ki_resource_map_find(const ki_resource_map *map, const char *name) {
    wanted meanings[MEANINGS_MAX];
    size_t count = read_name(name, meanings);
    const ki_discovered *found = NULL;
    for (size_t i = 0; i < count && !found; i++)
        found = look(map, &meanings[i]);
    return found;
}

const char *ki_resource_map_failed_for(const ki_resource_map *map, const char *name) {
    wanted meanings[MEANINGS_MAX];
    size_t count = read_name(name, meanings);
    for (size_t i = 0; i < map->failed_count; i++) {
        for (size_t k = 0; k < count; k++) {
            if (is_in(map->failed[i].group, map->failed[i].version, &meanings[k]))
                return map->failed[i].name;
        }
    }
    return NULL;
}

const ki_discovered *ki_resource_map_in_category(const ki_resource_map *map, const char *category, size_t *cursor) {
    while (category && *cursor < map->count) {
        size_t at = (*cursor)++;
        if (map->entries[at].chosen && has_name(map->entries[at].found.categories, ki_str_of(category)))
            return &map->entries[at].found;
    }
    return NULL;
}

const char *ki_resource_map_nearest(const ki_resource_map *map, const char *name) {
    ki_nearest nearest;
    if (!ki_nearest_begin(&nearest, name))
        return NULL;
    if (strchr(name, '.') && ki_resource_map_failed_for(map, name)) /* such as "pods.metrics.k8s.io" */
        return NULL;
    for (size_t i = 0; i < map->count; i++) {
        const ki_discovered *entry = &map->entries[i].found;
        ki_nearest_try(&nearest, entry->resource.plural, entry->resource.plural);
        ki_nearest_try(&nearest, entry->singular, entry->resource.plural);
    }
    return nearest.best;
}
