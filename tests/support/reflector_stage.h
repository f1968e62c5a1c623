/* reflector_stage.h: a reflector between a source that a test plays by hand and a queue that writes down what it gets, told as plays. A play is
 * lines: `? TEXT` says what was asked and queued since the last such line; `quiet MS` and `wait MS` move the clock, the first with nothing
 * happening; `state NAME`, `rv TEXT`, `reports TEXT` and `unreadable TEXT` look at it; anything else is the source's own line
 * (fake_list_watch.h). The store has default/a at version 5. What goes wrong fails the test. */
#ifndef TESTS_SUPPORT_REFLECTOR_STAGE_H
#define TESTS_SUPPORT_REFLECTOR_STAGE_H

#include "src/cache/reflector.h"
#include "tests/support/fake_list_watch.h"
#include "tests/support/test_engine.h"

enum {
    REFLECTOR_TEXT = 1024
};

typedef struct reflector_stage {
    test_engine engine;
    fake_list_watch source;
    ki_queue queue;
    ki_status queue_fails; /* the next call of the queue */
    ki_reflector reflector;
    ki_unreadable unreadable;
    ki_state state;
    char reports[REFLECTOR_TEXT]; /* statuses, since the last look */
    int bad_objects;
    size_t listed;
    int64_t list_total;
} reflector_stage;

void reflector_stage_open(reflector_stage *s, ki_reflector_options options, uint64_t seed);
void reflector_stage_close(reflector_stage *s);
void reflector_stage_play(reflector_stage *s, const char *script);
/* Plays it from the beginning, with several seeds: jitter must not matter. */
void play_reflector(const char *script, ki_reflector_options options);

#endif
