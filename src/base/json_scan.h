/* json_scan.h: finds where JSON containers end, white space between tokens, and whether text is valid, without parsing.
 * Any thread; a walk belongs to one. */
#ifndef KI_BASE_JSON_SCAN_H
#define KI_BASE_JSON_SCAN_H

#include "src/base/string_view.h"

enum {
    KI_JSON_DEPTH_MAX = 512,   /* nesting of one object; some functions recurse for each level */
    KI_JSON_OUTLINE_MAX = 192, /* brackets of an outline */
    KI_JSON_OUTLINE_DEPTH = 3  /* an outline has the outermost value, its members and theirs */
};

/* A walk through the brackets of one array or object, whose text can come in pieces. Begins with KI_JSON_WALK_INIT. */
typedef struct ki_json_walk {
    size_t depth; /* brackets that are open */
    size_t depth_max;
    bool in_string;
    bool escaped;  /* the next byte follows a backslash */
    bool too_deep; /* `depth` was above `depth_max` */
} ki_json_walk;

#define KI_JSON_WALK_INIT ((ki_json_walk){ .depth_max = SIZE_MAX })

/* Walks through the next piece. Returns its size up to the last bracket of the value, inclusive; 0: the value does not
 * end in this piece. */
size_t ki_json_find_end(ki_json_walk *walk, ki_str text);
/* Returns the size of the array or object at the beginning of `text`; text.size if it is incomplete. */
size_t ki_json_container_size(ki_str text);
/* Returns true if `text`, which begins outside strings, has no white space and no control character outside strings.
 * Then adds the number of the brackets that it opens to `*opened`. */
bool ki_json_is_compact(ki_str text, size_t *opened);
/* Copies `text`, valid JSON, without the white space outside strings. `out` has room for text.size bytes. Returns the
 * number of bytes written. */
size_t ki_json_compact(char *out, ki_str text);

/* The brackets of the outer values of a text, in its order, without those behind the first KI_JSON_OUTLINE_MAX. */
typedef struct ki_json_outline {
    size_t count;
    uint32_t at[KI_JSON_OUTLINE_MAX + 1]; /* the last one is room to write */
} ki_json_outline;

/* Returns true if `text`, of 4 GiB at most, is one valid JSON object without white space between its tokens, and fills
 * `*outline`. Returns false for other text, and for valid text that is unusual, which a parser must read: escaped
 * surrogates, long numbers, exponents, deep nesting. Does not read the `gap_size` bytes at
 * `gap_at`, the inside of a container. */
bool ki_json_is_valid(ki_str text, size_t gap_at, size_t gap_size, ki_json_outline *outline);

/* One way to scan. All have the same results; they differ in the processors that they need. */
typedef struct ki_json_scanner {
    const char *name;
    bool (*is_supported)(void); /* by this processor */
    size_t (*find_end)(ki_json_walk *walk, ki_str text);
    bool (*is_compact)(ki_str text, size_t *opened);
    bool (*is_valid)(ki_str text, size_t gap_at, size_t gap_size, ki_json_outline *outline); /* see ki_json_is_valid */
} ki_json_scanner;

/* Returns a scanner of this build, the fastest first and the one that each processor supports last; NULL behind it. */
const ki_json_scanner *ki_json_scanner_at(size_t number);

#endif
