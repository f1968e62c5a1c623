/* bench_workqueue.c: the cost of a key in the work queue: added, taken and done by one thread, with four workers, with
 * a delay; and the longest call and step of the loop with many keys. Runs client-go's work queue beside it if Go is
 * installed (bench/peers). */
#include "bench/counting.h"
#include "bench/small_objects.h"

#include <kinformer-controllers/workqueue.h>

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

enum {
    KEY_SIZE = 41, /* with the closing zero */
    WORKERS = 4,
    AT_ONCE = 1000,
    STEP = 1000, /* adds in one step of the loop */
    MANY = 1000000,
    RELIST = 100000,
    GOAL_KEY_NS = 150,
    GOAL_DELAYED_NS = 2000,
    GOAL_BYTES = 200,
    GOAL_STEP_US = 2000
};

static bool is_short;
static unsigned key_count; /* keys in the rows that client-go also has */
static unsigned rounds;
static char (*keys)[KEY_SIZE];
static int64_t time_of_engine;

static int64_t time_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t wall_ns(void) {
    return time_of(CLOCK_MONOTONIC);
}

/* Returns the CPU time of all threads. */
static int64_t cpu_ns(void) {
    return time_of(CLOCK_PROCESS_CPUTIME_ID);
}

static int64_t engine_now(void *user) {
    (void)user;
    return time_of_engine;
}

/* A queue on its own engine, whose clock stands still if `is_still`. */
typedef struct bench_queue {
    ki_engine *engine;
    ki_workqueue *queue;
} bench_queue;

static bench_queue open_queue(const ki_workqueue_options *options, bool is_still) {
    static const ki_clock still = { .now = engine_now };
    bench_queue self = { NULL, NULL };
    const ki_engine_options engine_options =
        KI_ENGINE_OPTIONS(.seed = 1, .allocator = is_still ? &counting : NULL, .clock = is_still ? &still : NULL);
    need(!ki_engine_new(&engine_options, &self.engine, NULL), "engine");
    need(!ki_workqueue_new(self.engine, options, &self.queue, NULL), "queue");
    return self;
}

static void close_queue(bench_queue *self) {
    ki_workqueue_free(self->queue);
    ki_engine_free(self->engine);
}

/* --- client-go ---------------------------------------------------------------------------------------------------- */

/* The output of bench/peers/workqueue: lines "ROW VALUE". */
static struct {
    char name[32];
    double value;
} peer_rows[8];
static size_t peer_count;

static void run_peer(void) {
    FILE *peer = popen(is_short ? KI_BENCH_PEERS "/run workqueue --short" : KI_BENCH_PEERS "/run workqueue", "r");
    need(peer, "popen");
    while (peer_count < sizeof peer_rows / sizeof *peer_rows &&
           fscanf(peer, "%31s %lf", peer_rows[peer_count].name, &peer_rows[peer_count].value) == 2)
        peer_count++;
    pclose(peer);
}

/* Returns a row of client-go; 0 if there is none. */
static double peer_value(const char *name) {
    for (size_t i = 0; i < peer_count; i++)
        if (strcmp(peer_rows[i].name, name) == 0)
            return peer_rows[i].value;
    return 0;
}

/* The goal of a row that client-go also has: not above client-go's value. */
static void end_row(double value, const char *peer, const char *unit) {
    double theirs = peer ? peer_value(peer) : 0;
    if (theirs > 0)
        printf("   client-go: %.0f %s (%.1f times): %s", theirs, unit, theirs / value,
               value <= theirs ? "met" : "MISSED");
    printf("\n");
}

static void print_goal(double value, double goal, const char *unit) {
    printf("   goal: %.0f %s: %s", goal, unit, value <= goal ? "met" : "MISSED");
}

/* --- one thread --------------------------------------------------------------------------------------------------- */

static void take_and_end(ki_workqueue *queue) {
    const char *key = ki_workqueue_get(queue, 0, NULL);
    need(key && !ki_workqueue_done(queue, key), "a key is missing");
}

