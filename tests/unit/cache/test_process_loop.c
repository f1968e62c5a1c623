/* test_process_loop.c: the process loop over a real queue: pops while a step allows it, and what cannot be
 * processed comes again. */

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/cache/queue/fifo.h"
#include "src/cache/queue/process_loop.h"
#include "tests/support/fake_list_watch.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

#include <stdio.h>
#include <string.h>

typedef struct stage {
    test_engine engine;
    ki_queue *queue;
    ki_process_loop loop;
    char processed[256];
    int fails;       /* so many process calls, from now on */
    int drain_fails; /* likewise */
    ki_status drops; /* the next process call fails with it, and wants no retry */
    int reported;    /* such failures */
    int drained, closed;
    int stuck, unstuck;
    int64_t retry_ns;
} stage;

static ki_status process(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) {
    stage *s = user;
    if (s->fails > 0) {
        s->fails--;
        *ret_requeue = true;
        return ki_error_no_memory(err, "testing");
    }
    if (s->drops) {
        ki_status status = s->drops;
        s->drops = KI_OK;
        return status;
    }
    size_t used = strlen(s->processed);
    snprintf(s->processed + used, sizeof s->processed - used, "%s%zu ", ki_object_key(deltas->items[0].obj),
             deltas->count);
    return KI_OK;
}

static ki_status on_drained(void *user, ki_error *err) {
    stage *s = user;
    if (s->drain_fails > 0) {
        s->drain_fails--;
        return ki_error_no_memory(err, "testing");
    }
    s->drained++;
    return KI_OK;
}

static void on_closed(void *user) {
    stage *s = user;
    s->closed++;
}

static void on_error(const ki_error *err, int64_t retry_ms, void *user) {
    stage *s = user;
    assert_int_equal(retry_ms, -1);
    assert_int_not_equal(err->code, KI_OK);
    s->reported++;
}

static void on_stuck(const ki_error *err, int64_t retry_ns, void *user) {
    stage *s = user;
    if (!err) {
        s->unstuck++;
        return;
    }
    assert_int_equal(err->code, KI_ERR_NO_MEMORY);
    s->stuck++;
    s->retry_ns = retry_ns;
}

static void open_with(stage *s, int64_t resync_ns) {
    memset(s, 0, sizeof *s);
    assert_true(test_engine_open(&s->engine, NULL, 1));
    assert_int_equal(ki_queue_new(&(ki_queue_options){ .size = sizeof(ki_queue_options),
                                                       .kind = KI_QUEUE_DELTA_FIFO,
                                                       .allocator = &ki_allocator_default },
                                  &s->queue, NULL),
                     KI_OK);
    static const ki_process_loop_hooks hooks = { .on_drained = on_drained,
                                                 .on_closed = on_closed,
                                                 .on_stuck = on_stuck };
    const ki_process_loop_options options =
        KI_PROCESS_LOOP_OPTIONS(.engine = s->engine.engine, .queue = s->queue, .process = process, .on_error = on_error,
                                .user = s);
    ki_process_loop_open(&s->loop, &options, resync_ns, &hooks);
    assert_true(test_engine_settle(&s->engine));
}

static void open_stage(stage *s) {
    open_with(s, 0);
}

static void close_stage(stage *s) {
    ki_process_loop_close(&s->loop);
    ki_process_loop_close(&s->loop);
    s->queue->ops->free(s->queue);
    test_engine_close(&s->engine);
}

static void queue(stage *s, const char *key, const char *version) {
    ki_object *obj = noted_object(key, version, NULL);
    assert_int_equal(s->queue->ops->put(s->queue, &(ki_change){ .type = KI_EVENT_ADD, .obj = obj }, NULL), KI_OK);
    ki_object_unref(obj);
}

static void expect(stage *s, const char *processed) {
    assert_string_equal(s->processed, processed);
    s->processed[0] = '\0';
}

TEST(what_is_queued_is_processed_by_key) {
    stage s;
    open_stage(&s);
    queue(&s, "a", "1");
    queue(&s, "b", "2");
    queue(&s, "a", "3");
    expect(&s, ""); /* not inside the call that queues */
    assert_true(test_engine_settle(&s.engine));
    expect(&s, "a2 b1 ");
    assert_int_equal(s.drained, 1);
    queue(&s, "c", "4");
    assert_true(test_engine_settle(&s.engine));
    expect(&s, "c1 ");
    assert_int_equal(s.drained, 2);
    assert_int_equal(s.stuck + s.unstuck, 0);
    close_stage(&s);
}

