/* metrics_visit.c: an informer's metrics, and passing their samples. Any thread. */
#include "src/base/memory.h"
#include "src/cache/informer/informer_parts.h"
#include "src/cache/listener/listener.h"
#include "src/cache/store/snapshot.h"

enum {
    DOUBLE_DIGITS = 15
};

static const ki_metric table[KI_METRIC_COUNT] = {
    [KI_METRIC_LISTS] = { .name = "reflector_lists",
                          .help = "Started lists, including streaming lists",
                          .type = KI_METRIC_COUNTER },
    [KI_METRIC_WATCHES] = { .name = "reflector_watches",
                            .help = "Watches that the server accepted",
                            .type = KI_METRIC_COUNTER },
    [KI_METRIC_SHORT_WATCHES] = { .name = "reflector_short_watches",
                                  .help = "Watches that ended within a second without an event",
                                  .type = KI_METRIC_COUNTER },
    [KI_METRIC_EVENTS] = { .name = "informer_events",
                           .help = "Adds, updates and deletes that watches delivered",
                           .type = KI_METRIC_COUNTER },
    [KI_METRIC_REPEATED] = { .name = "informer_repeated_events",
                             .help = "Events that were dropped: each repeats the known state of its object, or an "
                                     "older one",
                             .type = KI_METRIC_COUNTER },
    [KI_METRIC_FAILURES] = { .name = "informer_failures",
                             .help = "Lists and watches that failed",
                             .type = KI_METRIC_COUNTER },
    [KI_METRIC_SKIPPED] = { .name = "informer_skipped_objects",
                            .help = "Objects that could not be used",
                            .type = KI_METRIC_COUNTER },
    [KI_METRIC_INDEX_ERRORS] = { .name = "informer_index_errors",
                                 .help = "Objects that an index skipped because its function failed",
                                 .type = KI_METRIC_COUNTER },
    [KI_METRIC_CONSISTENCY_CHECKS] = { .name = "informer_consistency_checks",
                                       .help = "Completed consistency checks, periodic and of streaming lists",
                                       .type = KI_METRIC_COUNTER },
    [KI_METRIC_DIFFERENCES] = { .name = "informer_consistency_differences",
                                .help = "Differing objects that consistency checks found",
                                .type = KI_METRIC_COUNTER },
    [KI_METRIC_RELISTS] = { .name = "informer_relists",
                            .help = "Lists after the first one, by cause",
                            .type = KI_METRIC_COUNTER },
    [KI_METRIC_LIST_DURATION] = { .name = "reflector_list_duration_seconds",
                                  .help = "Duration of a list with all its pages",
                                  .type = KI_METRIC_SUMMARY,
                                  .unit = "seconds" },
    [KI_METRIC_ITEMS_PER_LIST] = { .name = "reflector_items_per_list",
                                   .help = "Objects in a list",
                                   .type = KI_METRIC_SUMMARY },
    [KI_METRIC_WATCH_DURATION] = { .name = "reflector_watch_duration_seconds",
                                   .help = "Duration of a watch",
                                   .type = KI_METRIC_SUMMARY,
                                   .unit = "seconds" },
    [KI_METRIC_ITEMS_PER_WATCH] = { .name = "reflector_items_per_watch",
                                    .help = "Events and bookmarks of a watch",
                                    .type = KI_METRIC_SUMMARY },
    [KI_METRIC_VIEW_MISMATCHES] = { .name = "informer_view_mismatches",
                                    .help = "Fields of views that had another type, or were out of range",
                                    .type = KI_METRIC_COUNTER },
    [KI_METRIC_STORE_RESOURCE_VERSION] = { .name = "informer_store_resource_version",
                                           .help = "The 15 least significant digits of the resource version of the "
                                                   "store, if it is a number",
                                           .type = KI_METRIC_GAUGE },
    [KI_METRIC_OBJECTS] = { .name = "informer_objects", .help = "Objects in the cache", .type = KI_METRIC_GAUGE },
    [KI_METRIC_OBJECT_BYTES] = { .name = "informer_object_bytes",
                                 .help = "Memory of the objects in the cache, with what they share, without the "
                                         "indexes: as the informer's memory limit counts it",
                                 .type = KI_METRIC_GAUGE,
                                 .unit = "bytes" },
    [KI_METRIC_QUEUED_ITEMS] = { .name = "informer_queued_items",
                                 .help = "Items in the queue and in process, which are not in the cache yet",
                                 .type = KI_METRIC_GAUGE },
    [KI_METRIC_SYNCED] = { .name = "informer_synced",
                           .help = "1 once the first list is in the cache",
                           .type = KI_METRIC_GAUGE },
    [KI_METRIC_STALENESS] = { .name = "informer_staleness_seconds",
                              .help = "Seconds since the last event, bookmark or list that is fully in the cache",
                              .type = KI_METRIC_GAUGE,
                              .unit = "seconds" },
    [KI_METRIC_OVER_LIMIT] = { .name = "informer_over_memory_limit",
                               .help = "1 while the objects in the cache take more than the informer's memory limit",
                               .type = KI_METRIC_GAUGE },
    [KI_METRIC_PENDING] = { .name = "informer_pending_notifications",
                            .help = "Changes that wait for handlers of this name",
                            .type = KI_METRIC_GAUGE },
    [KI_METRIC_PROCESSING] = { .name = "informer_processing_latency_seconds",
                               .help = "Time taken to process events after popping from the queue: storing them and "
                                       "passing them to the handlers' threads",
                               .type = KI_METRIC_HISTOGRAM,
                               .unit = "seconds",
                               KI_METRIC_BOUNDS(ki_processing_bounds) },
};

