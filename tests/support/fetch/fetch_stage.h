/* fetch_stage.h: a program that asks for pods beside the cache (kinformer/fetch.h), on the `stage` of
 * controller_stage.h: what it asks, what it gets, and how many requests that costs. */
#ifndef TESTS_SUPPORT_FETCH_STAGE_H
#define TESTS_SUPPORT_FETCH_STAGE_H

#include <kinformer/fetch.h>

/* Faults. The first one counts the GETs of pods: there is no delay without a network. */
#define FETCH_COUNT_GETS "delay,time=1ms,verb=get,resource=pods"
#define FETCH_NO_LIST "status,code=403,reason=Forbidden,verb=list+watch,resource=pods"

void fetch_fault(const char *line);
/* Returns the number of requests that the first fault applies to. */
int fetch_count_requests(void);
/* Removes all faults. */
void fetch_heal(void);

/* Makes the informer of pods, and forgets the answers of earlier tests. */
ki_informer *fetch_pods(const ki_informer_options *options);
/* Asks with fetch_answer as the handler. */
void fetch_ask(ki_informer *informer, const char *key, int64_t timeout_ms);
/* A handler. Notes "key version" or "key status", each with a semicolon. `user` is a string that comes before. The
 * version is the label "v". */
void fetch_answer(ki_informer *informer, const char *key, const ki_object *obj, const ki_error *err, void *user);
/* Asserts the answers since the last check. */
void fetch_expect(const char *wanted);
/* Returns how many there were since then, and forgets them. */
int fetch_count_answers(void);
/* The error of the last answer; KI_OK: it was an object. */
extern ki_error fetch_last_error;

#endif
