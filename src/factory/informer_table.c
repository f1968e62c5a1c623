/* informer_table.c: see informer_table.h. Options that do not change the selection are not part of its key. */
#include "src/factory/informer_table.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/list.h"
#include "src/base/memory.h"
#include "src/client/client.h"
#include "src/client/named_list_watch.h"
#include "src/object/pack.h"

enum {
    PACK_FROM = 256 * 1024, /* bytes: a dictionary and the contexts take about as much */
    VIEW_NAME_SIZE = 140    /* of a view in a message */
};

void ki_informer_table_init(ki_informer_table *table, const ki_allocator *allocator, uint64_t seed) {
    *table = (ki_informer_table){ .allocator = allocator };
    ki_map_init(&table->by_key, allocator, seed);
}

static void free_entry(ki_informer_table *table, ki_informer_entry *entry) {
    ki_informer_free(entry->informer);
    ki_fetcher_free(entry->fetcher);
    ki_object_format_unref(entry->format);
    ki_selection_unref(entry->selection);
    ki_free(table->allocator, entry);
}

void ki_informer_table_free(ki_informer_table *table) {
    for (ki_informer_entry *next, *entry = table->first; entry; entry = next) {
        next = entry->next;
        free_entry(table, entry);
    }
    ki_map_free(&table->by_key);
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

static ki_status make_format(const ki_informer_maker *maker, const ki_informer_options *options,
                             ki_object_format **ret_format, ki_error *err) {
    ki_object_format_options format_options =
        KI_OBJECT_FORMAT_OPTIONS(.view = options->view, .keep_managed_fields = options->keep_managed_fields);
    ki_status status =
        ki_object_format_new(ki_engine_allocator(maker->options.engine), &format_options, ret_format, err);
    if (status)
        return status;
    ki_object_format_set_keep(*ret_format, options->keep);
    ki_object_format_set_seed(*ret_format, maker->options.seed);
    if (!options->plain)
        ki_object_format_set_pack(*ret_format, maker->contexts, PACK_FROM);
    return KI_OK;
}

/* `finds`: a source by name finds its resource; one that does not uses what the other one has found. */
static ki_status make_source(const ki_informer_entry *entry, ki_selection *selection, bool finds,
                             ki_list_watch **ret_source, ki_error *err) {
    const ki_informer_maker *maker = entry->maker;
    ki_engine *engine = maker->options.engine;
    const ki_http_list_watch_options options = {
        .selection = selection,
        .object_limit = maker->options.factory->object_limit,
        .throttle = maker->client->throttle,
    };
    if (entry->selection->is_by_name)
        return ki_named_list_watch_new(engine, maker->transport, entry->format, &options, finds, ret_source, err);
    return ki_http_list_watch_new(engine, maker->transport, entry->format, &options, ret_source, err);
}

/* Loop. */
static ki_status make_source_of_namespace(ki_selection *selection, void *user, ki_list_watch **ret_source,
                                          ki_error *err) {
    return make_source(user, selection, true, ret_source, err);
}

/* `own_source` NULL: with the API server's. */
static ki_status make_informer(ki_informer_entry *entry, ki_list_watch *own_source, const ki_informer_options *options,
                               ki_error *err) {
    sources made = { .main = own_source };
    bool has_sources = !own_source && !entry->selection->is_set;
    ki_status status = has_sources ? make_source(entry, entry->selection, true, &made.main, err) : KI_OK;
    if (!status && has_sources && entry->has_check)
        status = make_source(entry, entry->selection, false, &made.check, err);
    ki_shared_informer_options informer_options = entry->maker->options;
    informer_options.list_watch = made.main;
    informer_options.check_source = made.check;
    informer_options.selection = entry->selection;
    informer_options.format = entry->format;
    informer_options.given = *options;
    informer_options.make_source = make_source_of_namespace;
    informer_options.make_source_user = entry;
    if (!status)
        status = ki_informer_new(&informer_options, &entry->informer, err);
    if (status && !own_source)
        free_sources(&made);
    return status || own_source ? status : ki_fetcher_new(entry->informer, entry->maker->client, &entry->fetcher, err);
}

static ki_status add(ki_informer_table *table, const ki_informer_maker *maker, ki_selection *selection,
                     ki_list_watch *own_source, const ki_informer_options *options, ki_informer **ret_informer,
                     ki_error *err) {
    ki_informer_entry *entry = ki_alloc_zero(table->allocator, sizeof *entry);
    if (!entry)
        return ki_error_no_memory(err, "making an informer");
    entry->selection = ki_selection_ref(selection);
    entry->has_check = options->consistency_check_ms > 0;
    entry->view = options->view;
    entry->maker = maker;
    ki_status status = ki_map_reserve(&table->by_key, table->by_key.count + 1)
                           ? ki_error_no_memory(err, "making an informer")
                           : make_format(maker, options, &entry->format, err);
    if (!status)
        status = make_informer(entry, own_source, options, err);
    if (!status)
        status = ki_map_put(&table->by_key, selection->key, entry, NULL); /* room is reserved */
    if (status) {
        free_entry(table, entry);
        return status;
    }
    KI_LIST_APPEND(table->first, entry);
    *ret_informer = entry->informer;
    return KI_OK;
}

/* All handlers share the objects, and reading a struct of a view as another would read out of bounds. */
static ki_status check_view(const ki_informer_entry *entry, const ki_field *view, ki_error *err) {
    char has[VIEW_NAME_SIZE], wanted[VIEW_NAME_SIZE];
    if (!view || !view->path || ki_fields_are_same(entry->view, view))
        return KI_OK;
    return ki_error_set(
        err, KI_ERR_INVALID,
        "the informer of %.100s has %s, and is requested with %s: an informer has the view of its first "
        "request; read other fields by path",
        entry->selection->name, ki_fields_name(entry->view, has, sizeof has),
        ki_fields_name(view, wanted, sizeof wanted));
}

ki_status ki_informer_table_get(ki_informer_table *table, const ki_informer_maker *maker, ki_selection *selection,
                                const ki_informer_options *options, ki_informer **ret_informer, ki_error *err) {
    ki_informer_entry *entry = ki_map_get(&table->by_key, selection->key);
    if (!entry)
        return add(table, maker, selection, NULL, options, ret_informer, err);
    ki_status status = check_view(entry, options->view, err);
    if (!status)
        *ret_informer = entry->informer;
    return status;
}

/* Returns an error if the options have one that only the API server's source knows. */
static ki_status check_own_options(const ki_informer_options *options, ki_error *err) {
    const char *name = options->view                   ? "view"
                       : options->namespace_set        ? "namespace_set"
                       : options->keep                 ? "keep"
                       : options->keep_managed_fields  ? "keep_managed_fields"
                       : options->consistency_check_ms ? "consistency_check_ms"
                                                       : NULL;
    if (!name)
        return KI_OK;
    return ki_error_set(err, KI_ERR_INVALID, "ki_informer_options: .%s beside a source of the program's own", name);
}

ki_status ki_informer_table_add(ki_informer_table *table, const ki_informer_maker *maker, ki_selection *selection,
                                ki_list_watch *own_source, const ki_informer_options *options,
                                ki_informer **ret_informer, ki_error *err) {
    ki_status status = check_own_options(options, err);
    if (status)
        return status;
    if (ki_map_get(&table->by_key, selection->key))
        return ki_error_set(err, KI_ERR_EXISTS, "the informer of %.300s exists already", selection->name);
    return add(table, maker, selection, own_source, options, ret_informer, err);
}

ki_status ki_informer_table_remove(ki_informer_table *table, const ki_informer *informer, ki_error *err) {
    ki_informer_entry *entry = table->first;
    while (entry && (entry->informer != informer || entry->is_removed))
        entry = entry->next;
    if (!entry)
        return ki_error_set(err, KI_ERR_NOT_FOUND, "no such informer of the factory: it was removed, or is another's");
    ki_status status = ki_informer_remove(entry->informer, err);
    if (status)
        return status;
    ki_fetcher_close(entry->fetcher);
    const void *removed = ki_map_remove(&table->by_key, entry->selection->key);
    KI_ASSERT(removed == entry);
    (void)removed;
    entry->is_removed = true;
    return KI_OK;
}
