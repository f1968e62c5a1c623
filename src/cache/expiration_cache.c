/* expiration_cache.c: a map of entries by key, each with the time when it was put, under one lock. */
#include <kinformer/expiration_cache.h>

#include "src/base/error.h"
#include "src/base/map.h"
#include "src/base/memory.h"
#include "src/engine/engine.h"
#include "src/engine/thread.h"

typedef struct entry {
    ki_object *obj; /* owned reference; the map borrows its key */
    int64_t since;  /* engine time of the put, in nanoseconds */
} entry;

struct ki_expiration_cache {
    /* Constant. */
    ki_engine *engine;
    const ki_allocator *allocator;
    ki_expiration_cache_options options;
    uint64_t seed;
    /* Under `mutex`. */
    ki_mutex mutex;
    ki_map entries;
};

/* --- new, free ----------------------------------------------------------------------------------------------------------------- */

ki_status ki_expiration_cache_new(ki_engine *engine, const ki_expiration_cache_options *options,
                                  ki_expiration_cache **ret_cache, ki_error *err) {
    if (!engine || !ret_cache)
        return ki_error_missing(err, "ki_expiration_cache_new");
    if (options && options->size == 0)
        return ki_error_set(err, KI_ERR_INVALID,
                            "ki_expiration_cache_options without a size: use KI_EXPIRATION_CACHE_OPTIONS()");
    const ki_allocator *allocator = ki_engine_allocator(engine);
    ki_expiration_cache *cache = ki_alloc_zero(allocator, sizeof *cache);
    if (!cache)
        return ki_error_no_memory(err, "making a cache");
    ki_status status = ki_mutex_init(&cache->mutex, err);
    if (status) {
        ki_free(allocator, cache);
        return status;
    }
    cache->engine = engine;
    cache->allocator = allocator;
    if (options)
        memcpy(&cache->options, options, options->size < sizeof cache->options ? options->size : sizeof cache->options);
    cache->seed = (uint64_t)ki_engine_now(engine);
    ki_map_init(&cache->entries, allocator, cache->seed);
    *ret_cache = cache;
    return KI_OK;
}

static void free_entry(const ki_expiration_cache *cache, entry *freed) {
    if (!freed)
        return;
    ki_object_unref(freed->obj);
    ki_free(cache->allocator, freed);
}

static void free_entries(const ki_expiration_cache *cache, ki_map *entries) {
    size_t cursor = 0;
    void *freed;
    while (ki_map_next(entries, &cursor, NULL, &freed))
        free_entry(cache, freed);
    ki_map_free(entries);
}

void ki_expiration_cache_free(ki_expiration_cache *cache) {
    if (!cache)
        return;
    free_entries(cache, &cache->entries);
    ki_mutex_destroy(&cache->mutex);
    ki_free(cache->allocator, cache);
}

/* --- writing ------------------------------------------------------------------------------------------------------------------ */

/* Puts an object into `entries`. Stores the replaced entry, or NULL, in `*ret_old`. */
static ki_status put(const ki_expiration_cache *cache, ki_map *entries, const ki_object *obj, entry **ret_old) {
    entry *added = ki_alloc(cache->allocator, sizeof *added);
    if (!added)
        return KI_ERR_NO_MEMORY;
    *added = (entry){ .obj = ki_object_ref(obj), .since = ki_engine_now(cache->engine) };
    void *old = NULL;
    ki_status status = ki_map_put(entries, ki_str_of(ki_object_key(obj)), added, &old);
    if (status)
        free_entry(cache, added);
    else
        *ret_old = old;
    return status;
}

ki_status ki_expiration_cache_put(ki_expiration_cache *cache, const ki_object *obj, ki_error *err) {
    if (!cache || !obj)
        return ki_error_missing(err, "ki_expiration_cache_put");
    entry *old = NULL;
    ki_mutex_lock(&cache->mutex);
    ki_status status = put(cache, &cache->entries, obj, &old);
    ki_mutex_unlock(&cache->mutex);
    free_entry(cache, old);
    return status ? ki_error_no_memory(err, "putting an object into a cache") : KI_OK;
}