/* Returns the time for each key, the best of several rounds. */
static double measure_thread(const ki_workqueue_options *options, unsigned at_once) {
    bench_queue self = open_queue(options, false);
    int64_t best = INT64_MAX;
    for (unsigned round = 0; round < rounds; round++) {
        int64_t from = now_ns();
        for (unsigned first = 0; first < key_count; first += at_once) {
            for (unsigned i = first; i < first + at_once; i++)
                need(!ki_workqueue_add(self.queue, keys[i]), "add");
            for (unsigned i = 0; i < at_once; i++)
                take_and_end(self.queue);
        }
        int64_t took = now_ns() - from;
        best = took < best ? took : best;
    }
    close_queue(&self);
    return (double)best / key_count;
}

static void measure_threads(void) {
    const struct {
        const char *what;
        ki_workqueue_options options;
        unsigned at_once;
        bool has_goal;
        const char *peer;
    } rows[] = {
        { "one at a time", KI_WORKQUEUE_OPTIONS(.name = NULL), 1, true, "one_at_a_time" },
        { "1000 at a time", KI_WORKQUEUE_OPTIONS(.name = NULL), AT_ONCE, false, "many_at_a_time" },
        { "one at a time, times taken", KI_WORKQUEUE_OPTIONS(.name = "bench"), 1, false, NULL },
        { "one at a time, by priority", KI_WORKQUEUE_OPTIONS(.by_priority = true), 1, false, NULL },
        { "1000 at a time, by priority", KI_WORKQUEUE_OPTIONS(.by_priority = true), AT_ONCE, false, NULL },
    };
    printf(" added, taken and done by one thread, each key, CPU time\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double ns = measure_thread(&rows[i].options, rows[i].at_once);
        printf("  %-34s %8.0f ns", rows[i].what, ns);
        if (rows[i].has_goal)
            print_goal(ns, GOAL_KEY_NS, "ns");
        end_row(ns, rows[i].peer, "ns");
    }
}

/* --- workers ------------------------------------------------------------------------------------------------------ */

static void *work(void *user) {
    ki_workqueue *queue = user;
    const char *key;
    while ((key = ki_workqueue_get(queue, -1, NULL)))
        need(!ki_workqueue_done(queue, key), "done");
    return NULL;
}

static void measure_workers(void) {
    int64_t best = INT64_MAX, best_cpu = INT64_MAX;
    for (unsigned round = 0; round < rounds; round++) {
        bench_queue self = open_queue(NULL, false);
        pthread_t threads[WORKERS];
        int64_t from = wall_ns(), cpu_from = cpu_ns();
        for (size_t i = 0; i < WORKERS; i++)
            need(!pthread_create(&threads[i], NULL, work, self.queue), "thread");
        for (unsigned i = 0; i < key_count; i++)
            need(!ki_workqueue_add(self.queue, keys[i]), "add");
        ki_workqueue_shut_down(self.queue);
        for (size_t i = 0; i < WORKERS; i++)
            pthread_join(threads[i], NULL);
        int64_t took = wall_ns() - from, used = cpu_ns() - cpu_from;
        best = took < best ? took : best;
        best_cpu = used < best_cpu ? used : best_cpu;
        close_queue(&self);
    }
    double ns = (double)best / key_count, cpu = (double)best_cpu / key_count;
    printf(" added by one thread, taken and done by %d workers, each key\n  %-34s %8.0f ns", WORKERS, "time", ns);
    end_row(ns, "workers", "ns");
    printf("  %-34s %8.0f ns", "CPU time of all threads", cpu);
    end_row(cpu, "workers_cpu", "ns");
}

/* --- delays ------------------------------------------------------------------------------------------------------- */

static double longest_us(int64_t *longest, int64_t took) {
    *longest = took > *longest ? took : *longest;
    return (double)*longest / 1000;
}

