/* bench_sync.c: the client's cost of syncing 20,000 pods of about 11 KB, over loopback HTTP from the embedded
 * server, and the memory of a pod in each form of keeping. */
#include "bench/counting.h"

#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    PODS = 20000,
    PODS_SHORT = 4000,
    KEY_SIZE = 512,
    STEPS_BETWEEN = 50 /* steps of the loop between changes of a pod */
};

static void fail(const char *what, const ki_error *err) {
    fprintf(stderr, "bench_sync: %s: %s\n", what, ki_error_message(err));
    exit(1);
}

static double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct pod {
    const char *node, *phase, *ip;
};
static const ki_field pod_fields[] = { KI_FIELD(struct pod, node, "spec.nodeName"),
                                       KI_FIELD(struct pod, phase, "status.phase"),
                                       KI_FIELD(struct pod, ip, "status.podIP"), KI_FIELD_END };

/* The same with the labels. */
struct labelled_pod {
    const char *node, *phase;
    ki_string_map labels;
};
static const ki_field labelled_pod_fields[] = { KI_FIELD(struct labelled_pod, node, "spec.nodeName"),
                                                KI_FIELD(struct labelled_pod, phase, "status.phase"),
                                                KI_FIELD(struct labelled_pod, labels, "metadata.labels"),
                                                KI_FIELD_END };

/* What a log agent adds to each line of a pod: ready text, made once. */
struct record {
    const char *text;
};
static const ki_field record_fields[] = { KI_FIELD(struct record, text, "text"), KI_FIELD_END };

static ki_status make_record(ki_object *obj, ki_object **ret_obj, void *user, ki_error *err) {
    (void)user, (void)err;
    char json[8192];
    const char *name, *value;
    size_t used = (size_t)snprintf(json, sizeof json, "{\"text\":\"namespace=%s pod=%s uid=%s",
                                   ki_object_namespace(obj), ki_object_name(obj), ki_object_uid(obj));
    for (size_t i = 0; ki_object_label_at(obj, i, &name, &value); i++)
        used += (size_t)snprintf(json + used, sizeof json - used, " %s=%s", name, value);
    used += (size_t)snprintf(json + used, sizeof json - used, "\"}");
    return ki_object_with_json(obj, json, used, ret_obj, NULL);
}

typedef struct row {
    const char *what;
    ki_informer_options options;
    bool makes_record;
    bool no_streaming_list;
    ki_testing_server *changed; /* a pod of it changes while the list arrives and is processed; NULL: none */
} row;

static bool take_first(const char *key, size_t key_size, const char *json, size_t size, void *user) {
    (void)json, (void)size;
    snprintf(user, KEY_SIZE, "%.*s", (int)key_size, key);
    return false;
}

/* Changes the first pod. */
static void change_a_pod(ki_testing_server *server, unsigned number) {
    ki_error err = KI_ERROR_INIT;
    char key[KEY_SIZE], patch[80];
    ki_testing_server_each(server, KI_PODS, take_first, key);
    char *name = strchr(key, '/');
    *name++ = '\0';
    int size = snprintf(patch, sizeof patch, "{\"metadata\":{\"annotations\":{\"change\":\"%u\"}}}", number);
    if (ki_testing_server_patch(server, KI_PODS, key, name, patch, (size_t)size, &err))
        fail("changing a pod", &err);
}

static void measure(const char *url, const row *given, size_t expected) {
    const char *what = given->what;
    ki_error err = KI_ERROR_INIT;
    ki_engine *engine = NULL;
    ki_config *config = NULL;
    ki_factory *factory = NULL;
    ki_informer *pods = NULL;
    unsigned steps = 0;
    counted.bytes_held = counted.bytes_peak = 0;
    double cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID), wall = seconds_of(CLOCK_MONOTONIC);
    if (ki_engine_new(&KI_ENGINE_OPTIONS(.allocator = &counting), &engine, &err) ||
        ki_config_new(&KI_CONFIG_OPTIONS(.server = url), &config, &err) ||
        ki_factory_new(config, &KI_FACTORY_OPTIONS(.engine = engine, .no_streaming_list = given->no_streaming_list),
                       &factory, &err) ||
        ki_factory_informer(factory, KI_PODS, &given->options, &pods, &err) ||
        (given->makes_record && ki_informer_set_transform(pods, make_record, NULL, &err)) ||
        ki_factory_start(factory, &err))
        fail(what, &err);
    while (!ki_factory_has_synced(factory)) {
        struct pollfd fd = { .fd = ki_engine_fd(engine), .events = POLLIN };
        poll(&fd, 1, ki_engine_timeout(engine));
        if (ki_engine_step(engine, 0, &err))
            fail(what, &err);
        if (given->changed && ++steps % STEPS_BETWEEN == 0)
            change_a_pod(given->changed, steps);
    }
    do {
        if (ki_engine_step(engine, 0, &err))
            fail(what, &err);
    } while (ki_engine_timeout(engine) == 0);
    cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu;
    wall = seconds_of(CLOCK_MONOTONIC) - wall;

    ki_snapshot *snapshot = ki_informer_snapshot(pods);
    size_t count = ki_snapshot_count(snapshot);
    ki_snapshot_free(snapshot);
    if (count != expected) {
        fprintf(stderr, "bench_sync: %s: %zu of %zu pods\n", what, count, expected);
        exit(1);
    }
    printf("%-30s %7.3f s CPU %7.3f s wall %7.1f us/pod %7.0f B/pod held %7.0f B/pod at the peak: %.2f\n", what, cpu,
           wall, cpu / (double)count * 1e6, (double)counted.bytes_held / (double)count,
           (double)counted.bytes_peak / (double)count, (double)counted.bytes_peak / (double)counted.bytes_held);
    ki_factory_free(factory);
    ki_config_free(config);
    ki_engine_free(engine);
}

