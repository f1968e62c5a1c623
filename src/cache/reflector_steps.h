/* reflector_steps.h: what the reflector's files need of each other. */
#ifndef KI_CACHE_REFLECTOR_STEPS_H
#define KI_CACHE_REFLECTOR_STEPS_H

#include "src/cache/reflector.h"

enum {
    KI_REFLECTOR_PAGE = 500
};                                       /* objects in one page */
#define KI_REFLECTOR_IDLE KI_SECONDS(90) /* no byte of a list or watch for this long: the connection is dead */

/* reflector.c */
void ki_reflector_go(ki_reflector *reflector, ki_reflector_step next); /* at once, but not from inside a callback */
void ki_reflector_go_at(ki_reflector *reflector, ki_reflector_step next, int64_t at);
/* Reports `err`, waits one step of the backoff (or as long as the server asked for), then goes on. */
void ki_reflector_fail(ki_reflector *reflector, const ki_error *err, ki_reflector_step next);
void ki_reflector_wait(ki_reflector *reflector, const ki_error *cause, ki_reflector_step next); /* without the report */
void ki_reflector_report(ki_reflector *reflector, const ki_error *err);
void ki_reflector_count_relist(const ki_reflector *reflector, int cause); /* a ki_status, or KI_RELIST_INCONSISTENT */
void ki_reflector_set_state(ki_reflector *reflector, ki_state state);
/* Cancels what is under way and fails with KI_ERR_NO_MEMORY or whatever `err` is; from inside its callbacks. */
void ki_reflector_give_up(ki_reflector *reflector, const ki_error *err);
bool ki_reflector_advance(ki_reflector *reflector, const char *version); /* on_progress was called */
/* Hands all objects to the queue, then advances. */
ki_status ki_reflector_replace(ki_reflector *reflector, const char *version, ki_error *err);
int64_t ki_reflector_told_at(const ki_reflector *reflector); /* when the server said what is dealt with now */
/* Adds it to `objects`, by a reference of their own: the known object where that is the same state, so that an unchanged object is in memory once. */
ki_status ki_reflector_append(ki_reflector *reflector, ki_object *obj);
ki_object *ki_reflector_known_instance(const ki_reflector *reflector,
                                       ki_object *obj);  /* a reference to what append would add */
void ki_reflector_drop_objects(ki_reflector *reflector); /* of the list or stream under way */

/* False where it cannot be known. */
static inline bool ki_reflector_is_older(const char *version, const char *than) {
    return ki_resource_version_compare(version, than) == KI_ORDER_OLDER;
}

/* reflector_list.c */
void ki_reflector_list(ki_reflector *reflector, ki_reflector_step step);
/* Lists otherwise at once, unless the server has asked for patience. */
void ki_reflector_list_otherwise(ki_reflector *reflector, const ki_error *err, ki_reflector_step next);
/* reflector_watch.c */
void ki_reflector_stream(ki_reflector *reflector);
void ki_reflector_unstage(ki_reflector *reflector, const char *key); /* the object is gone, within a streaming list */
void ki_reflector_stream_deadline(ki_reflector *reflector);
void ki_reflector_watch(ki_reflector *reflector);
void ki_reflector_count_watch_end(ki_reflector *reflector); /* where one is under way */
/* Opens the next watch: at once, or after a part of a second. */
void ki_reflector_reopen(ki_reflector *reflector, bool with_jitter);
/* reflector_unreadable.c: any of them may end what is under way. */
void ki_reflector_skip_listed(ki_reflector *reflector, const ki_bad_object *bad); /* of a list or streaming list */
void ki_reflector_bad_event(ki_reflector *reflector, const ki_bad_object *bad);   /* of a watch */
/* Gives the transformed object as a reference. Returns false where the transform failed: that is dealt with, but for the deletion of a watch. */
bool ki_reflector_transform(ki_reflector *reflector, ki_object *obj, bool is_deleted, ki_object **ret_obj);
/* reflector_check.c */
void ki_reflector_hear_word(ki_reflector *reflector);         /* the server goes on from where the copy is */
void ki_reflector_count_wordless(ki_reflector *reflector);    /* the watch under way ends */
bool ki_reflector_is_in_doubt(const ki_reflector *reflector); /* a check comes before the next watch */
void ki_reflector_check(ki_reflector *reflector);
/* A watch tells that its server is at `version`, which is older than where the watch began: lists anew. */
void ki_reflector_find_behind(ki_reflector *reflector, const char *version);

#endif
