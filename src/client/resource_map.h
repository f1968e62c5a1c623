/* resource_map.h: building the map of a server's resources. Documents are added in order, then the map is closed. One
 * thread until then; immutable afterwards. */
#ifndef KI_CLIENT_RESOURCE_MAP_H
#define KI_CLIENT_RESOURCE_MAP_H

#include <kinformer/discovery.h>

#include "src/base/buffer.h"
#include "src/base/map.h"
#include "src/base/refcount.h"

typedef struct ki_map_chunk ki_map_chunk;

typedef struct ki_map_entry {
    ki_discovered found;
    bool chosen; /* the default entry for its group and plural */
} ki_map_entry;

/* A group and version whose resources could not be read. */
typedef struct ki_map_failed {
    const char *name; /* "metrics.k8s.io/v1beta1" */
    const char *group, *version;
} ki_map_failed;

struct ki_resource_map {
    ki_refcount refs;
    ki_allocator allocator;
    ki_map_entry *entries;
    size_t count, capacity;
    ki_map_failed *failed;
    size_t failed_count, failed_capacity;
    ki_map_chunk *chunks; /* memory of all strings and lists */
    bool lacks_memory;    /* a chunk could not be allocated: the map is not usable */
    ki_map known;         /* keys "group/version/plural", to skip duplicates; empty after close */
};

/* Returns an empty map; NULL on lack of memory. `seed` keeps a server from choosing names that collide. */
ki_resource_map *ki_resource_map_new(const ki_allocator *allocator, uint64_t seed);
/* Chooses the default entries. Nothing may be added afterwards. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_resource_map_close(ki_resource_map *map);

/* Returns true for an APIGroupDiscoveryList (aggregated discovery, KEP-3352). */
bool ki_discovery_is_aggregated(const ki_allocator *allocator, ki_str body);
/* Adds the resources of an aggregated document. Skips entries that are not usable.
 * Errors: KI_ERR_PARSE (no JSON, or another kind), KI_ERR_LIMIT (too many resources), KI_ERR_NO_MEMORY. */
ki_status ki_resource_map_add_aggregated(ki_resource_map *map, ki_str body, ki_error *err);
/* Adds the resources of one APIResourceList as `group`/`version`; ignores its groupVersion. Errors: as above. */
ki_status ki_resource_map_add_list(ki_resource_map *map, const char *group, const char *version, bool preferred,
                                   ki_str body, ki_error *err);
/* Adds a group and version whose resources could not be read. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_resource_map_add_failed(ki_resource_map *map, const char *group, const char *version);

/* Groups and versions of the unaggregated documents, in order; a group's preferred version first. */
typedef struct ki_group_version {
    char group[KI_DISCOVERY_NAME_MAX + 1]; /* "" for the core */
    char version[KI_DISCOVERY_NAME_MAX + 1];
    bool preferred;
} ki_group_version;
typedef struct ki_group_versions {
    ki_group_version *items; /* freed by the owner */
    size_t count, capacity;
} ki_group_versions;
/* Adds the versions of an APIVersions (from /api) or APIGroupList (from /apis). Errors: as above. */
ki_status ki_group_versions_add(const ki_allocator *allocator, ki_group_versions *versions, ki_str body, ki_error *err);

/* --- for resource_map_read.c --- */

/* A resource's list of names in a document; borrowed from the document. */
typedef struct ki_found_names {
    ki_str items[KI_DISCOVERY_NAMES_MAX];
    size_t count;
} ki_found_names;
/* A resource as a document describes it; borrowed from the document. */
typedef struct ki_found {
    ki_str group, version, plural, kind, singular;
    bool namespaced, preferred;
    ki_found_names short_names, categories, verbs, subresources;
} ki_found;
/* Adds a resource; skips one that the map has already, or whose names are not usable. Errors: KI_ERR_LIMIT,
 * KI_ERR_NO_MEMORY. */
ki_status ki_resource_map_add(ki_resource_map *map, const ki_found *found, ki_error *err);
/* Returns true if `text` is usable as a name: not empty, not too long, only characters of names. */
bool ki_discovery_is_name(ki_str text);

#endif
