/* event_recorder.c: an event recorder: its queue, its life as a component of the factory, the choice of the next write.
 *
 *     record (any thread) ──► queue ──► correlator (core/v1) or series (events.k8s.io/v1) ──► sink ──► API server
 *                             mutex     loop                                                  one write at a time
 *
 * A queued record and a due series take turns. A stop gives each queued record one try and then closes the recorder. */
#include "controllers/events/event_sink.h"
#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/base/options.h"
#include "src/factory/component.h"

#include <stdio.h>
#include <unistd.h>

enum {
    HOST_NAME_MAX_SIZE = 256
};

typedef struct ki_recorder_names {
    char *component, *host, *instance;
} ki_recorder_names;

/* The records that no write has taken yet. All under `mutex`. */
typedef struct ki_record_queue {
    ki_mutex mutex;
    ki_event_record *first, *last;
    ki_event_recorder_counts counts;
    int64_t last_name_ns;
    bool is_closed; /* new records are dropped */
} ki_record_queue;

struct ki_event_recorder {
    ki_component component; /* must be first: of() casts it to the recorder */
    /* constant */
    ki_factory *factory;
    ki_engine *engine;
    const ki_allocator *allocator;
    ki_event_source source;
    ki_recorder_names names; /* owned; `source` points to them */
    ki_record_queue queue;
    /* loop only */
    bool is_set_up, is_started, is_stopping;
    bool is_series_next; /* the turn, if both a record and a series wait */
    /* all series must be marked; done between writes, since a write borrows its record */
    bool is_refresh_due, is_finish_due;
    ki_task task;
    ki_timer refresh, finish;
    ki_event_correlator correlator; /* core/v1 */
    ki_event_series series;         /* events.k8s.io/v1 */
    ki_event_sink sink;
    ki_event_record *current;  /* the record being written, owned; NULL: a series owns it */
    ki_event_entry *finishing; /* the ended series that is being written; NULL: none */
    bool is_current_queued;    /* the current write counts as a queued record's */
};

static ki_event_recorder *of(ki_component *component) {
    return (ki_event_recorder *)component;
}

/* --- recording: any thread ---------------------------------------------------------------------------------------- */

/* Queues a record. Returns false if the queue is full or closed. */
static bool push(ki_event_recorder *recorder, ki_event_record *record) {
    ki_mutex_lock(&recorder->queue.mutex);
    bool takes = !recorder->queue.is_closed && recorder->queue.counts.queued < KI_EVENT_QUEUE;
    if (takes) {
        record->name_ns =
            record->wall_ns > recorder->queue.last_name_ns ? record->wall_ns : recorder->queue.last_name_ns + 1;
        recorder->queue.last_name_ns = record->name_ns;
        *(recorder->queue.last ? &recorder->queue.last->next : &recorder->queue.first) = record;
        recorder->queue.last = record;
        recorder->queue.counts.queued++;
        KI_ASSERT(recorder->queue.counts.queued <= KI_EVENT_QUEUE && !record->next);
        ki_task_post(&recorder->task);
    } else {
        recorder->queue.counts.dropped++;
    }
    recorder->queue.counts.recorded++;
    ki_mutex_unlock(&recorder->queue.mutex);
    return takes;
}

static void count_as_dropped(ki_event_recorder *recorder) {
    ki_mutex_lock(&recorder->queue.mutex);
    recorder->queue.counts.recorded++;
    recorder->queue.counts.dropped++;
    ki_mutex_unlock(&recorder->queue.mutex);
}

static void record(ki_event_recorder *recorder, const ki_record *given) {
    ki_event_record *made;
    if (ki_engine_is_forked(recorder->engine))
        return;
    if (ki_event_record_new(recorder->allocator, given, ki_engine_wall_now(recorder->engine), &made))
        count_as_dropped(recorder);
    else if (!push(recorder, made))
        ki_free(recorder->allocator, made);
}

void ki_event_recorder_record_with(ki_event_recorder *recorder, const ki_record *given) {
    ki_record known = { .size = sizeof known };
    if (given->size)
        memcpy(&known, given, given->size < sizeof known ? given->size : sizeof known);
    record(recorder, &known);
}

