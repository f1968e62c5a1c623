/* discovery.h: what resources a server has, and which of them a person's word means: pods, po, Deployment, deployments.v1.apps, all, …
 *
 * The built-in ones need none of this (resource.h). A custom resource:
 *
 *     ki_discovery_find(discovery, "certificates.cert-manager.io", &map, &found, &err)
 *     ki_factory_informer(factory, &found->resource, NULL, &informer, &err); ki_resource_map_unref(map); */
#ifndef KINFORMER_DISCOVERY_H
#define KINFORMER_DISCOVERY_H

#include <kinformer/client.h>
#include <kinformer/resource.h>

KI_BEGIN_DECLS

typedef struct ki_resource_map ki_resource_map; /* all that a server has at one moment; immutable and shared */
typedef struct ki_discovery ki_discovery;       /* keeps the latest */

enum {
    KI_DISCOVERY_TTL_MS = 10 * 60 * 1000,   /* after so long the server is asked again */
    KI_DISCOVERY_REFRESH_MS = 10 * 1000,    /* an unknown word makes it ask again, but not more often than this */
    KI_DISCOVERY_GROUP_VERSIONS_MAX = 2000, /* of one server */
    KI_DISCOVERY_RESOURCES_MAX = 50000,     /* of one server */
    KI_DISCOVERY_BYTES_MAX = 64 << 20,      /* of all documents of one server together */
    KI_DISCOVERY_GROUP_BYTES_MAX = 4 << 20, /* of the document of one group and version, where they come one by one */
    KI_DISCOVERY_NAME_MAX = 253, /* bytes of a group, plural, kind, short name, …; longer ones are left out */
    KI_DISCOVERY_WORDS_MAX = 64  /* short names, categories, verbs and subresources of one resource, each */
};

/* Lists end with NULL. Borrowed from its map. */
typedef struct ki_discovered {
    ki_resource resource;
    const char *singular;
    const char *const *short_names;
    const char *const *categories;
    const char *const *verbs;
    const char *const *subresources; /* "status", "scale", … */
    bool preferred;                  /* this version is the one that its group prefers */
} ki_discovered;

/* Another owner, and one less. Both accept NULL. Threads: any. */
KI_API ki_resource_map *ki_resource_map_ref(const ki_resource_map *map);
KI_API void ki_resource_map_unref(const ki_resource_map *map);

/* By number from 0, groups in the server's order, the preferred version of each first; NULL past the last. Threads: any, as all below. */
KI_API const ki_discovered *ki_resource_map_at(const ki_resource_map *map, size_t index);
/* Which one is meant by a plural, singular, short name or kind, alone or with group, or version and group? Whole names go before short names,
 * those before kinds; where several groups have it, the server's first one, in its preferred version. NULL: none. */
KI_API const ki_discovered *ki_resource_map_find(const ki_resource_map *map, const char *word);
/* Those of a category ("all"), one after the other: `*cursor` begins as 0; NULL at the end. Each in its preferred version only. */
KI_API const ki_discovered *ki_resource_map_in_category(const ki_resource_map *map, const char *category,
                                                        size_t *cursor);
/* The name closest to `word`, for "did you mean"; NULL where nothing is close. */
KI_API const char *ki_resource_map_nearest(const ki_resource_map *map, const char *word);
/* Groups and versions ("metrics.k8s.io/v1beta1") that could not be asked, mostly since what serves them is down; by number from 0, NULL past
 * the last. Their resources are missing, all others are there. */
KI_API const char *ki_resource_map_broken_at(const ki_resource_map *map, size_t index);

typedef struct ki_discovery_options {
    size_t size;        /* sizeof(ki_discovery_options); set by the macro */
    int64_t ttl_ms;     /* 0: KI_DISCOVERY_TTL_MS */
    int64_t refresh_ms; /* 0: KI_DISCOVERY_REFRESH_MS */
    int64_t timeout_ms; /* of one request; 0: KI_CLIENT_TIMEOUT_MS */
} ki_discovery_options;

#define KI_DISCOVERY_OPTIONS(...) ((ki_discovery_options){ .size = sizeof(ki_discovery_options), __VA_ARGS__ })

/* Ownership: the caller's, freed with ki_discovery_free before `client`. `options` may be NULL. Blocks: no; nothing is asked yet.
 * Errors: KI_ERR_NO_MEMORY, KI_ERR_INVALID, KI_ERR_SYSTEM. */
KI_API KI_MUST_CHECK ki_status ki_discovery_new(ki_client *client, const ki_discovery_options *options,
                                                ki_discovery **ret_discovery, ki_error *err);
/* NULL is accepted. Threads: while no other one uses it. What waits for an answer is told KI_ERR_CANCELLED. */
KI_API void ki_discovery_free(ki_discovery *discovery);

/* `map` is borrowed for the call, NULL where `err` is not. */
typedef void (*ki_discovery_function)(const ki_resource_map *map, const ki_error *err, void *user) KI_NOEXCEPT;

/* Asks the server anew, whatever is known; on_map comes exactly once. Several at once share one asking. The aggregated form is two requests; a
 * server that has only the old one is asked for each group and version, several at a time.
 * Threads: any; on_map on the loop. Blocks: no. Errors: KI_ERR_NO_MEMORY, KI_ERR_STATE; then on_map does not come. */
KI_API KI_MUST_CHECK ki_status ki_discovery_refresh(ki_discovery *discovery, ki_discovery_function on_map, void *user,
                                                    ki_error *err);

/* What is known, if it is not older than the time to live, else asked anew. `*ret_map` is a reference, the caller's.
 * Threads: any but the loop's. Blocks, errors: as ki_client_do. */
KI_API KI_MUST_CHECK ki_status ki_discovery_get(ki_discovery *discovery, ki_resource_map **ret_map, ki_error *err);

/* ki_resource_map_find in what is known; a word that is not known makes it ask anew, if the last asking was not just now.
 * `*ret_found` is borrowed from `*ret_map`, which is a reference, the caller's.
 * Errors: also KI_ERR_NOT_FOUND, with the nearest name in its message. */
KI_API KI_MUST_CHECK ki_status ki_discovery_find(ki_discovery *discovery, const char *word, ki_resource_map **ret_map,
                                                 const ki_discovered **ret_found, ki_error *err);

KI_END_DECLS

#endif
