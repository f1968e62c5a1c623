/* bench_steps.c: how long one step of the loop takes with 200,000 objects, and how long another thread waits for a lock
 * meanwhile: the first list, relists and a resync, with both queues, with plain and streaming lists. With malloc, which
 * programs have, and beside it with an allocator of a program's own. Then the work that is not divided into steps.
 * Objects of 1 KB are decoded in the step, as those of a connection. bench_steps_http.c has a connection. */
#include "bench/lock_times.h"
#include "bench/small_objects.h"
#include "bench/steady_memory.h"
#include "src/base/error.h"
#include "src/engine/engine.h"
#include "tests/support/selected.h"

#include <stdatomic.h>
#include <string.h>

enum {
    GOAL_STEP_US = 2000, /* CPU time of a step */
    GOAL_WAIT_US = 1000, /* longest time that a lock is held */
    SHORT_COUNT = 20000,
    COUNT = 200000,
    ROUNDS = 3,
    SMALL = 900,  /* bytes of an object besides its metadata */
    LARGE = 5500, /* bytes */
    LARGE_COUNT = 20000,
    CHANGED = 4,     /* the version of changed objects */
    ALL_CHANGED = 5, /* of all objects, once they all changed */
    CHANGED_EACH = 100,
    PER_TURN = 16, /* objects that arrive at once */
    PAUSE_US = 200 /* between two calls of the other thread */
};

#define RESYNC KI_SECONDS(3600)

static unsigned object_count = COUNT;
static int rounds = ROUNDS;
static _Atomic int64_t clock_now = 1;

static int64_t read_clock(void *user) {
    (void)user;
    return atomic_load(&clock_now);
}

/* --- the source: a list arrives a few objects at a time ----------------------------------------------------------- */

typedef struct source {
    ki_list_watch base; /* first */
    ki_engine *engine;
    ki_task task;
    ki_list_handler list;
    ki_watch_handler watch;
    bool lists, streams;
    bool fails;     /* the next list fails after its last object */
    bool deletes;   /* deletes the first object of a streaming list before the list's end */
    int64_t end_ns; /* CPU time of the call that ended the last streaming list */
    bool large;     /* objects of LARGE bytes, not SMALL */
    unsigned version_of_all, version_of_some, some_each; /* every `some_each`th object has another version; 0: none */
    ki_object_format *format;
    unsigned next;
    const char *version;
} source;

/* Makes an object of about 5.5 KB, as an API server sends it. */
static ki_object *make_large(ki_object_format *format, unsigned number) {
    static char json[LARGE + 256];
    ki_object *obj = NULL;
    int head = snprintf(
        json, sizeof json,
        "{\"metadata\":{\"name\":\"pod-%u\",\"namespace\":\"default\",\"resourceVersion\":\"1\"},\"spec\":\"", number);
    memset(json + head, 'x', LARGE);
    for (unsigned i = 0; i < LARGE; i++) /* text that does not compress well */
        json[(unsigned)head + i] = (char)('a' + (number * 2654435761u + i * 40503u) % 26);
    memcpy(json + head + LARGE, "\"}", 3);
    need(!ki_object_from_json(format, ki_str_of(json), "v1", "Pod", &obj, NULL), "object");
    return obj;
}

/* Makes a small object of about 1 KB. */
static ki_object *make_small(ki_object_format *format, unsigned number, unsigned version) {
    static char json[SMALL + 256];
    ki_object *obj = NULL;
    int head = snprintf(json, sizeof json,
                        "{\"metadata\":{\"name\":\"pod-%08x-%05u\",\"namespace\":\"namespace-%u\","
                        "\"resourceVersion\":\"%u\"},\"spec\":\"",
                        number * 2654435761u, number, number % 100, version);
    memset(json + head, 'x', SMALL);
    memcpy(json + head + SMALL, "\"}", 3);
    need(!ki_object_from_json(format, ki_str_of(json), "v1", "Pod", &obj, NULL), "object");
    return obj;
}

/* Decodes the next object and hands it over. */
static void hand_over(source *from) {
    unsigned i = from->next;
    bool is_one_of_some = from->some_each && i % from->some_each == 0;
    ki_object *obj = from->large
                         ? make_large(from->format, i)
                         : make_small(from->format, i, is_one_of_some ? from->version_of_some : from->version_of_all);
    if (from->lists)
        from->list.on_object(obj, from->list.user);
    else
        from->watch.on_event(KI_EVENT_ADD, obj, from->watch.user);
    ki_object_unref(obj);
}

