/* bench_controller.c: the cost of a controller of 10,000 objects, until each is reconciled once and until a change of
 * each is reconciled. Runs the same controller with controller-runtime beside it if Go is installed (bench/peers). Each
 * controller runs in its own process, against its own server in this process, which also makes the changes. Measures
 * CPU time and memory of the controller's process. */
#include "bench/small_objects.h"

#include <kinformer-controllers/controller.h>
#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    OBJECTS = 10000,
    OBJECTS_SHORT = 1000,
    WORKERS = 4,
    ROUNDS = 3,
    TIMEOUT_S = 900 /* for one process, including the build of the peer */
};

static const ki_resource foo_resource = { "samplecontroller.k8s.io", "v1alpha1", "foos", "Foo", true };

static void check(ki_status status, const char *what, const ki_error *err) {
    if (!status)
        return;
    fprintf(stderr, "bench_controller: %s: %s\n", what, ki_error_message(err));
    exit(1);
}

static double wall_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* --- the controller's process ------------------------------------------------------------------------------------- */

struct foo {
    int64_t replicas; /* 1 initially, 2 after the change */
    int64_t number;
};

static const ki_field foo_fields[] = {
    KI_FIELD(struct foo, replicas, "spec.replicas"),
    KI_FIELD(struct foo, number, "spec.number"),
    KI_FIELD_END,
};

/* The counters of the controller's process. The mutex guards all but the semaphores. */
static struct {
    ki_informer *foos;
    pthread_mutex_t mutex;
    unsigned char *seen; /* by Foo: the last seen replicas */
    unsigned object_count, reconciles;
    unsigned count[3]; /* by replicas: number of Foos seen with them */
    sem_t done[3];
} run = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static ki_status reconcile(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    ki_object *obj = ki_informer_get(run.foos, key);
    (void)call;
    (void)user;
    (void)err;
    if (!obj)
        return KI_OK;
    const struct foo *foo = ki_object_view(obj);
    pthread_mutex_lock(&run.mutex);
    run.reconciles++;
    for (unsigned phase = run.seen[foo->number] + 1u; phase <= foo->replicas; phase++) {
        run.seen[foo->number] = (unsigned char)phase;
        if (++run.count[phase] == run.object_count)
            sem_post(&run.done[phase]);
    }
    pthread_mutex_unlock(&run.mutex);
    ki_object_unref(obj);
    return KI_OK;
}

/* Returns the CPU time of all threads of the process. */
static double cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Returns the peak of resident memory. ru_maxrss would include the time before exec. */
static int peak_kilobytes(void) {
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    int peak = 0;
    need(status, "/proc/self/status");
    while (!peak && fgets(line, sizeof line, status))
        if (strncmp(line, "VmHWM:", 6) == 0)
            peak = atoi(line + 6);
    fclose(status);
    return peak;
}

static int run_controller(const char *url, unsigned count) {
    double began = wall_seconds();
    ki_error err = KI_ERROR_INIT;
    ki_config *config = NULL;
    ki_factory *factory = NULL;
    ki_controller *controller = NULL;
    run.object_count = count;
    run.seen = calloc(count, 1);
    need(run.seen && !sem_init(&run.done[1], 0, 0) && !sem_init(&run.done[2], 0, 0), "memory");
    check(ki_config_new(&KI_CONFIG_OPTIONS(.server = url), &config, &err) ||
              ki_factory_new(config, &KI_FACTORY_OPTIONS(.requests_per_second = -1), &factory, &err) ||
              ki_factory_informer(factory, &foo_resource, &KI_INFORMER_OPTIONS(.view = foo_fields), &run.foos, &err) ||
              ki_controller_new(factory,
                                &KI_CONTROLLER_OPTIONS(.name = "foo", .reconcile = reconcile, .workers = WORKERS),
                                &controller, &err) ||
              ki_controller_watch(controller, run.foos, NULL, &err) || ki_factory_start(factory, &err),
          "starting the controller", &err);
    sem_wait(&run.done[1]);
    double synced = wall_seconds(), synced_cpu = cpu_seconds();
    printf("ready\n");
    fflush(stdout);
    sem_wait(&run.done[2]);
    double wall = wall_seconds() - synced, cpu = cpu_seconds() - synced_cpu;
    pthread_mutex_lock(&run.mutex);
    printf("{\"sync_wall_s\": %.6f, \"sync_cpu_s\": %.6f, \"change_wall_s\": %.6f, \"change_cpu_s\": %.6f, "
           "\"reconciles\": %u, "
           "\"peak_kb\": %d}\n",
           synced - began, synced_cpu, wall, cpu, run.reconciles, peak_kilobytes());
    pthread_mutex_unlock(&run.mutex);
    fflush(stdout);
    ki_controller_free(controller);
    ki_factory_free(factory);
    ki_config_free(config);
    free(run.seen);
    return 0;
}

