/* informer.c: an informer on a stepped engine: a MODIFIED from its bytes to the handler, and what readers of the cache
 * do. The transport is in memory, so that nothing of a connection is counted. */
#include "bench/instructions/paths.h"

#include <kinformer/kinformer.h>

#include "src/base/buffer.h"
#include "src/factory/factory.h"
#include "testing/memory/transport.h"

#include <stdio.h>

enum {
    SMALL_PODS = 2000,
    NODES = SMALL_PODS / 100,
    READS = 500,
    LISTS = 20
};

static const pod_events *events;
static ki_engine *engine;
static ki_transport *transport;
static ki_factory *factory;
static ki_informer *informer;
static kt_memory_call *open_watch;
static ki_buffer list;
static unsigned long calls, calls_before;

/* --- the server --------------------------------------------------------------------------------------------------- */

static void serve(kt_memory_call *call, const ki_request *request, void *user) {
    const ki_response_head head = { .status = 200, .retry_after_ms = -1, .content_type = "application/json" };
    (void)user;
    if (strstr(request->target, "watch=")) {
        open_watch = call;
        kt_memory_call_head(call, &head);
    } else if (kt_memory_call_head(call, &head) && kt_memory_call_data(call, list.data, list.size)) {
        kt_memory_call_end(call, NULL);
    }
}

static void abandoned(kt_memory_call *call, void *user) {
    (void)user;
    if (open_watch == call)
        open_watch = NULL;
}

/* Fills the list with small pods. */
static void make_list(unsigned pods) {
    ki_buffer_init(&list, &fixed_memory, 0);
    ki_buffer_append_string(&list,
                            "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"1\"},"
                            "\"items\":[");
    for (unsigned i = 0; i < pods; i++)
        ki_buffer_printf(
            &list,
            "%s{\"metadata\":{\"name\":\"pod-%08x\",\"namespace\":\"namespace-%02u\",\"resourceVersion\":\"1\","
            "\"labels\":{\"app\":\"web\"}},\"spec\":{\"nodeName\":\"node-%u\"},\"status\":{\"podIP\":"
            "\"10.0.%u.%u\"}}",
            i ? "," : "", i * 2654435761u, i % 100, i % NODES, i >> 8, i & 255);
    need(!ki_buffer_append_string(&list, "]}"), "list");
}

/* --- the informer ------------------------------------------------------------------------------------------------- */

static void on_change(const ki_event *event, void *user) {
    (void)event, (void)user;
    calls++;
}

/* strcmp takes more instructions for a string in the last 128 bytes of a page, where the linker may put a literal. */
static _Alignas(128) const char by_ip[128] = "ip";
static _Alignas(128) const char by_node[128] = "node";

static const ki_indexer indexers[] = { { .name = by_ip, .path = "status.podIP" },
                                       { .name = by_node, .path = "spec.nodeName" } };

static void start(const ki_informer_options *options, unsigned pods) {
    static const kt_memory_server server = { .serve = serve, .abandoned = abandoned };
    static const ki_handler handler = { .on_add = on_change, .on_update = on_change, .on_delete = on_change };
    engine = new_engine();
    make_list(pods);
    need(!kt_memory_transport_new(engine, &server, &transport, NULL) &&
             !ki_factory_new_on(NULL, transport, &KI_FACTORY_OPTIONS(.engine = engine, .no_streaming_list = true),
                                &factory, NULL) &&
             !ki_factory_informer(factory, KI_PODS, options, &informer, NULL) &&
             !ki_informer_add_handler(informer, &handler, NULL, NULL, NULL, NULL) &&
             (!pods || !ki_informer_add_indexers(informer, indexers, 2, NULL)) && !ki_factory_start(factory, NULL),
         "informer");
    step_all(engine);
    need(open_watch && ki_factory_has_synced(factory) && calls == pods, "the informer is not synced");
}

static void end(void) {
    ki_factory_free(factory);
    ki_transport_free(transport);
    ki_engine_free(engine);
    ki_buffer_free(&list);
}

/* --- changes ------------------------------------------------------------------------------------------------------ */

static void begin_changes(void) {
    events = load_pods();
    start(&KI_INFORMER_OPTIONS(.view = pod_fields), 0);
}

static void begin_indexed(void) {
    begin_changes();
    need(!ki_informer_add_indexers(informer, indexers, 2, NULL), "indexes");
}

static void new_changes(void) {
    renew_versions(events);
    calls_before = calls;
}

static void new_labels(void) {
    new_changes();
    renew_labels(events);
}

