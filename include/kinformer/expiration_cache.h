/* expiration_cache.h: objects of a program's own choice that are there for a while: an entry that has expired is dropped when somebody reads it. */
#ifndef KINFORMER_EXPIRATION_CACHE_H
#define KINFORMER_EXPIRATION_CACHE_H

#include <kinformer/engine.h>
#include <kinformer/object.h>

KI_BEGIN_DECLS

typedef struct ki_expiration_cache ki_expiration_cache;

typedef struct ki_expiration_cache_options {
    size_t size;    /* sizeof(ki_expiration_cache_options); set by the macro */
    int64_t ttl_ms; /* an entry that is older has expired; <= 0: none ever does */
    /* Decides in place of `ttl_ms`. Called on the thread that reads, under the cache's lock: it must not call the cache. NULL: none. */
    bool (*is_expired)(const ki_object *obj, int64_t age_ms, void *user) KI_NOEXCEPT;
    void *user;
} ki_expiration_cache_options;

#define KI_EXPIRATION_CACHE_OPTIONS(...) \
    ((ki_expiration_cache_options){ .size = sizeof(ki_expiration_cache_options), __VA_ARGS__ })

/* An empty cache with the engine's clock and memory. `options` may be NULL: nothing expires.
 * Ownership: the caller's, freed with ki_expiration_cache_free before the engine. All below: Threads: any, at once. Blocks: no.
 * Errors: KI_ERR_NO_MEMORY, KI_ERR_INVALID, KI_ERR_SYSTEM. */
KI_API KI_MUST_CHECK ki_status ki_expiration_cache_new(ki_engine *engine, const ki_expiration_cache_options *options,
                                                       ki_expiration_cache **ret_cache, ki_error *err);
/* NULL is accepted. */
KI_API void ki_expiration_cache_free(ki_expiration_cache *cache);

/* Puts an object under its key, in place of what was there; its age begins now. The cache takes a reference of its own.
 * Errors: KI_ERR_NO_MEMORY: then what was there still is. */
KI_API KI_MUST_CHECK ki_status ki_expiration_cache_put(ki_expiration_cache *cache, const ki_object *obj, ki_error *err);
/* These, and nothing else. All or nothing. Errors: KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_expiration_cache_replace(ki_expiration_cache *cache, const ki_object *const *objects,
                                                           size_t count, ki_error *err);
/* NULL where there is none, or where it has expired: then it is dropped.
 * Ownership: a reference, the caller's: ki_object_unref. */
KI_API ki_object *ki_expiration_cache_get(ki_expiration_cache *cache, const char *key);
/* Was there one? */
KI_API bool ki_expiration_cache_remove(ki_expiration_cache *cache, const char *key);
/* Calls `visit` for each that has not expired, in no particular order, and drops those that have. Under no lock: `visit` may call the cache.
 * Errors: KI_ERR_NO_MEMORY: then it was not called. */
KI_API KI_MUST_CHECK ki_status ki_expiration_cache_each(ki_expiration_cache *cache,
                                                        void (*visit)(const ki_object *obj, void *user) KI_NOEXCEPT,
                                                        void *user, ki_error *err);
/* With those that have expired and that nobody has read since. */
KI_API size_t ki_expiration_cache_count(ki_expiration_cache *cache);

KI_END_DECLS

#endif
