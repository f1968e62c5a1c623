/* bench_steps_http.c: how long one step of the loop takes with 200,000 objects of 1 KB that arrive over HTTP from the
 * embedded server, with malloc: the first list, relists and a resync, with both queues, with plain and streaming lists.
 * The server and each run of the client have a process of their own: what glibc does in a step depends on all that its
 * heap has seen.
 *
 * `--object MB` does the same with two objects of this size: of one text, of many short ones, and these in the
 * metadata. */
#include "bench/small_objects.h"

#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    GOAL_US = 2000, /* CPU time of a step */
    COUNT = 200000,
    SHORT_COUNT = 20000,
    ROUNDS = 3,
    SMALL = 830, /* bytes of an object besides its metadata */
    SHORT_TEXT = 16,
    QUIET_MS = 100,
    TIMEOUT_MS = 120000,
    RESYNC_MS = 3600000
};

static unsigned object_count = COUNT;
static size_t object_size = SMALL;
static size_t text_size = SMALL; /* of each member of the object's data */
static bool is_metadata;         /* the data is in annotations */
static int rounds = ROUNDS;

/* --- the server --------------------------------------------------------------------------------------------------- */

/* What the server does between two lists. One object, the marker, changes each time. */
typedef enum scene {
    SCENE_FIRST,
    SCENE_SAME,
    SCENE_CHANGED,
    SCENE_RESYNC, /* only in the client */
    SCENE_HALVED,
    SCENE_EMPTIED,
    SCENES
} scene;

static const char *const scenes[SCENES] = {
    "first list", "relist, nothing changed", "relist, all changed",
    "resync",     "relist, half deleted",    "relist, all deleted",
};

static void put(ki_testing_server *server, const char *name, unsigned number, int state) {
    static char *json;
    size_t capacity = object_size + text_size + 512;
    if (!json)
        json = malloc(capacity);
    need(json, "memory");
    size_t size = (size_t)snprintf(json, capacity,
                                   "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\","
                                   "\"namespace\":\"namespace-%u\",\"labels\":{\"state\":\"%d\"}%s{",
                                   name, number % 100, state, is_metadata ? ",\"annotations\":" : "},\"data\":");
    size_t begin = size;
    for (unsigned i = 0; i == 0 || size - begin < object_size; i++) {
        size += (size_t)snprintf(json + size, capacity - size, "%s\"text-%u\":\"", i ? "," : "", i);
        memset(json + size, 'x', text_size);
        size += text_size;
        json[size++] = '"';
    }
    size += (size_t)snprintf(json + size, capacity - size, is_metadata ? "}},\"data\":{}}" : "}}");
    need(!ki_testing_server_put(server, KI_CONFIGMAPS, json, size, NULL), "put");
}

static void name_of(unsigned number, char name[32]) {
    snprintf(name, 32, "map-%08x-%06u", number * 2654435761u, number);
}

static void delete_some(ki_testing_server *server, unsigned from, unsigned end) {
    char name[32], namespace_name[32];
    for (unsigned i = from; i < end; i++) {
        name_of(i, name);
        snprintf(namespace_name, sizeof namespace_name, "namespace-%u", i % 100);
        need(!ki_testing_server_delete(server, KI_CONFIGMAPS, namespace_name, name, NULL), "delete");
    }
}

static void put_all(ki_testing_server *server, int state) {
    char name[32];
    for (unsigned i = 0; i < object_count; i++) {
        name_of(i, name);
        put(server, name, i, state);
    }
}

static void change(ki_testing_server *server, scene now) {
    if (now == SCENE_HALVED)
        delete_some(server, object_count / 2, object_count);
    else if (now == SCENE_EMPTIED)
        delete_some(server, 0, object_count / 2);
    else if (now != SCENE_SAME)
        put_all(server, (int)now);
    put(server, "marker", 0, (int)now);
}

/* Serves until the client closes the socket. Each byte from it is a scene: the watches are closed, then all changes
 * happen and their history is deleted, so that the client lists again. */
