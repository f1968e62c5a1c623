/* mutation_cache.h: the program's own writes, returned in place of an informer's cached objects until the informer has
 * received them.
 *
 * For programs that decide by the cache right after a write: the informer's cache still has the state before the write.
 * A program that can wait uses ki_informer_wait_for_version instead. The semantics are those of client-go's
 * MutationCache. */
#ifndef KINFORMER_MUTATION_CACHE_H
#define KINFORMER_MUTATION_CACHE_H

#include <kinformer/informer.h>

KI_BEGIN_DECLS

typedef struct ki_mutation_cache ki_mutation_cache;

typedef struct ki_mutation_cache_options {
    size_t size;     /* sizeof(ki_mutation_cache_options); set by the macro */
    size_t capacity; /* number of objects; the least recently used object is dropped first; 0: 100 */
    int64_t ttl_ms;  /* time after which a write is dropped; 0: 5 minutes; < 0: no limit */
} ki_mutation_cache_options;

#define KI_MUTATION_CACHE_OPTIONS(...) \
    ((ki_mutation_cache_options){ .size = sizeof(ki_mutation_cache_options), __VA_ARGS__ })

/* Makes a mutation cache of `informer`, with the clock and allocator of the informer's engine. `options` may be NULL.
 * Ownership: the caller frees the cache with ki_mutation_cache_free before the informer. Threads, of all functions:
 * any. Blocks: no.
 * Errors: KI_ERR_NO_MEMORY, KI_ERR_INVALID, KI_ERR_SYSTEM. */
KI_API KI_MUST_CHECK ki_status ki_mutation_cache_new(ki_informer *informer, const ki_mutation_cache_options *options,
                                                     ki_mutation_cache **ret_cache, ki_error *err);
/* Frees the cache and releases its objects. NULL is accepted. Threads: not while another thread uses the cache. */
KI_API void ki_mutation_cache_free(ki_mutation_cache *cache);

/* Adds the object that a write returned, made by ki_informer_object_from_json. After two writes of one object the cache
 * keeps the newer resource version, in any order of the calls.
 * Ownership: the cache takes its own reference. Errors: KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_mutation_cache_put(ki_mutation_cache *cache, const ki_object *obj, ki_error *err);

/* Returns the newer of the program's write and the informer's cached object; NULL if there is neither. If the informer
 * does not have the object, the write is returned until the informer reaches the write's version, then NULL: the object
 * was deleted. If the versions cannot be compared, the informer's object is returned if there is one, else the write
 * until it is dropped.
 * Ownership: a reference that the caller releases with ki_object_unref. */
KI_API ki_object *ki_mutation_cache_get(ki_mutation_cache *cache, const char *key);

KI_END_DECLS

#endif
