/* body_bases.c: see body_bases.h. */
#include "src/object/body_bases.h"

#include "src/base/list.h"
#include "src/base/memory.h"
#include "src/object/body_delta.h"

enum {
    PARTS_LEFT_OUT = 2, /* of a name: what a ReplicaSet and its Deployment, or a Job and its CronJob add */
    SWEPT = 2,          /* bases that are looked at with each change */
    TIMES_MAX = 4 /* times the size of a body that is not small, which its base has at most: a reader unpacks both */
};

void ki_body_bases_init(ki_body_bases *bases, const ki_allocator *allocator) {
    *bases = (ki_body_bases){ .allocator = allocator };
    ki_map_init(&bases->by_name, allocator, 0);
    atomic_init(&bases->bytes, 0);
}

static void count(ki_body_bases *bases, size_t bytes) {
    atomic_fetch_add_explicit(&bases->bytes, bytes, memory_order_relaxed);
}

static void uncount(ki_body_bases *bases, size_t bytes) {
    atomic_fetch_sub_explicit(&bases->bytes, bytes, memory_order_relaxed);
}

static void count_table(ki_body_bases *bases) {
    uncount(bases, bases->table_bytes);
    bases->table_bytes = ki_map_memory(&bases->by_name);
    count(bases, bases->table_bytes);
}

/* --- texts -------------------------------------------------------------------------------------------------------- */

static void drop_text(ki_body_bases *bases, ki_named_base *named) {
    if (!named->text)
        return;
    KI_LIST_REMOVE(bases->texts, named);
    ki_free(bases->allocator, named->text);
    named->text = NULL;
    bases->text_bytes -= named->base->size;
    uncount(bases, named->base->size);
}

static void add_text(ki_body_bases *bases, ki_named_base *named, char *text) {
    named->text = text;
    KI_LIST_PREPEND(bases->texts, named);
    bases->text_bytes += named->base->size;
    count(bases, named->base->size);
    while (bases->text_bytes > bases->texts_max && bases->texts->previous != named)
        drop_text(bases, bases->texts->previous);
}