/* --- pending notifications ---------------------------------------------------------------------------------------- */

/* The sum over all registrations of one name. Separate series would add one more for each handler that is added and
 * removed. */
typedef struct handler_pending {
    char *name;
    size_t pending;
} handler_pending;

static void free_pending(const ki_allocator *allocator, handler_pending *handlers, size_t count) {
    for (size_t i = 0; i < count; i++)
        ki_free(allocator, handlers[i].name);
    ki_free(allocator, handlers);
}

/* The loop does not take this lock for a change. */
static ki_status gather(const ki_informer *informer, handler_pending **ret_handlers, size_t *ret_count) {
    KI_HELD(&informer->registry.lock);
    const ki_allocator *allocator = ki_engine_allocator(informer->options.engine);
    size_t count = 0, most = 0;
    for (const ki_listener *listener = informer->registry.first; listener; listener = listener->next_registered)
        most++;
    handler_pending *handlers = ki_alloc_array(allocator, most ? most : 1, sizeof *handlers);
    if (!handlers)
        return KI_ERR_NO_MEMORY;
    for (const ki_listener *listener = informer->registry.first; listener; listener = listener->next_registered) {
        size_t at = 0;
        while (at < count && strcmp(handlers[at].name, listener->given.name) != 0)
            at++;
        if (at == count) {
            handlers[at] = (handler_pending){ .name = ki_strdup(allocator, listener->given.name) };
            if (!handlers[at].name) {
                free_pending(allocator, handlers, count);
                return KI_ERR_NO_MEMORY;
            }
            count++;
        }
        handlers[at].pending += ki_listener_pending(listener);
    }
    *ret_handlers = handlers;
    *ret_count = count;
    return KI_OK;
}

static ki_status pending_of(ki_informer *informer, handler_pending **ret_handlers, size_t *ret_count) {
    ki_mutex_lock(&informer->registry.lock);
    ki_status status = gather(informer, ret_handlers, ret_count);
    ki_mutex_unlock(&informer->registry.lock);
    return status;
}

/* --- samples ------------------------------------------------------------------------------------------------------ */

/* The values are borrowed from the informer. */
static void labels_of(const ki_informer *informer, ki_label ret_labels[KI_INFORMER_LABELS]) {
    const ki_selection *selection = informer->options.selection;
    const ki_label labels[KI_INFORMER_LABELS] = {
        { "name", informer->options.factory->name ? informer->options.factory->name : "" },
        { "group", selection->resource.group },
        { "version", selection->resource.version },
        { "resource", selection->resource.plural },
        { "namespace", selection->namespace_name },
        { "label_selector", selection->label_selector },
        { "field_selector", selection->field_selector },
        { "keep", selection->keep_name },
    };
    memcpy(ret_labels, labels, sizeof labels);
}

/* Passes a sample with the informer's labels and, unless it is NULL, the metric's own. */
static void pass(const ki_informer *informer, const ki_metrics_visit *to, ki_metric_id id, const ki_label *own,
                 double value) {
    ki_label labels[KI_INFORMER_LABELS + 1];
    labels_of(informer, labels);
    if (own)
        labels[KI_INFORMER_LABELS] = *own;
    to->visit(&(ki_sample){ .metric = &table[id],
                            .labels = labels,
                            .label_count = KI_INFORMER_LABELS + (own ? 1u : 0u),
                            .value = value,
                            .informer = informer },
              to->user);
}

#define read_relaxed(member) atomic_load_explicit(member, memory_order_relaxed)

/* Takes the last 15 digits, which a double holds exactly. */
static bool number_of(const char *version, double *ret_number) {
    size_t size = strlen(version), first = size > DOUBLE_DIGITS ? size - DOUBLE_DIGITS : 0;
    double number = 0;
    for (size_t i = 0; i < size; i++) {
        if (version[i] < '0' || version[i] > '9')
            return false;
        if (i >= first)
            number = number * 10 + (version[i] - '0');
    }
    *ret_number = number;
    return size > 0;
}