static void end_stream(source *from) {
    if (from->deletes) {
        ki_object *gone = make_small(from->format, 0, 2);
        from->watch.on_event(KI_EVENT_DELETE, gone, from->watch.user);
        ki_object_unref(gone);
    }
    int64_t start = now_ns();
    from->watch.on_bookmark(from->version, true, from->watch.user);
    from->end_ns = now_ns() - start;
}

static void end_all(source *from) {
    ki_error cause = KI_ERROR_INIT;
    bool lists = from->lists, fails = from->fails;
    from->lists = from->streams = from->fails = false;
    if (fails)
        ki_error_set(&cause, KI_ERR_CONNECT, "cut");
    if (lists)
        from->list.on_end(&(ki_list_result){ from->version, "", -1 }, fails ? &cause : NULL, from->list.user);
    else if (fails)
        from->watch.on_end(&cause, false, true, from->watch.user);
    else
        end_stream(from);
}

static void arrive(ki_task *task, void *user) {
    source *from = user;
    for (unsigned i = 0; i < PER_TURN && from->next < object_count; i++, from->next++)
        hand_over(from);
    (void)ki_engine_work(from->engine, PER_TURN);
    if (from->next < object_count)
        ki_task_post(task);
    else
        end_all(from);
}

static ki_status source_list(ki_list_watch *base, const ki_list_options *options, const ki_list_handler *handler,
                             ki_error *err) {
    source *from = (source *)(void *)base;
    (void)options;
    (void)err;
    from->list = *handler;
    from->lists = true;
    from->next = 0;
    ki_task_post(&from->task);
    return KI_OK;
}

static ki_status source_watch(ki_list_watch *base, const ki_watch_options *options, const ki_watch_handler *handler,
                              ki_error *err) {
    source *from = (source *)(void *)base;
    (void)err;
    from->watch = *handler;
    from->watch.on_open(from->watch.user);
    if (!options->send_initial_events)
        return KI_OK;
    from->streams = true;
    from->next = 0;
    ki_task_post(&from->task);
    return KI_OK;
}

static ki_status source_find(ki_list_watch *base, ki_on_type_found on_found, void *user, ki_error *err) {
    (void)base;
    (void)on_found;
    (void)user;
    return ki_error_set(err, KI_ERR_INVALID, "the type is there");
}

static void source_cancel(ki_list_watch *base) {
    ki_task_cancel(&((source *)(void *)base)->task);
}

static const ki_list_watch_ops source_ops = {
    .list = source_list, .watch = source_watch, .find_type = source_find, .cancel = source_cancel, .free = source_cancel
};

/* --- another thread ----------------------------------------------------------------------------------------------- */

/* Calls continuously every function that takes a lock of the informer and may run on another thread. */
typedef struct other {
    ki_informer *informer;
    pthread_t thread;
    _Atomic bool ends;
    _Atomic bool adds_index; /* adds an index once; then set to false */
} other;

static ki_status index_number(const ki_object *obj, ki_index_values *values, void *user) {
    const char *name = ki_object_name(obj);
    (void)user;
    return ki_index_values_add(values, name + strlen(name) - 2);
}

static void ignore_event(const ki_event *event, void *user) {
    (void)event, (void)user;
}

static void call_each(ki_informer *informer, const char *key) {
    static const ki_handler handler = { .on_add = ignore_event };
    ki_registration registration = { NULL, 0 };
    ki_health health;
    ki_object_unref(ki_informer_get(informer, key));
    ki_snapshot_free(ki_informer_snapshot(informer));
    need(!ki_informer_add_handler(informer, &handler, NULL, NULL, &registration, NULL), "register");
    (void)ki_registration_has_synced(registration);
    (void)ki_registration_pending(registration);
    need(!ki_informer_remove_handler(informer, registration, NULL), "remove");
    ki_informer_health(informer, &health);
    (void)ki_informer_has_synced(informer);
    need(ki_informer_wait_for_version(informer, NULL, "999999999", 0, NULL) == KI_ERR_TIMEOUT, "wait");
}