static ki_status read_text(ki_body_bases *bases, ki_named_base *named) {
    if (named->text) {
        KI_LIST_REMOVE(bases->texts, named);
        KI_LIST_PREPEND(bases->texts, named);
        return KI_OK;
    }
    char *text = ki_alloc(bases->allocator, named->base->size);
    ki_status status = text ? ki_body_base_read(named->base, text) : KI_ERR_NO_MEMORY;
    if (status)
        ki_free(bases->allocator, text);
    else
        add_text(bases, named, text);
    return status;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

ki_str ki_body_bases_name(ki_str key) {
    const char *slash = memchr(key.data, '/', key.size);
    size_t begin = slash ? (size_t)(slash - key.data) + 1 : 0;
    const char *dot = memchr(key.data + begin, '.', key.size - begin);
    ki_str name = { key.data, dot ? (size_t)(dot - key.data) : key.size };
    for (size_t i = 0, end = name.size; i < PARTS_LEFT_OUT; i++) {
        while (end > begin && name.data[end - 1] != '-')
            end--;
        if (end <= begin + 1)
            break;
        name.size = --end;
    }
    return name;
}

static void free_named(ki_body_bases *bases, ki_named_base *named) {
    drop_text(bases, named);
    ki_body_base_unref(named->base);
    uncount(bases, sizeof *named + named->name_size);
    ki_free(bases->allocator, named);
}

static void remove_named(ki_body_bases *bases, ki_named_base *named) {
    (void)ki_map_remove(&bases->by_name, (ki_str){ named->name, named->name_size });
    count_table(bases);
    free_named(bases, named);
}

void ki_body_bases_sweep(ki_body_bases *bases) {
    ki_str name;
    void *value;
    for (size_t i = 0; i < SWEPT; i++) {
        if (!ki_map_next(&bases->by_name, &bases->swept_to, &name, &value)) {
            bases->swept_to = 0;
            return;
        }
        ki_named_base *named = value;
        if (ki_refcount_is_one(&named->base->refs))
            remove_named(bases, named); /* what moves into its place is looked at in the next round */
    }
}

static ki_status add_named(ki_body_bases *bases, ki_str name, ki_body_base *base, char *text,
                           ki_named_base **ret_named) {
    ki_named_base *named = ki_alloc(bases->allocator, sizeof *named + name.size);
    if (!named)
        return KI_ERR_NO_MEMORY;
    *named = (ki_named_base){ .name_size = (uint32_t)name.size };
    memcpy(named->name, name.data, name.size);
    if (ki_map_put(&bases->by_name, (ki_str){ named->name, name.size }, named, NULL)) {
        ki_free(bases->allocator, named);
        return KI_ERR_NO_MEMORY;
    }
    count(bases, sizeof *named + name.size);
    count_table(bases);
    named->base = base;
    add_text(bases, named, text);
    *ret_named = named;
    return KI_OK;
}

/* Makes a base of a body that has no name in the map. `scratch` has at least as many bytes. */
static ki_status make_base(ki_body_bases *bases, ki_body_codec *codec, ki_str name, ki_str body, char *scratch,
                           ki_named_base **ret_named) {
    ki_body_base *base = NULL;
    ki_status status = ki_body_base_new(codec, body, &bases->bytes, scratch, &base);
    char *text = status ? NULL : ki_alloc(bases->allocator, body.size);
    if (text)
        memcpy(text, body.data, body.size);
    if (!status)
        status = text ? add_named(bases, name, base, text, ret_named) : KI_ERR_NO_MEMORY;
    if (status && base)
        ki_body_base_unref(base);
    if (status)
        ki_free(bases->allocator, text);
    return status;
}

void ki_body_bases_clear(ki_body_bases *bases, size_t cache_bytes) {
    size_t cursor = 0;
    ki_str name;
    void *value;
    while (ki_map_next(&bases->by_name, &cursor, &name, &value))
        free_named(bases, value);
    bases->seen = (ki_seen){ 0 };
    ki_map_free(&bases->by_name);
    count_table(bases);
    bases->swept_to = 0;
    bases->texts_max = cache_bytes / KI_BODY_TEXTS_PART;
    if (bases->texts_max > KI_BODY_TEXTS_MAX)
        bases->texts_max = KI_BODY_TEXTS_MAX;
}

void ki_body_bases_free(ki_body_bases *bases) {
    ki_body_bases_clear(bases, 0);
}

/* --- deltas ------------------------------------------------------------------------------------------------------- */

/* Of the common base; of no key, since it is no C string. */
static const ki_str common_name = { "", 1 };

/* Returns true if the base is so large that reading the body would take far longer than its size. */
static bool is_too_large(const ki_named_base *named, ki_str body) {
    return named->base->size / TIMES_MAX > body.size;
}

static ki_status write_delta(ki_body_bases *bases, ki_named_base *named, ki_str body, ki_buffer *delta) {
    ki_status status = read_text(bases, named);
    if (!status)
        delta->size = ki_body_delta_write((ki_str){ named->text, named->base->size }, body, delta->data);
    return status;
}

static bool is_second(ki_body_bases *bases, ki_str name, ki_str key) {
    const uint64_t seed = bases->by_name.seed;
    return ki_seen_count(&bases->seen, ki_hash(name.data, name.size, seed), ki_hash(key.data, key.size, seed), 2);
}

/* Returns the base of a body that is not small, and writes its delta; NULL: the common base is the better one. */
static ki_status find_own_base(ki_body_bases *bases, ki_body_codec *codec, ki_str key, ki_str body, ki_buffer *delta,
                               ki_named_base **ret_named) {
    const ki_str name = ki_body_bases_name(key);
    ki_named_base *named = ki_map_get(&bases->by_name, name);
    ki_status status = KI_OK;
    *ret_named = NULL;
    if (named && !is_too_large(named, body)) {
        status = write_delta(bases, named, body, delta);
        if (!status && delta->size <= body.size / 2)
            *ret_named = named;
    }
    if (status || *ret_named || !is_second(bases, name, key))
        return status;
    if (named)
        remove_named(bases, named);
    status = make_base(bases, codec, name, body, delta->data, ret_named);
    return status ? status : write_delta(bases, *ret_named, body, delta);
}

static ki_status find_common_base(ki_body_bases *bases, ki_body_codec *codec, ki_str body, ki_buffer *delta,
                                  ki_named_base **ret_named) {
    const ki_str text = { body.data, body.size < KI_BODY_SMALL ? body.size : KI_BODY_SMALL };
    ki_status status = KI_OK;
    *ret_named = ki_map_get(&bases->by_name, common_name);
    if (!*ret_named)
        status = make_base(bases, codec, common_name, text, delta->data, ret_named);
    return status ? status : write_delta(bases, *ret_named, body, delta);
}

ki_status ki_body_bases_delta(ki_body_bases *bases, ki_body_codec *codec, ki_str key, ki_str body, ki_buffer *ret_delta,
                              ki_body_base **ret_base) {
    ki_named_base *named = NULL;
    ret_delta->size = 0;
    ki_status status = ki_buffer_reserve(ret_delta, ki_body_delta_max(body.size));
    if (!status && body.size > KI_BODY_SMALL)
        status = find_own_base(bases, codec, key, body, ret_delta, &named);
    if (!status && !named)
        status = find_common_base(bases, codec, body, ret_delta, &named);
    if (!status)
        *ret_base = named->base;
    return status;
}
