/* view.h: a program's struct and the paths of its members, parsed once, and filled from each object's JSON. Immutable.
 * Any thread. */
#ifndef KI_OBJECT_VIEW_H
#define KI_OBJECT_VIEW_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>
#include <kinformer/parts/object_format.h>
#include <kinformer/view.h>

#include "src/base/string_view.h"

#include <yyjson.h>

typedef struct ki_view ki_view;

enum {
    KI_VIEW_FOUND_MAX = 64 /* values that are kept between measuring and filling; further ones are found twice */
};

/* The strings of the header that a view can point to, in place of a copy. */
typedef enum ki_view_text {
    KI_VIEW_NAME,
    KI_VIEW_NAMESPACE,
    KI_VIEW_UID,
    KI_VIEW_RESOURCE_VERSION,
    KI_VIEW_API_VERSION,
    KI_VIEW_KIND,
    KI_VIEW_TEXT_COUNT
} ki_view_text;

/* What the header has. Zero: nothing. */
typedef struct ki_view_given {
    yyjson_val api_version, kind;          /* values that the object has and its JSON does not */
    const char *texts[KI_VIEW_TEXT_COUNT]; /* where the tree has the strings of the header; NULL: elsewhere */
    bool has_labels;                       /* always if ki_view_has_labels */
} ki_view_given;

/* What one object needs beside the struct itself. */
typedef struct ki_view_needs {
    ki_view_given given;                  /* set by the caller */
    yyjson_val *found[KI_VIEW_FOUND_MAX]; /* the values of the outer struct's first members; not of lists */
    const char *texts[KI_VIEW_FOUND_MAX]; /* owned references (group.h): these strings are kept elsewhere */
    size_t arrays;                        /* bytes, a multiple of 8 */
    size_t strings;                       /* bytes with their zeros */
    size_t items;
} ki_view_needs;

/* Where the arrays and strings of a view go; each pointer moves past what is written. What the header has is not
 * written again: the view points there, also into the group. */
typedef struct ki_view_room {
    char *arrays;
    char *strings;
    const char *texts[KI_VIEW_TEXT_COUNT]; /* of the header */
    const ki_object *obj;                  /* which has the labels */
    size_t mismatches;                     /* values of another type, or out of range */
    uint64_t fits, misfits;                /* bits of the view's first fields that had a value or null; a mismatch */
} ki_view_room;

/* Errors: KI_ERR_PARSE (a path), KI_ERR_LIMIT, KI_ERR_INVALID, KI_ERR_NO_MEMORY. */
ki_status ki_view_new(const ki_allocator *allocator, const ki_field *fields, ki_view **ret_view, ki_error *err);
void ki_view_free(const ki_allocator *allocator, ki_view *view);
/* Returns true if a member is the member `name` of the object's member `outer`, or inside it. */
bool ki_view_reads(const ki_view *view, const char *outer, const char *name);
/* Returns true if a member is, contains or is inside the object's member `outer`; with a `name` that is not empty, the
 * member `name` of that. */
bool ki_view_enters(const ki_view *view, ki_str outer, ki_str name);
/* Returns true if a member is the map of all labels. The header then needs them. */
bool ki_view_has_labels(const ki_view *view);
/* Returns the bytes of the struct. */
size_t ki_view_size(const ki_view *view);

/* Finds the values below `root` and counts what they need. `needs->given` takes the place of these members. Errors:
 * KI_ERR_LIMIT (KI_VIEW_MAX_ITEMS). */
ki_status ki_view_measure(const ki_view *view, yyjson_val *root, ki_view_needs *needs, ki_error *err);
/* Looks for strings that other objects have too, and takes them out of what is needed. The references go to the struct
 * that is filled, or are released with ki_view_unshare. `name`: of the object. */
void ki_view_share(const ki_view *view, ki_view_needs *needs, ki_object_format *format, ki_str name);
void ki_view_unshare(ki_view_needs *needs);
/* Returns the number of members of the struct. */
size_t ki_view_member_count(const ki_view *view);
/* Returns the string of a member of the struct at `from`, if several objects can share it; NULL: they cannot. */
const char *ki_view_string(const ki_view *view, size_t number, const void *from);
/* Fills the struct at `to`, which is zero. `needs` and `root` are those of ki_view_measure. */
void ki_view_fill(const ki_view *view, yyjson_val *root, const ki_view_needs *needs, void *to, ki_view_room *room);
/* Writes what the bits of all objects show, for the end of a line: "; none has A, B; of another type or out of range:
 * C". A field inside a list is not absent if its list is, nor is one of the bits `elsewhere`. Empty: nothing. */
void ki_view_describe(const ki_view *view, uint64_t fits, uint64_t misfits, uint64_t elsewhere, char *text,
                      size_t size);
/* Has the pointers of the struct at `to`, which was copied with the `size` bytes at `from` to `base`, point into the
 * copy. */
void ki_view_move(const ki_view *view, void *to, const char *from, const char *base, size_t size);

#endif