static void *call_all_the_time(void *user) {
    other *self = user;
    lock_times_begin(LOCK_OF_OTHER);
    for (unsigned i = 0; !atomic_load(&self->ends); i++) {
        char key[64];
        unsigned number = i * 7919u % object_count;
        snprintf(key, sizeof key, "namespace-%u/pod-%08x-%05u", number % 100, number * 2654435761u, number);
        call_each(self->informer, key);
        if (atomic_load(&self->adds_index)) {
            const ki_indexer indexer = { .name = "number", .index = index_number };
            need(!ki_informer_add_indexers(self->informer, &indexer, 1, NULL), "index");
            atomic_store(&self->adds_index, false);
        }
        nanosleep(&(struct timespec){ .tv_nsec = PAUSE_US * 1000L }, NULL);
    }
    return NULL;
}

/* --- the stage ---------------------------------------------------------------------------------------------------- */

typedef struct stage {
    source from;
    ki_engine *engine;
    ki_informer *informer;
    size_t calls, second_calls;
    unsigned version;
    bool with_other;
    other beside;
} stage;

typedef struct figures {
    int64_t step_ns, total_ns, change_ns, lock_ns, wait_ns;
    unsigned steps;
    size_t bytes_before, bytes_peak;
    size_t calls;
} figures;

static void count_event(const ki_event *event, void *user) {
    (void)event;
    ++*(size_t *)user;
}

static void step_until_idle(stage *s, figures *seen) {
    int timeout;
    while ((timeout = ki_engine_timeout(s->engine)) >= 0) {
        if (timeout > 120000)
            return; /* the next timer is the resync */
        atomic_fetch_add(&clock_now, KI_MILLISECONDS((int64_t)timeout));
        int64_t from = now_ns();
        need(!ki_engine_step(s->engine, 0, NULL), "step");
        int64_t took = now_ns() - from;
        seen->step_ns = took > seen->step_ns ? took : seen->step_ns;
        seen->total_ns += took;
        seen->steps++;
    }
}

/* Prepares the next list: one object in `changed_each` (0: none) has the version `changed`. */
static void prepare(stage *s, unsigned changed_each, unsigned changed) {
    static const char *const versions[] = { "", "1000", "2000", "3000", "4000", "5000", "6000", "7000" };
    s->version++;
    need(s->version < sizeof versions / sizeof *versions, "versions");
    s->from.version = versions[s->version];
    s->from.some_each = changed_each;
    s->from.version_of_some = changed;
}

static figures begin(stage *s) {
    s->calls = 0;
    atomic_store(&longest_lock.change, 0);
    atomic_store(&longest_lock.other, 0);
    atomic_store(&longest_lock.wait, 0);
    counted.bytes_peak = counted.bytes_held;
    return (figures){ .bytes_before = counted.bytes_held };
}

static void end(stage *s, figures *seen) {
    step_until_idle(s, seen);
    seen->change_ns = atomic_load(&longest_lock.change);
    seen->lock_ns = atomic_load(&longest_lock.other);
    seen->wait_ns = atomic_load(&longest_lock.wait);
    seen->bytes_peak = counted.bytes_peak;
    seen->calls = s->calls;
}

static figures first_list(stage *s) {
    prepare(s, 0, 0);
    figures seen = begin(s);
    need(!ki_informer_start(s->informer, NULL), "start");
    if (s->with_other)
        need(!pthread_create(&s->beside.thread, NULL, call_all_the_time, &s->beside), "thread");
    end(s, &seen);
    need(ki_informer_has_synced(s->informer) && seen.calls == object_count, "first list");
    return seen;
}

static figures list_again(stage *s, size_t calls) {
    ki_error expired = KI_ERROR_INIT;
    figures seen = begin(s);
    ki_error_set(&expired, KI_ERR_EXPIRED, "too old");
    s->from.watch.on_end(&expired, true, true, s->from.watch.user);
    end(s, &seen);
    need(seen.calls == calls, "relist");
    return seen;
}

static figures relist(stage *s, unsigned changed_each) {
    prepare(s, changed_each, CHANGED);
    return list_again(s, changed_each ? object_count / changed_each : 0);
}

static figures relist_all_changed(stage *s) {
    s->from.version_of_all = ALL_CHANGED;
    prepare(s, 0, 0);
    return list_again(s, object_count);
}

/* The second half of the objects is no longer in the list. */
static figures halve(stage *s) {
    unsigned gone = object_count / 2;
    object_count -= gone;
    prepare(s, 0, 0);
    return list_again(s, gone);
}