void ki_event_recorder_record(ki_event_recorder *recorder, const ki_object *obj, const char *type, const char *reason,
                              const char *format, ...) {
    /* One character longer than a message, so that the cut is at a whole character. */
    char message[KI_EVENT_MESSAGE_MAX + sizeof "\U0010FFFF"];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (size < 0)
        count_as_dropped(recorder);
    else
        record(recorder, &KI_RECORD(.obj = obj, .type = type, .reason = reason, .message = message));
}

void ki_event_recorder_count(const ki_event_recorder *recorder, ki_event_recorder_counts *ret_counts) {
    ki_event_recorder *locked;
    memcpy(&locked, &recorder, sizeof locked); /* locking needs a non-const pointer */
    *ret_counts = (ki_event_recorder_counts){ 0 };
    if (ki_engine_is_forked(recorder->engine))
        return;
    ki_mutex_lock(&locked->queue.mutex);
    *ret_counts = locked->queue.counts;
    ki_mutex_unlock(&locked->queue.mutex);
}

/* --- the queue on the loop ---------------------------------------------------------------------------------------- */

/* Removes and returns the oldest record, which counts as queued until `settle`; NULL: the queue is empty. `closes`:
 * closes the queue if it is empty. */
static ki_event_record *pop(ki_event_recorder *recorder, bool closes) {
    ki_mutex_lock(&recorder->queue.mutex);
    ki_event_record *record = recorder->queue.first;
    KI_ON_LOOP(recorder->engine);
    KI_ASSERT((recorder->queue.first != NULL) == (recorder->queue.last != NULL) &&
              (!record || recorder->queue.counts.queued > 0));
    if (record) {
        recorder->queue.first = record->next;
        if (!recorder->queue.first)
            recorder->queue.last = NULL;
    } else if (closes) {
        recorder->queue.is_closed = true;
    }
    ki_mutex_unlock(&recorder->queue.mutex);
    return record;
}

/* Counts the result of a popped record; `counter` is one of `counts`, or NULL. */
static void settle(ki_event_recorder *recorder, uint64_t *counter) {
    ki_mutex_lock(&recorder->queue.mutex);
    KI_ASSERT(recorder->queue.counts.queued > 0);
    recorder->queue.counts.queued--;
    if (counter)
        ++*counter;
    ki_mutex_unlock(&recorder->queue.mutex);
}

/* Counts the result of a series' own write. */
static void count_write(ki_event_recorder *recorder, uint64_t *counter) {
    ki_mutex_lock(&recorder->queue.mutex);
    ++*counter;
    ki_mutex_unlock(&recorder->queue.mutex);
}

static void drop_queue(ki_event_recorder *recorder) {
    ki_event_record *record;
    while ((record = pop(recorder, true))) {
        ki_free(recorder->allocator, record);
        settle(recorder, &recorder->queue.counts.dropped);
    }
}

/* Ends the current write and drops the queue. May be called again. */
static void end(ki_event_recorder *recorder) {
    bool was_writing = !ki_event_sink_is_idle(&recorder->sink);
    recorder->is_started = false;
    ki_timer_cancel(&recorder->refresh);
    ki_timer_cancel(&recorder->finish);
    ki_task_cancel(&recorder->task);
    ki_event_sink_cancel(&recorder->sink);
    if (was_writing && recorder->is_current_queued)
        settle(recorder, &recorder->queue.counts.dropped);
    ki_free(recorder->allocator, recorder->current);
    recorder->current = NULL;
    recorder->finishing = NULL;
    drop_queue(recorder);
}

/* --- the next write ----------------------------------------------------------------------------------------------- */

static int tries_of(const ki_event_recorder *recorder) {
    return recorder->is_stopping ? 1 : KI_EVENT_TRIES;
}

/* Writes a record as a core/v1 Event unless it is filtered. */
static void take_core(ki_event_recorder *recorder, ki_event_record *record) {
    KI_ASSERT(!recorder->current && recorder->source.api != KI_EVENTS_V1);
    ki_event_write write = { record, .tries = tries_of(recorder) };
    write.outcome = ki_event_correlate(&recorder->correlator, record, ki_engine_now(recorder->engine),
                                       ki_engine_wall_now(recorder->engine));
    if (write.outcome.is_filtered) {
        settle(recorder, &recorder->queue.counts.filtered);
    } else if (ki_event_sink_write(&recorder->sink, &write)) {
        settle(recorder, &recorder->queue.counts.dropped);
    } else {
        recorder->current = record;
        recorder->is_current_queued = true;
        return;
    }
    ki_free(recorder->allocator, record);
}

