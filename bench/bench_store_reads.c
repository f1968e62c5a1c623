/* bench_store_reads.c: the cost of reading an informer's cache of 100,000 objects, in CPU time of the reading threads:
 * one object by key and by index, the 100 objects of an index value, with 1 to 8 threads; and the events that the loop
 * applies while 8 threads read. Runs client-go's indexer beside it if Go is installed (bench/peers). */
#include "bench/small_objects.h"

#include <kinformer/kinformer.h>
#include <kinformer/parts/list_watch.h>
#include <kinformer/parts/object_format.h>

#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

enum {
    OBJECTS = 100000,
    NODES = OBJECTS / 100, /* 100 objects have the same node */
    LISTS = 2000,
    MOST_THREADS = 8,
    EVENTS = 50000,
    BURST = 50, /* events before the loop's next step */
    GOAL_GET_NS = 40,
    GOAL_LIST_NS = 10000,
    GOAL_EVENTS = 50000 /* a second */
};

static unsigned rounds = 5;
static ki_informer *informer;
static ki_watch_handler watcher;
static char (*keys)[48], (*ips)[16];

/* Neighbours in memory are not read one after the other. */
static unsigned shuffled(unsigned i) {
    return (unsigned)((uint64_t)i * 7919 % OBJECTS);
}

/* --- the informer, of a source that lists once -------------------------------------------------------------------- */

static ki_object *make_pod(ki_object_format *format, unsigned i, unsigned version) {
    char json[512];
    ki_object *obj = NULL;
    snprintf(json, sizeof json,
             "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"namespace-%02u\",\"resourceVersion\":\"%u\",\"labels\":"
             "{\"app\":\"web\"}},\"spec\":{\"nodeName\":\"node-%u\"},\"status\":{\"podIP\":\"%s\"}}",
             strchr(keys[i], '/') + 1, i % 100, version, i % NODES, ips[i]);
    need(!ki_object_format_read(format, json, strlen(json), &obj, NULL), "object");
    return obj;
}

static void list_all(const ki_list_handler *handler) {
    ki_object_format *format = NULL;
    need(!ki_object_format_new(NULL, NULL, &format, NULL), "format");
    for (unsigned i = 0; i < OBJECTS; i++) {
        snprintf(keys[i], sizeof *keys, "namespace-%02u/deployment-%08x-%05u", i % 100, i * 2654435761u, i);
        snprintf(ips[i], sizeof *ips, "10.%u.%u.%u", i >> 16, i >> 8 & 255, i & 255);
        ki_object *obj = make_pod(format, i, 1);
        handler->on_object(obj, handler->user);
        ki_object_unref(obj);
    }
    ki_object_format_unref(format);
    handler->on_end(&(ki_list_result){ .resource_version = "1", .continue_token = "" }, NULL, handler->user);
}

static ki_status list(ki_list_watch *source, const ki_list_options *options, const ki_list_handler *handler,
                      ki_error *err) {
    (void)source, (void)options, (void)err;
    list_all(handler);
    return KI_OK;
}

static ki_status watch(ki_list_watch *source, const ki_watch_options *options, const ki_watch_handler *handler,
                       ki_error *err) {
    (void)source, (void)options, (void)err;
    watcher = *handler;
    watcher.on_open(watcher.user);
    return KI_OK;
}

static void nothing_to_do(ki_list_watch *source) {
    (void)source;
}