static void serve(int client) {
    ki_error err = KI_ERROR_INIT;
    ki_testing_server *server = NULL;
    unsigned char now = SCENE_FIRST;
    if (ki_testing_server_new(&KI_TESTING_SERVER_OPTIONS(.seed = 1), &server, &err)) {
        fprintf(stderr, "bench_steps_http: %s\n", ki_error_message(&err));
        _exit(1);
    }
    change(server, SCENE_FIRST);
    const char *url = ki_testing_server_url(server);
    need(write(client, url, strlen(url) + 1) > 0, "url");
    while (read(client, &now, 1) == 1) {
        ki_testing_server_close_watches(server);
        change(server, (scene)now);
        ki_testing_server_compact(server);
        need(write(client, &now, 1) == 1, "answer");
    }
    _exit(0);
}

/* Starts the server. Writes its URL, returns the socket. */
static int start_server(char *url, size_t size) {
    int sockets[2];
    need(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), "socketpair");
    pid_t pid = fork();
    need(pid >= 0, "fork");
    if (pid == 0) {
        close(sockets[0]);
        serve(sockets[1]);
    }
    close(sockets[1]);
    need(read(sockets[0], url, size) > 0, "the server's URL");
    return sockets[0];
}

/* --- the client --------------------------------------------------------------------------------------------------- */

static int64_t skipped_ns; /* of the clock */

static int64_t read_clock(void *user) {
    struct timespec t;
    (void)user;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec + skipped_ns;
}

typedef struct client {
    ki_engine *engine;
    ki_informer *informer;
    int server;
    size_t markers;  /* states of the marker that were seen */
    size_t resynced; /* updates of resyncs and of objects that a list has unchanged */
} client;

typedef struct figures {
    int64_t step_ns, total_ns;
} figures;

static void on_change(const ki_event *event, void *user) {
    client *c = user;
    if (event->is_resync)
        c->resynced++;
    else if (strcmp(ki_object_name(event->obj), "marker") == 0)
        c->markers++;
}

static void step(client *c, figures *seen) {
    int64_t from = now_ns();
    need(!ki_engine_step(c->engine, 0, NULL), "step");
    int64_t took = now_ns() - from;
    seen->step_ns = took > seen->step_ns ? took : seen->step_ns;
    seen->total_ns += took;
}

/* Skips the wait between two attempts. */
static void skip_backoff(const client *c) {
    ki_health health;
    ki_informer_health(c->informer, &health);
    if (health.state == KI_STATE_BACKING_OFF && health.retry_in_ms > 0)
        skipped_ns += health.retry_in_ms * INT64_C(1000000);
}

/* Steps until the scene was seen and nothing has been due for a while: what was dropped is released by then. */
static figures watch(client *c, scene now) {
    figures seen = { 0, 0 };
    size_t markers = c->markers, resynced = c->resynced;
    for (int waits = 0; waits * QUIET_MS < TIMEOUT_MS;) {
        struct pollfd fd = { .fd = ki_engine_fd(c->engine), .events = POLLIN };
        int timeout = ki_engine_timeout(c->engine);
        bool is_due = timeout >= 0 && timeout < QUIET_MS;
        bool has_ended = now == SCENE_RESYNC ? c->resynced > resynced + object_count : c->markers > markers;
        if (poll(&fd, 1, is_due ? timeout : QUIET_MS) > 0 || is_due) {
            step(c, &seen);
            continue;
        }
        if (has_ended)
            return seen;
        waits++;
        skip_backoff(c);
    }
    need(false, "the scene does not end");
    return seen;
}

static void start_client(client *c, const char *url, ki_queue_kind kind, bool streams) {
    static const ki_handler handler = { .on_add = on_change, .on_update = on_change, .on_delete = on_change };
    static const ki_clock clock = { .now = read_clock };
    ki_error err = KI_ERROR_INIT;
    ki_config *config = NULL;
    ki_factory *factory = NULL;
    if (ki_engine_new(&KI_ENGINE_OPTIONS(.clock = &clock), &c->engine, &err) ||
        ki_config_new(&KI_CONFIG_OPTIONS(.server = url), &config, &err) ||
        ki_factory_new(config, &KI_FACTORY_OPTIONS(.engine = c->engine, .no_streaming_list = !streams), &factory,
                       &err) ||
        ki_factory_informer(factory, KI_CONFIGMAPS, &KI_INFORMER_OPTIONS(.queue = kind, .resync_ms = RESYNC_MS),
                            &c->informer, &err) ||
        ki_informer_add_handler(c->informer, &handler, c, &KI_REGISTRATION_OPTIONS(.on_loop = true), NULL, &err) ||
        ki_factory_start(factory, &err)) {
        fprintf(stderr, "bench_steps_http: %s\n", ki_error_message(&err));
        _exit(1);
    }
}