/* Writes a record as an events.k8s.io/v1 Event: the first creates it, the second makes it a series, later ones are only
 * counted. */
static void take_v1(ki_event_recorder *recorder, ki_event_record *record) {
    KI_ASSERT(!recorder->current && recorder->source.api == KI_EVENTS_V1);
    ki_event_entry *entry = ki_event_series_note(&recorder->series, record, ki_engine_now(recorder->engine),
                                                 ki_engine_wall_now(recorder->engine));
    ki_event_write write = { .record = record, .outcome = { .count = 1 }, .tries = tries_of(recorder) };
    if (entry) {
        write.record = entry->first;
        write.outcome = (ki_event_outcome){ .count = entry->count, .last_ns = entry->last_wall_ns };
    }
    bool is_owned = !entry || entry->first != record; /* no series entry owns the record */
    if (entry && entry->count > 2) {
        settle(recorder, NULL);
    } else if (ki_event_sink_write(&recorder->sink, &write)) {
        settle(recorder, &recorder->queue.counts.dropped);
    } else {
        recorder->is_current_queued = true;
        if (!entry) {
            recorder->current = record;
            return;
        }
    }
    if (is_owned)
        ki_free(recorder->allocator, record);
}

/* Writes a series that is due. Returns false if none is due. */
static bool write_series(ki_event_recorder *recorder) {
    ki_event_due due;
    KI_ASSERT(!recorder->finishing);
    if (recorder->source.api != KI_EVENTS_V1 || recorder->is_stopping)
        return false;
    ki_event_entry *entry = ki_event_series_take_due(&recorder->series, ki_engine_now(recorder->engine), &due);
    if (!entry)
        return false;
    const ki_event_write write = { .record = entry->first,
                                   .outcome = { .count = entry->count, .last_ns = entry->last_wall_ns },
                                   .tries = 1 };
    recorder->is_current_queued = false;
    if (ki_event_sink_write(&recorder->sink, &write) == KI_OK && due == KI_EVENT_FINISH_DUE)
        recorder->finishing = entry;
    return true;
}

static void mark_series(ki_event_recorder *recorder) {
    if (recorder->is_refresh_due)
        ki_event_series_refresh(&recorder->series);
    if (recorder->is_finish_due)
        ki_event_series_finish(&recorder->series, ki_engine_now(recorder->engine));
    recorder->is_refresh_due = recorder->is_finish_due = false;
}

/* Starts the next write or settles the next record. Returns false if nothing waits. */
static bool take_next(ki_event_recorder *recorder) {
    KI_ASSERT(ki_event_sink_is_idle(&recorder->sink));
    mark_series(recorder);
    recorder->is_series_next = !recorder->is_series_next;
    if (recorder->is_series_next && write_series(recorder))
        return true;
    ki_event_record *record = pop(recorder, recorder->is_stopping);
    if (!record)
        return write_series(recorder);
    record->next = NULL;
    if (recorder->source.api == KI_EVENTS_V1)
        take_v1(recorder, record);
    else
        take_core(recorder, record);
    return true;
}

static void task_run(ki_task *task, void *user) {
    (void)task;
    ki_event_recorder *recorder = user;
    if (!recorder->is_started)
        return;
    while (ki_event_sink_is_idle(&recorder->sink)) {
        if (!take_next(recorder)) {
            if (recorder->is_stopping) {
                end(recorder);
                ki_component_stopped(&recorder->component);
            }
            return;
        }
        if (!ki_engine_work(recorder->engine, 1)) {
            ki_task_post(&recorder->task);
            return;
        }
    }
}

static void write_done(ki_event_result result, void *user) {
    ki_event_recorder *recorder = user;
    uint64_t *counter = result == KI_EVENT_ACCEPTED ? &recorder->queue.counts.sent : &recorder->queue.counts.failed;
    if (recorder->is_current_queued)
        settle(recorder, counter);
    else
        count_write(recorder, counter);
    ki_free(recorder->allocator, recorder->current);
    recorder->current = NULL;
    if (recorder->finishing && result != KI_EVENT_NOT_WRITTEN)
        ki_event_series_forget(&recorder->series, recorder->finishing);
    recorder->finishing = NULL;
    ki_task_post(&recorder->task);
}

