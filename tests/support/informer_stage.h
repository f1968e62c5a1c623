/* informer_stage.h: an informer on a stepped engine with a scripted source, and handlers that note their calls. An
 * unexpected failure fails the test. */
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

/* A handler that notes its calls: "+a=5i" an add of the initial list, "~a=5>6" an update, "~a=6>6r" a resync, "-a=6"
 * a delete, "-a=6?" a delete with unknown final state, "synced", "removed". Keys are in namespace "default", which
 * the notes omit. */
typedef struct observer {
    stage *stage;
    ki_registration registration;
    char notes[TEXT];
    bool removes_itself;     /* in its next call */
    ki_registration removes; /* another registration to remove in its next call */
    int removed;
} observer;

extern const ki_handler observing; /* the functions of an observer */
extern const ki_resource configmaps;
extern bool in_order; /* queue order of all stages that follow */

/* The first lines of most scripts. */
#define LISTED "item default/a 5\nitem default/b 6\npage 10 -\nopen"

void open_stage(stage *s, int64_t resync_ms);
void open_streaming_stage(stage *s);
void start_stage(stage *s);
void close_stage(stage *s);
/* Plays lines of the source in order; `wait MS` advances the clock. Queued changes are applied only by settle. */
void play(stage *s, const char *lines);
void settle(stage *s);
void play_each(stage *s, const char *lines); /* settles after each line */
void add_observer(observer *h, stage *s, const ki_registration_options *options);
void expect(observer *h, const char *notes); /* asserts the notes since the last check */
/* Asserts the same words in any order. */
void expect_any_order(observer *h, const char *notes);

#endif
