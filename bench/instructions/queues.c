/* queues.c: a change through each of the informer's queues, and a key through the work queue. */
#include "bench/instructions/paths.h"

#include <kinformer-controllers/workqueue.h>
#include <kinformer/parts/object_format.h>
#include <kinformer/parts/queue.h>

#include <stdio.h>

enum {
    KEYS = 1000,
    BURST = 100 /* changes, or keys, that wait at once */
};

/* --- the informer's queues ---------------------------------------------------------------------------------------- */

static ki_object_format *format;
static ki_queue *queue;
static ki_object *objects[KEYS];

static void make_objects(void) {
    char json[160];
    need(!ki_object_format_new(&fixed_memory, NULL, &format, NULL), "format");
    for (unsigned i = 0; i < KEYS; i++) {
        snprintf(json, sizeof json,
                 "{\"metadata\":{\"name\":\"pod-%08x\",\"namespace\":\"namespace-%02u\",\"resourceVersion\":\"%u\"}}",
                 i * 2654435761u, i % 100, i + 1);
        need(!ki_object_format_read(format, json, strlen(json), &objects[i], NULL), "object");
    }
}

static void begin_delta_fifo(void) {
    make_objects();
    need(!ki_queue_new(&KI_QUEUE_OPTIONS(.kind = KI_QUEUE_DELTA_FIFO, .allocator = &fixed_memory, .seed = 42), &queue,
                       NULL),
         "queue");
}

static void begin_in_order_fifo(void) {
    make_objects();
    need(!ki_queue_new(&KI_QUEUE_OPTIONS(.allocator = &fixed_memory, .seed = 42), &queue, NULL), "queue");
}

static ki_status count_deltas(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) {
    (void)ret_requeue, (void)err;
    *(unsigned *)user += (unsigned)deltas->count;
    return KI_OK;
}

static void put_and_pop(void) {
    unsigned popped = 0;
    for (unsigned first = 0; first < KEYS; first += BURST) {
        for (unsigned i = first; i < first + BURST; i++)
            need(!ki_queue_put(queue, &(ki_change){ .type = KI_EVENT_UPDATE, .obj = objects[i] }, NULL), "put");
        while (ki_queue_pop(queue, count_deltas, &popped, NULL) == KI_OK) {}
    }
    need(popped == KEYS, "a change is missing");
}

static void end_fifo(void) {
    ki_queue_free(queue);
    for (unsigned i = 0; i < KEYS; i++)
        ki_object_unref(objects[i]);
    ki_object_format_unref(format);
}

const path path_delta_fifo = { "delta-fifo", KEYS, 5, begin_delta_fifo, NULL, put_and_pop, end_fifo };
const path path_in_order_fifo = { "in-order-fifo", KEYS, 5, begin_in_order_fifo, NULL, put_and_pop, end_fifo };

/* --- the work queue ----------------------------------------------------------------------------------------------- */

static ki_engine *engine;
static ki_workqueue *workqueue;
static char keys[KEYS][40];

static void begin_workqueue(void) {
    engine = new_engine();
    need(!ki_workqueue_new(engine, NULL, &workqueue, NULL), "work queue");
    for (unsigned i = 0; i < KEYS; i++)
        snprintf(keys[i], sizeof keys[i], "namespace-%02u/deployment-%010u", i % 100, i);
}

static void add_get_done(void) {
    for (unsigned first = 0; first < KEYS; first += BURST) {
        for (unsigned i = first; i < first + BURST; i++)
            need(!ki_workqueue_add(workqueue, keys[i]), "add");
        for (unsigned i = 0; i < BURST; i++) {
            const char *key = ki_workqueue_get(workqueue, 0, NULL);
            need(key && !ki_workqueue_done(workqueue, key), "a key is missing");
        }
    }
}

static void end_workqueue(void) {
    ki_workqueue_free(workqueue);
    ki_engine_free(engine);
}

const path path_workqueue = { "work-queue", KEYS, 5, begin_workqueue, NULL, add_get_done, end_workqueue };
