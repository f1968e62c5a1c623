/* fake_list_watch.h: a source of objects that a test scripts. Records the requests; the test gives the responses.
 *
 * The record is one line such as "list rv=0 limit=500, watch rv=10". Requests: "list", "watch", "stream", "find
 * type", "find namespace", "cancel". Parameters that are not sent are missing. */
#ifndef TESTS_SUPPORT_FAKE_LIST_WATCH_H
#define TESTS_SUPPORT_FAKE_LIST_WATCH_H

#include "src/engine/engine.h"
#include "tests/support/notation.h"
#include "tests/support/test_engine.h"
#include <kinformer/parts/list_watch.h>

typedef struct fake_list_watch {
    ki_list_watch base; /* first member */
    ki_list_handler list;
    ki_watch_handler watch;
    bool lists, watches; /* a list or watch is open */
    bool opened;
    bool streams;                       /* the open watch began as a streaming list */
    int64_t idle_timeout_ns, timeout_s; /* of the last request */
    ki_type_found type;                 /* the result of the next search for the type */
    ki_on_type_found on_found;          /* NULL: no search is open */
    void *on_found_user;
    ki_on_namespace_found on_namespace; /* NULL: no search is open */
    void *on_namespace_user;
    ki_status refuse;      /* the next list or watch fails at once with this status */
    const char *waits_for; /* NULL: requests wait for the server alone */
    bool freed;
    bool is_part;
    const ki_engine *engine; /* NULL: does not say when everything that had arrived was read */
    int64_t late_ns;         /* what is read arrived so long before */
    char trace[NOTATION_TEXT];
} fake_list_watch;

/* Initializes the source. It is embedded in a test's struct: freeing it only sets `freed`. */
void fake_init(fake_list_watch *fake);
void fake_note(fake_list_watch *fake, const char *text); /* adds to `trace` */
/* Performs one step of the source. Returns false if the step is not possible now. Objects, changes and lists are those
 * of notation.h:
 *     {10: a=5 b=6}                   the rest of the open list, or of its page, and its end; a=5: one object of it
 *     +a=5, ~a=6, -a=7                an event of the open watch
 *     a=!6, -a=!6, ?=!                an unreadable object of the list or watch, or an unreadable deletion
 *     foreign KEY, bookmark !         an object of another kind, an unreadable bookmark
 *     bookmark RV, initial-end RV     bookmarks
 *     open                            the watch is accepted
 *     byte                            a part of an event arrives
 *     part STEP                       an event or bookmark, while more bytes wait to be decoded
 *     late MS                         what is read from now on arrived so long before
 *     close                           the watch ends cleanly
 *     fail WHAT                       the list or watch fails; `error WHAT`: by an ERROR event. WHAT is an HTTP
 *                                     status (410 is "expired"), or connect, cut, timeout, toolarge, nomemory,
 *                                     "429+5000" with Retry-After in ms
 *     type                            the search for the type ends
 *     namespace there|missing|unknown the search for the namespace ends */
bool fake_play(fake_list_watch *fake, const char *step);
/* Performs such a step, or one of these. Fails the test if it is not possible now.
 *     ? TEXT      asserts the record since the last such step
 *     wait MS     advances the clock
 *     quiet MS    also asserts that nothing is requested */
void fake_step(fake_list_watch *fake, test_engine *engine, const char *step);

#endif
