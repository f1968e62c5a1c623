/* expiration_cache.h: a cache of objects that expire. An expired object is dropped when it is read. The semantics are
 * those of client-go's ExpirationCache. */
#ifndef KINFORMER_EXPIRATION_CACHE_H
#define KINFORMER_EXPIRATION_CACHE_H

#include <kinformer/engine.h>
#include <kinformer/object.h>

KI_BEGIN_DECLS

typedef struct ki_expiration_cache ki_expiration_cache;

typedef struct ki_expiration_cache_options {
    size_t size;    /* sizeof(ki_expiration_cache_options); set by the macro */
    int64_t ttl_ms; /* age at which an object expires; 0 or less: never */
    /* Returns true for an expired object; replaces `ttl_ms`. Called on the thread that reads, under the cache's lock:
     * must not call the cache. NULL: `ttl_ms` applies. */
    bool (*is_expired)(const ki_object *obj, int64_t age_ms, void *user) KI_NOEXCEPT;
    void *user;
} ki_expiration_cache_options;

#define KI_EXPIRATION_CACHE_OPTIONS(...) \
    ((ki_expiration_cache_options){ .size = sizeof(ki_expiration_cache_options), __VA_ARGS__ })

/* Makes an empty cache with the engine's clock and allocator. `options` may be NULL; nothing expires then.
 * Ownership: the caller frees the cache with ki_expiration_cache_free before the engine. Threads, of all functions:
 * any. Blocks: no.
 * Errors: KI_ERR_NO_MEMORY, KI_ERR_INVALID, KI_ERR_SYSTEM. */
KI_API KI_MUST_CHECK ki_status ki_expiration_cache_new(ki_engine *engine, const ki_expiration_cache_options *options,
                                                       ki_expiration_cache **ret_cache, ki_error *err);
/* Frees the cache and releases its objects. NULL is accepted. Threads: not while another thread uses the cache. */
KI_API void ki_expiration_cache_free(ki_expiration_cache *cache);

/* Adds an object, or replaces the object with the same key. The object's age starts now.
 * Ownership: the cache takes its own reference. Errors: KI_ERR_NO_MEMORY (nothing is replaced). */
KI_API KI_MUST_CHECK ki_status ki_expiration_cache_put(ki_expiration_cache *cache, const ki_object *obj, ki_error *err);
/* Replaces the contents of the cache with `objects`. Ownership: as ki_expiration_cache_put. Errors: KI_ERR_NO_MEMORY
 * (nothing is replaced). */
KI_API KI_MUST_CHECK ki_status ki_expiration_cache_replace(ki_expiration_cache *cache, const ki_object *const *objects,
                                                           size_t count, ki_error *err);
/* Returns the object under `key`; NULL if there is none or it has expired. Drops an expired object.
 * Ownership: a reference that the caller releases with ki_object_unref. */
KI_API ki_object *ki_expiration_cache_get(ki_expiration_cache *cache, const char *key);
/* Removes the object under `key`. Returns true if there was one. */
KI_API bool ki_expiration_cache_remove(ki_expiration_cache *cache, const char *key);
/* Calls `visit` for each object that has not expired, in no particular order, and drops expired objects. No lock is
 * held: `visit` may call the cache.
 * Errors: KI_ERR_NO_MEMORY (`visit` was not called). */
KI_API KI_MUST_CHECK ki_status ki_expiration_cache_each(ki_expiration_cache *cache,
                                                        void (*visit)(const ki_object *obj, void *user) KI_NOEXCEPT,
                                                        void *user, ki_error *err);
/* Returns the number of objects, with expired objects that were not read since. */
KI_API size_t ki_expiration_cache_count(ki_expiration_cache *cache);

KI_END_DECLS

#endif
