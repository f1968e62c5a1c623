/* queue_stage.h: a work queue on an engine whose clock only the test advances, and scripts: operations on the queue
 * and their expected results in a line of text. One thread.
 *
 *     queue_stage stage;
 *     queue_stage_open(&stage, NULL);
 *     queue_play(&stage, "+a +a #1 =a -a =.");
 *     queue_stage_close(&stage);
 *
 * Steps, with a space between them; a key is a word of letters and digits:
 *
 *     +a          adds a
 *     +a@50       adds a after 50 ms (also for a number below 1)
 *     +a^3        adds a with priority 3; +a^-2@50 with priority -2 after 50 ms
 *     +a!         adds a rate-limited; +a!@50 with a delay as well
 *     =a          takes a key, which must be a; =a^3: with priority 3
 *     =.          asserts that no key can be taken; =x.: the same, and the queue is shut down
 *     -a          is done with a; -a?: asserts that nobody processes a
 *     *a          forgets a
 *     ~50         advances the clock by 50 ms and runs what is due
 *     #2          asserts that two keys are ready
 *     %a5         asserts that a has 5 failures
 *     x           shuts the queue down */
#ifndef TESTS_SUPPORT_QUEUE_STAGE_H
#define TESTS_SUPPORT_QUEUE_STAGE_H

#include <kinformer-controllers/workqueue.h>

#include "tests/support/test_engine.h"

typedef struct queue_stage {
    test_engine engine;
    ki_workqueue *queue;
} queue_stage;

/* Fails the test if it cannot. `options` may be NULL. */
void queue_stage_open(queue_stage *stage, const ki_workqueue_options *options);
void queue_stage_close(queue_stage *stage);
/* Plays all steps. Fails the test at the first unexpected result. */
void queue_play(queue_stage *stage, const char *play);
/* Does the same with a new queue. */
void queue_play_alone(const ki_workqueue_options *options, const char *play);

#endif
