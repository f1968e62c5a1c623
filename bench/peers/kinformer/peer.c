/* peer.c: kinformer's program of bench/peers (README.md there): informers of pods, handlers that read one annotation.
 * The programs of client-go and kube-rs have the same command line, input and output. */
#include "bench/peers/server/objects.h"

#include <kinformer/kinformer.h>

#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    HANDLERS_MAX = 1000,
    TIMEOUT_MS = 600000
};

/* What a program reads of a pod that is kept as a whole. */
struct stamp {
    int64_t changed_at; /* nanoseconds since 1970 */
};
#define STAMP_PATH "metadata.annotations['" STAMP_NAME "']"
static const ki_field stamp_fields[] = { KI_FIELD_QUANTITY(struct stamp, changed_at, STAMP_PATH), KI_FIELD_END };

/* What it keeps with `--form view`. The first member is that of struct stamp. */
struct pod {
    int64_t changed_at;
    const char *node, *phase;
    ki_string_map labels;
};
static const ki_field pod_fields[] = { KI_FIELD_QUANTITY(struct pod, changed_at, STAMP_PATH),
                                       KI_FIELD(struct pod, node, "spec.nodeName"),
                                       KI_FIELD(struct pod, phase, "status.phase"),
                                       KI_FIELD(struct pod, labels, "metadata.labels"), KI_FIELD_END };

/* --- the changes that are expected -------------------------------------------------------------------------------- */

static atomic_size_t synced;   /* handlers */
static atomic_size_t received; /* changes since the last `expect` */
static atomic_size_t expected;
static int64_t *_Atomic delays; /* `expected` of them; NULL: they are not measured */

static int compare(const void *a, const void *b) {
    int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
    return (first > second) - (first < second);
}

static void report(void) {
    size_t count = atomic_load(&expected);
    int64_t *times = atomic_load(&delays);
    if (times) {
        qsort(times, count, sizeof *times, compare);
        printf("received %zu %lld %lld %lld %lld\n", count, (long long)times[count / 2],
               (long long)times[count * 99 / 100], (long long)times[count * 999 / 1000], (long long)times[count - 1]);
    } else {
        printf("received %zu\n", count);
    }
    fflush(stdout);
}

static void on_update(const ki_event *event, void *user) {
    (void)user;
    const struct stamp *stamp = ki_object_view(event->obj);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t delay = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    delay -= stamp ? stamp->changed_at : 0;
    size_t number = atomic_fetch_add(&received, 1), count = atomic_load(&expected);
    int64_t *times = atomic_load(&delays);
    if (times && number < count)
        times[number] = delay;
    if (number + 1 == count)
        report();
}

static void on_synced(ki_informer *informer, void *user) {
    (void)informer, (void)user;
    atomic_fetch_add(&synced, 1);
}

/* Returns false for a line that is no command. */
static bool obey(const char *line) {
    unsigned long count;
    if (sscanf(line, "expect %lu", &count) == 1 || sscanf(line, "time %lu", &count) == 1) {
        free(atomic_load(&delays));
        atomic_store(&delays, *line == 't' ? calloc(count, sizeof(int64_t)) : NULL);
        atomic_store(&received, 0);
        atomic_store(&expected, count);
        puts("expecting");
    } else if (strncmp(line, "settle", 6) == 0) {
        malloc_trim(0);
        puts("settled");
    } else {
        return false;
    }
    fflush(stdout);
    return true;
}

/* --- the program -------------------------------------------------------------------------------------------------- */

static void check(ki_status status, const ki_error *err) {
    if (!status)
        return;
    fprintf(stderr, "peer: %s\n", ki_error_message(err));
    exit(1);
}

typedef struct settings {
    const char *kubeconfig, *form;
    unsigned long informers, handlers;
    int interval_ms;
    bool managed_fields, on_loop;
} settings;

static bool read_settings(settings *s, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        if (strcmp(name, "--managed-fields") == 0)
            s->managed_fields = true;
        else if (strcmp(name, "--loop") == 0)
            s->on_loop = true;
        else if (i + 1 == argc)
            return false;
        else if (strcmp(name, "--kubeconfig") == 0)
            s->kubeconfig = argv[++i];
        else if (strcmp(name, "--form") == 0)
            s->form = argv[++i];
        else if (strcmp(name, "--interval") == 0)
            s->interval_ms = atoi(argv[++i]);
        else if (strcmp(name, "--informers") == 0)
            s->informers = strtoul(argv[++i], NULL, 10);
        else if (strcmp(name, "--handlers") == 0)
            s->handlers = strtoul(argv[++i], NULL, 10);
        else
            return false;
    }
    return s->kubeconfig && s->handlers <= HANDLERS_MAX;
}

/* Adds an informer, which differs from the others by a selector that the server ignores. */
static void add_informer(ki_factory *factory, const settings *s, unsigned long number) {
    static const ki_handler handler = { .on_update = on_update, .on_synced = on_synced };
    ki_error err = KI_ERROR_INIT;
    ki_informer *informer = NULL;
    bool is_view = strcmp(s->form, "view") == 0;
    ki_informer_options options =
        KI_INFORMER_OPTIONS(.view = is_view ? pod_fields : stamp_fields, .keep_managed_fields = s->managed_fields,
                            .keep = is_view                            ? KI_KEEP_VIEW
                                    : strcmp(s->form, "metadata") == 0 ? KI_KEEP_METADATA
                                                                       : KI_KEEP_OBJECT);
    char selector[64];
    snprintf(selector, sizeof selector, "metadata.name!=n%lu", number);
    if (s->informers > 1)
        options.field_selector = selector;
    check(ki_factory_informer(factory, KI_PODS, &options, &informer, &err), &err);
    for (unsigned long i = 0; i < s->handlers; i++)
        check(ki_informer_add_handler(informer, &handler, NULL, &KI_REGISTRATION_OPTIONS(.on_loop = s->on_loop), NULL,
                                      &err),
              &err);
}

int main(int argc, char **argv) {
    settings s = { .form = "typed", .informers = 1, .handlers = 1 };
    if (!read_settings(&s, argc, argv))
        return fprintf(stderr,
                       "usage: peer --kubeconfig FILE [--form typed|metadata|view] [--managed-fields] [--loop]\n"
                       "            [--informers N] [--handlers N] [--interval MS]\n"),
               2;
    ki_error err = KI_ERROR_INIT;
    ki_config *config = NULL;
    ki_factory *factory = NULL;
    const ki_config_options options =
        KI_CONFIG_OPTIONS(.kubeconfig = s.kubeconfig, .watch_read_interval_ms = s.interval_ms);
    check(ki_config_new(&options, &config, &err), &err);
    check(ki_factory_new(config, NULL, &factory, &err), &err);
    for (unsigned long i = 0; i < s.informers; i++)
        add_informer(factory, &s, i);
    check(ki_factory_start(factory, &err), &err);
    check(ki_factory_wait_for_sync(factory, TIMEOUT_MS, NULL, &err), &err);
    while (atomic_load(&synced) < s.informers * s.handlers)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    puts("synced");
    fflush(stdout);
    char line[128];
    while (fgets(line, sizeof line, stdin) && obey(line))
        ;
    _Exit(0);
}