static void deliver_changes(void) {
    for (size_t at = 0; at < events->size; at += CHUNK) {
        size_t left = events->size - at;
        need(open_watch && kt_memory_call_data(open_watch, events->text + at, left < CHUNK ? left : CHUNK), "watch");
        step_all(engine);
    }
    need(calls == calls_before + PODS, "a change is missing");
}

/* The JSON of each object of the cache, where it is packed. */
static void read_json(void) {
    unsigned count = 0;
    ki_snapshot *snapshot = ki_informer_snapshot(informer);
    ki_cursor cursor = KI_CURSOR_INIT;
    for (const ki_object *obj; (obj = ki_snapshot_next(snapshot, &cursor)); count++) {
        ki_value json = KI_VALUE_INIT;
        need(!ki_object_json(obj, &json, NULL), "JSON");
        ki_value_clear(&json);
    }
    ki_snapshot_free(snapshot);
    need(count == PODS, "a pod is missing");
}

/* Five fields by path of each object of the cache, where it is packed. */
static void read_fields(void) {
    static const char *const paths[] = { "spec.nodeName", "status.phase", "status.podIP", "status.startTime",
                                         "spec.containers[0].image" };
    unsigned count = 0;
    ki_snapshot *snapshot = ki_informer_snapshot(informer);
    ki_cursor cursor = KI_CURSOR_INIT;
    for (const ki_object *obj; (obj = ki_snapshot_next(snapshot, &cursor)); count++) {
        for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
            ki_value value = KI_VALUE_INIT;
            need(!ki_object_field(obj, paths[i], &value, NULL), "field");
            ki_value_clear(&value);
        }
    }
    ki_snapshot_free(snapshot);
    need(count == PODS, "a pod is missing");
}

/* The cache has been through enough changes for packing. */
static void begin_json(void) {
    begin_changes();
    for (unsigned i = 0; i < 2; i++) {
        new_changes();
        deliver_changes();
    }
}

const path path_json = { "json-of-cached", PODS, 10, begin_json, NULL, read_json, end };
const path path_fields = { "fields-of-cached", PODS, 10, begin_json, NULL, read_fields, end };
const path path_modified = { "modified", PODS, 10, begin_changes, new_changes, deliver_changes, end };
const path path_modified_label = { "modified-label", PODS, 10, begin_changes, new_labels, deliver_changes, end };
const path path_modified_indexed = { "modified-indexed", PODS, 10, begin_indexed, new_changes, deliver_changes, end };

/* --- reads -------------------------------------------------------------------------------------------------------- */

static void begin_reads(void) {
    start(NULL, SMALL_PODS);
}

static unsigned shuffled(unsigned i) {
    return i * 7919 % SMALL_PODS;
}

static char texts[READS][48]; /* what is looked up */

static void write_keys(void) {
    for (unsigned i = 0, pod; i < READS; i++) {
        pod = shuffled(i);
        snprintf(texts[i], sizeof texts[i], "namespace-%02u/pod-%08x", pod % 100, pod * 2654435761u);
    }
}

static void get_by_key(void) {
    for (unsigned i = 0; i < READS; i++) {
        ki_object *obj = ki_informer_get(informer, texts[i]);
        need(obj != NULL, "an object is missing");
        ki_object_unref(obj);
    }
}

static void write_ips(void) {
    for (unsigned i = 0, pod; i < READS; i++) {
        pod = shuffled(i);
        snprintf(texts[i], sizeof texts[i], "10.0.%u.%u", pod >> 8, pod & 255);
    }
}

static void get_by_index(void) {
    for (unsigned i = 0; i < READS; i++) {
        ki_object *obj = NULL;
        need(!ki_informer_get_by_index(informer, by_ip, texts[i], &obj, NULL), "an object is missing");
        ki_object_unref(obj);
    }
}

static void list_by_index(void) {
    for (unsigned i = 0; i < LISTS; i++) {
        static const char *const nodes[] = { "node-1", "node-7", "node-11", "node-17" };
        ki_object_list pods;
        need(!ki_lister_list_by_index(informer, by_node, nodes[i % 4], &pods, NULL) && pods.count == SMALL_PODS / NODES,
             "list");
        ki_object_list_free(&pods);
    }
}

const path path_lookup_key = { "lookup-by-key", READS, 10, begin_reads, write_keys, get_by_key, end };
const path path_lookup_index = { "lookup-by-index", READS, 10, begin_reads, write_ips, get_by_index, end };
const path path_list_index = { "list-100-by-index", LISTS, 10, begin_reads, NULL, list_by_index, end };
