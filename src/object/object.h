/* object.h: the memory layout of objects and formats, which only src/object reads, and functions for other folders that
 * compare objects and read their format.
 *
 * One block: the header, the view (at KI_OBJECT_VIEW_AT) with the arrays of its lists, the strings, the body: JSON
 * with a closing zero, or a ki_packed_body (body.h reads both). Offsets count from the block's beginning. What many
 * objects have in common is in their group. */
#ifndef KI_OBJECT_OBJECT_H
#define KI_OBJECT_OBJECT_H

#include "src/base/refcount.h"
#include "src/object/format.h"
#include "src/object/group.h"
#include "src/object/pack.h"
#include "src/object/view.h"

#define KI_OBJECT_TEXT_MAX ((size_t)1024 * 1024 * 1024) /* bytes of JSON; offsets have 32 bits */

enum {
    KI_OBJECT_RESOURCE_VERSION_MAX = 63 /* bytes */
};

struct ki_object {
    ki_refcount refs;
    uint32_t body_size : 31; /* bytes of JSON, also if it is packed; 0: a digest of 8 bytes stands for the content */
    uint32_t is_packed : 1;  /* body.h */
    ki_object_group *group;  /* owned reference; it has the format */
    /* Of the key: the name is its end, behind the group's namespace. Uid, resource version and own labels follow. */
    uint32_t key_at : 30;
    uint32_t has_own_labels : 1; /* whose values differ from those of the group */
    uint32_t is_partial : 1;     /* metadata alone (KI_KEEP_METADATA), or what a transform made of that */
    uint32_t body_at;
};

enum {
    KI_OBJECT_VIEW_AT = (sizeof(ki_object) + 7) / 8 * 8 /* KI_FIELD checks that this alignment is enough */
};

struct ki_object_format {
    /* Constant once made. */
    ki_allocator allocator;
    bool keep_managed_fields;
    bool reads_managed_fields; /* keeps them, or the view has some of them */
    ki_keep keep;
    ki_view *view; /* NULL: no view */
    /* Any thread (atomic). */
    atomic_bool is_for_transform; /* set before the informer's first object: sources make whole ones */
    ki_refcount refs;
    _Atomic(uint64_t) mismatches;    /* of the view */
    _Atomic(uint64_t) fits, misfits; /* bits of the view's fields, of all objects (ki_view_room) */
    ki_group_table groups;
    /* The loop's. */
    ki_body_packer packer;
};

static inline ki_object_format *ki_format_of(const ki_object *obj) {
    return obj->group->format;
}

/* Returns the JSON of an object that is not packed; empty for one without its content. */
static inline ki_str ki_object_plain_body(const ki_object *obj) {
    return (ki_str){ (const char *)obj + obj->body_at, obj->body_size };
}

/* Returns the labels of the object that its group does not have (ki_object_group_value); NULL: none. */
static inline const char *ki_object_own_labels(const ki_object *obj) {
    const char *version = obj->has_own_labels ? ki_object_resource_version(obj) : NULL;
    return version ? version + strlen(version) + 1 : NULL;
}

/* Returns the digest of the content, without kind and apiVersion at its beginning. Equal contents have the same one. */
uint64_t ki_object_digest(const ki_object *obj);

/* Calls `visit` with each string of the view that is kept for several objects (ki_text_get). The object has a reference
 * to it. */
void ki_object_each_text(const ki_object *obj, void (*visit)(const char *text, void *user), void *user);

/* Returns true if both are states of one object: equal uids, or a missing uid. Different uids: the object was deleted
 * and recreated. */
bool ki_object_is_same(const ki_object *a, const ki_object *b);
/* Returns true if both are the same state of one object: the same resource version and the same JSON, except for kind
 * and apiVersion at its beginning. After a restore from a backup two states can share a resource version. Another order
 * of members counts as different. Digests decide if one of them has no content. */
bool ki_object_is_same_state(const ki_object *a, const ki_object *b);

#endif
