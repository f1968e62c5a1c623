/* jsonpath.h: JSONPath templates as kubectl's -o jsonpath takes them.
 *
 *     {.metadata.name}                                     a field
 *     {.spec.containers[*].image}                          of each element
 *     {.items[?(@.status.phase=="Running")].metadata.name} of those that pass a filter
 *     {range .items[*]}{.metadata.name}{"\n"}{end}         a block for each element
 *
 * Text outside braces stands for itself. A value that is found prints as Go prints it: strings without quotes, arrays and objects as
 * compact JSON with sorted names; several values of one action with a blank between them. Nothing depends on the locale. */
#ifndef KINFORMER_PRINT_JSONPATH_H
#define KINFORMER_PRINT_JSONPATH_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>
#include <kinformer/object.h>

#include <stdbool.h>

KI_BEGIN_DECLS

enum {
    KI_JSONPATH_MAX_LENGTH = 64 * 1024, /* bytes of a template */
    KI_JSONPATH_MAX_DEPTH = 32,         /* ranges, filters and unions in one another */
    KI_JSONPATH_MAX_NESTING = 512       /* arrays and objects in one another, where they are printed or searched */
};

typedef struct ki_jsonpath ki_jsonpath;

typedef struct ki_jsonpath_options {
    size_t size;                   /* sizeof(ki_jsonpath_options); set by the macro */
    const ki_allocator *allocator; /* copied; NULL: malloc */
    bool allow_missing_keys;       /* a field that is nowhere is nothing, not an error; kubectl's default */
    size_t max_output;             /* bytes of text; 0: 256 MiB */
    size_t max_values;             /* values that one evaluation looks at; 0: 16 million */
} ki_jsonpath_options;

#define KI_JSONPATH_OPTIONS(...) ((ki_jsonpath_options){ .size = sizeof(ki_jsonpath_options), __VA_ARGS__ })

/* A template, parsed; immutable from then on. `options` may be NULL.
 * Ownership: the caller's, freed with ki_jsonpath_free. Threads: any. Blocks: no.
 * Errors: KI_ERR_PARSE with the position, KI_ERR_LIMIT, KI_ERR_NO_MEMORY, KI_ERR_INVALID. */
KI_API KI_MUST_CHECK ki_status ki_jsonpath_new(const char *text, const ki_jsonpath_options *options,
                                               ki_jsonpath **ret_path, ki_error *err);
/* NULL is accepted. What was printed with it must have been cleared before. */
KI_API void ki_jsonpath_free(ki_jsonpath *path);

/* A path as kubectl takes it for --sort-by and custom-columns, as a template: "metadata.name", ".metadata.name",
 * "{metadata.name}" and "{.metadata.name}" are all the last. Otherwise as ki_jsonpath_new. */
KI_API KI_MUST_CHECK ki_status ki_jsonpath_new_relaxed(const char *text, const ki_jsonpath_options *options,
                                                       ki_jsonpath **ret_path, ki_error *err);

/* Text that a template printed. */
typedef struct ki_jsonpath_text {
    char *data; /* closed with a zero; never NULL once printed */
    size_t size;
    const void *owner; /* private */
} ki_jsonpath_text;

#define KI_JSONPATH_TEXT_INIT \
    { NULL, 0, NULL }

/* The text of the template for one JSON value of `size` bytes.
 * Ownership: `*ret_text` is the caller's, freed with ki_jsonpath_text_clear, before the path is. Threads: any. Blocks: no.
 * Errors: KI_ERR_NOT_FOUND (no such field), KI_ERR_INVALID (an index past the end, a filter on what is no array, a comparison of
 * text with a number), KI_ERR_PARSE (`json` is none), KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_jsonpath_print(const ki_jsonpath *path, const char *json, size_t size,
                                                 ki_jsonpath_text *ret_text, ki_error *err);
/* Frees what it holds and empties it. NULL is accepted. */
KI_API void ki_jsonpath_text_clear(ki_jsonpath_text *text);

/* Calls `visit` with each value that is found, in order, until it gives false. Texts outside of actions are values, too.
 * Ownership: the value is borrowed, for the call; arrays and objects are compact JSON in `text`. It must not be cleared.
 * Threads: any. Blocks: no. Errors: as ki_jsonpath_print; values before one may have been visited. */
KI_API KI_MUST_CHECK ki_status ki_jsonpath_each(const ki_jsonpath *path, const char *json, size_t size,
                                                bool (*visit)(const ki_value *value, void *user) KI_NOEXCEPT,
                                                void *user, ki_error *err);

KI_END_DECLS

#endif