typedef struct informer_visit {
    const ki_informer *informer;
    const ki_metrics_visit *to;
} informer_visit;

static void visit_of_informer(const ki_sample *sample, void *user) {
    const informer_visit *self = user;
    ki_sample own = *sample;
    own.informer = self->informer;
    self->to->visit(&own, self->to->user);
}

static void visit_processing(const ki_informer *informer, const ki_metrics_visit *to) {
    const ki_metrics_record *record = &informer->metrics;
    informer_visit own = { informer, to };
    const ki_metrics_visit with_informer = { visit_of_informer, &own };
    ki_label labels[KI_INFORMER_LABELS];
    labels_of(informer, labels);
    ki_histogram histogram = { .sum_ns = read_relaxed(&record->processing_ns) };
    for (size_t i = 0; i <= KI_PROCESSING_BOUNDS; i++)
        histogram.counts[i] = read_relaxed(&record->processing[i]);
    ki_metrics_pass_histogram(&with_informer, &table[KI_METRIC_PROCESSING], labels, KI_INFORMER_LABELS, &histogram);
}

/* The gauges of what the cache has now. */
static void visit_cache(const ki_informer *informer, const ki_metrics_visit *to) {
    const ki_metrics_record *record = &informer->metrics;
    bool was_synced = atomic_load(&informer->sync.is_done);
    int64_t staleness = ki_feeds_age(informer, ki_engine_clock(informer->options.engine));
    ki_snapshot *snapshot = ki_store_snapshot(informer->store);
    bool is_synced = was_synced && atomic_load(&informer->sync.is_done); /* not removed before the snapshot */
    double version;
    ki_object_format *format = informer->options.format;
    if (format && ki_object_format_has_view(format))
        pass(informer, to, KI_METRIC_VIEW_MISMATCHES, NULL, (double)ki_object_format_mismatches(format));
    if (number_of(ki_snapshot_resource_version(snapshot), &version))
        pass(informer, to, KI_METRIC_STORE_RESOURCE_VERSION, NULL, version);
    pass(informer, to, KI_METRIC_OBJECTS, NULL, (double)ki_snapshot_count(snapshot));
    pass(informer, to, KI_METRIC_OBJECT_BYTES, NULL, (double)ki_informer_object_bytes(informer));
    pass(informer, to, KI_METRIC_QUEUED_ITEMS, NULL, (double)read_relaxed(&record->queue_depth));
    pass(informer, to, KI_METRIC_SYNCED, NULL, is_synced ? 1 : 0);
    if (staleness != KI_NEVER && !atomic_load(&informer->namespaces.has_new))
        pass(informer, to, KI_METRIC_STALENESS, NULL, (double)staleness / KI_METRIC_NANOSECONDS);
    if (informer->options.given.memory_limit)
        pass(informer, to, KI_METRIC_OVER_LIMIT, NULL, ki_informer_is_over_limit(informer) ? 1 : 0);
    ki_snapshot_unref(snapshot);
}

ki_status ki_metrics_visit_informer(ki_informer *informer, const ki_metrics_visit *to) {
    const ki_metrics_record *record = &informer->metrics;
    handler_pending *handlers = NULL;
    ki_label labels[KI_INFORMER_LABELS];
    size_t count = 0;
    labels_of(informer, labels);
    ki_status status = pending_of(informer, &handlers, &count);
    if (status)
        return status;
    for (ki_metric_id id = 0; id < (ki_metric_id)KI_METRIC_COUNTERS; id++)
        pass(informer, to, id, NULL, (double)read_relaxed(&record->counters[id]));
    for (int cause = 0; cause < KI_RELIST_CAUSES; cause++) {
        uint64_t relists = read_relaxed(&record->relists[cause]);
        if (relists > 0)
            pass(informer, to, KI_METRIC_RELISTS, &(ki_label){ "cause", ki_relist_cause_name(cause) }, (double)relists);
    }
    for (size_t i = 0; i < KI_METRIC_SUMMARIES; i++)
        to->visit(&(ki_sample){ .metric = &table[KI_METRIC_LIST_DURATION + i],
                                .labels = labels,
                                .label_count = KI_INFORMER_LABELS,
                                .value = read_relaxed(&record->summaries[i].sum),
                                .count = read_relaxed(&record->summaries[i].count),
                                .informer = informer },
                  to->user);
    visit_processing(informer, to);
    visit_cache(informer, to);
    for (size_t i = 0; i < count; i++)
        pass(informer, to, KI_METRIC_PENDING, &(ki_label){ "handler", handlers[i].name }, (double)handlers[i].pending);
    free_pending(ki_engine_allocator(informer->options.engine), handlers, count);
    return KI_OK;
}
