/* group.h: what many objects of one format have in common: apiVersion, kind, namespace and labels. The pods of a
 * Deployment share one group. A format finds the groups that exist by their content. Groups with the same names of
 * labels share these, and the values that are equal: the pods of a StatefulSet differ in one value or two.
 *
 * Guards: a group is immutable but for its count and its place in the format's table. Any thread. */
#ifndef KI_OBJECT_GROUP_H
#define KI_OBJECT_GROUP_H

#include "src/base/refcount.h"
#include "src/base/string_view.h"

#include <kinformer/parts/object_format.h>
#include <kinformer/view.h>

#include <yyjson.h>

enum {
    KI_GROUP_BUCKETS = 16, /* at first: most formats of a program have few groups */
    KI_GROUP_BASES = 64,   /* that a format finds by the names of their labels */
    KI_GROUPS_MAX = 65536, /* that a format finds again; the objects of further ones share none */
    KI_TEXT_SEEN = 256,    /* texts that a format has seen lately */
    KI_TEXT_OBJECTS = 3,   /* in a row, with a text that is then kept once */
    KI_TEXT_MIN = 4,       /* bytes of a text that is */
    KI_TEXT_MAX = 255
};

typedef struct ki_object_group ki_object_group;

/* One block: this struct, the labels, and the strings, whose places count from the block's beginning. */
struct ki_object_group {
    ki_refcount refs;
    uint32_t size;            /* of the block */
    ki_object_format *format; /* owned reference */
    ki_object_group *next;    /* in its bucket; under the table's lock */
    ki_object_group *base;    /* owned reference; the labels have its strings, too; NULL: all strings are here */
    uint64_t hash;
    bool is_listed;  /* in the table */
    uint8_t base_at; /* where the table has it, if it is a base */
    uint32_t kind_at;
    uint32_t namespace_at;
    uint32_t namespace_size;
    uint32_t label_count;
    ki_string_pair labels[]; /* views have it, too (view.h); then the strings, of which apiVersion is the first */
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
    ki_object_group *bases[KI_GROUP_BASES]; /* groups without a base, by their names; NULL: none */
    /* KI_TEXT_SEEN texts, each with its last object: parts of both hashes, and a count of objects. NULL: no view */
    _Atomic uint32_t *seen;
} ki_group_table;

/* A table without groups has no memory of its own. */
void ki_group_table_init(ki_group_table *table);

/* What a group is made of. Texts without zero characters, but for one behind them; of labels, what precedes the first
 * one. */
typedef struct ki_group_content {
    ki_str api_version, kind, namespace;
    yyjson_val *labels; /* a map, of which strings count; else no labels */
} ki_group_content;

/* Returns a reference to the group with this content; NULL without memory. */
ki_object_group *ki_object_group_get(ki_object_format *format, const ki_group_content *content);
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
