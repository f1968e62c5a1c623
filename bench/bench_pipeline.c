/* bench_pipeline.c: the cost of one event from its bytes to the handler, without a network: the memory transport
 * delivers a watch's body in chunks of a TLS record's size, and of libcurl's buffer. The pods are those of the embedded
 * server's load, with managedFields. */
#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

#include "src/base/buffer.h"
#include "src/base/memory.h"
#include "src/factory/factory.h"
#include "src/object/format.h"
#include "src/wire/framer.h"
#include "testing/memory/transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    PODS = 1000,
    REVISION_DIGITS = 12,
    ROUNDS = 20,
    ROUNDS_SHORT = 3,
    CHUNK = 16 * 1024,
    CHUNK_LARGE = 128 * 1024
};

struct pod_view {
    const char *node;
    const char *phase;
};

static const ki_field view[] = {
    KI_FIELD(struct pod_view, node, "spec.nodeName"),
    KI_FIELD(struct pod_view, phase, "status.phase"),
    KI_FIELD_END,
};

typedef struct bench {
    ki_buffer frames;          /* one MODIFIED event for each pod */
    size_t versions[PODS * 2]; /* offsets of the resource versions in it, REVISION_DIGITS digits each */
    ki_buffer list;            /* an empty PodList */
    size_t events;
    size_t objects_bytes;
    kt_memory_call *watch; /* the current watch */
    unsigned long received;
} bench;

static void fail(const char *what, const ki_error *err) {
    fprintf(stderr, "bench_pipeline: %s: %s\n", what, err ? ki_error_message(err) : "failed");
    exit(1);
}

static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* --- input -------------------------------------------------------------------------------------------------------- */

static void load_pods(bench *b) {
    ki_error err = KI_ERROR_INIT;
    ki_testing_server *server = NULL;
    ki_config *config = NULL;
    ki_factory *factory = NULL;
    ki_informer *pods = NULL;
    if (ki_testing_server_new(&KI_TESTING_SERVER_OPTIONS(.pods = PODS, .nodes = 50, .seed = 1, .managed_fields = true),
                              &server, &err) ||
        ki_config_new(&KI_CONFIG_OPTIONS(.server = ki_testing_server_url(server)), &config, &err) ||
        ki_factory_new(config, NULL, &factory, &err) ||
        ki_factory_informer(factory, KI_PODS, &KI_INFORMER_OPTIONS(.keep_managed_fields = true), &pods, &err) ||
        ki_factory_start(factory, &err) || ki_factory_wait_for_sync(factory, 60000, NULL, &err))
        fail("loading pods", &err);

    ki_snapshot *snapshot = ki_informer_snapshot(pods);
    ki_cursor cursor = KI_CURSOR_INIT;
    for (const ki_object *obj; (obj = ki_snapshot_next(snapshot, &cursor)); b->events++) {
        ki_value json = KI_VALUE_INIT;
        if (ki_object_json(obj, &json, &err))
            fail("reading a pod", &err);
        ki_buffer_append_string(&b->frames, "{\"type\":\"MODIFIED\",\"object\":");
        /* Leaves room for the version of every round. */
        const char *version = strstr(json.text, "\"resourceVersion\":\"");
        if (!version || b->events == PODS * 2)
            fail("a pod without a version, or too many pods", NULL);
        version += strlen("\"resourceVersion\":\"");
        ki_buffer_append(&b->frames, json.text, (size_t)(version - json.text));
        b->versions[b->events] = b->frames.size;
        ki_buffer_append_string(&b->frames, "000000000000");
        ki_buffer_append_string(&b->frames, strchr(version, '"'));
        ki_buffer_append_string(&b->frames, "}\n");
        b->objects_bytes += json.text_size;
        ki_value_clear(&json);
    }
    ki_buffer_append_string(&b->list,
                            "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"1\"},"
                            "\"items\":[]}");
    if (b->frames.failed || b->list.failed || b->events == 0)
        fail("loading pods", NULL);
    ki_snapshot_free(snapshot);
    ki_factory_free(factory);
    ki_config_free(config);
    ki_testing_server_free(server);
}

static void report(const bench *b, const char *what, double seconds, int rounds) {
    double bytes = (double)b->objects_bytes * rounds, events = (double)b->events * rounds;
    printf("%-34s %8.2f us/event %8.2f GB/s\n", what, seconds / events * 1e6, bytes / seconds / 1e9);
}

/* --- the parts ---------------------------------------------------------------------------------------------------- */

static void measure_framing(const bench *b, int rounds) {
    ki_framer framer;
    size_t frames = 0;
    ki_framer_init(&framer, &ki_allocator_default, KI_WIRE_OBJECT_LIMIT);
    double begin = cpu_seconds();
    for (int round = 0; round < rounds; round++) {
        for (size_t at = 0; at < b->frames.size; at += CHUNK) {
            size_t left = b->frames.size - at;
            ki_str chunk = { b->frames.data + at, left < CHUNK ? left : CHUNK }, value;
            while (ki_framer_next(&framer, &chunk, &value) == KI_FRAME_VALUE)
                frames++;
        }
    }
    double seconds = cpu_seconds() - begin;
    ki_framer_free(&framer);
    if (frames != b->events * (size_t)rounds)
        fail("framing lost events", NULL);
    report(b, "framing", seconds, rounds);
}