static ki_factory *make_informer(ki_engine *engine) {
    static const ki_list_watch_ops ops = {
        .list = list, .watch = watch, .cancel = nothing_to_do, .free = nothing_to_do, .no_streaming_list = true
    };
    static ki_list_watch source = { &ops };
    static const ki_indexer indexers[] = { { .name = "ip", .path = "status.podIP" },
                                           { .name = "node", .path = "spec.nodeName" } };
    ki_config *config = NULL;
    ki_factory *factory = NULL;
    need(!ki_config_new(&KI_CONFIG_OPTIONS(.server = "http://127.0.0.1:1"), &config, NULL) &&
             !ki_factory_new(config, &KI_FACTORY_OPTIONS(.engine = engine), &factory, NULL) &&
             !ki_factory_informer_for(factory, KI_PODS, &source, NULL, &informer, NULL) &&
             !ki_informer_add_indexers(informer, indexers, 2, NULL) && !ki_factory_start(factory, NULL),
         "informer");
    while (!ki_factory_has_synced(factory))
        need(!ki_engine_step(engine, 0, NULL), "step");
    ki_config_free(config);
    return factory;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static void get_all(void) {
    for (unsigned i = 0; i < OBJECTS; i++) {
        ki_object *obj = ki_informer_get(informer, keys[shuffled(i)]);
        need(obj != NULL, "an object is missing");
        ki_object_unref(obj);
    }
}

static void get_all_by_index(void) {
    for (unsigned i = 0; i < OBJECTS; i++) {
        ki_object *obj = NULL;
        need(!ki_informer_get_by_index(informer, "ip", ips[shuffled(i)], &obj, NULL), "an object is missing");
        ki_object_unref(obj);
    }
}

static void get_all_of_snapshot(void) {
    ki_snapshot *now = ki_informer_snapshot(informer);
    for (unsigned i = 0; i < OBJECTS; i++)
        need(ki_snapshot_get(now, keys[shuffled(i)]) != NULL, "an object is missing");
    ki_snapshot_free(now);
}

static void get_few(void) {
    for (unsigned i = 0; i < OBJECTS; i++)
        ki_object_unref(ki_informer_get(informer, keys[shuffled(i % 100)]));
}

static void get_few_of_snapshot(void) {
    ki_snapshot *now = ki_informer_snapshot(informer);
    for (unsigned i = 0; i < OBJECTS; i++)
        need(ki_snapshot_get(now, keys[shuffled(i % 100)]) != NULL, "an object is missing");
    ki_snapshot_free(now);
}

static void list_nodes(void) {
    char node[32];
    for (unsigned i = 0; i < LISTS; i++) {
        ki_object_list pods;
        snprintf(node, sizeof node, "node-%u", shuffled(i) % NODES);
        need(!ki_lister_list_by_index(informer, "node", node, &pods, NULL) && pods.count == OBJECTS / NODES, "list");
        ki_object_list_free(&pods);
    }
}

typedef struct reader {
    pthread_t thread;
    pthread_barrier_t *begin;
    void (*read)(void);
    int64_t took; /* CPU time */
} reader;

static void *run_reader(void *user) {
    reader *self = user;
    pthread_barrier_wait(self->begin);
    int64_t from = now_ns();
    self->read();
    self->took = now_ns() - from;
    return NULL;
}

/* Returns the CPU time of one of `count` calls, the mean of all threads, in the best of several rounds. */
static double measure(void (*read)(void), unsigned threads, unsigned count) {
    double best = 1e18;
    for (unsigned round = 0; round < rounds; round++) {
        pthread_barrier_t begin;
        reader readers[MOST_THREADS];
        int64_t took = 0;
        pthread_barrier_init(&begin, NULL, threads);
        for (unsigned i = 0; i < threads; i++) {
            readers[i] = (reader){ .begin = &begin, .read = read };
            need(!pthread_create(&readers[i].thread, NULL, run_reader, &readers[i]), "thread");
        }
        for (unsigned i = 0; i < threads; i++) {
            pthread_join(readers[i].thread, NULL);
            took += readers[i].took;
        }
        pthread_barrier_destroy(&begin);
        double each = (double)took / threads / count;
        best = each < best ? each : best;
    }
    return best;
}

/* --- a writer beside readers -------------------------------------------------------------------------------------- */

static _Atomic bool has_ended;

static void *read_on(void *user) {
    for (unsigned turn = 0; !has_ended; turn++) {
        ki_object *obj = NULL;
        ki_object_list pods;
        unsigned i = shuffled(turn % OBJECTS);
        ki_object_unref(ki_informer_get(informer, keys[i]));
        need(!ki_informer_get_by_index(informer, "ip", ips[i], &obj, NULL), "an object is missing");
        ki_object_unref(obj);
        if (turn % 16)
            continue;
        need(!ki_lister_list_by_index(informer, "node", "node-7", &pods, NULL) && pods.count == OBJECTS / NODES,
             "list");
        ki_object_list_free(&pods);
    }
    return user;
}

/* Returns how often this thread has waited for another one. */
static long waits_of_thread(void) {
    struct rusage usage;
    need(!getrusage(RUSAGE_THREAD, &usage), "getrusage");
    return usage.ru_nvcsw;
}

/* Returns the loop's CPU time of an event: the object is there, and the loop queues, stores, indexes and publishes.
 * `*ret_waits`: how often it waited for a reader. */
static double measure_writer(ki_engine *engine, long *ret_waits) {
    pthread_t threads[MOST_THREADS];
    ki_object_format *format = NULL;
    ki_object **pods = calloc(EVENTS, sizeof(ki_object *));
    need(pods && !ki_object_format_new(NULL, NULL, &format, NULL), "format");
    for (unsigned i = 0; i < EVENTS; i++)
        pods[i] = make_pod(format, shuffled(i), i + 2);
    for (size_t i = 0; i < MOST_THREADS; i++)
        need(!pthread_create(&threads[i], NULL, read_on, NULL), "thread");
    int64_t from = now_ns();
    long waits = waits_of_thread();
    for (unsigned i = 0; i < EVENTS; i++) {
        watcher.on_event(KI_EVENT_UPDATE, pods[i], watcher.user);
        while (i % BURST == BURST - 1 && ki_engine_timeout(engine) == 0)
            need(!ki_engine_step(engine, 0, NULL), "step");
    }
    double each = (double)(now_ns() - from) / EVENTS;
    *ret_waits = waits_of_thread() - waits;
    has_ended = true;
    for (size_t i = 0; i < MOST_THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < EVENTS; i++)
        ki_object_unref(pods[i]);
    free(pods);
    ki_object_format_unref(format);
    return each;
}

/* --- client-go ---------------------------------------------------------------------------------------------------- */

/* The output of bench/peers/store: lines "ROW VALUE". */
static struct {
    char name[32];
    double value;
} peer_rows[16];
static size_t peer_count;

static void run_peer(void) {
    FILE *peer = popen(KI_BENCH_PEERS "/run store", "r");
    need(peer, "popen");
    while (peer_count < sizeof peer_rows / sizeof *peer_rows &&
           fscanf(peer, "%31s %lf", peer_rows[peer_count].name, &peer_rows[peer_count].value) == 2)
        peer_count++;
    pclose(peer);
}

static void print_row(const char *what, const char *peer, unsigned threads, double ns, double goal) {
    char name[32];
    printf("  %-40s %u thread%s %7.0f ns", what, threads, threads > 1 ? "s" : " ", ns);
    if (goal > 0)
        printf("   goal %.0f: %s", goal, ns <= goal ? "met" : "MISSED");
    snprintf(name, sizeof name, "%s-%u", peer, threads);
    for (size_t i = 0; i < peer_count; i++)
        if (strcmp(peer_rows[i].name, name) == 0)
            printf("   client-go: %.0f ns (%.1f times)", peer_rows[i].value, peer_rows[i].value / ns);
    printf("\n");
}

int main(int argc, char **argv) {
    ki_engine *engine = NULL;
    if (argc > 1 && strcmp(argv[1], "--short") == 0)
        rounds = 2;
    else
        run_peer();
    keys = calloc(OBJECTS, sizeof *keys);
    ips = calloc(OBJECTS, sizeof *ips);
    need(keys && ips && !ki_engine_new(NULL, &engine, NULL), "memory");
    ki_factory *factory = make_informer(engine);
    printf("store_reads: %d objects, CPU time of a call\n", OBJECTS);
    for (unsigned threads = 1; threads <= MOST_THREADS; threads *= 2) {
        print_row("get by key", "key", threads, measure(get_all, threads, OBJECTS), GOAL_GET_NS);
        print_row("get by key of a snapshot", "", threads, measure(get_all_of_snapshot, threads, OBJECTS), GOAL_GET_NS);
        print_row("get by key, 100 keys", "", threads, measure(get_few, threads, OBJECTS), GOAL_GET_NS);
        print_row("the same of a snapshot", "", threads, measure(get_few_of_snapshot, threads, OBJECTS), GOAL_GET_NS);
        print_row("get by index", "index", threads, measure(get_all_by_index, threads, OBJECTS), GOAL_GET_NS);
        print_row("list by index, 100 objects", "list", threads, measure(list_nodes, threads, LISTS), GOAL_LIST_NS);
    }
    long waits;
    double each = measure_writer(engine, &waits);
    printf("  %-40s %u threads %6.0f ns   %.0f events a second, goal %d: %s; %ld waits for a lock in %d events\n",
           "event of a change, beside readers", MOST_THREADS, each, 1e9 / each, GOAL_EVENTS,
           1e9 / each >= GOAL_EVENTS ? "met" : "MISSED", waits, EVENTS);
    ki_factory_free(factory);
    ki_engine_free(engine);
    free(keys);
    free(ips);
    return 0;
}
