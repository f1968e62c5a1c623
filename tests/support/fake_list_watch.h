/* fake_list_watch.h: a source of objects that a test plays by hand: what is asked of it is written down, the answers are the test's.
 *
 * Written down as "list rv=0 limit=500", "list continue=TOKEN limit=500", "watch rv=10", "stream rv=10", "find type", "cancel"; in one line, with "; "
 * between. A parameter that is not sent is not there. */
#ifndef TESTS_SUPPORT_FAKE_LIST_WATCH_H
#define TESTS_SUPPORT_FAKE_LIST_WATCH_H

#include "src/cache/list_watch.h"

enum {
    FAKE_TRACE_MAX = 4096
};

typedef struct fake_list_watch {
    ki_list_watch base; /* first */
    ki_list_handler list;
    ki_watch_handler watch;
    bool lists, watches; /* one of them is under way */
    bool opened;
    bool streams;                       /* the watch under way began as a streaming list */
    int64_t idle_timeout_ns, timeout_s; /* of the last request */
    ki_type_found type;                 /* what is found of the type */
    ki_on_type_found on_found;          /* NULL: nobody has asked for it */
    void *on_found_user;
    ki_status refuse; /* the next list or watch fails at once with this */
    bool freed;
    bool is_part;
    char trace[FAKE_TRACE_MAX];
} fake_list_watch;

/* Embedded: freeing it only notes that. */
void fake_init(fake_list_watch *fake);
void fake_note(fake_list_watch *fake, const char *text); /* into the trace */
/* One step of the source, as a line; what it does not understand is false:
 *   type                            the search for the type ends
 *   item KEY RV [UID]               an object of the list under way
 *   page RV TOKEN|- [REMAINING]     the page's end
 *   open                            the watch is accepted
 *   byte                            something of an event arrives
 *   part LINE                       the event or bookmark of that line, and more that arrived with it waits to be decoded
 *   add|mod|del KEY RV [UID]        an event
 *   bad KEY|- [RV]                  an object of list or watch that cannot be read; `bad-del`: a deletion; `foreign`: of another kind
 *   bookmark RV, initial-end RV|-   bookmarks
 *   close                           the watch ends cleanly
 *   fail WHAT                       the list or watch fails; `error WHAT`: by an ERROR event. WHAT is an HTTP status (410 is "expired"), or
 *                                   connect, cut, timeout, toolarge, nomemory, "429+5000" with Retry-After in ms */
bool fake_play(fake_list_watch *fake, const char *line);
/* Objects of the plays: ConfigMaps with a uid "KEY-uid" unless another is given. A reference. */
ki_object *fake_object(const char *key, const char *resource_version, const char *uid);

#endif