static void measure_decoding(const bench *b, const char *what, const ki_field *fields, int rounds) {
    ki_error err = KI_ERROR_INIT;
    ki_object_format *format = NULL;
    ki_object_format_options options = KI_OBJECT_FORMAT_OPTIONS(.view = fields);
    ki_buffer scratch;
    ki_buffer_init(&scratch, &ki_allocator_default, 0);
    if (ki_object_format_new(&ki_allocator_default, &options, &format, &err))
        fail(what, &err);
    double begin = cpu_seconds();
    for (int round = 0; round < rounds; round++) {
        for (const char *at = b->frames.data, *end = at + b->frames.size; at < end;) {
            const char *line_end = memchr(at, '\n', (size_t)(end - at));
            const char *object = strstr(at, "\"object\":") + strlen("\"object\":");
            ki_object *obj = NULL;
            if (ki_object_from_server(format, (ki_str){ object, (size_t)(line_end - 1 - object) }, "v1", "Pod",
                                      &scratch, &obj, &err))
                fail(what, &err);
            ki_object_unref(obj);
            at = line_end + 1;
        }
    }
    report(b, what, cpu_seconds() - begin, rounds);
    ki_buffer_free(&scratch);
    ki_object_format_unref(format);
}

/* --- all parts ---------------------------------------------------------------------------------------------------- */

static void serve(kt_memory_call *call, const ki_request *request, void *user) {
    bench *b = user;
    ki_response_head head = { .status = 200, .retry_after_ms = -1, .content_type = "application/json" };
    if (strstr(request->target, "watch=")) {
        b->watch = call;
        kt_memory_call_head(call, &head);
    } else if (kt_memory_call_head(call, &head) && kt_memory_call_data(call, b->list.data, b->list.size)) {
        kt_memory_call_end(call, NULL);
    }
}

static void abandoned(kt_memory_call *call, void *user) {
    bench *b = user;
    if (b->watch == call)
        b->watch = NULL;
}

static void on_change(const ki_event *event, void *user) {
    bench *b = user;
    (void)event;
    b->received++;
}

static void step(ki_engine *engine) {
    ki_error err = KI_ERROR_INIT;
    do {
        if (ki_engine_step(engine, 0, &err))
            fail("step", &err);
    } while (ki_engine_timeout(engine) == 0);
}

/* Sets a new resource version in every event, higher than all before. */
static void renew(bench *b, int round) {
    for (size_t i = 0; i < b->events; i++) {
        char digits[REVISION_DIGITS + 1];
        snprintf(digits, sizeof digits, "%0*zu", REVISION_DIGITS, 1 + (size_t)round * b->events + i);
        digits[0] = '1';
        memcpy(b->frames.data + b->versions[i], digits, REVISION_DIGITS);
    }
}

static void measure_pipeline(bench *b, const char *what, size_t chunk, bool is_plain, int rounds) {
    ki_error err = KI_ERROR_INIT;
    ki_engine *engine = NULL;
    ki_transport *transport = NULL;
    ki_factory *factory = NULL;
    ki_informer *pods = NULL;
    kt_memory_server server = { .serve = serve, .abandoned = abandoned, .user = b };
    ki_handler handler = { .on_add = on_change, .on_update = on_change, .on_delete = on_change };
    if (ki_engine_new(NULL, &engine, &err) || kt_memory_transport_new(engine, &server, &transport, &err) ||
        ki_factory_new_on(NULL, transport, &KI_FACTORY_OPTIONS(.engine = engine, .no_streaming_list = true), &factory,
                          &err) ||
        ki_factory_informer(factory, KI_PODS, &KI_INFORMER_OPTIONS(.view = view, .plain = is_plain), &pods, &err) ||
        ki_informer_add_handler(pods, &handler, b, NULL, NULL, &err) || ki_factory_start(factory, &err))
        fail("pipeline", &err);
    b->watch = NULL;
    b->received = 0;
    while (!b->watch)
        step(engine);

    double seconds = 0;
    for (int round = 0; round < rounds; round++) {
        renew(b, round);
        double begin = cpu_seconds();
        for (size_t at = 0; at < b->frames.size; at += chunk) {
            size_t left = b->frames.size - at;
            if (!b->watch || !kt_memory_call_data(b->watch, b->frames.data + at, left < chunk ? left : chunk))
                fail("the watch was given up", NULL);
            step(engine);
        }
        seconds += cpu_seconds() - begin;
    }
    if (b->received != b->events * (unsigned long)rounds)
        fail("the handler did not hear of every event", NULL);
    report(b, what, seconds, rounds);
    ki_factory_free(factory);
    ki_transport_free(transport);
    ki_engine_free(engine);
}

int main(int argc, char **argv) {
    int rounds = argc > 1 && strcmp(argv[1], "--short") == 0 ? ROUNDS_SHORT : ROUNDS;
    bench b = { .events = 0 };
    ki_buffer_init(&b.frames, &ki_allocator_default, 0);
    ki_buffer_init(&b.list, &ki_allocator_default, 0);
    load_pods(&b);
    printf("bench_pipeline: %zu pods of %.1f KB, %d rounds\n", b.events,
           (double)b.objects_bytes / (double)b.events / 1e3, rounds);
    measure_framing(&b, rounds);
    measure_decoding(&b, "decoding to an object", NULL, rounds);
    measure_decoding(&b, "decoding with a view of 2 fields", view, rounds);
    measure_pipeline(&b, "bytes to handler", CHUNK, false, rounds);
    measure_pipeline(&b, "the same, not packed", CHUNK, true, rounds);
    measure_pipeline(&b, "not packed, chunks of 128 KB", CHUNK_LARGE, true, rounds);
    ki_buffer_free(&b.frames);
    ki_buffer_free(&b.list);
    return 0;
}
