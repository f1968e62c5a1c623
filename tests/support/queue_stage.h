/* queue_stage.h: a work queue on an engine whose clock only the test moves, and a play: what is done with the queue and what must come of
 * it, as a line of text. One thread.
 *
 *     queue_stage stage;
 *     queue_stage_open(&stage, NULL);
 *     queue_play(&stage, "+a +a #1 =a -a =.");
 *     queue_stage_close(&stage);
 *
 * Steps, with a space between them; a key is a word of letters and digits:
 *
 *     +a          adds a
 *     +a@50       adds a after 50 ms (of a number below 1 too)
 *     +a^3        adds a with priority 3; +a^-2@50 with priority -2 after 50 ms
 *     +a!         adds a rate-limited; +a!@50 with a delay as well
 *     =a          takes a key, which must be a; =a^3: with priority 3
 *     =.          there must be no key to take; =x.: the queue must be shut down, and no key to take
 *     -a          is done with a; -a?: nobody may be processing a
 *     *a          forgets a
 *     ~50         moves the clock by 50 ms and lets the loop do what is due
 *     #2          two keys must be ready
 *     %a5         a must have 5 failures
 *     x           shuts the queue down
 */
#ifndef TESTS_SUPPORT_QUEUE_STAGE_H
#define TESTS_SUPPORT_QUEUE_STAGE_H

#include <kinformer/workqueue.h>

#include "tests/support/test_engine.h"

typedef struct queue_stage {
    test_engine engine;
    ki_workqueue *queue;
} queue_stage;

/* The test fails where that cannot be. `options` may be NULL. */
void queue_stage_open(queue_stage *stage, const ki_workqueue_options *options);
void queue_stage_close(queue_stage *stage);
/* Plays all steps; the test fails at the first that does not come out as it says. */
void queue_play(queue_stage *stage, const char *play);
/* The same on a queue of its own. */
void queue_play_alone(const ki_workqueue_options *options, const char *play);

#endif
