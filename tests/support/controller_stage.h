/* controller_stage.h: a factory over the embedded API server within the process, with informers of ConfigMaps and Secrets, and a controller whose
 * reconcile function writes down its keys and does what a test says. What goes wrong fails the test.
 *
 * Stepped: one thread, and a clock that only the test moves. Threaded: the engine has its loop's thread; the cluster is the loop's. */
#ifndef TESTS_SUPPORT_CONTROLLER_STAGE_H
#define TESTS_SUPPORT_CONTROLLER_STAGE_H

#include <kinformer/kinformer.h>

#include "testing/memory/adapter.h"
#include "tests/support/test_engine.h"

enum {
    STAGE_TEXT = 4096,
    STAGE_CALLS = 16
};

typedef struct controller_stage {
    test_engine engine; /* threaded: its clock is the real one */
    bool is_threaded;
    kt_cluster *cluster;
    kt_memory_adapter *adapter;
    ki_transport *transport;
    ki_factory *factory;
    ki_informer *configmaps, *secrets;
    ki_controller *controller;
    char heard[STAGE_TEXT]; /* keys of reconciles, with a space after each; and other notes */
    char logged[STAGE_TEXT];
    const char *script;    /* what the next reconciles do, a letter each; see stage_reconcile. NULL: all succeed */
    int64_t requeue_after; /* of the letter 'a' */
    ki_reconcile *deferred[STAGE_CALLS];
    int deferred_count;
} controller_stage;

/* `allocator` of the engine, NULL: malloc. False where there is no memory; then only stage_close may follow. */
bool stage_open(controller_stage *s, const ki_allocator *allocator, const ki_metrics *metrics);
void stage_open_threaded(controller_stage *s, const ki_allocator *allocator);
/* Frees the controller, where it is still there, and all else. */
void stage_close(controller_stage *s);

/* Makes the controller; `reconcile` NULL: stage_reconcile, with the stage as `user`. */
ki_status stage_control(controller_stage *s, ki_controller_options options);
/* Starts the factory, and settles where it is stepped. */
void stage_start(controller_stage *s);
void stage_settle(controller_stage *s);
void stage_advance(controller_stage *s, int64_t ms);

/* Puts an object into the cluster, or takes it out. `more` is JSON after the name and namespace within metadata, "" for none. */
void stage_put(controller_stage *s, const ki_resource *resource, const char *key, const char *more);
void stage_delete(controller_stage *s, const ki_resource *resource, const char *key);

/* One letter of the script for each call; then success:
 *   .  success            f  an error            t  a terminal error
 *   r  requeue            a  requeue after       b  requeue after, then an error
 *   d  deferred           D  deferred and finished inside, with success    F  the same with an error
 *   s  stops the controller                      x  frees it             S  stops the factory */
ki_status stage_reconcile(ki_reconcile *call, const char *key, void *user, ki_error *err);
/* Notes a word in `heard`. */
void stage_note(controller_stage *s, const char *word);
/* Asserts what was heard since the last look. */
void stage_expect(controller_stage *s, const char *heard);
/* The same words in any order. */
void stage_expect_any_order(controller_stage *s, const char *heard);
/* Returns the value of a sample of ki_factory_metrics_text, which begins with `name`; -1 where there is none, or no memory. */
double stage_metric(controller_stage *s, const char *name);

#endif