TEST(a_step_does_no_more_than_it_may) {
    stage s;
    open_stage(&s);
    for (char key[] = "a"; key[0] <= 'j'; key[0]++)
        queue(&s, key, "1");
    assert_int_equal(ki_engine_step(s.engine.engine, 3, NULL), KI_OK);
    size_t done = strlen(s.processed) / 3;
    assert_in_range(done, 1, 4);
    assert_int_equal(ki_engine_timeout(s.engine.engine), 0); /* there is more */
    assert_true(test_engine_settle(&s.engine));
    expect(&s, "a1 b1 c1 d1 e1 f1 g1 h1 i1 j1 ");
    close_stage(&s);
}

TEST(what_fails_comes_again_after_a_while) {
    stage s;
    open_stage(&s);
    queue(&s, "a", "1");
    s.fails = 2;
    assert_true(test_engine_settle(&s.engine));
    assert_int_equal(s.stuck, 1);
    assert_true(s.retry_ns >= KI_MILLISECONDS(800) && s.retry_ns < KI_MILLISECONDS(1600));
    queue(&s, "b", "2"); /* does not hurry it */
    assert_true(test_engine_advance(&s.engine, 799));
    assert_int_equal(s.stuck, 1);
    expect(&s, "");
    assert_true(test_engine_advance(&s.engine, 801));
    assert_int_equal(s.stuck, 2);
    assert_int_equal(s.unstuck, 0);
    assert_true(test_engine_advance(&s.engine, 3200));
    assert_int_equal(s.unstuck, 1);
    assert_int_equal(strlen(s.processed), strlen("a1 b1 "));
    assert_non_null(strstr(s.processed, "a1"));
    assert_non_null(strstr(s.processed, "b1"));
    close_stage(&s);
}

TEST(draining_that_fails_comes_again) {
    stage s;
    open_stage(&s);
    s.drain_fails = 1;
    ki_process_loop_wake(&s.loop);
    assert_true(test_engine_settle(&s.engine));
    assert_int_equal(s.stuck, 1);
    assert_int_equal(s.drained, 0);
    assert_true(test_engine_advance(&s.engine, 1600));
    assert_int_equal(s.drained, 1);
    assert_int_equal(s.unstuck, 1);
    close_stage(&s);
}

TEST(a_closed_queue_ends_it) {
    stage s;
    open_with(&s, KI_SECONDS(1));
    queue(&s, "a", "1");
    s.queue->ops->close(s.queue);
    assert_true(test_engine_settle(&s.engine));
    expect(&s, "a1 ");
    assert_int_equal(s.closed, 1);
    assert_int_equal(s.drained, 0);
    assert_true(test_engine_advance(&s.engine, 3000)); /* no resync */
    assert_int_equal(s.reported, 0);
    assert_int_equal(ki_engine_timeout(s.engine.engine), -1);
    close_stage(&s);
}

/* Each status that a queue has of its own. */
TEST(the_status_of_process_is_not_the_queue_s) {
    static const ki_status statuses[] = { KI_ERR_CLOSED, KI_ERR_NOT_FOUND, KI_ERR_STATE };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        stage s;
        open_stage(&s);
        queue(&s, "a", "1");
        queue(&s, "b", "1");
        s.drops = statuses[i];
        assert_true(test_engine_settle(&s.engine));
        expect(&s, "b1 ");
        assert_int_equal(s.reported, 1);
        assert_int_equal(s.closed, 0);
        assert_int_equal(s.drained, 1);
        close_stage(&s);
    }
}

TEST(closing_it_leaves_the_queue_alone) {
    stage s;
    open_stage(&s);
    queue(&s, "a", "1");
    ki_process_loop_close(&s.loop);
    queue(&s, "b", "1");
    assert_true(test_engine_settle(&s.engine));
    expect(&s, "");
    assert_int_equal(s.queue->ops->length(s.queue), 2);
    close_stage(&s);
}