/* --- the server's process ----------------------------------------------------------------------------------------- */

static const char definition[] =
    "{\"apiVersion\": \"apiextensions.k8s.io/v1\", \"kind\": \"CustomResourceDefinition\", \"metadata\": {\"name\": "
    "\"foos.samplecontroller.k8s.io\", \"annotations\": {\"api-approved.kubernetes.io\": \"unapproved\"}}, \"spec\": "
    "{\"group\": \"samplecontroller.k8s.io\", \"scope\": \"Namespaced\", \"names\": {\"kind\": \"Foo\", \"listKind\": "
    "\"FooList\", \"plural\": \"foos\", \"singular\": \"foo\"}, \"versions\": [{\"name\": \"v1alpha1\", \"served\": "
    "true, "
    "\"storage\": true, \"schema\": {\"openAPIV3Schema\": {\"type\": \"object\", "
    "\"x-kubernetes-preserve-unknown-fields\": true}}}]}}";

/* The cost of a controller's process. */
typedef struct cost {
    double sync_wall, sync_cpu, change_wall, change_cpu; /* seconds */
    unsigned reconciles;
    int peak_kb;
    double drive_wall; /* seconds until all changes were made */
} cost;

static ki_testing_server *open_server(unsigned count) {
    ki_error err = KI_ERROR_INIT;
    ki_testing_server *server = NULL;
    check(ki_testing_server_new(NULL, &server, &err) ||
              ki_testing_server_create(server, KI_CUSTOMRESOURCEDEFINITIONS, NULL, definition, 0, &err),
          "starting the server", &err);
    for (unsigned i = 0; i < count; i++) {
        char json[512];
        snprintf(
            json, sizeof json,
            "{\"apiVersion\": \"samplecontroller.k8s.io/v1alpha1\", \"kind\": \"Foo\", \"metadata\": {\"namespace\": "
            "\"default\", \"name\": \"foo-%05u\", \"labels\": {\"app\": \"foo\", \"tier\": \"tier-%u\"}}, \"spec\": "
            "{\"deploymentName\": \"foo-%05u\", \"replicas\": 1, \"number\": %u}}",
            i, i % 10, i, i);
        check(ki_testing_server_create(server, &foo_resource, "default", json, 0, &err), "making a Foo", &err);
    }
    return server;
}

/* Runs a controller with a command that takes the server's URL and the count. Returns false if the command prints
 * nothing: the controller is not available. */
static bool measure(const char *command, unsigned count, cost *ret_cost) {
    ki_error err = KI_ERROR_INIT;
    ki_testing_server *server = open_server(count);
    char line[4096], name[32];
    snprintf(line, sizeof line, "exec timeout %d %s %s %u", TIMEOUT_S, command, ki_testing_server_url(server), count);
    FILE *child = popen(line, "r");
    need(child, "popen");
    bool ok = fgets(line, sizeof line, child);
    if (ok) {
        double began = wall_seconds();
        for (unsigned i = 0; i < count; i++) {
            snprintf(name, sizeof name, "foo-%05u", i);
            check(ki_testing_server_patch(server, &foo_resource, "default", name, "{\"spec\": {\"replicas\": 2}}", 0,
                                          &err),
                  "changing a Foo", &err);
        }
        ret_cost->drive_wall = wall_seconds() - began;
        need(fgets(line, sizeof line, child) != NULL &&
                 sscanf(line,
                        "{\"sync_wall_s\": %lf, \"sync_cpu_s\": %lf, \"change_wall_s\": %lf, \"change_cpu_s\": %lf, "
                        "\"reconciles\": %u, \"peak_kb\": %d}",
                        &ret_cost->sync_wall, &ret_cost->sync_cpu, &ret_cost->change_wall, &ret_cost->change_cpu,
                        &ret_cost->reconciles, &ret_cost->peak_kb) == 6,
             "the controller has not reconciled each change");
    }
    pclose(child);
    ki_testing_server_free(server);
    return ok;
}