static void refresh_due(ki_timer *timer, void *user) {
    ki_event_recorder *recorder = user;
    recorder->is_refresh_due = true;
    ki_timer_set(timer, ki_engine_now(recorder->engine) + KI_SECONDS(KI_EVENT_SERIES_REFRESH_SECONDS));
    ki_task_post(&recorder->task);
}

static void finish_due(ki_timer *timer, void *user) {
    ki_event_recorder *recorder = user;
    recorder->is_finish_due = true;
    ki_timer_set(timer, ki_engine_now(recorder->engine) + KI_SECONDS(KI_EVENT_SERIES_END_SECONDS));
    ki_task_post(&recorder->task);
}

/* --- start and stop (on the loop) --------------------------------------------------------------------------------- */

static void start(ki_component *self) {
    ki_event_recorder *recorder = of(self);
    int64_t now = ki_engine_now(recorder->engine);
    recorder->is_started = true;
    if (recorder->source.api == KI_EVENTS_V1) {
        ki_timer_set(&recorder->refresh, now + KI_SECONDS(KI_EVENT_SERIES_REFRESH_SECONDS));
        ki_timer_set(&recorder->finish, now + KI_SECONDS(KI_EVENT_SERIES_END_SECONDS));
    }
    ki_task_post(&recorder->task);
}

static void cut_off(ki_component *self) {
    end(of(self));
}

static void stop(ki_component *self) {
    ki_event_recorder *recorder = of(self);
    if (!recorder->is_started) {
        end(recorder);
        ki_component_stopped(self);
        return;
    }
    recorder->is_stopping = true;
    ki_event_sink_skip_delay(&recorder->sink);
    ki_task_post(&recorder->task);
}

/* --- new, free ---------------------------------------------------------------------------------------------------- */

static ki_status take_options(const ki_event_recorder_options *options, ki_event_recorder_options *ret_given,
                              ki_error *err) {
    if (KI_OPTIONS_TAKE(options, ret_given, "KI_EVENT_RECORDER_OPTIONS", err))
        return KI_ERR_INVALID;
    const struct {
        const char *name, *text;
        size_t max;
    } texts[] = { { "component", ret_given->component, KI_EVENT_SOURCE_MAX },
                  { "host", ret_given->host, KI_EVENT_SOURCE_MAX },
                  { "instance", ret_given->instance, KI_EVENT_INSTANCE_MAX } };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ki_str text = ki_str_of(texts[i].text);
        if (text.size > texts[i].max || !ki_str_is_utf8(text))
            return ki_error_set(err, KI_ERR_INVALID, "%s of an event recorder: not UTF-8, or longer than %zu bytes",
                                texts[i].name, texts[i].max);
    }
    if (!ret_given->component || !ret_given->component[0])
        return ki_error_set(err, KI_ERR_INVALID,
                            "an event recorder needs a component, the name of the reporting controller");
    if (ret_given->api != KI_EVENTS_CORE_V1 && ret_given->api != KI_EVENTS_V1)
        return ki_error_set(err, KI_ERR_INVALID, "an event recorder has no API %d", (int)ret_given->api);
    return KI_OK;
}

/* Returns COMPONENT-HOST, client-go's name of an instance; NULL on lack of memory. */
static char *default_instance(const ki_allocator *allocator, const char *component) {
    char host[HOST_NAME_MAX_SIZE] = "", text[KI_EVENT_SOURCE_MAX + 1 + HOST_NAME_MAX_SIZE], cut[KI_EVENT_INSTANCE_MAX];
    if (gethostname(host, sizeof host - 1))
        host[0] = '\0';
    snprintf(text, sizeof text, "%s-%s", component, host);
    return ki_strndup(allocator, cut, ki_event_text(cut, sizeof cut, ki_str_of(text)));
}

