/* bench_listeners.c: the cost of handlers: bytes for each waiting change, and how long the loop is blocked when a
 * handler is added to 100,000 objects. */
#include "bench/counting.h"
#include "bench/small_objects.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/cache/listener/change_log.h"
#include "tests/support/selected.h"

enum {
    OBJECTS = 100000,
    GOAL_BYTES = 64,  /* for a waiting change */
    GOAL_NS = 1000000 /* longest time that the loop is blocked */
};

/* --- waiting changes ---------------------------------------------------------------------------------------------- */

static void measure_pending(ki_object **old, ki_object **new) {
    ki_change_log log;
    ki_change_reader reader = { .block = NULL };
    ki_engine *engine;
    ki_engine_options options = KI_ENGINE_OPTIONS(.allocator = &counting);
    need(!ki_engine_new(&options, &engine, NULL), "an engine");
    need(!ki_change_log_init(&log, engine, NULL), "a log");
    ki_change_log_attach(&log, &reader);
    counted.bytes_held = 0;
    int64_t from = now_ns();
    for (unsigned i = 0; i < OBJECTS; i++) {
        const ki_change change = { .type = KI_EVENT_UPDATE, .obj = new[i], .old = old[i] };
        need(!ki_change_log_append(&log, &change), "append");
    }
    (void)ki_change_log_publish(&log);
    int64_t pushed = now_ns();
    double bytes = (double)counted.bytes_held / OBJECTS;
    printf("  %-44s %8.1f bytes %8.0f ns   goal: %d bytes: %s\n", "all", bytes, (double)(pushed - from) / OBJECTS,
           GOAL_BYTES, bytes <= GOAL_BYTES ? "met" : "MISSED");
    ki_change_log_free(&log);
    ki_engine_free(engine);
}

/* --- a late handler ----------------------------------------------------------------------------------------------- */

/* A source with one list, and a watch that stays open. */
typedef struct source {
    ki_list_watch base; /* first */
    ki_list_handler list;
    ki_watch_handler watch;
} source;

static ki_status source_list(ki_list_watch *base, const ki_list_options *options, const ki_list_handler *handler,
                             ki_error *err) {
    (void)options;
    (void)err;
    ((source *)(void *)base)->list = *handler;
    return KI_OK;
}

static ki_status source_watch(ki_list_watch *base, const ki_watch_options *options, const ki_watch_handler *handler,
                              ki_error *err) {
    (void)options;
    (void)err;
    ((source *)(void *)base)->watch = *handler;
    return KI_OK;
}

static void source_nothing(ki_list_watch *base) {
    (void)base;
}

/* find_type is called only after a 404, which does not occur */
static const ki_list_watch_ops source_ops = {
    .list = source_list, .watch = source_watch, .cancel = source_nothing, .free = source_nothing
};

typedef struct longest {
    int64_t step, total;
    unsigned steps;
} longest;

static longest step_until(ki_engine *engine, const size_t *counter, size_t wanted) {
    longest seen = { 0, 0, 0 };
    do {
        int64_t from = now_ns();
        need(!ki_engine_step(engine, 0, NULL), "step");
        int64_t took = now_ns() - from;
        seen.step = took > seen.step ? took : seen.step;
        seen.total += took;
        seen.steps++;
    } while (counter ? *counter < wanted : ki_engine_timeout(engine) == 0);
    return seen;
}

static void count_add(const ki_event *event, void *user) {
    (void)event;
    ++*(size_t *)user;
}

static void report(const char *what, int64_t ns) {
    printf("  %-44s %8.3f ms\n", what, (double)ns / 1e6);
}

static void report_goal(const char *what, int64_t ns) {
    printf("  %-44s %8.3f ms                goal: %d ms: %s\n", what, (double)ns / 1e6, GOAL_NS / 1000000,
           ns <= GOAL_NS ? "met" : "MISSED");
}

static void measure_late_handler(ki_object **objects) {
    static const ki_resource pods = { "", "v1", "pods", "Pod", true };
    static const ki_handler handler = { .on_add = count_add };
    source from_here = { .base = { .ops = &source_ops } };
    ki_engine *engine = NULL;
    ki_informer *informer = NULL;
    size_t adds = 0;
    need(!ki_engine_new(NULL, &engine, NULL), "engine");
    ki_shared_informer_options options = {
        .engine = engine, .list_watch = &from_here.base, .factory = streaming_if(false), .seed = 42
    };
    need(!informer_of(&pods, options, &informer), "informer");
    step_until(engine, NULL, 0);
    need(!ki_informer_start(informer, NULL), "start");
    step_until(engine, NULL, 0);
    for (unsigned i = 0; i < OBJECTS; i++)
        from_here.list.on_object(objects[i], from_here.list.user);
    from_here.list.on_end(&(ki_list_result){ "10", "", -1 }, NULL, from_here.list.user);
    step_until(engine, NULL, 0);
    need(ki_informer_has_synced(informer), "sync");
    int64_t from = now_ns();
    need(!ki_informer_add_handler(informer, &handler, &adds, NULL, NULL, NULL), "handler");
    report_goal("adding the handler", now_ns() - from);
    longest seen = step_until(engine, &adds, OBJECTS);
    report_goal("its longest step of the loop", seen.step);
    report("all its steps", seen.total);
    printf("  %-44s %8u\n", "steps", seen.steps);
    ki_informer_stop(informer);
    ki_informer_join(informer);
    ki_informer_free(informer);
    ki_engine_free(engine);
}

int main(void) {
    ki_object_format *format = NULL;
    need(!ki_object_format_new(&ki_allocator_default, NULL, &format, NULL), "format");
    ki_object **old = calloc(OBJECTS, sizeof *old), **new = calloc(OBJECTS, sizeof *new);
    need(old && new, "memory");
    for (unsigned i = 0; i < OBJECTS; i++) {
        old[i] = make(format, i, 1);
        new[i] = make(format, i, 2);
    }
    printf(" %d changes wait for a handler, for each\n", (int)OBJECTS);
    measure_pending(old, new);
    printf(" a handler is added to %d objects\n", (int)OBJECTS);
    measure_late_handler(old);
    for (unsigned i = 0; i < OBJECTS; i++) {
        ki_object_unref(old[i]);
        ki_object_unref(new[i]);
    }
    free(old);
    free(new);
    ki_object_format_unref(format);
    return 0;
}
