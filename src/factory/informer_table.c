/* informer_table.c: see informer_table.h. An informer's key is its resource, namespace and selectors. Options that do
 * not change the selection are not part of it. */
#include "src/factory/informer_table.h"

#include "src/base/buffer.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/cache/informer/shared_informer.h"
#include "src/client/http_list_watch.h"

enum {
    KEY_MAX = 64 * 1024, /* bytes: selectors are the longest part */
    FIRST_CAPACITY = 8
};

void ki_informer_table_init(ki_informer_table *table, const ki_allocator *allocator, uint64_t seed) {
    *table = (ki_informer_table){ .allocator = allocator };
    ki_map_init(&table->by_key, allocator, seed);
}

/* Frees the entry, but not its key. */
static void free_entry(ki_informer_table *table, ki_informer_entry *entry) {
    ki_informer_free(entry->informer);
    ki_object_format_unref(entry->format);
    ki_free(table->allocator, entry->selection);
    ki_free(table->allocator, entry);
}

void ki_informer_table_free(ki_informer_table *table) {
    for (size_t i = 0; i < table->count; i++) {
        ki_free(table->allocator, table->entries[i]->key);
        free_entry(table, table->entries[i]);
    }
    ki_free(table->allocator, table->entries);
    ki_map_free(&table->by_key);
}

/* Returns a key with the length of each part, so that no two selections share a key. */
static char *make_key(const ki_allocator *allocator, const ki_resource *resource, const char *namespace_name,
                      const ki_informer_options *options, ki_error *err) {
    const char *parts[] = { resource->group, resource->version,       resource->plural,
                            namespace_name,  options->label_selector, options->field_selector };
    ki_buffer key;
    ki_buffer_init(&key, allocator, KEY_MAX);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *part = parts[i] ? parts[i] : "";
        ki_buffer_printf(&key, "%zu:%s", strlen(part), part);
    }
    ki_status status = key.failed;
    char *text = ki_buffer_take(&key, NULL);
    ki_buffer_free(&key);
    if (!text && status == KI_ERR_LIMIT)
        ki_error_set(err, KI_ERR_LIMIT, "selectors of more than %d bytes", (int)KEY_MAX);
    else if (!text)
        ki_error_no_memory(err, "making an informer");
    return text;
}

/* The source of an informer's objects, and a second source for consistency checks, which list beside the watch. */
typedef struct sources {
    ki_list_watch *main;
    ki_list_watch *check; /* NULL: no checks */
} sources;

static void free_sources(const sources *made) {
    if (made->main)
        made->main->ops->free(made->main);
    if (made->check)
        made->check->ops->free(made->check);
}

static ki_status make_selection(const ki_allocator *allocator, const ki_resource *resource, const char *namespace_name,
                                const ki_informer_options *options, char **ret_selection, ki_error *err) {
    const char *labels = options->label_selector ? options->label_selector : "";
    const char *fields = options->field_selector ? options->field_selector : "";
    ki_buffer text;
    ki_buffer_init(&text, allocator, 0);
    ki_buffer_append_string(&text, resource->plural);
    if (namespace_name && namespace_name[0])
        ki_buffer_printf(&text, " in %s", namespace_name);
    if (labels[0] || fields[0])
        ki_buffer_printf(&text, " (%s%s%s)", labels, labels[0] && fields[0] ? ", " : "", fields);
    *ret_selection = ki_buffer_take(&text, NULL);
    ki_buffer_free(&text);
    return *ret_selection ? KI_OK : ki_error_no_memory(err, "making an informer");
}

static ki_status make_format(const ki_informer_maker *maker, const ki_resource *resource,
                             const ki_informer_options *options, ki_object_format **ret_format, ki_error *err) {
    ki_object_format_options format_options = {
        .view = options->view,
        .keep_managed_fields = options->keep_managed_fields,
        .namespaced = resource->namespaced,
    };
    return ki_object_format_new(ki_engine_allocator(maker->engine), &format_options, ret_format, err);
}

static ki_status make_sources(const ki_informer_maker *maker, const ki_resource *resource, const char *namespace_name,
                              const ki_informer_options *options, ki_object_format *format, sources *ret_made,
                              ki_error *err) {
    ki_http_list_watch_options source_options = {
        .resource = *resource,
        .namespace_name = namespace_name,
        .label_selector = options->label_selector,
        .field_selector = options->field_selector,
        .object_limit = options->object_limit,
        .throttle = maker->throttle,
    };
    sources made = { .main = NULL };
    ki_status status =
        ki_http_list_watch_new(maker->engine, maker->transport, format, &source_options, &made.main, err);
    if (!status && options->consistency_check_ms > 0)
        status = ki_http_list_watch_new(maker->engine, maker->transport, format, &source_options, &made.check, err);
    if (status)
        free_sources(&made);
    else
        *ret_made = made;
    return status;
}

