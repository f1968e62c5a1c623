/* bench_single.c: the cost of single events, which is what a real cluster sends: a server (peers/burst) sends one
 * change in each pause, over TLS with HTTP/1.1 and HTTP/2, to a handler on the loop and to one on a thread of its own.
 * For each event: system calls and voluntary context switches of the process, CPU time, and the time from the server's
 * write to the handler. Each row runs in its own process. The kernel counts the system calls, if the process may ask it
 * to: as root, with tracefs mounted on /sys/kernel/tracing. */
#include <kinformer/kinformer.h>

#include "bench/burst_server.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    OBJECTS = 100,
    EVENTS = 4000,
    WARM_UP = 200, /* events before the counting begins */
    SHORT_PART = 10,
    PAUSE_US = 2000,
    TIMEOUT_S = 60,
    GOAL_ON_LOOP = 2, /* system calls */
    GOAL_ON_THREAD = 3
};

/* --- counting ----------------------------------------------------------------------------------------------------- */

/* Begins to count the system calls of this thread and of the threads that it starts. Returns a descriptor; -1: the
 * process may not. */
static int count_calls(void) {
    struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof attr, .inherit = 1 };
    FILE *file = fopen("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id", "r");
    if (!file)
        return -1;
    bool has_id = fscanf(file, "%llu", (unsigned long long *)&attr.config) == 1;
    fclose(file);
    return has_id ? (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) : -1;
}

typedef struct counts {
    uint64_t calls;
    long switches; /* voluntary context switches */
    double cpu_us;
} counts;

static counts count_now(int calls) {
    counts now = { .calls = 0 };
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    now.switches = usage.ru_nvcsw;
    now.cpu_us = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    need(calls < 0 || read(calls, &now.calls, sizeof now.calls) == sizeof now.calls, "reading the counter");
    return now;
}

/* --- a row -------------------------------------------------------------------------------------------------------- */

struct view {
    const char *at;
};

static const ki_field view_fields[] = { KI_FIELD(struct view, at, "data.at"), KI_FIELD_END };

typedef struct progress {
    int counter;
    unsigned events;
    counts first, last; /* after WARM_UP events, and with the last one */
    int64_t took[EVENTS + WARM_UP];
    _Atomic bool has_ended;
} progress;

static void on_update(const ki_event *event, void *user) {
    progress *p = user;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const struct view *view = ki_object_view(event->obj);
    p->took[p->events++] = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - strtoll(view->at, NULL, 10);
    if (p->events == WARM_UP)
        p->first = count_now(p->counter);
}

/* The last event is of a new object. */
static void on_add(const ki_event *event, void *user) {
    progress *p = user;
    if (event->is_in_initial_list)
        return;
    p->last = count_now(p->counter);
    atomic_store(&p->has_ended, true);
}

static int compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void print_row(progress *p, bool http2, bool on_loop) {
    unsigned events = p->events - WARM_UP;
    double calls = (double)(p->last.calls - p->first.calls) / events;
    int goal = on_loop ? GOAL_ON_LOOP : GOAL_ON_THREAD;
    char calls_text[32] = "-";
    if (p->counter >= 0)
        snprintf(calls_text, sizeof calls_text, "%.2f", calls);
    qsort(p->took + WARM_UP, events, sizeof *p->took, compare);
    const size_t middle = WARM_UP + events / 2, last_hundredth = WARM_UP + events / 100 * 99;
    printf("  %-9s %-14s %12s %14.2f %10.1f us %10.1f us %10.1f us%s\n", http2 ? "HTTP/2" : "HTTP/1.1",
           on_loop ? "on the loop" : "its own thread", calls_text,
           (double)(p->last.switches - p->first.switches) / events, (p->last.cpu_us - p->first.cpu_us) / events,
           (double)p->took[middle] / 1e3, (double)p->took[last_hundredth] / 1e3,
           p->counter < 0  ? ""
           : calls <= goal ? "   met"
                           : "   MISSED");
    fflush(stdout);
}

static void measure(const char *url, bool http2, bool on_loop) {
    static const ki_handler handler = { .on_add = on_add, .on_update = on_update };
    static progress p;
    const ki_registration_options how = KI_REGISTRATION_OPTIONS(.on_loop = on_loop);
    ki_error err = KI_ERROR_INIT;
    ki_config *config = NULL;
    ki_factory *factory = NULL;
    ki_informer *informer = NULL;
    p.counter = count_calls();
    if (ki_config_new(&KI_CONFIG_OPTIONS(.server = url, .insecure_skip_tls_verify = true), &config, &err) ||
        ki_factory_new(config, &KI_FACTORY_OPTIONS(.no_streaming_list = true), &factory, &err) ||
        ki_factory_informer(factory, KI_CONFIGMAPS, &KI_INFORMER_OPTIONS(.view = view_fields), &informer, &err) ||
        ki_informer_add_handler(informer, &handler, &p, &how, NULL, &err) || ki_factory_start(factory, &err))
        fprintf(stderr, "bench_single: %s\n", ki_error_message(&err));
    need(!err.code, "starting");
    for (int i = 0; !atomic_load(&p.has_ended); i++) {
        need(i < TIMEOUT_S * 10, "the events do not end");
        nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
    }
    need(p.events > WARM_UP, "there were no events");
    print_row(&p, http2, on_loop);
    _exit(0); /* each row has its own process */
}

static void measure_apart(bool http2, bool on_loop, unsigned events) {
    burst_server s;
    if (!burst_server_start(&s, http2, OBJECTS, events, PAUSE_US))
        return;
    fflush(stdout);
    pid_t pid = fork();
    need(pid >= 0, "fork");
    if (pid == 0)
        measure(s.url, http2, on_loop);
    int status = 0;
    waitpid(pid, &status, 0);
    burst_server_stop(&s);
    need(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a row has failed");
}

int main(int argc, char **argv) {
    unsigned part = argc > 1 && strcmp(argv[1], "--short") == 0 ? SHORT_PART : 1;
    printf("single: %d events of 5 KB, one in %d us; goal: %d system calls on the loop, %d on a thread\n",
           EVENTS / (int)part, PAUSE_US, GOAL_ON_LOOP, GOAL_ON_THREAD);
    printf("  %-9s %-14s %12s %14s %13s %13s %13s\n", "", "handler", "system calls", "switches", "CPU", "p50", "p99");
    for (int http2 = 0; http2 < 2; http2++)
        for (int on_loop = 1; on_loop >= 0; on_loop--)
            measure_apart(http2, on_loop, EVENTS / part + WARM_UP);
    return 0;
}