static ki_status copy_source(ki_event_recorder *recorder, const ki_event_recorder_options *given) {
    recorder->names.component = ki_strdup(recorder->allocator, given->component);
    recorder->names.host = ki_strdup(recorder->allocator, given->host ? given->host : "");
    if (given->instance && given->instance[0])
        recorder->names.instance = ki_strdup(recorder->allocator, given->instance);
    else
        recorder->names.instance = default_instance(recorder->allocator, given->component);
    if (!recorder->names.component || !recorder->names.host || !recorder->names.instance)
        return KI_ERR_NO_MEMORY;
    recorder->source = (ki_event_source){ .api = given->api,
                                          .component = recorder->names.component,
                                          .host = recorder->names.host,
                                          .instance = recorder->names.instance };
    return KI_OK;
}

static void set_up_on_loop(void *user) {
    ki_event_recorder *recorder = user;
    ki_engine *engine = recorder->engine;
    uint64_t high = (uint64_t)(ki_engine_random(engine) * UINT32_MAX);
    uint64_t seed = high << 32 | (uint64_t)(ki_engine_random(engine) * UINT32_MAX);
    recorder->source.seed = seed;
    recorder->is_set_up = true;
    ki_task_init(&recorder->task, engine, task_run, recorder);
    ki_event_correlator_init(&recorder->correlator, recorder->allocator, seed);
    ki_event_series_init(&recorder->series, recorder->allocator, seed);
    ki_timer_init(&recorder->refresh, engine, refresh_due, recorder);
    ki_timer_init(&recorder->finish, engine, finish_due, recorder);
    ki_event_sink_init(&recorder->sink, ki_factory_client(recorder->factory), engine, &recorder->source, write_done,
                       recorder);
}

static void tear_down_on_loop(void *user) {
    ki_event_recorder *recorder = user;
    end(recorder);
    ki_timer_close(&recorder->refresh);
    ki_timer_close(&recorder->finish);
    ki_event_sink_close(&recorder->sink);
    ki_event_correlator_free(&recorder->correlator);
    ki_event_series_free(&recorder->series);
}

static void destroy(ki_event_recorder *recorder) {
    const ki_allocator *allocator = recorder->allocator;
    ki_component_remove(&recorder->component);
    if (recorder->is_set_up)
        ki_engine_call(recorder->engine, tear_down_on_loop, recorder);
    ki_mutex_destroy(&recorder->queue.mutex);
    ki_free(allocator, recorder->names.component);
    ki_free(allocator, recorder->names.host);
    ki_free(allocator, recorder->names.instance);
    ki_free(allocator, recorder);
}

static ki_status fill(ki_event_recorder *recorder, const ki_event_recorder_options *given, ki_error *err) {
    if (copy_source(recorder, given))
        return ki_error_no_memory(err, "making an event recorder");
    ki_engine_call(recorder->engine, set_up_on_loop, recorder);
    recorder->component = (ki_component){ .order = KI_COMPONENT_SERVICE,
                                          .stop_timeout_ns = KI_MILLISECONDS(KI_EVENT_STOP_MS),
                                          .start = start,
                                          .stop = stop,
                                          .cut_off = cut_off };
    return ki_factory_add_component(recorder->factory, &recorder->component, err);
}

ki_status ki_event_recorder_new(ki_factory *factory, const ki_event_recorder_options *options,
                                ki_event_recorder **ret_recorder, ki_error *err) {
    ki_event_recorder_options given;
    if (!factory || !ret_recorder)
        return ki_error_set(err, KI_ERR_INVALID, "ki_event_recorder_new: factory or ret_recorder is NULL");
    if (ki_engine_check_process(ki_factory_engine(factory), err))
        return KI_ERR_STATE;
    ki_status status = take_options(options, &given, err);
    if (status)
        return status;
    ki_engine *engine = ki_factory_engine(factory);
    const ki_allocator *allocator = ki_engine_allocator(engine);
    ki_event_recorder *recorder = ki_alloc_zero(allocator, sizeof *recorder);
    if (!recorder)
        return ki_error_no_memory(err, "making an event recorder");
    recorder->factory = factory;
    recorder->engine = engine;
    recorder->allocator = allocator;
    status = ki_mutex_init(&recorder->queue.mutex, err);
    if (status) {
        ki_free(allocator, recorder);
        return status;
    }
    status = fill(recorder, &given, err);
    if (status) {
        destroy(recorder);
        return status;
    }
    *ret_recorder = recorder;
    return KI_OK;
}

void ki_event_recorder_free(ki_event_recorder *recorder) {
    if (recorder && !ki_engine_is_forked(recorder->engine))
        destroy(recorder);
}
