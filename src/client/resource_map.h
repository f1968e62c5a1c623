/* resource_map.h: how a map of a server's resources is made: documents are added in order, then it is closed. One thread until then. */
#ifndef KI_CLIENT_RESOURCE_MAP_H
#define KI_CLIENT_RESOURCE_MAP_H

#include <kinformer/discovery.h>

#include "src/base/buffer.h"
#include "src/base/map.h"
#include "src/base/refcount.h"

typedef struct ki_map_chunk ki_map_chunk;

typedef struct ki_map_entry {
    ki_discovered found;
    bool chosen; /* of the versions of its group that have it, the one that is meant where none is said */
} ki_map_entry;

struct ki_resource_map {
    ki_refcount refs;
    ki_allocator allocator;
    ki_map_entry *entries;
    size_t count, capacity;
    const char **broken;
    size_t broken_count, broken_capacity;
    ki_map_chunk *chunks; /* of all strings and lists */
    ki_map known;         /* "group/version/plural": nothing comes twice; until it is closed */
};

/* `seed` keeps a server from making names that collide. */
ki_resource_map *ki_resource_map_new(const ki_allocator *allocator, uint64_t seed);
/* Nothing is added any more. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_resource_map_close(ki_resource_map *map);

/* Is the document in the aggregated form, of this kind? */
bool ki_discovery_is_aggregated(const ki_allocator *allocator, ki_str body);
/* Each adds what it can use of a document and leaves out what it cannot. Errors: KI_ERR_PARSE (no JSON, or another kind), KI_ERR_LIMIT (too
 * many resources), KI_ERR_NO_MEMORY. */
ki_status ki_resource_map_add_aggregated(ki_resource_map *map, ki_str body, ki_error *err);
/* One APIResourceList; its groupVersion is `group`/`version` whatever it says. */
ki_status ki_resource_map_add_list(ki_resource_map *map, const char *group, const char *version, bool preferred,
                                   ki_str body, ki_error *err);
ki_status ki_resource_map_add_broken(ki_resource_map *map, const char *group, const char *version);

/* The old form's groups and versions, in order, the preferred one of a group first. */
typedef struct ki_group_version {
    char *group; /* "" for the core */
    char *version;
    bool preferred;
} ki_group_version;
typedef struct ki_group_versions {
    ki_group_version *items;
    size_t count, capacity;
} ki_group_versions;
/* APIVersions (of /api) or APIGroupList (of /apis). Errors: as above. */
ki_status ki_group_versions_add(const ki_allocator *allocator, ki_group_versions *versions, ki_str body, ki_error *err);
void ki_group_versions_free(const ki_allocator *allocator, ki_group_versions *versions);

/* --- for resource_map_read.c --- */

/* A resource's words as a document has them; views into it. */
typedef struct ki_found_words {
    ki_str words[KI_DISCOVERY_NAMES_MAX];
    size_t count;
} ki_found_words;
typedef struct ki_found {
    ki_str group, version, plural, kind, singular;
    bool namespaced, preferred;
    ki_found_words short_names, categories, verbs, subresources;
} ki_found;
/* Left out where it is there already. Errors: KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
ki_status ki_resource_map_add(ki_resource_map *map, const ki_found *found, ki_error *err);
/* Usable as a name: not empty, not too long, nothing in it that is no name's. */
bool ki_discovery_is_name(ki_str text);

#endif
