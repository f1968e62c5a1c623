/* controller_stage.h: a factory over the embedded API server in the same process, with informers of ConfigMaps and
 * Secrets, and a controller whose reconcile function notes its keys and follows the test's script. An unexpected
 * failure fails the test.
 *
 * Stepped: one thread, and a clock that only the test advances. Threaded: the engine has a thread, and changes of
 * the cluster run on it. */
#ifndef TESTS_SUPPORT_CONTROLLER_STAGE_H
#define TESTS_SUPPORT_CONTROLLER_STAGE_H

#include <kinformer-controllers/controller.h>
#include <kinformer/kinformer.h>

#include "testing/memory/adapter.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

enum {
    STAGE_TEXT = 4096,
    STAGE_CALLS = 16
};

typedef struct controller_stage {
    test_engine engine; /* threaded: with the real clock */
    bool is_threaded;
    kt_cluster *cluster;
    kt_memory_adapter *adapter;
    ki_transport *transport;
    ki_factory *factory;
    ki_informer *configmaps, *secrets;
    ki_controller *controller;
    char notes[STAGE_TEXT];    /* keys of reconciles, with a space after each; other notes */
    ki_log_level logged_level; /* of the last line */
    char logged[STAGE_TEXT];
    char synced[STAGE_TEXT]; /* the lines of informers that have synced */
    const char *script;      /* one letter for each of the next reconciles (see stage_reconcile); NULL: all succeed */
    int64_t requeue_after;   /* delay of the letters 'a' and 'b' */
    ki_reconcile *deferred[STAGE_CALLS];
    int deferred_count;
} controller_stage;

/* The stage of the test that runs: stepped, with malloc. cmocka's setup and teardown. */
extern controller_stage stage;
int stage_set_up(void **state);
int stage_tear_down(void **state);
#define CONTROLLER_TEST(name) TEST_WITH(stage_set_up, stage_tear_down, name)
/* Creates a controller of ConfigMaps for `stage`, and starts the factory. */
void stage_run(ki_controller_options options);
/* Adds a key to the queue of the controller of `stage`. */
void stage_add(const char *key);

/* `allocator` is the engine's; NULL: malloc. Returns false without memory; then only stage_close can follow. */
bool stage_open(controller_stage *s, const ki_allocator *allocator);
/* Replaces the factory by one with these options and the stage's engine. Returns false without memory. */
bool stage_make_factory(controller_stage *s, ki_factory_options options);
void stage_open_threaded(controller_stage *s, const ki_allocator *allocator);
/* Frees everything, also the controller if the test has not freed it. */
void stage_close(controller_stage *s);

/* Creates the controller. `reconcile` NULL: stage_reconcile with the stage as `user`. */
ki_status stage_control(controller_stage *s, ki_controller_options options);
/* Starts the factory; a stepped stage settles. */
void stage_start(controller_stage *s);
void stage_settle(controller_stage *s);
void stage_advance(controller_stage *s, int64_t ms);

/* Puts an object into the cluster; deletes it. `more` is JSON after name and namespace in metadata; "": none. */
void stage_put(controller_stage *s, const ki_resource *resource, const char *key, const char *more);
void stage_delete(controller_stage *s, const ki_resource *resource, const char *key);

/* Holds back the events of the watches whose requests contain `text`, until the next call; NULL: of none. */
void stage_hold(controller_stage *s, const char *text);

/* Follows one letter of the script for each call; after the script, succeeds:
 *     .  success            f  an error            t  a terminal error
 *     r  requeue            a  requeue after       b  requeue after, then an error
 *     d  deferred           D  deferred and finished inside, with success    F  the same with an error
 *     s  stops the controller                      x  frees it             S  stops the factory */
ki_status stage_reconcile(ki_reconcile *call, const char *key, void *user, ki_error *err);
/* Adds a word to the notes. */
void stage_note(controller_stage *s, const char *word);
/* Asserts the notes since the last check. */
void stage_expect(controller_stage *s, const char *notes);
/* Asserts the same words in any order. */
void stage_expect_any_order(controller_stage *s, const char *notes);
/* Returns the value of the first sample in ki_factory_metrics_text that begins with `name`; -1 if there is none. */
double stage_metric(controller_stage *s, const char *name);
/* Has an informer's objects packed from this many bytes on. Before its first object. */
void stage_pack_from(ki_informer *informer, size_t bytes);

#endif