static ki_status make_informer(const ki_informer_maker *maker, const ki_resource *resource, const char *namespace_name,
                               const ki_informer_options *options, ki_informer_entry *entry, ki_error *err) {
    sources made = { .main = NULL };
    ki_status status = make_sources(maker, resource, namespace_name, options, entry->format, &made, err);
    if (status)
        return status;
    ki_shared_informer_options informer_options = {
        .engine = maker->engine,
        .list_watch = made.main,
        .check_source = made.check,
        .resource = resource,
        .format = entry->format,
        .name = entry->selection,
        .given = *options,
        .resync_ns = ki_period_ns(options->resync_ms ? options->resync_ms : maker->resync_ms, KI_RESYNC_MIN_MS),
        .detect_mutations = maker->detect_mutations,
        .owner = maker->owner,
        .seed = maker->seed,
    };
    informer_options.given.namespace_name = namespace_name;
    status = ki_informer_new(&informer_options, &entry->informer, err);
    if (status)
        free_sources(&made);
    return status;
}

/* Reserves room for one more entry, so that adding it cannot fail. */
static ki_status reserve(ki_informer_table *table, ki_error *err) {
    if (ki_map_reserve(&table->by_key, table->count + 1))
        return ki_error_no_memory(err, "making an informer");
    if (table->count < table->capacity)
        return KI_OK;
    size_t capacity = table->capacity ? table->capacity * 2 : FIRST_CAPACITY;
    ki_informer_entry **entries =
        ki_realloc_array(table->allocator, table->entries, capacity, sizeof(ki_informer_entry *));
    if (!entries)
        return ki_error_no_memory(err, "making an informer");
    table->entries = entries;
    table->capacity = capacity;
    return KI_OK;
}

static ki_status add(ki_informer_table *table, const ki_informer_maker *maker, char *key, const ki_resource *resource,
                     const char *namespace_name, const ki_informer_options *options, ki_informer **ret_informer,
                     ki_error *err) {
    ki_status status = reserve(table, err);
    if (status)
        return status;
    ki_informer_entry *entry = ki_alloc_zero(table->allocator, sizeof *entry);
    if (!entry)
        return ki_error_no_memory(err, "making an informer");
    status = make_selection(table->allocator, resource, namespace_name, options, &entry->selection, err);
    if (!status)
        status = make_format(maker, resource, options, &entry->format, err);
    if (!status)
        status = make_informer(maker, resource, namespace_name, options, entry, err);
    if (!status)
        status = ki_map_put(&table->by_key, ki_str_of(key), entry, NULL); /* room is reserved */
    if (status) {
        free_entry(table, entry);
        return status;
    }
    entry->key = key;
    table->entries[table->count++] = entry;
    *ret_informer = entry->informer;
    return KI_OK;
}

/* Checks that a request's view fits the informer's. All handlers share a view's memory, and reading it as another
 * struct would read out of bounds. */
static ki_status check_view(const ki_informer_entry *entry, const ki_informer_maker *maker, const ki_resource *resource,
                            const ki_informer_options *options, ki_error *err) {
    ki_object_format *format = NULL;
    ki_status status = make_format(maker, resource, options, &format, err);
    if (status)
        return status;
    if (ki_object_format_has_view(format) && !ki_object_format_same_view(format, entry->format))
        status = ki_error_set(err, KI_ERR_EXISTS,
                              "the informer of %.300s exists already %s; request it %swithout a view", entry->selection,
                              ki_object_format_has_view(entry->format) ? "with another view" : "without a view",
                              ki_object_format_has_view(entry->format) ? "with that view, or " : "");
    ki_object_format_unref(format);
    return status;
}

ki_status ki_informer_table_get(ki_informer_table *table, const ki_informer_maker *maker, const ki_resource *resource,
                                const ki_informer_options *options, ki_informer **ret_informer, ki_error *err) {
    const char *namespace_name = options->namespace_name ? options->namespace_name : maker->namespace_name;
    if (!resource->namespaced)
        namespace_name = NULL;
    char *key = make_key(table->allocator, resource, namespace_name, options, err);
    if (!key)
        return err ? err->code : KI_ERR_NO_MEMORY;
    const ki_informer_entry *entry = ki_map_get(&table->by_key, ki_str_of(key));
    ki_status status = KI_OK;
    if (entry)
        status = check_view(entry, maker, resource, options, err);
    if (entry && !status)
        *ret_informer = entry->informer;
    if (!entry)
        status = add(table, maker, key, resource, namespace_name, options, ret_informer, err);
    if (entry || status)
        ki_free(table->allocator, key);
    return status;
}
