/* bench_queues.c: CPU time and allocations of the two queues for each event with 100,000 keys: one event at a time, in
 * bursts, and all keys at once. Goals: 1 us for an event, and no allocation in the steady state. */
#include "bench/counting.h"
#include "bench/small_objects.h"
#include "src/base/memory.h"
#include "src/cache/queue/fifo.h"
#include "src/cache/store/store.h"
#include <kinformer/parts/store.h>

enum {
    KEYS = 100000,
    BURST = 500,
    GOAL_NS = 1000,
    ROUNDS = 3
};

/* Events do not arrive in the order of keys. */
static unsigned shuffled(unsigned i) {
    return (unsigned)((uint64_t)i * 7919 % KEYS);
}

/* --- a queue ------------------------------------------------------------------------------------------------------ */

static ki_status count_deltas(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) {
    (void)ret_requeue;
    (void)err;
    *(size_t *)user += deltas->count;
    return KI_OK;
}

/* Queues `burst` events, then pops all. */
static void pass(ki_queue *queue, ki_object **objects, unsigned burst) {
    size_t popped = 0;
    for (unsigned first = 0; first < KEYS; first += burst) {
        for (unsigned i = first; i < first + burst; i++)
            need(!queue->ops->put(queue, &(ki_change){ .type = KI_EVENT_UPDATE, .obj = objects[shuffled(i)] }, NULL),
                 "put");
        while (queue->ops->pop(queue, count_deltas, &popped, NULL) == KI_OK) {}
    }
    need(popped == KEYS, "an event is missing");
}

/* Prints the best of several rounds, after a warm-up. */
static void measure(ki_queue *queue, ki_object **objects, unsigned burst, bool has_goal, const char *what) {
    int64_t best = INT64_MAX;
    size_t allocated = 0;
    pass(queue, objects, burst);
    for (int round = 0; round < ROUNDS; round++) {
        size_t before = counted.allocations;
        int64_t from = now_ns();
        pass(queue, objects, burst);
        int64_t took = now_ns() - from;
        best = took < best ? took : best;
        allocated = counted.allocations - before;
    }
    double ns = (double)best / KEYS, each = (double)allocated / KEYS;
    printf("  %-34s %8.0f ns %8.3f allocations", what, ns, each);
    bool is_met = ns <= GOAL_NS && allocated == 0;
    printf(has_goal ? "   goal: %d ns, 0 allocations: %s\n" : "\n", GOAL_NS, is_met ? "met" : "MISSED");
}

static void measure_all(ki_queue *queue, ki_object **objects, const char *name) {
    printf(" %s, %d keys, queued and popped, for each event\n", name, KEYS);
    measure(queue, objects, 1, true, "one at a time");
    measure(queue, objects, BURST, true, "500 at a time");
    measure(queue, objects, KEYS, false, "all of them at once");
    queue->ops->free(queue);
}

int main(void) {
    const ki_store_options store_options = {
        .size = sizeof(ki_store_options), .allocator = &ki_allocator_default, .seed = 42, .namespaced = true
    };
    ki_object_format *format = NULL;
    ki_store *store = NULL;
    ki_queue *delta_fifo = NULL, *in_order = NULL;
    need(!ki_object_format_new(&ki_allocator_default, NULL, &format, NULL), "format");
    ki_object **objects = calloc(KEYS, sizeof *objects);
    need(objects, "memory");
    for (unsigned i = 0; i < KEYS; i++)
        objects[i] = make(format, i, i + 1);
    need(!ki_store_new(&store_options, &store, NULL), "store");
    need(!ki_store_replace(store, objects, KEYS, "1", NULL), "replace");
    const ki_queue_options delta_options = { .size = sizeof(ki_queue_options),
                                             .kind = KI_QUEUE_DELTA_FIFO,
                                             .allocator = &counting,
                                             .seed = 42,
                                             .known = { .get = ki_store_known_objects(store).get, .user = store } };
    need(!ki_queue_new(&delta_options, &delta_fifo, NULL), "queue");
    measure_all(delta_fifo, objects, "DeltaFIFO");
    const ki_queue_options in_order_options = {
        .size = sizeof(ki_queue_options), .allocator = &counting, .batch_size = 1000, .seed = 42
    };
    need(!ki_queue_new(&in_order_options, &in_order, NULL), "queue");
    measure_all(in_order, objects, "the in-order queue");
    ki_store_free(store);
    for (unsigned i = 0; i < KEYS; i++)
        ki_object_unref(objects[i]);
    free(objects);
    ki_object_format_unref(format);
    return 0;
}
