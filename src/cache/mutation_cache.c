/* mutation_cache.c: see <kinformer/mutation_cache.h>. The entries are in a map by key, and in a list with the least recently used first. One lock
 * guards both. */
#include <kinformer/lister.h>
#include <kinformer/mutation_cache.h>

#include "src/base/error.h"
#include "src/base/map.h"
#include "src/base/memory.h"
#include "src/cache/informer_parts.h"

enum {
    DEFAULT_CAPACITY = 100
};
#define DEFAULT_TTL_MS INT64_C(300000)

typedef struct entry entry;
struct entry {
    entry *before, *after;
    ki_object *obj; /* owned reference; its key is the entry's */
    int64_t since;
};

struct ki_mutation_cache {
    /* Constant. */
    ki_informer *informer;
    const ki_allocator *allocator;
    size_t capacity;
    int64_t ttl_ns; /* < 0: none */
    /* Under `mutex`. */
    ki_mutex mutex;
    ki_map entries;
    entry *first, *last; /* least and most recently used */
};

/* --- new ---------------------------------------------------------------------------------------------------------------------- */

static int64_t ttl_ns(int64_t requested_ms) {
    if (requested_ms < 0 || requested_ms > INT64_MAX / KI_MILLISECONDS(1))
        return -1;
    return KI_MILLISECONDS(requested_ms ? requested_ms : DEFAULT_TTL_MS);
}

ki_status ki_mutation_cache_new(ki_informer *informer, const ki_mutation_cache_options *options,
                                ki_mutation_cache **ret_cache, ki_error *err) {
    if (!informer || !ret_cache)
        return ki_error_missing(err, "ki_mutation_cache_new");
    ki_mutation_cache_options given = { .size = sizeof given };
    if (options && options->size == 0)
        return ki_error_set(err, KI_ERR_INVALID,
                            "ki_mutation_cache_options without a size: use KI_MUTATION_CACHE_OPTIONS()");
    if (options)
        memcpy(&given, options, options->size < sizeof given ? options->size : sizeof given);
    const ki_allocator *allocator = ki_engine_allocator(informer->engine);
    ki_mutation_cache *cache = ki_alloc_zero(allocator, sizeof *cache);
    if (!cache)
        return ki_error_no_memory(err, "making a cache");
    ki_status status = ki_mutex_init(&cache->mutex, err);
    if (status) {
        ki_free(allocator, cache);
        return status;
    }
    cache->informer = informer;
    cache->allocator = allocator;
    cache->capacity = given.capacity ? given.capacity : DEFAULT_CAPACITY;
    cache->ttl_ns = ttl_ns(given.ttl_ms);
    ki_map_init(&cache->entries, allocator, informer->options.seed);
    *ret_cache = cache;
    return KI_OK;
}

/* --- entries: caller holds mutex -------------------------------------------------------------------------------------------------- */

static void take_off_list(ki_mutation_cache *cache, entry *taken) {
    *(taken->before ? &taken->before->after : &cache->first) = taken->after;
    *(taken->after ? &taken->after->before : &cache->last) = taken->before;
}

static void put_last(ki_mutation_cache *cache, entry *used) {
    used->before = cache->last;
    used->after = NULL;
    *(cache->last ? &cache->last->after : &cache->first) = used;
    cache->last = used;
}

static void drop(ki_mutation_cache *cache, entry *dropped) {
    ki_map_remove(&cache->entries, ki_str_of(ki_object_key(dropped->obj)));
    take_off_list(cache, dropped);
    ki_object_unref(dropped->obj);
    ki_free(cache->allocator, dropped);
}

/* Returns the entry of the key. Drops an expired entry and returns NULL. */
static entry *find(ki_mutation_cache *cache, const char *key) {
    entry *found = ki_map_get(&cache->entries, ki_str_of(key));
    if (!found || cache->ttl_ns < 0 || ki_engine_now(cache->informer->engine) - found->since <= cache->ttl_ns)
        return found;
    drop(cache, found);
    return NULL;
}

static ki_order order_of(const ki_object *a, const char *version) {
    return ki_resource_version_compare(ki_object_resource_version(a), version);
}

void ki_mutation_cache_free(ki_mutation_cache *cache) {
    if (!cache)
        return;
    while (cache->first)
        drop(cache, cache->first);
    ki_map_free(&cache->entries);
    ki_mutex_destroy(&cache->mutex);
    ki_free(cache->allocator, cache);
}

/* --- writing, reading ---------------------------------------------------------------------------------------------------------- */

/* Replaces the entry of the key unless it is newer. Drops the least recently used entry beyond the capacity. Caller holds mutex. */
static ki_status put(ki_mutation_cache *cache, const ki_object *obj) {
    const char *key = ki_object_key(obj);
    entry *known = find(cache, key);
    if (known && order_of(obj, ki_object_resource_version(known->obj)) == KI_ORDER_OLDER)
        return KI_OK;
    entry *added = ki_alloc(cache->allocator, sizeof *added);
    if (!added)
        return KI_ERR_NO_MEMORY;
    *added = (entry){ .obj = ki_object_ref(obj), .since = ki_engine_now(cache->informer->engine) };
    ki_status status = ki_map_reserve(&cache->entries, cache->entries.count + 1);
    if (!status && known)
        drop(cache, known);
    if (!status)
        status = ki_map_put(&cache->entries, ki_str_of(key), added, NULL); /* room is reserved */
    if (status) {
        ki_object_unref(added->obj);
        ki_free(cache->allocator, added);
        return status;
    }
    put_last(cache, added);
    if (cache->entries.count > cache->capacity)
        drop(cache, cache->first);
    return KI_OK;
}

ki_status ki_mutation_cache_put(ki_mutation_cache *cache, const ki_object *obj, ki_error *err) {
    if (!cache || !obj)
        return ki_error_missing(err, "ki_mutation_cache_put");
    ki_mutex_lock(&cache->mutex);
    ki_status status = put(cache, obj);
    ki_mutex_unlock(&cache->mutex);
    return status ? ki_error_no_memory(err, "putting an object into a cache") : KI_OK;
}

/* Returns true if the cache has the written state or a later one. Versions that cannot be compared: true if the cache has the object. */
static bool has_caught_up(const ki_snapshot *snapshot, const ki_object *stored, const ki_object *written) {
    ki_order order = order_of(written, ki_snapshot_resource_version(snapshot));
    if (order == KI_ORDER_SAME || order == KI_ORDER_OLDER)
        return true;
    return stored && order_of(written, ki_object_resource_version(stored)) != KI_ORDER_NEWER;
}

ki_object *ki_mutation_cache_get(ki_mutation_cache *cache, const char *key) {
    ki_mutex_lock(&cache->mutex);
    ki_snapshot *snapshot = ki_informer_snapshot(cache->informer);
    const ki_object *shown = ki_snapshot_get(snapshot, key);
    entry *written = find(cache, key);
    if (written && has_caught_up(snapshot, shown, written->obj)) {
        drop(cache, written);
    } else if (written) {
        take_off_list(cache, written);
        put_last(cache, written);
        shown = written->obj;
    }
    ki_object *ret = shown ? ki_object_ref(shown) : NULL;
    ki_mutex_unlock(&cache->mutex);
    ki_snapshot_free(snapshot);
    return ret;
}
