/* elector_hook.h: tells a controller when its elector begins and ceases to lead. The functions are in election.c and elector.c. */
#ifndef KI_CONTROLLER_ELECTOR_HOOK_H
#define KI_CONTROLLER_ELECTOR_HOOK_H

#include <kinformer/leader.h>

#include <stdbool.h>

/* Embedded in the one who asks. `changed` is called on the loop: with true after the program's on_started_leading has returned, with false
 * before its on_stopped_leading is called. So `leads` lies within what the program sees. `changed` does not block; it may remove its own hook. */
typedef struct ki_elector_hook {
    struct ki_elector_hook *next; /* private */
    void (*changed)(bool leads, void *user);
    void *user;
} ki_elector_hook;

/* Returns the engine whose loop calls the hooks. Any thread. */
ki_engine *ki_elector_engine(const ki_elector *elector);
/* Adds a hook. Where the elector leads, `changed` is called from inside, with true. Loop only. */
void ki_elector_add_hook(ki_elector *elector, ki_elector_hook *hook);
/* Removes a hook: `changed` is not called any more. Harmless where it was not added. Until then the elector may be asked whether it leads, also
 * after ki_elector_free: it does not. Loop only. */
void ki_elector_remove_hook(ki_elector *elector, ki_elector_hook *hook);

#endif
