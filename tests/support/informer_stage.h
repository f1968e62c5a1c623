/* informer_stage.h: an informer on a stepped engine with a virtual clock and a scripted source, and handlers that note
 * their calls. An unexpected failure fails the test.
 *
 * A script has steps of the source (fake_list_watch.h) and these:
 *     settle       applies queued changes and calls handlers
 *     > NOTES      asserts the first observer's calls since the last such step; `>> NOTES` the second observer's
 *     errors TEXT  asserts the errors since the last such step
 *     at RV        asserts the store's resource version
 *     store NOTES  asserts the store's objects, as "a=5 b=6"
 *     unreadable N TEXT  asserts how many objects are unreadable, and the message of the health */
#ifndef TESTS_SUPPORT_INFORMER_STAGE_H
#define TESTS_SUPPORT_INFORMER_STAGE_H

#include "src/cache/informer/shared_informer.h"
#include "tests/support/fake_list_watch.h"
#include "tests/support/selected.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

enum {
    TEXT = NOTATION_TEXT,
    OBSERVERS = 2
};

typedef struct observer observer;

typedef struct stage {
    test_engine engine;
    fake_list_watch source;
    ki_informer *informer;
    observer *observers[OBSERVERS]; /* the first ones, for scripts */
    char errors[TEXT];
    char states[TEXT];
    char log[TEXT]; /* lines up to KI_LOG_INFO, such as "W reflector: pods: blocked: …"; a full buffer takes no more */
} stage;

/* A handler that notes its calls (notation.h): changes of keys, "synced", "removed". */
struct observer {
    stage *stage;
    ki_registration registration;
    char notes[TEXT];
    size_t store_size;       /* that each call finds; 0: any */
    bool reads_the_store;    /* each call asserts that the store has the event's state */
    bool removes_itself;     /* in its next call */
    ki_registration removes; /* another registration to remove in its next call */
    int removed;
};

extern const ki_handler observing; /* the functions of an observer */
extern const ki_resource configmaps;
extern ki_queue_kind queue_kind; /* of all stages that follow */
int use_delta_fifo(void **state);
int use_in_order_queue(void **state);
/* In a file: its tests run with each queue. */
#define WITH_BOTH_QUEUES \
    TEST_GROUP(delta_fifo, use_delta_fifo, NULL); \
    TEST_GROUP(in_order_queue, use_in_order_queue, NULL)

/* The first steps of most scripts. */
#define LISTED "{10: a=5 b=6}; open"

/* Opens a stage. Sets the options' engine, source and queue order, and the resource if there is none. Returns
 * KI_ERR_NO_MEMORY, then nothing is open. */
ki_status open_stage_of(stage *s, const ki_resource *resource, ki_shared_informer_options options,
                        const ki_allocator *allocator);
ki_status open_stage_with(stage *s, ki_shared_informer_options options, const ki_allocator *allocator);
void open_stage(stage *s, int64_t resync_ms); /* an informer that does not stream its list */
void open_streaming_stage(stage *s);
void start_stage(stage *s);
/* Opens a stage with an observer and starts it. */
void open_observed_stage(stage *s, observer *h, const ki_registration_options *options);
/* Does the same with a transform, and the default registration. */
void open_transformed_stage(stage *s, observer *h, ki_transform transform, void *user);
/* Opens a stage with an observer, starts it and plays LISTED. */
void open_listed_stage(stage *s, observer *h);
void close_stage(stage *s);

/* Plays steps in order without settling. */
void play(stage *s, const char *script);
void settle(stage *s);
void play_each(stage *s, const char *script); /* settles after each step */
void play_all(stage *s, const char *script);  /* settles after the last step */
/* Plays a script with an observer from the start, settles after each step. */
void play_informer(const char *script);

void add_observer(observer *h, stage *s, const ki_registration_options *options);
/* Does the same with another handler, whose functions are from `observing`. */
void add_observer_of(observer *h, stage *s, const ki_handler *handler, const ki_registration_options *options);
void expect(observer *h, const char *notes); /* asserts the notes since the last check */
/* Asserts the same words in any order. */
void expect_any_order(observer *h, const char *notes);
ki_health health_of(const stage *s);
/* A transform that rejects objects whose version ends with 7. */
ki_status reject_sevens(ki_object *obj, ki_object **ret_obj, void *user, ki_error *err);

#endif