/* Plays all scenes in a process of its own; writes the figures to `result`. */
static void play(int result, ki_queue_kind kind, bool streams) {
    char url[256];
    client c = { .markers = 0 };
    figures seen[SCENES];
    c.server = start_server(url, sizeof url);
    start_client(&c, url, kind, streams);
    for (int i = 0; i < SCENES; i++) {
        unsigned char now = (unsigned char)i;
        if (now != SCENE_FIRST && now != SCENE_RESYNC)
            need(write(c.server, &now, 1) == 1 && read(c.server, &now, 1) == 1, "the server");
        if (now == SCENE_RESYNC)
            skipped_ns += RESYNC_MS * INT64_C(1000000);
        seen[i] = watch(&c, (scene)i);
    }
    need(write(result, seen, sizeof seen) == (ssize_t)sizeof seen, "result");
    _exit(0);
}

static void play_apart(ki_queue_kind kind, bool streams, figures seen[SCENES]) {
    int ends[2], status = 0;
    need(!pipe(ends), "pipe");
    fflush(stdout);
    pid_t pid = fork();
    need(pid >= 0, "fork");
    if (pid == 0)
        play(ends[1], kind, streams);
    close(ends[1]);
    ssize_t size = (ssize_t)(SCENES * sizeof *seen);
    need(read(ends[0], seen, (size_t)size) == size, "a run has failed");
    close(ends[0]);
    waitpid(pid, &status, 0);
}

static int compare(const void *a, const void *b) {
    int64_t left = ((const figures *)a)->step_ns, right = ((const figures *)b)->step_ns;
    return (left > right) - (left < right);
}

static void measure(ki_queue_kind kind, bool streams) {
    figures runs[ROUNDS][SCENES];
    for (int round = 0; round < rounds; round++)
        play_apart(kind, streams, runs[round]);
    printf(" %s, %s\n", kind == KI_QUEUE_IN_ORDER ? "in-order queue" : "DeltaFIFO",
           streams ? "streaming list" : "plain list");
    for (int i = 0; i < SCENES; i++) {
        figures of_scene[ROUNDS];
        for (int round = 0; round < rounds; round++)
            of_scene[round] = runs[round][i];
        qsort(of_scene, (size_t)rounds, sizeof *of_scene, compare);
        const figures *median = &of_scene[rounds / 2];
        printf("  %-24s longest step %6.2f ms (%.2f to %.2f), all steps %7.0f ms%s\n", scenes[i],
               (double)median->step_ns / 1e6, (double)of_scene[0].step_ns / 1e6,
               (double)of_scene[rounds - 1].step_ns / 1e6, (double)median->total_ns / 1e6,
               median->step_ns <= GOAL_US * 1000 ? "" : " MISSED");
    }
    fflush(stdout);
}

/* Measures with an object of so many MB, and the marker, which is as large. */
static void measure_object(unsigned mb) {
    object_count = 1;
    object_size = (size_t)mb << 20;
    static const char *const forms[] = { "one text", "many short texts", "many short annotations" };
    for (int form = 0; form < 3; form++) {
        text_size = form == 0 ? object_size : SHORT_TEXT;
        is_metadata = form == 2;
        printf("steps over HTTP: 2 objects of %u MB, %s\n", mb, forms[form]);
        measure(KI_QUEUE_IN_ORDER, true);
    }
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "--object") == 0) {
        measure_object((unsigned)atoi(argv[2]));
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--short") == 0) {
        object_count = SHORT_COUNT;
        rounds = 1;
    }
    printf("steps over HTTP: %u objects of 1 KB, the median of %d runs; goal: %d ms of CPU time for a step\n",
           object_count, rounds, GOAL_US / 1000);
    for (ki_queue_kind kind = KI_QUEUE_IN_ORDER; kind <= KI_QUEUE_DELTA_FIFO; kind++)
        for (int streams = 0; streams < 2; streams++)
            measure(kind, streams);
    return 0;
}
