/* group.h: what many objects of one format have in common: apiVersion, kind, namespace and labels. The pods of a
 * Deployment share one group. A format finds the groups that exist by their content.
 *
 * The first object of a shape (all but the values of labels) gets a group, which is the base of further ones: once
 * several objects in a row differ from a group by the same value first, they get a group below it, and so on. An object
 * has the group that its first values that differ lead to, and its own labels: the values that still differ, in the
 * object. So the pods of a StatefulSet share a group, and each has its name.
 *
 * Guards: a group is immutable but for its count and its place in the format's table. Any thread. */
#ifndef KI_OBJECT_GROUP_H
#define KI_OBJECT_GROUP_H

#include "src/base/refcount.h"
#include "src/base/string_view.h"
#include "src/object/seen.h"

#include <kinformer/parts/object_format.h>
#include <kinformer/view.h>

#include <yyjson.h>

enum {
    KI_GROUP_BUCKETS = 16,         /* at first: most formats of a program have few groups */
    KI_GROUPS_MAX = 65536,         /* that a format finds again; the objects of further ones share none */
    KI_GROUP_DEPTH = 4,            /* groups below the first of a shape */
    KI_GROUP_OBJECTS = 3,          /* in a row, with a label or a text that is then kept once */
    KI_OWN_LABELS_MAX = UINT8_MAX, /* labels of an object that shares any */
    KI_TEXT_MIN = 4,               /* bytes of a text that is kept once */
    KI_TEXT_MAX = 255
};

typedef struct ki_object_group ki_object_group;

/* One block: this struct, the labels, and the strings, whose places count from the block's beginning. */
struct ki_object_group {
    ki_refcount refs;
    uint32_t size;            /* of the block */
    ki_object_format *format; /* owned reference */
    ki_object_group *next;    /* in its bucket; under the table's lock */
    ki_object_group *base;    /* owned reference; the labels have its strings, too; NULL: the first of its shape */
    uint64_t hash;            /* of the shape; else of the base, and the first label that differs from it */
    bool is_listed;           /* in the table */
    uint8_t depth;            /* number of bases, one below the other */
    uint32_t kind_at;
    uint32_t namespace_at;
    uint32_t namespace_size;
    uint32_t label_count;
    ki_string_pair labels[]; /* then the strings, of which apiVersion is the first */
};

/* The groups of a format. */
typedef struct ki_group_table {
    atomic_flag lock; /* held for a look into one bucket, or while buckets grow; other threads spin meanwhile */
    uint32_t count;
    uint32_t bucket_count;
    uint64_t seed;        /* of hashes: labels that somebody has chosen shall not meet in one bucket; constant */
    _Atomic size_t bytes; /* of all groups, with those that are not in the table, and of `buckets` if it is allocated */
    ki_object_group **buckets; /* `first`, or an array that the table has grown to */
    ki_object_group *first[KI_GROUP_BUCKETS];
    ki_seen seen; /* labels and texts */
} ki_group_table;

/* A table without groups has no memory of its own. */
void ki_group_table_init(ki_group_table *table);

/* What a group is made of. Texts without zero characters, but for one behind them; of labels, what precedes the first
 * one. */
typedef struct ki_group_content {
    ki_str api_version, kind, namespace;
    yyjson_val *labels; /* a map, of which strings count; else no labels */
    ki_str name;        /* of the object; no part of the group */
} ki_group_content;

/* Returns a reference to the group for an object with this content; NULL without memory. `*ret_own`: bytes of the
 * object's own labels; 0: the group has all labels. */
ki_object_group *ki_object_group_get(ki_object_format *format, const ki_group_content *content, size_t *ret_own);
/* Writes the own labels of an object with this content and group. Returns their end. */
char *ki_object_group_write_own(const ki_object_group *group, const ki_group_content *content, char *to);
/* Returns the value of a label of an object with this group. `own`: its own labels; NULL: none. */
const char *ki_object_group_value(const ki_object_group *group, const char *own, size_t index);
ki_object_group *ki_object_group_ref(ki_object_group *group);
void ki_object_group_unref(ki_object_group *group);

/* Texts of views that many objects have are kept once, too: a node, a phase, an image. A text is a group that has
 * nothing else. Returns a reference to the text; NULL: the object has a copy of its own, since no text is known, and
 * not enough objects with different names had it lately. */
const char *ki_text_get(ki_object_format *format, ki_str text, ki_str name);
void ki_text_ref(const char *text);
void ki_text_unref(const char *text);

static inline const char *ki_object_group_text(const ki_object_group *group, uint32_t at) {
    return (const char *)group + at;
}
static inline const char *ki_object_group_api_version(const ki_object_group *group) {
    return (const char *)(group->labels + group->label_count);
}

#endif
