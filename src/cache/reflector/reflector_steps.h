/* reflector_steps.h: functions that the reflector's files share. */
#ifndef KI_CACHE_REFLECTOR_STEPS_H
#define KI_CACHE_REFLECTOR_STEPS_H

#include "src/cache/reflector/reflector.h"

enum {
    KI_REFLECTOR_PAGE = 500 /* objects in one page */
};
#define KI_REFLECTOR_IDLE KI_SECONDS(90) /* a list or watch without a byte for this long has a dead connection */

/* reflector.c */
/* Sets the timer for `next`: for now, or for the time `at`. The step never runs inside the caller. */
void ki_reflector_schedule(ki_reflector *reflector, ki_reflector_step next);
void ki_reflector_schedule_at(ki_reflector *reflector, ki_reflector_step next, int64_t at);
/* Reports `err`, backs off (at least for the server's Retry-After), then takes the step `next`. */
void ki_reflector_fail(ki_reflector *reflector, const ki_error *err, ki_reflector_step next);
/* As ki_reflector_fail, but does not count the failure and does not call on_error. Logs the wait. */
void ki_reflector_wait(ki_reflector *reflector, const ki_error *cause, ki_reflector_step next);
/* Logs and counts a failure and calls on_error, for a failure without a backoff. */
void ki_reflector_report(ki_reflector *reflector, const ki_error *err);
/* Counts the step in the metrics if it is a list after the first one. A plain list in the place of a streaming list
 * (KI_REFLECT_LIST) is the same list. `cause`: a ki_status, or a KI_RELIST_ of metrics.h. */
void ki_reflector_count_relist(const ki_reflector *reflector, ki_reflector_step next, int cause);
/* Sets a state without a failure. In KI_STATE_CONNECTING a missing response is reported every five seconds; in
 * KI_STATE_LISTING a stall is reported once, after ten. */
void ki_reflector_set_state(ki_reflector *reflector, ki_state state);
/* Cancels the running request and fails with `err`. For the request's own callbacks. */
void ki_reflector_give_up(ki_reflector *reflector, const ki_error *err);
/* Sets the last synced version. Returns true if the version changed; on_progress has then been called. */
bool ki_reflector_advance(ki_reflector *reflector, const char *version);
/* Hands all objects to the queue, then advances to `version`. */
ki_status ki_reflector_replace(ki_reflector *reflector, const char *version, ki_error *err);
/* Returns a reference to the known object under `key`; NULL if there is none. */
ki_object *ki_reflector_known(const ki_reflector *reflector, const char *key);
/* Records that the server knows the cache's version: it sent an event, or a list or check succeeded. */
void ki_reflector_note_version_known(ki_reflector *reflector);
/* listed_objects.c */
/* Adds a reference to `objects`: the known object if it has the same state (an unchanged object is in memory once),
 * else `obj`, packed if it can be. In a first list it is `obj`: what is known is of an earlier reflector, and is being
 * deleted. */
ki_status ki_reflector_append(ki_reflector *reflector, ki_object *obj);
/* Returns a reference to the object that ki_reflector_append would add. */
ki_object *ki_reflector_known_instance(const ki_reflector *reflector, ki_object *obj);
/* Puts an object in the place of a listed one, with its reference; NULL: none. A key that is in `listed.places` stays
 * there, as that of the new object: the map borrows it. */
void ki_reflector_put_listed(ki_reflector *reflector, size_t place, ki_object *obj);
/* Drops the objects of the current list or streaming list. */
void ki_reflector_drop_objects(ki_reflector *reflector);

/* Returns false if the versions cannot be compared. */
static inline bool ki_reflector_is_older(const char *version, const char *than) {
    return ki_resource_version_compare(version, than) == KI_ORDER_OLDER;
}

/* Returns true for a version from which a watch begins with all objects, without those deleted before. */
static inline bool ki_reflector_is_any(const char *version) {
    return version[0] == '\0' || strcmp(version, "0") == 0;
}

/* reflector_list.c */
/* Requests a list or its next page. `step`: one of the four list steps. */
void ki_reflector_list(ki_reflector *reflector, ki_reflector_step step);
/* Takes the step `next`, another kind of list, without a backoff. With a Retry-After in `err`: as ki_reflector_fail. */
void ki_reflector_list_instead(ki_reflector *reflector, const ki_error *err, ki_reflector_step next);
/* reflector_watch.c */
/* Requests a streaming list. */
void ki_reflector_stream(ki_reflector *reflector);
void ki_reflector_drop_collected(ki_reflector *reflector, const char *key); /* removes a streaming list's object */
/* Ends a streaming list after its deadline; else sets the timer again. A plain list follows. */
void ki_reflector_stream_deadline(ki_reflector *reflector);
/* Requests a watch from the last synced version. */
void ki_reflector_watch(ki_reflector *reflector);
/* Counts the end of the running watch in the metrics. Does nothing without a watch. */
void ki_reflector_count_watch_end(ki_reflector *reflector);
/* Opens the next watch: at once, or with jitter after less than a second. */
void ki_reflector_reopen(ki_reflector *reflector, bool with_jitter);
/* reflector_unreadable.c: each of these functions but ki_reflector_skips may end the running request. */
/* Handles an unusable object of a list or streaming list. */
void ki_reflector_skip_listed(ki_reflector *reflector, const ki_bad_object *bad);
/* Returns true for an object of another namespace than that of the lists, which have one, and reports it: no list of
 * this namespace would delete it. */
bool ki_reflector_skips(const ki_reflector *reflector, const ki_object *obj);
/* Handles an unusable event of a watch. */
void ki_reflector_bad_event(ki_reflector *reflector, const ki_bad_object *bad);
/* Stores a reference to the transformed object in `*ret_obj`. Returns false if the transform failed. The failure is
 * then handled, except that the caller still queues a watch's deletion. */
bool ki_reflector_transform(ki_reflector *reflector, ki_object *obj, bool is_deleted, ki_object **ret_obj);
/* reflector_check.c */
/* Counts the ending watch if it was accepted and had no event. */
void ki_reflector_count_silent_watch(ki_reflector *reflector);
/* Returns true if a check must precede the next watch. */
bool ki_reflector_needs_check(const ki_reflector *reflector);
/* Asks the server whether it knows the last synced version. */
void ki_reflector_check(ki_reflector *reflector);
/* Fails the watch and relists: a bookmark at `version` is older than the version where the watch began. */
void ki_reflector_fail_behind(ki_reflector *reflector, const char *version);

#endif