/* A list that fails at its end, and the next one without changes. Another thread adds an index meanwhile. */
static figures failed_list(stage *s) {
    ki_error expired = KI_ERROR_INIT;
    prepare(s, 0, 0);
    figures seen = begin(s);
    s->from.fails = true;
    atomic_store(&s->beside.adds_index, s->with_other);
    ki_error_set(&expired, KI_ERR_EXPIRED, "too old");
    s->from.watch.on_end(&expired, true, true, s->from.watch.user);
    end(s, &seen);
    while (atomic_load(&s->beside.adds_index))
        nanosleep(&(struct timespec){ .tv_nsec = PAUSE_US * 1000L }, NULL);
    need(seen.calls == 0, "failed list");
    return seen;
}

/* A resync of a handler that is added after the lists: relists would call it too. */
static figures resync(stage *s) {
    static const ki_handler handler = { .on_update = count_event };
    figures seen = begin(s);
    need(!ki_informer_add_handler(s->informer, &handler, &s->calls, NULL, NULL, NULL), "handler");
    step_until_idle(s, &seen);
    seen = begin(s);
    atomic_fetch_add(&clock_now, RESYNC);
    end(s, &seen);
    need(seen.calls == object_count, "resync");
    return seen;
}

enum {
    SCENES = 7
};

static const char *const scenes[SCENES] = { "first list",
                                            "relist, nothing changed",
                                            "relist, 1 % changed",
                                            "relist, all changed",
                                            "relist, half deleted",
                                            "list fails, index",
                                            "resync" };

static void play(ki_queue_kind kind, bool streams, bool with_other, const ki_allocator *allocator,
                 figures seen[SCENES]) {
    static const ki_resource pods = { "", "v1", "pods", "Pod", true };
    static const ki_handler handler = { .on_add = count_event, .on_update = count_event, .on_delete = count_event };
    const ki_clock clock = { .now = read_clock };
    unsigned all = object_count;
    stage s = { .from = { .base = { .ops = &source_ops }, .version_of_all = 1 }, .with_other = with_other };
    counted.bytes_held = 0;
    need(!ki_engine_new(&KI_ENGINE_OPTIONS(.clock = &clock, .allocator = allocator, .seed = 42), &s.engine, NULL),
         "engine");
    need(!ki_object_format_new(allocator, NULL, &s.from.format, NULL), "format");
    s.from.engine = s.engine;
    ki_task_init(&s.from.task, s.engine, arrive, &s.from);
    ki_shared_informer_options options = { .engine = s.engine,
                                           .list_watch = &s.from.base,
                                           .factory = streaming_if(streams),
                                           .given.queue = kind,
                                           .given.resync_ms = RESYNC / KI_MILLISECONDS(1),
                                           .seed = 42 };
    need(!informer_of(&pods, options, &s.informer), "informer");
    s.beside.informer = s.informer;
    lock_times_begin(with_other ? LOCK_OF_LOOP : LOCK_NOT_MEASURED);
    need(
        !ki_informer_add_handler(s.informer, &handler, &s.calls, &KI_REGISTRATION_OPTIONS(.resync_ms = -1), NULL, NULL),
        "handler");
    const ki_registration_options second = KI_REGISTRATION_OPTIONS(.resync_ms = -1);
    need(!ki_informer_add_handler(s.informer, &handler, &s.second_calls, &second, NULL, NULL), "handler");
    figures none = { .steps = 0 };
    need(!ki_engine_step(s.engine, 1, NULL), "step");
    step_until_idle(&s, &none);
    seen[0] = first_list(&s);
    seen[1] = relist(&s, 0);
    seen[2] = relist(&s, CHANGED_EACH);
    seen[3] = relist_all_changed(&s);
    seen[4] = halve(&s);
    seen[5] = failed_list(&s);
    seen[6] = resync(&s);
    if (with_other) {
        atomic_store(&s.beside.ends, true);
        pthread_join(s.beside.thread, NULL);
    }
    ki_informer_stop(s.informer);
    ki_informer_join(s.informer);
    ki_informer_free(s.informer);
    ki_object_format_unref(s.from.format);
    ki_engine_free(s.engine);
    object_count = all;
}

/* A transform that keeps only the name. */
static ki_status reduce(ki_object *obj, ki_object **ret_obj, void *user, ki_error *err) {
    (void)err;
    char json[160];
    snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"resourceVersion\":\"%s\"}}",
             ki_object_name(obj), ki_object_namespace(obj), ki_object_resource_version(obj));
    return ki_object_from_json(user, ki_str_of(json), "v1", "Pod", ret_obj, NULL);
}

