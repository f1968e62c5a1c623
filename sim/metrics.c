/* metrics.c: see health.h. Reads the metrics as text, like a scrape. */
#include "sim/health.h"

#include "sim/world.h"

#include "src/object/keep.h"

#include <kinformer/metrics.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LABELS_MAX = 256
};

static void labels_of(const sim_informer *informer, char labels[LABELS_MAX]) {
    const char *selector = sim_selector_text(informer->selection.selector);
    char ns[16] = "";
    if (informer->selection.ns >= 0)
        snprintf(ns, sizeof ns, "ns%d", informer->selection.ns);
    snprintf(labels, LABELS_MAX,
             "{name=\"\",group=\"\",version=\"v1\",resource=\"configmaps\",namespace=\"%s\",label_selector=\"%s\","
             "field_selector=\"\",keep=\"%s\"",
             ns, selector ? selector : "", ki_keep_name(informer->plan->keep));
}

/* Returns the sum of the samples of a metric; -1: there is no sample. */
static double sample(const char *text, const char *name, const char *labels) {
    char begin[LABELS_MAX + 64];
    double sum = -1;
    int size = snprintf(begin, sizeof begin, "\n%s%s", name, labels);
    for (const char *at = text; (at = strstr(at, begin)) != NULL; at += size) {
        const char *value = strstr(at + size, "} ");
        if (value)
            sum = (sum < 0 ? 0 : sum) + strtod(value + 2, NULL);
    }
    return sum;
}

typedef struct expected {
    const char *name;
    double value;
    bool is_certain; /* is checked after any fault */
} expected;

static size_t count_pending(const sim_world *world, unsigned informer) {
    size_t pending = 0;
    for (size_t i = 0; i < world->client.handler_count; i++) {
        const sim_handler *handler = world->client.handlers[i];
        if (handler->incarnation == world->client.incarnation && handler->informer == informer &&
            !handler->is_removed && !handler->is_removal_requested)
            pending += ki_registration_pending(handler->registration);
    }
    return pending;
}

static void compare(sim_world *world, unsigned index, const char *text) {
    const sim_informer *informer = &world->client.informers[index];
    const sim_requester *requester = &world->network.requesters[sim_requester_number(index, SIM_REFLECTOR)];
    const sim_witness *witness = &informer->witness;
    ki_snapshot *snapshot = ki_informer_snapshot(informer->informer);
    ki_health health;
    ki_informer_health(informer->informer, &health);
    double watches = (double)(requester->accepted_watches + witness->streaming_lists);
    const expected all[] = {
        { "informer_objects", (double)ki_snapshot_count(snapshot), true },
        { "informer_object_bytes", (double)health.object_bytes, true },
        { "informer_over_memory_limit", health.is_over_memory_limit, true },
        { "informer_store_resource_version", strtod(ki_snapshot_resource_version(snapshot), NULL), true },
        { "informer_queued_items", 0, true },
        { "informer_synced", 1, true },
        { "informer_pending_notifications", (double)count_pending(world, index), true },
        { "reflector_lists_total", (double)informer->source.lists, true },
        { "informer_relists_total", (double)informer->source.relists, false },
        { "reflector_items_per_list_count", (double)witness->lists, false },
        { "reflector_items_per_list_sum", (double)witness->items, false },
        { "reflector_list_duration_seconds_count", (double)witness->lists, false },
        { "reflector_watches_total", watches, false },
        { "reflector_watch_duration_seconds_count", watches - 1, false }, /* the last one has not ended */
        { "reflector_items_per_watch_count", watches - 1, false },
        { "reflector_short_watches_total", (double)requester->short_watches, false },
    };
    ki_snapshot_free(snapshot);
    /* After these faults only the client can know whether a list or watch succeeded. */
    bool is_plain = !world->memory.refused && !sim_plan_has(&world->plan, SIM_TYPE_GONE) &&
                    !sim_plan_has(&world->plan, SIM_RESPONSE_GARBAGE);
    char labels[LABELS_MAX];
    labels_of(informer, labels);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        double value = sample(text, all[i].name, labels);
        if (value < 0)
            value = 0; /* no handler, no relist: no sample */
        if ((all[i].is_certain || is_plain) && fabs(value - all[i].value) > 0.5)
            sim_fail(world, "informer %u: %s is %.0f, expected %.0f", index, all[i].name, value, all[i].value);
    }
}

void sim_metrics_compare(sim_world *world) {
    char *text;
    if (world->memory.per_mille || !world->client.factory ||
        ki_factory_metrics_text(world->client.factory, &text, NULL))
        return;
    for (unsigned i = 0; i < world->client.informer_count; i++)
        if (!world->client.informers[i].is_removed && !world->client.informers[i].plan->is_set)
            compare(world, i, text);
    ki_metrics_text_free(text);
}