/* Keeps the better value of two runs, for each value. */
static void keep_best(cost *best, const cost *other) {
    double *to[] = { &best->sync_wall, &best->sync_cpu, &best->change_wall, &best->change_cpu, &best->drive_wall };
    const double from[] = { other->sync_wall, other->sync_cpu, other->change_wall, other->change_cpu,
                            other->drive_wall };
    for (size_t i = 0; i < sizeof from / sizeof *from; i++)
        *to[i] = *to[i] < from[i] ? *to[i] : from[i];
    best->peak_kb = best->peak_kb < other->peak_kb ? best->peak_kb : other->peak_kb;
    best->reconciles = best->reconciles > other->reconciles ? best->reconciles : other->reconciles;
}

static void print_row(const char *what, double ours, double theirs, bool more_is_better, const char *unit) {
    const int digits = ours < 1000 ? 1 : 0;
    printf("  %-34s %8.*f %s", what, digits, ours, unit);
    if (theirs > 0)
        printf("   controller-runtime: %.*f %s (%.1f times)", digits, theirs, unit,
               more_is_better ? ours / theirs : theirs / ours);
    printf("\n");
}

static void print_phase(const char *what, double count, double wall, double cpu, double peer_wall, double peer_cpu) {
    printf(" %s\n", what);
    print_row("reconciles a second", count / wall, peer_wall > 0 ? count / peer_wall : 0, true, "/s");
    print_row("reconciles a second of CPU time", count / cpu, peer_cpu > 0 ? count / peer_cpu : 0, true, "/s");
    print_row("CPU time of a reconcile", cpu / count * 1e6, peer_cpu / count * 1e6, false, "us");
}

int main(int argc, char **argv) {
    bool is_short = argc > 1 && strcmp(argv[1], "--short") == 0;
    unsigned count = is_short ? OBJECTS_SHORT : OBJECTS;
    cost ours = { 0 }, theirs = { 0 };
    char self[4096] = "";
    if (argc == 3)
        return run_controller(argv[1], (unsigned)atoi(argv[2]));
    need(readlink("/proc/self/exe", self, sizeof self - 1) > 0, "/proc/self/exe");
    printf("controller: %u Foos, %d workers\n", count, WORKERS);
    bool has_peer = !is_short;
    for (int round = 0; round < (is_short ? 1 : ROUNDS); round++) {
        cost one = { 0 }, other = { 0 };
        need(measure(self, count, &one), "the controller has not reconciled each object");
        has_peer = has_peer && measure(KI_BENCH_PEERS "/run controller", count, &other);
        if (round == 0) {
            ours = one;
            theirs = other;
        } else {
            keep_best(&ours, &one);
            keep_best(&theirs, &other);
        }
    }
    print_phase("from the start of the process until each Foo was reconciled", count, ours.sync_wall, ours.sync_cpu,
                theirs.sync_wall, theirs.sync_cpu);
    print_phase("a change of each", count, ours.change_wall, ours.change_cpu, theirs.change_wall, theirs.change_cpu);
    printf("  %-34s %8.0f /s\n", "changes that were made a second", count / ours.drive_wall);
    printf(" in all\n  %-34s %8u", "reconciles", ours.reconciles);
    if (theirs.reconciles)
        printf("   controller-runtime: %u", theirs.reconciles);
    printf("\n");
    print_row("most memory that was resident", ours.peak_kb / 1024.0, theirs.peak_kb / 1024.0, false, "MB");
    return 0;
}