/* Pods of StatefulSets: a label of each is its own. */
static void put_numbered_pods(ki_testing_server *server, unsigned count) {
    ki_error err = KI_ERROR_INIT;
    char text[512];
    for (unsigned i = 0; i < count; i++) {
        int size = snprintf(
            text, sizeof text,
            "{\"metadata\":{\"namespace\":\"shop\",\"name\":\"db-%u\",\"labels\":{\"app.kubernetes.io/name\":"
            "\"db\",\"apps.kubernetes.io/pod-index\":\"%u\",\"statefulset.kubernetes.io/pod-name\":\"db-%u\"}},"
            "\"spec\":{\"nodeName\":\"node-%u\"},\"status\":{\"phase\":\"Running\"}}",
            i, i, i, i % 100);
        if (ki_testing_server_put(server, KI_PODS, text, (size_t)size, &err))
            fail("putting a pod", &err);
    }
}

/* The least that a view of labels saves: each object has a group of its own. */
static void measure_numbered(unsigned pods) {
    const row given = { "view of labels of its own",
                        KI_INFORMER_OPTIONS(.view = labelled_pod_fields, .keep = KI_KEEP_VIEW), false, false, NULL };
    ki_error err = KI_ERROR_INIT;
    ki_testing_server *server = NULL;
    if (ki_testing_server_new(&KI_TESTING_SERVER_OPTIONS(.seed = 1), &server, &err))
        fail("starting the server", &err);
    put_numbered_pods(server, pods);
    measure(ki_testing_server_url(server), &given, pods);
    ki_testing_server_free(server);
}

int main(int argc, char **argv) {
    ki_error err = KI_ERROR_INIT;
    ki_testing_server *server = NULL;
    unsigned pods = argc > 1 && strcmp(argv[1], "--short") == 0 ? PODS_SHORT : PODS;
    if (ki_testing_server_new(&KI_TESTING_SERVER_OPTIONS(.pods = pods, .nodes = 100, .seed = 1, .managed_fields = true),
                              &server, &err))
        fail("starting the server", &err);
    printf("bench_sync: %u pods\n", pods);
    const row rows[] = {
        { "streaming list", KI_INFORMER_OPTIONS(.keep = KI_KEEP_OBJECT), false, false, NULL },
        { "the same, pods change", KI_INFORMER_OPTIONS(.keep = KI_KEEP_OBJECT), false, false, server },
        { "pages of 500", KI_INFORMER_OPTIONS(.keep = KI_KEEP_OBJECT), false, true, NULL },
        { "DeltaFIFO", KI_INFORMER_OPTIONS(.queue = KI_QUEUE_DELTA_FIFO), false, false, NULL },
        { "never packed", KI_INFORMER_OPTIONS(.plain = true), false, false, NULL },
        { "with managedFields", KI_INFORMER_OPTIONS(.keep_managed_fields = true), false, false, NULL },
        { "metadata", KI_INFORMER_OPTIONS(.keep = KI_KEEP_METADATA), false, false, NULL },
        { "whole, view of 3 fields", KI_INFORMER_OPTIONS(.view = pod_fields), false, false, NULL },
        { "view of 3 fields", KI_INFORMER_OPTIONS(.view = pod_fields, .keep = KI_KEEP_VIEW), false, false, NULL },
        { "the same, pods change", KI_INFORMER_OPTIONS(.view = pod_fields, .keep = KI_KEEP_VIEW), false, false,
          server },
        { "view of labels, node, phase", KI_INFORMER_OPTIONS(.view = labelled_pod_fields, .keep = KI_KEEP_VIEW), false,
          false, NULL },
        { "whole, text by a transform", KI_INFORMER_OPTIONS(.view = record_fields), true, false, NULL },
        { "view, text by a transform", KI_INFORMER_OPTIONS(.view = record_fields, .keep = KI_KEEP_VIEW), true, false,
          NULL },
        { "keys", KI_INFORMER_OPTIONS(.keep = KI_KEEP_KEYS), false, false, NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        measure(ki_testing_server_url(server), &rows[i], pods);
    ki_testing_server_free(server);
    measure_numbered(pods);
    return 0;
}