ki_status ki_expiration_cache_replace(ki_expiration_cache *cache, const ki_object *const *objects, size_t count,
                                      ki_error *err) {
    if (!cache || (count && !objects))
        return ki_error_missing(err, "ki_expiration_cache_replace");
    ki_map entries;
    ki_map_init(&entries, cache->allocator, cache->seed);
    ki_status status = KI_OK;
    for (size_t i = 0; !status && i < count; i++) {
        entry *old = NULL; /* set if `objects` has a key twice */
        status = put(cache, &entries, objects[i], &old);
        free_entry(cache, old);
    }
    if (!status) {
        ki_mutex_lock(&cache->mutex);
        ki_map before = cache->entries;
        cache->entries = entries;
        entries = before;
        ki_mutex_unlock(&cache->mutex);
    }
    free_entries(cache, &entries);
    return status ? ki_error_no_memory(err, "replacing a cache's objects") : KI_OK;
}

bool ki_expiration_cache_remove(ki_expiration_cache *cache, const char *key) {
    ki_mutex_lock(&cache->mutex);
    entry *removed = ki_map_remove(&cache->entries, ki_str_of(key));
    ki_mutex_unlock(&cache->mutex);
    free_entry(cache, removed);
    return removed != NULL;
}

/* --- reading --------------------------------------------------------------------------------------------------- */

/* Caller holds the lock. */
static bool is_expired(const ki_expiration_cache *cache, const entry *looked_at) {
    const ki_expiration_cache_options *options = &cache->options;
    int64_t age = ki_engine_now(cache->engine) - looked_at->since;
    if (options->is_expired)
        return options->is_expired(looked_at->obj, age / KI_MILLISECONDS(1), options->user);
    return options->ttl_ms > 0 && options->ttl_ms < INT64_MAX / KI_MILLISECONDS(1) &&
           age > KI_MILLISECONDS(options->ttl_ms);
}

ki_object *ki_expiration_cache_get(ki_expiration_cache *cache, const char *key) {
    ki_object *obj = NULL;
    entry *dropped = NULL;
    ki_mutex_lock(&cache->mutex);
    const entry *found = ki_map_get(&cache->entries, ki_str_of(key));
    if (found && is_expired(cache, found))
        dropped = ki_map_remove(&cache->entries, ki_str_of(key));
    else if (found)
        obj = ki_object_ref(found->obj);
    ki_mutex_unlock(&cache->mutex);
    free_entry(cache, dropped);
    return obj;
}

/* Fills `all`: valid objects, as references, from the front; expired entries, removed from the map, from the back. Returns the number of valid
 * objects. Caller holds the lock. */
static size_t sort_out(ki_expiration_cache *cache, const void **all, size_t count) {
    size_t valid = 0, expired = 0, cursor = 0;
    void *at;
    while (ki_map_next(&cache->entries, &cursor, NULL, &at)) {
        const entry *looked_at = at;
        if (is_expired(cache, looked_at))
            all[count - ++expired] = looked_at;
        else
            all[valid++] = ki_object_ref(looked_at->obj);
    }
    for (size_t i = valid; i < count; i++) {
        const entry *gone = all[i];
        all[i] = ki_map_remove(&cache->entries, ki_str_of(ki_object_key(gone->obj)));
    }
    return valid;
}

ki_status ki_expiration_cache_each(ki_expiration_cache *cache, void (*visit)(const ki_object *obj, void *user),
                                   void *user, ki_error *err) {
    if (!cache || !visit)
        return ki_error_missing(err, "ki_expiration_cache_each");
    ki_mutex_lock(&cache->mutex);
    size_t count = cache->entries.count;
    const void **all = ki_alloc_array(cache->allocator, count, sizeof *all);
    size_t valid = all ? sort_out(cache, all, count) : 0;
    ki_mutex_unlock(&cache->mutex);
    if (!all)
        return count ? ki_error_no_memory(err, "walking a cache") : KI_OK;
    for (size_t i = 0; i < valid; i++) {
        visit(all[i], user);
        ki_object_unref(all[i]);
    }
    for (size_t i = valid; i < count; i++) {
        entry *expired;
        memcpy(&expired, &all[i], sizeof expired); /* owned; const only in this array */
        free_entry(cache, expired);
    }
    ki_free(cache->allocator, all);
    return KI_OK;
}

size_t ki_expiration_cache_count(ki_expiration_cache *cache) {
    ki_mutex_lock(&cache->mutex);
    size_t count = cache->entries.count;
    ki_mutex_unlock(&cache->mutex);
    return count;
}
