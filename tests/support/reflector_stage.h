/* reflector_stage.h: a reflector between a scripted source and a queue that records its calls. A script has steps of
 * the source (fake_list_watch.h), whose `? TEXT` asserts the queue's calls too, "+c=11, {20: a=5 b=!}", and these:
 * `state NAME`, `rv TEXT`, `reports TEXT` and `unreadable TEXT` assert the reflector's state. The store has a=5. An
 * unexpected failure fails the test. */
#ifndef TESTS_SUPPORT_REFLECTOR_STAGE_H
#define TESTS_SUPPORT_REFLECTOR_STAGE_H

#include "src/cache/reflector/reflector.h"
#include "tests/support/fake_list_watch.h"
#include "tests/support/test_engine.h"

typedef struct reflector_stage {
    test_engine engine;
    fake_list_watch source;
    ki_queue queue;
    ki_status queue_fails; /* for the next call of the queue */
    ki_reflector reflector;
    ki_unreadable unreadable;
    ki_state state;
    char reports[NOTATION_TEXT]; /* statuses since the last check */
    int bad_objects;
    size_t listed;
    int64_t list_total;
} reflector_stage;

void reflector_stage_open(reflector_stage *s, ki_reflector_options options, uint64_t seed);
void reflector_stage_close(reflector_stage *s);
void reflector_stage_play(reflector_stage *s, const char *script);
/* Plays a script from the start with several seeds: jitter must not matter. */
void play_reflector(const char *script, ki_reflector_options options);

#endif