static void measure_delays(bool by_priority) {
    unsigned count = is_short ? RELIST : MANY;
    bench_queue self = open_queue(&KI_WORKQUEUE_OPTIONS(.by_priority = by_priority), true);
    size_t held = counted.bytes_held;
    int64_t from = now_ns(), longest = 0;
    for (unsigned i = 0; i < count; i++)
        need(!ki_workqueue_add_after(self.queue, keys[i], 3600000 + (int64_t)i * 7919 % count), "add_after");
    double ns = (double)(now_ns() - from) / count, bytes = (double)(counted.bytes_held - held) / count, step_us = 0;
    printf(" %u keys with delays%s\n  %-34s %8.0f ns", count, by_priority ? ", by priority" : "", "added, each", ns);
    print_goal(ns, GOAL_DELAYED_NS, "ns");
    end_row(ns, by_priority ? NULL : "add_after", "ns");
    printf("  %-34s %8.0f bytes", "memory, each", bytes);
    if (!by_priority)
        print_goal(bytes, GOAL_BYTES, "bytes");
    printf("\n");
    time_of_engine += INT64_C(7200) * 1000000000; /* all delays end */
    from = now_ns();
    while (ki_workqueue_length(self.queue) < count) {
        int64_t begin = now_ns();
        need(!ki_engine_step(self.engine, 0, NULL), "step");
        step_us = longest_us(&longest, now_ns() - begin);
    }
    printf("  %-34s %8.0f ns\n", "all due at once, each", (double)(now_ns() - from) / count);
    printf("  %-34s %8.0f us", "the longest step of the loop", step_us);
    print_goal(step_us, GOAL_STEP_US, "us");
    printf("\n");
    close_queue(&self);
}

/* --- many keys ---------------------------------------------------------------------------------------------------- */

/* Times each call, adds first, and keeps the shorter of this time and the one in `least`. */
static void time_calls(unsigned count, bool by_priority, int64_t *least) {
    bench_queue self = open_queue(&KI_WORKQUEUE_OPTIONS(.by_priority = by_priority), true);
    int64_t before = now_ns();
    for (unsigned i = 0; i < 2 * count; i++) {
        if (i < count)
            need(!ki_workqueue_add(self.queue, keys[i]), "add");
        else
            take_and_end(self.queue);
        int64_t now = now_ns(), took = now - before;
        least[i] = took < least[i] ? took : least[i];
        before = now;
    }
    close_queue(&self);
}

/* A call's time is the least of several rounds that do the same: a time that is long in every round is the queue's own,
 * not an interruption by other processes. */
static void measure_longest(unsigned count, bool by_priority) {
    int64_t *least = malloc(2 * sizeof *least * count), longest = 0, longest_step = 0, step = 0;
    double call_us = 0, step_us = 0;
    need(least, "memory");
    for (unsigned i = 0; i < 2 * count; i++)
        least[i] = INT64_MAX;
    for (int round = 0; round < 3; round++)
        time_calls(count, by_priority, least);
    for (unsigned i = 0; i < 2 * count; i++) {
        call_us = longest_us(&longest, least[i]);
        step = i % STEP ? step + least[i] : least[i];
        if (i < count)
            step_us = longest_us(&longest_step, step);
    }
    printf(" %u keys queued%s\n  %-34s %8.0f us", count, by_priority ? ", by priority" : "", "the longest call",
           call_us);
    print_goal(call_us, GOAL_STEP_US, "us");
    printf("\n  %-34s %8.0f us", "the longest 1000 adds", step_us);
    print_goal(step_us, GOAL_STEP_US, "us");
    printf("\n");
    free(least);
}

int main(int argc, char **argv) {
    is_short = argc > 1 && strcmp(argv[1], "--short") == 0;
    /* malloc would return hundreds of megabytes to the system in the call that frees the last key. */
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    key_count = RELIST;
    rounds = is_short ? 5 : 30;
    keys = calloc(MANY, sizeof *keys);
    need(keys, "memory");
    for (unsigned i = 0; i < MANY; i++)
        snprintf(keys[i], KEY_SIZE, "namespace-%04u/deployment-%014u", i % 1000, i);
    printf("work queue, keys of %d bytes\n", (int)strlen(keys[0]));
    run_peer();
    measure_threads();
    measure_workers();
    for (int by_priority = 0; by_priority < 2; by_priority++) {
        measure_delays(by_priority);
        measure_longest(RELIST, by_priority);
        if (!is_short)
            measure_longest(MANY, by_priority);
    }
    free(keys);
    return 0;
}
