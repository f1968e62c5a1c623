/* complaints.h: how many objects that cannot be used are reported one by one: a server that sends nothing else would keep log and error handler busy
 * for ever. Within a second KI_COMPLAINTS_MAX are; the rest is reported at its end as one, with a count. On the loop. */
#ifndef KI_CACHE_COMPLAINTS_H
#define KI_CACHE_COMPLAINTS_H

#include "src/engine/engine.h"

enum {
    KI_COMPLAINTS_MAX = 100 /* in a second */
};

typedef struct ki_complaints {
    ki_timer timer; /* the end of the second; set while one is under way */
    size_t count;   /* in it */
    ki_error last;  /* that was not reported */
    void (*report)(const ki_error *err, const char *key, void *user);
    void *user;
} ki_complaints;

/* Embedded; to be closed. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_complaints_open(ki_complaints *complaints, ki_engine *engine,
                             void (*report)(const ki_error *err, const char *key, void *user), void *user);
/* Reports it, or counts it. */
void ki_complaints_add(ki_complaints *complaints, const ki_error *err, const char *key);
/* Reports what is counted. Also on one that is zeroed or closed. */
void ki_complaints_close(ki_complaints *complaints);

#endif
