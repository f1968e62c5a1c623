/* discovery.h: the resources of a server, custom ones too, found by name: pods, po, Deployment, deployments.v1.apps,
 * all, …
 *
 * Built-in resources need no discovery (resource.h), and ki_factory_informer_by_name makes an informer of a custom
 * resource by itself. */
#ifndef KINFORMER_DISCOVERY_H
#define KINFORMER_DISCOVERY_H

#include <kinformer/client.h>
#include <kinformer/resource.h>

KI_BEGIN_DECLS

typedef struct ki_resource_map ki_resource_map; /* the resources of a server; immutable and reference-counted */
typedef struct ki_discovery ki_discovery;       /* requests resource maps, and caches the latest */

enum {
    KI_DISCOVERY_TTL_MS = 10 * 60 * 1000,   /* age after which the cached map is requested again */
    KI_DISCOVERY_REFRESH_MS = 10 * 1000,    /* age after which an unknown name causes a new request */
    KI_DISCOVERY_GROUP_VERSIONS_MAX = 2000, /* group versions of one server */
    KI_DISCOVERY_RESOURCES_MAX = 50000,     /* resources of one server */
    KI_DISCOVERY_BYTES_MAX = 64 << 20,      /* bytes of all discovery documents of one server */
    KI_DISCOVERY_GROUP_BYTES_MAX = 4 << 20, /* bytes of the document of one group version, without aggregation */
    KI_DISCOVERY_NAME_MAX = 253, /* bytes of a group, plural, kind, short name, …; longer ones are skipped */
    KI_DISCOVERY_NAMES_MAX = 64  /* short names of one resource; also its categories, verbs and subresources */
};

/* A resource of a server. Lists end with NULL. Ownership: borrowed from its map. */
typedef struct ki_discovered {
    ki_resource resource;
    const char *singular;
    const char *const *short_names;
    const char *const *categories;
    const char *const *verbs;
    const char *const *subresources; /* "status", "scale", … */
    bool preferred;                  /* this is the preferred version of the group */
} ki_discovered;

/* ---- resource maps: any thread; results are borrowed from the map ---- */

/* Returns `map` with one more reference. NULL is accepted. */
KI_API ki_resource_map *ki_resource_map_ref(const ki_resource_map *map);
/* Releases a reference; the last one frees the map. NULL is accepted. */
KI_API void ki_resource_map_unref(const ki_resource_map *map);

/* Returns the resource number `index`, counted from 0; NULL past the last. Groups come in the server's order, the
 * preferred version of each first. */
KI_API const ki_discovered *ki_resource_map_at(const ki_resource_map *map, size_t index);
/* Returns the resource with a plural, singular, short name or kind, alone, with the group, or with version and group;
 * NULL if there is none. Plurals and singulars are matched before short names, short names before kinds. If several
 * groups match, the result is the server's first group in its preferred version. */
KI_API const ki_discovered *ki_resource_map_find(const ki_resource_map *map, const char *name);
/* Returns the next resource of a category such as "all", in its preferred version; NULL at the end. `*cursor` is 0
 * before the first call. */
KI_API const ki_discovered *ki_resource_map_in_category(const ki_resource_map *map, const char *category,
                                                        size_t *cursor);
/* Returns the resource name that is most similar to `name`, for "did you mean"; NULL if none is similar,
 * or if `name` is of a group that could not be read, such as "pods.metrics.k8s.io". */
KI_API const char *ki_resource_map_nearest(const ki_resource_map *map, const char *name);
/* Returns the failed group version number `index`, counted from 0; NULL past the last. A group version such as
 * "metrics.k8s.io/v1beta1" fails when the server behind it is down. The map lacks its resources only. */
KI_API const char *ki_resource_map_failed_at(const ki_resource_map *map, size_t index);
/* Returns a failed group version that can have the resource `name`; NULL if there is none. If both this function and
 * ki_resource_map_find return NULL, the server has no such resource. */
KI_API const char *ki_resource_map_failed_for(const ki_resource_map *map, const char *name);

/* ---- discovery ---- */

typedef struct ki_discovery_options {
    size_t size;        /* sizeof(ki_discovery_options); set by the macro */
    int64_t refresh_ms; /* 0: KI_DISCOVERY_REFRESH_MS */
    int64_t timeout_ms; /* time limit of one request; 0: KI_CLIENT_TIMEOUT_MS */
} ki_discovery_options;

#define KI_DISCOVERY_OPTIONS(...) KI_SIZED_(ki_discovery_options, __VA_ARGS__)

/* Makes a discovery with an empty cache; sends no request. `options` may be NULL.
 * Ownership: the caller frees the discovery with ki_discovery_free before `client`. Blocks: no.
 * Errors: KI_ERR_NO_MEMORY, KI_ERR_INVALID, KI_ERR_SYSTEM. */
KI_API KI_MUST_CHECK ki_status ki_discovery_new(ki_client *client, const ki_discovery_options *options,
                                                ki_discovery **ret_discovery, ki_error *err);
/* Frees a discovery. Functions registered with ki_discovery_refresh are called with KI_ERR_CANCELLED. NULL is accepted.
 * Threads: not while another thread uses the discovery. */
KI_API void ki_discovery_free(ki_discovery *discovery);

/* Receives a map, borrowed for the call, or an error; the other one is NULL. Threads: called on the loop; must not
 * block. */
typedef void (*ki_discovery_function)(const ki_resource_map *map, const ki_error *err, void *user) KI_NOEXCEPT;

/* Requests the resources from the server, also if the cached map is recent. Calls `on_map` exactly once; after an error
 * of this function never. Concurrent calls share the requests. Aggregated discovery takes two requests; a server
 * without aggregated discovery gets one request for each group version, 16 at a time.
 * Threads: any. Blocks: no. Errors: KI_ERR_NO_MEMORY, KI_ERR_STATE. */
KI_API KI_MUST_CHECK ki_status ki_discovery_refresh(ki_discovery *discovery, ki_discovery_function on_map, void *user,
                                                    ki_error *err);

/* Gets the cached map, or requests a new one if the cached map is older than KI_DISCOVERY_TTL_MS.
 * Ownership: `*ret_map` is a reference that the caller releases with ki_resource_map_unref. Threads: any but the
 * loop's.
 * Blocks, Errors: as ki_client_do. */
KI_API KI_MUST_CHECK ki_status ki_discovery_get(ki_discovery *discovery, ki_resource_map **ret_map, ki_error *err);

/* Finds a resource by name, as ki_resource_map_find, in the map of ki_discovery_get. If the map lacks the name and is
 * older than `refresh_ms`, a new map is requested first.
 * Ownership: `*ret_found` is borrowed from `*ret_map`; the caller releases `*ret_map` with ki_resource_map_unref.
 * Threads, Blocks: as ki_discovery_get.
 * Errors: as ki_discovery_get; KI_ERR_NOT_FOUND (the message has the most similar name, or the group version of
 * ki_resource_map_failed_for). */
KI_API KI_MUST_CHECK ki_status ki_discovery_find(ki_discovery *discovery, const char *name, ki_resource_map **ret_map,
                                                 const ki_discovered **ret_found, ki_error *err);

KI_END_DECLS

#endif