static void measure_transform(ki_queue_kind kind) {
    static const ki_resource pods = { "", "v1", "pods", "Pod", true };
    const ki_clock clock = { .now = read_clock };
    source from = { .base = { .ops = &source_ops }, .version = "1000", .large = true };
    ki_engine *engine = NULL;
    stage s = { .calls = 0 };
    unsigned all = object_count;
    object_count = LARGE_COUNT;
    counted.bytes_held = counted.bytes_peak = 0;
    need(!ki_engine_new(&KI_ENGINE_OPTIONS(.clock = &clock, .allocator = &steady, .seed = 42), &engine, NULL),
         "engine");
    need(!ki_object_format_new(&steady, NULL, &from.format, NULL), "format");
    from.engine = s.engine = engine;
    ki_task_init(&from.task, engine, arrive, &from);
    ki_shared_informer_options options = {
        .engine = engine, .list_watch = &from.base, .factory = streaming_if(false), .given.queue = kind, .seed = 42
    };
    figures seen = { .steps = 0 };
    need(!informer_of(&pods, options, &s.informer), "informer");
    need(!ki_informer_set_transform(s.informer, reduce, from.format, NULL), "transform");
    need(!ki_engine_step(engine, 1, NULL) && !ki_informer_start(s.informer, NULL), "start");
    step_until_idle(&s, &seen);
    need(ki_informer_has_synced(s.informer), "sync");
    printf("  %-24s %9.1f MB, settled %.1f MB: %.2f times\n",
           kind == KI_QUEUE_IN_ORDER ? "in-order queue" : "DeltaFIFO", (double)counted.bytes_peak / 1e6,
           (double)counted.bytes_held / 1e6, (double)counted.bytes_peak / (double)counted.bytes_held);
    ki_informer_stop(s.informer);
    ki_informer_join(s.informer);
    ki_informer_free(s.informer);
    ki_object_format_unref(from.format);
    ki_engine_free(engine);
    object_count = all;
}

/* --- work that is not divided into steps -------------------------------------------------------------------------- */

typedef struct whole {
    int64_t end_ns, check_ns, free_ns;
} whole;

/* Measures a streaming list with `deletes`; `detects` enables the mutation detector. */
static whole play_whole(ki_queue_kind kind, bool deletes, bool detects) {
    static const ki_resource pods = { "", "v1", "pods", "Pod", true };
    const ki_clock clock = { .now = read_clock };
    source from = { .base = { .ops = &source_ops }, .version = "1000", .version_of_all = 1, .deletes = deletes };
    ki_informer *informer = NULL;
    whole seen = { .check_ns = 0 };
    need(!ki_engine_new(&KI_ENGINE_OPTIONS(.clock = &clock, .allocator = &steady, .seed = 42), &from.engine, NULL),
         "engine");
    need(!ki_object_format_new(&steady, NULL, &from.format, NULL), "format");
    ki_task_init(&from.task, from.engine, arrive, &from);
    ki_shared_informer_options options = { .engine = from.engine,
                                           .list_watch = &from.base,
                                           .given.queue = kind,
                                           .factory = &KI_FACTORY_OPTIONS(.detect_mutations = detects),
                                           .seed = 42 };
    need(!informer_of(&pods, options, &informer) && !ki_informer_start(informer, NULL), "start");
    while (!ki_informer_has_synced(informer) || ki_engine_timeout(from.engine) == 0)
        need(!ki_engine_step(from.engine, 0, NULL), "step");
    seen.end_ns = from.end_ns;
    for (int second = 0; detects && second < 3; second++) {
        atomic_fetch_add(&clock_now, KI_SECONDS(1));
        int64_t start = now_ns();
        need(!ki_engine_step(from.engine, 1, NULL), "step");
        int64_t took = now_ns() - start;
        seen.check_ns = took > seen.check_ns ? took : seen.check_ns;
    }
    ki_informer_stop(informer);
    ki_informer_join(informer);
    int64_t start = now_ns();
    ki_informer_free(informer);
    seen.free_ns = now_ns() - start;
    ki_object_format_unref(from.format);
    ki_engine_free(from.engine);
    return seen;
}

static const char *verdict(int64_t ns, int goal_us) {
    return ns <= (int64_t)goal_us * 1000 ? "" : " MISSED";
}

static void keep_least(int64_t *least, int64_t ns) {
    *least = ns < *least ? ns : *least;
}

