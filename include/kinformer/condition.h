/* condition.h: the conditions of an object's status (metav1.Condition).
 *
 *     ki_unstructured *next = ki_unstructured_from_object(site);
 *     ki_unstructured_set_condition(next, "Ready", "True", "AllUp", "3 of 3 are up", ki_engine_wall_now(engine));
 *     ki_client_update_status(client, &website, next, &KI_REQUEST_OPTIONS(.informer = sites), NULL, &err)
 *
 * As in k8s.io/apimachinery's meta package, lastTransitionTime changes only if the status does. So a condition that
 * is set again is no difference, and the update above sends nothing. */
#ifndef KINFORMER_CONDITION_H
#define KINFORMER_CONDITION_H

#include <kinformer/object.h>
#include <kinformer/unstructured.h>

KI_BEGIN_DECLS

/* Sets the condition of this type in status.conditions (meta.SetStatusCondition): adds the condition, or changes
 * status, reason, message and observedGeneration of the first one. `status` is "True", "False" or "Unknown". `reason`
 * is a CamelCase word. NULL for `reason` and `message` means "". observedGeneration is the object's
 * metadata.generation; without metadata.generation the condition has no observedGeneration. lastTransitionTime becomes
 * `wall_now`, nanoseconds since 1970 (ki_engine_wall_now), if the condition is new or has another status. Returns true
 * if the condition was added or changed.
 *
 * `object` is a copy of the object that has the conditions so far (ki_unstructured_from_object): without them each call
 * would change lastTransitionTime. The object's failure is KI_ERR_INVALID without a type, and for another status;
 * KI_ERR_STATE if the object was made from metadata alone (KI_KEEP_METADATA), which has no conditions. */
KI_API bool ki_unstructured_set_condition(ki_unstructured *object, const char *type, const char *status,
                                          const char *reason, const char *message, int64_t wall_now);
/* Removes all conditions of this type (meta.RemoveStatusCondition). Returns true if there was one. The object's failure
 * is KI_ERR_INVALID without a type; KI_ERR_STATE as of ki_unstructured_set_condition. */
KI_API bool ki_unstructured_remove_condition(ki_unstructured *object, const char *type);

/* A condition of an object. Strings are never NULL, and "" if the condition does not have them. */
typedef struct ki_condition {
    const char *type;
    const char *status;
    const char *reason;
    const char *message;
    const char *last_transition_time; /* RFC 3339; ki_time_read converts it */
    int64_t observed_generation;      /* 0: none */
    ki_value owner;                   /* private */
} ki_condition;

/* Gets the first condition of this type (meta.FindStatusCondition).
 * Ownership: the caller empties `*ret_condition` with ki_condition_clear while the allocator of the object's engine
 * still exists. Threads: any. Blocks: no; parses the body.
 * Errors: KI_ERR_NOT_FOUND (the object has no such condition), KI_ERR_NO_MEMORY; those of ki_object_field. */
KI_API KI_MUST_CHECK ki_status ki_object_condition(const ki_object *obj, const char *type, ki_condition *ret_condition,
                                                   ki_error *err);
/* Frees the strings of a condition and empties it. */
KI_API void ki_condition_clear(ki_condition *condition);
/* Returns true if the object has a condition of this type with this status (meta.IsStatusConditionPresentAndEqual);
 * false if memory runs out. Threads: any. Blocks: no; parses the body. */
KI_API bool ki_object_condition_is(const ki_object *obj, const char *type, const char *status);

KI_END_DECLS

#endif
