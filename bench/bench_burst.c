/* bench_burst.c: memory of a program with a slow handler while a server sends 100,000 changes as fast as the connection
 * accepts them, over HTTP/1.1 and HTTP/2 with TLS. The server (peers/burst) and each row run in their own process,
 * because resident memory is measured. */
#include <kinformer/kinformer.h>

#include "bench/burst_server.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    OBJECTS = 20000,
    EVENTS = 100000,
    SHORT_PART = 10, /* divisor of objects and events with --short */
    SLOW_US = 20,    /* duration of a handler call */
    LINE = 256,
    TIMEOUT_S = 300
};

#define GOAL 1.2 /* peak over settled memory, with a handler on the loop; what waits for a thread is not bounded */

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* Returns a field of /proc/self/status (in kB) in MB. */
static double memory(const char *field) {
    char line[LINE];
    double kilobytes = 0;
    FILE *status = fopen("/proc/self/status", "r");
    need(status, "/proc/self/status");
    while (fgets(line, sizeof line, status))
        if (strncmp(line, field, strlen(field)) == 0)
            kilobytes = atof(line + strlen(field));
    fclose(status);
    return kilobytes * 1024 / 1e6;
}

/* Resets the peak to the current resident memory. */
static void reset_peak(void) {
    FILE *file = fopen("/proc/self/clear_refs", "w");
    need(file && fputs("5", file) >= 0 && fclose(file) == 0, "/proc/self/clear_refs");
}

/* --- a row -------------------------------------------------------------------------------------------------------- */

typedef struct row {
    const char *name;
    bool on_loop;
    ki_queue_kind kind;
} row;

static const row rows[] = {
    { "on the loop", true, KI_QUEUE_IN_ORDER },
    { "on the loop, DeltaFIFO", true, KI_QUEUE_DELTA_FIFO },
    { "its own thread", false, KI_QUEUE_IN_ORDER },
};

typedef struct progress {
    _Atomic size_t calls;
    _Atomic size_t pending; /* maximum of waiting events */
    _Atomic bool has_ended;
    ki_registration registration;
} progress;

static void be_slow(void) {
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000000L + now.tv_nsec - from.tv_nsec < SLOW_US * 1000L);
}

static void on_change(const ki_event *event, void *user) {
    progress *p = user;
    atomic_fetch_add(&p->calls, 1);
    size_t pending = ki_registration_pending(p->registration);
    if (pending > atomic_load(&p->pending))
        atomic_store(&p->pending, pending);
    if (strcmp(ki_object_name(event->obj), "last") == 0)
        atomic_store(&p->has_ended, true);
    be_slow();
}

static void check(const ki_error *err, const char *what) {
    if (!err->code)
        return;
    fprintf(stderr, "bench_burst: %s: %s\n", what, ki_error_message(err));
    exit(1);
}

static void measure(const row *r, const char *url, const char *protocol) {
    static const ki_handler handler = { .on_add = on_change, .on_update = on_change };
    const ki_registration_options how = KI_REGISTRATION_OPTIONS(.on_loop = r->on_loop);
    ki_error err = KI_ERROR_INIT;
    ki_config *config = NULL;
    ki_factory *factory = NULL;
    ki_informer *informer = NULL;
    progress p = { .calls = 0 };
    if (!ki_config_new(&KI_CONFIG_OPTIONS(.server = url, .insecure_skip_tls_verify = true), &config, &err) &&
        !ki_factory_new(config, &KI_FACTORY_OPTIONS(.no_streaming_list = true), &factory, &err) &&
        !ki_factory_informer(factory, KI_CONFIGMAPS, &KI_INFORMER_OPTIONS(.queue = r->kind), &informer, &err) &&
        !ki_informer_add_handler(informer, &handler, &p, &how, &p.registration, &err) &&
        !ki_factory_start(factory, &err))
        (void)!ki_factory_wait_for_sync(factory, TIMEOUT_S * 1000, NULL, &err);
    check(&err, "syncing");
    double before = memory("VmRSS:");
    reset_peak();
    for (int i = 0; !atomic_load(&p.has_ended); i++) {
        need(i < TIMEOUT_S * 100, "the burst does not end");
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    }
    double peak = memory("VmHWM:");
    malloc_trim(0);
    double settled = memory("VmRSS:");
    printf("  %-9s %-28s %8.1f MB %8.1f MB %8.1f MB %6.2f times %9zu %9zu%s\n", protocol, r->name, before, peak,
           settled, peak / settled, (size_t)atomic_load(&p.pending), (size_t)atomic_load(&p.calls),
           r->on_loop && peak > GOAL * settled ? " MISSED" : "");
    fflush(stdout);
    _exit(0); /* each row has its own process */
}

static void measure_apart(const row *r, bool http2, unsigned part) {
    burst_server s;
    if (!burst_server_start(&s, http2, OBJECTS / part, EVENTS / part, 0))
        return;
    fflush(stdout);
    pid_t pid = fork();
    need(pid >= 0, "fork");
    if (pid == 0)
        measure(r, s.url, http2 ? "HTTP/2" : "HTTP/1.1");
    int status = 0;
    waitpid(pid, &status, 0);
    burst_server_stop(&s);
    need(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a row has failed");
}

int main(int argc, char **argv) {
    unsigned part = argc > 1 && strcmp(argv[1], "--short") == 0 ? SHORT_PART : 1;
    printf(
        "burst: %u objects of 5 KB, %u changes, a handler of %d us; goal on the loop: %.1f times the settled memory\n",
        OBJECTS / part, EVENTS / part, (int)SLOW_US, GOAL);
    printf("  %-9s %-28s %11s %11s %11s %12s %9s %9s\n", "", "handler", "synced", "peak", "settled", "peak/settled",
           "waiting", "calls");
    for (int http2 = 0; http2 < 2; http2++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            measure_apart(&rows[i], http2 != 0, part);
    return 0;
}