static void measure_whole(ki_queue_kind kind) {
    whole least = { INT64_MAX, INT64_MAX, INT64_MAX };
    int64_t end_ns = INT64_MAX;
    lock_times_begin(LOCK_NOT_MEASURED);
    for (int round = 0; round < rounds; round++) {
        keep_least(&end_ns, play_whole(kind, false, false).end_ns);
        whole gaps = play_whole(kind, true, false), checks = play_whole(kind, false, true);
        keep_least(&least.end_ns, gaps.end_ns);
        keep_least(&least.free_ns, gaps.free_ns);
        keep_least(&least.check_ns, checks.check_ns);
    }
    printf("  %-24s %9.2f ms for the end of a streaming list, %.2f ms where an object was deleted meanwhile; "
           "%.2f ms for a check with detect_mutations; %.2f ms for ki_informer_free\n",
           kind == KI_QUEUE_IN_ORDER ? "in-order queue" : "DeltaFIFO", (double)end_ns / 1e6, (double)least.end_ns / 1e6,
           (double)least.check_ns / 1e6, (double)least.free_ns / 1e6);
}

/* Prints steps and memory of runs alone, with malloc and with an allocator of the program's own, and locks of runs with
 * another thread. Takes the least of the longest times of several rounds: the library's own costs recur in each. */
static void measure(ki_queue_kind kind, bool streams) {
    figures alone[SCENES], own[SCENES], beside[SCENES], again[SCENES];
    play(kind, streams, false, &counting, alone);
    play(kind, streams, false, &steady, own);
    play(kind, streams, true, &steady, beside);
    for (int round = 1; round < rounds; round++) {
        play(kind, streams, false, &counting, again);
        for (int i = 0; i < SCENES; i++)
            keep_least(&alone[i].step_ns, again[i].step_ns);
        play(kind, streams, false, &steady, again);
        for (int i = 0; i < SCENES; i++)
            keep_least(&own[i].step_ns, again[i].step_ns);
        play(kind, streams, true, &steady, again);
        for (int i = 0; i < SCENES; i++) {
            keep_least(&beside[i].change_ns, again[i].change_ns);
            keep_least(&beside[i].lock_ns, again[i].lock_ns);
            keep_least(&beside[i].wait_ns, again[i].wait_ns);
        }
    }
    printf(" %s, %s\n", kind == KI_QUEUE_IN_ORDER ? "in-order queue" : "DeltaFIFO",
           streams ? "streaming list" : "plain list");
    printf("  %-24s %12s %14s %7s %12s %12s %12s %13s\n", "", "longest step", "own allocator", "steps", "change lock",
           "other locks", "longest wait", "memory: peak");
    for (int i = 0; i < SCENES; i++) {
        const figures *steps = &alone[i], *locks = &beside[i];
        printf("  %-24s %9.2f ms %11.2f ms %7u %9.3f ms %9.3f ms %9.3f ms %10.1f MB, before %.1f%s%s\n", scenes[i],
               (double)steps->step_ns / 1e6, (double)own[i].step_ns / 1e6, steps->steps, (double)locks->change_ns / 1e6,
               (double)locks->lock_ns / 1e6, (double)locks->wait_ns / 1e6, (double)steps->bytes_peak / 1e6,
               (double)steps->bytes_before / 1e6, verdict(steps->step_ns, GOAL_STEP_US),
               verdict(locks->change_ns > locks->lock_ns ? locks->change_ns : locks->lock_ns, GOAL_WAIT_US));
    }
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--short") == 0) {
        object_count = SHORT_COUNT;
        rounds = 1;
    }
    printf("steps: %u objects; goals: %d ms of CPU time for a step, %d ms for which a lock is held\n", object_count,
           GOAL_STEP_US / 1000, GOAL_WAIT_US / 1000);
    for (ki_queue_kind kind = KI_QUEUE_IN_ORDER; kind <= KI_QUEUE_DELTA_FIFO; kind++)
        for (int streams = 0; streams < 2; streams++)
            measure(kind, streams);
    printf(" not divided into steps\n");
    measure_whole(KI_QUEUE_IN_ORDER);
    measure_whole(KI_QUEUE_DELTA_FIFO);
    printf(" peak of memory: %d objects of %d bytes, a transform that keeps the name\n", (int)LARGE_COUNT, (int)LARGE);
    measure_transform(KI_QUEUE_IN_ORDER);
    measure_transform(KI_QUEUE_DELTA_FIFO);
    return 0;
}
