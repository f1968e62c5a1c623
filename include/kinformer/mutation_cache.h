/* mutation_cache.h: a program's own writes, shown over an informer's copy until the copy has caught up with them.
 *
 * For a program that writes and then decides by its copy: without it the next decision is made on what was before the write. Where waiting is
 * possible, ki_informer_wait_for_version says the same with no cache. */
#ifndef KINFORMER_MUTATION_CACHE_H
#define KINFORMER_MUTATION_CACHE_H

#include <kinformer/informer.h>

KI_BEGIN_DECLS

typedef struct ki_mutation_cache ki_mutation_cache;

typedef struct ki_mutation_cache_options {
    size_t size;     /* sizeof(ki_mutation_cache_options); set by the macro */
    size_t capacity; /* objects; the one that was used least recently goes first; 0: 100 */
    int64_t ttl_ms;  /* a write is shown no longer than this; 0: 5 minutes; < 0: as long as it takes */
} ki_mutation_cache_options;

#define KI_MUTATION_CACHE_OPTIONS(...) \
    ((ki_mutation_cache_options){ .size = sizeof(ki_mutation_cache_options), __VA_ARGS__ })

/* A cache over `informer`, with its engine's clock and memory. `options` may be NULL.
 * Ownership: the caller's, freed with ki_mutation_cache_free before the informer. All below: Threads: any, at once. Blocks: no.
 * Errors: KI_ERR_NO_MEMORY, KI_ERR_INVALID, KI_ERR_SYSTEM. */
KI_API KI_MUST_CHECK ki_status ki_mutation_cache_new(ki_informer *informer, const ki_mutation_cache_options *options,
                                                     ki_mutation_cache **ret_cache, ki_error *err);
/* NULL is accepted. */
KI_API void ki_mutation_cache_free(ki_mutation_cache *cache);

/* What a write gave back, as an object of the informer's kind (ki_informer_object_from_json). Of two writes to one object the one with the newer resource version stays, whatever the order of these calls.
 * Ownership: the cache takes a reference of its own. Errors: KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_mutation_cache_put(ki_mutation_cache *cache, const ki_object *obj, ki_error *err);

/* The newer of the own write and the copy's object; NULL where there is neither. A write that the copy does not have is shown until the
 * copy is at its version: then it was deleted. Where versions cannot be compared the copy's object is shown.
 * Ownership: a reference, the caller's: ki_object_unref. */
KI_API ki_object *ki_mutation_cache_get(ki_mutation_cache *cache, const char *key);

KI_END_DECLS

#endif
