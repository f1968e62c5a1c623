/* fake_list_watch.h: a source of objects that a test scripts. Records the requests; the test gives the responses.
 *
 * The record is one line such as "list rv=0 limit=500; watch rv=10". Requests: "list", "watch", "stream", "find
 * type", "find namespace", "cancel". Parameters that are not sent are missing. */
#ifndef TESTS_SUPPORT_FAKE_LIST_WATCH_H
#define TESTS_SUPPORT_FAKE_LIST_WATCH_H

#include "src/cache/reflector/list_watch.h"
#include "src/engine/engine.h"

enum {
    FAKE_TRACE_MAX = 4096
};

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
    char trace[FAKE_TRACE_MAX];
} fake_list_watch;

/* Initializes the source. It is embedded in a test's struct: freeing it only sets `freed`. */
void fake_init(fake_list_watch *fake);
void fake_note(fake_list_watch *fake, const char *text); /* adds to `trace` */
/* Performs one step of the source, a line. Returns false if the step is not possible now:
 *     type                            the search for the type ends
 *     namespace there|missing|unknown the search for the namespace ends
 *     item KEY RV [UID]               an object of the open list
 *     page RV TOKEN|- [REMAINING]     the end of the page
 *     open                            the watch is accepted
 *     byte                            a part of an event arrives
 *     late MS                         what is read from now on arrived so long before
 *     part LINE                       LINE's event or bookmark, while more bytes wait to be decoded
 *     add|mod|del KEY RV [UID]        an event
 *     bad KEY|- [RV]                  an unreadable object of a list or watch; `bad-del`: a deletion;
 *                                     `foreign`: of another kind; `bad-bookmark`: a bookmark
 *     bookmark RV, initial-end RV|-   bookmarks
 *     close                           the watch ends cleanly
 *     fail WHAT                       the list or watch fails; `error WHAT`: by an ERROR event. WHAT is an HTTP
 *                                     status (410 is "expired"), or connect, cut, timeout, toolarge, nomemory,
 *                                     "429+5000" with Retry-After in ms */
bool fake_play(fake_list_watch *fake, const char *line);
/* Returns an object of the scripts: a ConfigMap with the uid "KEY-uid" unless `uid` is given. Ownership: a
 * reference. */
ki_object *fake_object(const char *key, const char *resource_version, const char *uid);

#endif
