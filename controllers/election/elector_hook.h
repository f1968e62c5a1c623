/* elector_hook.h: notifies a controller when its elector starts and stops leading. Implemented in election.c and
 * elector.c. */
#ifndef KI_ELECTION_ELECTOR_HOOK_H
#define KI_ELECTION_ELECTOR_HOOK_H

#include <kinformer-controllers/leader.h>

#include "src/client/term.h"

#include <stdbool.h>

/* Embedded in the controller. `changed` is called on the loop: with true after the program's on_started_leading has
 * returned, with false before its on_stopped_leading is called. So the hook's term is inside the program's.
 * `changed` must not block; it may remove its own hook. */
typedef struct ki_elector_hook {
    struct ki_elector_hook *next; /* private */
    void (*changed)(bool leads, void *user);
    /* Returns true while work of a term runs. The elector then does not release its Lease. Called on the loop, after
     * `changed` with false. */
    bool (*is_busy)(void *user);
    void *user;
} ki_elector_hook;

/* Returns the engine whose loop calls the hooks. Any thread. */
ki_engine *ki_elector_engine(const ki_elector *elector);
/* Returns the current term; between two terms the next one. Any thread. */
ki_term ki_elector_term(const ki_elector *elector);
/* Adds a hook. If the elector leads, calls `changed` with true from inside. */
void ki_elector_add_hook(ki_elector *elector, ki_elector_hook *hook);
/* Removes a hook: `changed` is not called any more. Does nothing if the hook was not added. Until then the elector's
 * memory stays valid, also after ki_elector_free; ki_elector_is_leader returns false then. */
void ki_elector_remove_hook(ki_elector *elector, ki_elector_hook *hook);

#endif
