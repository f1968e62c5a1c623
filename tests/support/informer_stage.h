/* informer_stage.h: an informer on a stepped engine whose source a test plays by hand, and handlers that write down what they hear. What goes
 * wrong fails the test. */
#ifndef TESTS_SUPPORT_INFORMER_STAGE_H
#define TESTS_SUPPORT_INFORMER_STAGE_H

#include "src/cache/shared_informer.h"
#include "tests/support/fake_list_watch.h"
#include "tests/support/test_engine.h"

enum {
    TEXT = 4096
};

typedef struct stage {
    test_engine engine;
    fake_list_watch source;
    ki_informer *informer;
    char errors[TEXT];
    char states[TEXT];
} stage;

/* A handler that writes down what it hears: "+a=5i" an add of the initial list, "~a=5>6", "~a=6>6r" a resync, "-a=6", "-a=6?" final state
 * unknown, "synced", "removed". Keys are in namespace "default", which is left out. */
typedef struct hearer {
    stage *stage;
    ki_registration registration;
    char heard[TEXT];
    bool removes_itself;     /* in its next call */
    ki_registration removes; /* another one, in its next call */
    int removed;
} hearer;

extern const ki_handler hearing; /* a hearer's */
extern const ki_resource configmaps;
extern bool in_order; /* the queue of all stages that follow */

/* What the source says first in most plays. */
#define LISTED "item default/a 5\nitem default/b 6\npage 10 -\nopen"

void open_stage(stage *s, int64_t resync_ms);
void open_streaming_stage(stage *s);
void start_stage(stage *s);
void close_stage(stage *s);
/* Lines of the source, one after another; `wait MS` moves the clock. What is queued in between is applied only with settle. */
void play(stage *s, const char *lines);
void settle(stage *s);
void play_each(stage *s, const char *lines); /* and settles after each line */
void add_hearer(hearer *h, stage *s, const ki_registration_options *options);
void expect(hearer *h, const char *heard); /* since the last look */
/* The same words in any order. */
void expect_any_order(hearer *h, const char *heard);

#endif
