/* jsonpath.h: the JSONPath templates of `kubectl get -o jsonpath`.
 *
 *     {.metadata.name}                                     a field
 *     {.spec.containers[*].image}                          a field of each element
 *     {.items[?(@.status.phase=="Running")].metadata.name} a field of each element that matches a filter
 *     {range .items[*]}{.metadata.name}{"\n"}{end}         a block for each element
 *
 * Text outside of braces is printed as it is. Values are printed as kubectl prints them: strings without quotes, arrays
 * and objects as compact JSON with sorted names, several values of one action separated by a space. The output does not
 * depend on the locale. */
#ifndef KINFORMER_PRINT_JSONPATH_H
#define KINFORMER_PRINT_JSONPATH_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>
#include <kinformer/object.h>

#include <stdbool.h>

KI_BEGIN_DECLS

enum {
    KI_JSONPATH_MAX_LENGTH = 64 * 1024, /* bytes of a template */
    KI_JSONPATH_MAX_DEPTH = 32,         /* nested ranges, filters and unions */
    KI_JSONPATH_MAX_NESTING = 512       /* nested arrays and objects of a printed or searched value */
};

typedef struct ki_jsonpath ki_jsonpath; /* a parsed template; immutable */

typedef struct ki_jsonpath_options {
    size_t size;                   /* sizeof(ki_jsonpath_options); set by the macro */
    const ki_allocator *allocator; /* copied; NULL: malloc */
    bool allow_missing_keys;       /* a missing field prints nothing and is not an error, as in kubectl */
    size_t max_output;             /* bytes of output; 0: 256 MiB */
} ki_jsonpath_options;

#define KI_JSONPATH_OPTIONS(...) KI_SIZED_(ki_jsonpath_options, __VA_ARGS__)

/* Parses a template. `options` may be NULL.
 * Ownership: the caller frees the template with ki_jsonpath_free. Threads: any. Blocks: no.
 * Errors: KI_ERR_PARSE (the message has the position), KI_ERR_LIMIT, KI_ERR_NO_MEMORY, KI_ERR_INVALID. */
KI_API KI_MUST_CHECK ki_status ki_jsonpath_new(const char *text, const ki_jsonpath_options *options,
                                               ki_jsonpath **ret_path, ki_error *err);
/* Frees a template. Texts that it printed must be cleared before. NULL is accepted. */
KI_API void ki_jsonpath_free(ki_jsonpath *path);

/* Parses a path of kubectl's --sort-by and custom-columns: "metadata.name", ".metadata.name" and "{metadata.name}" mean
 * "{.metadata.name}". Everything else as ki_jsonpath_new. */
KI_API KI_MUST_CHECK ki_status ki_jsonpath_new_relaxed(const char *text, const ki_jsonpath_options *options,
                                                       ki_jsonpath **ret_path, ki_error *err);

/* The output of a template. */
typedef struct ki_jsonpath_text {
    char *data; /* ends with a zero; not NULL after ki_jsonpath_print */
    size_t size;
    const void *owner; /* private */
} ki_jsonpath_text;

#define KI_JSONPATH_TEXT_INIT \
    { NULL, 0, NULL }

/* Prints a template for one JSON value of `size` bytes.
 * Ownership: the caller empties `*ret_text` with ki_jsonpath_text_clear before freeing `path`. Threads: any. Blocks:
 * no.
 * Errors: KI_ERR_NOT_FOUND (no such field), KI_ERR_INVALID (an index past the end, a filter on a value that is not an
 * array, a comparison of a string with a number), KI_ERR_PARSE (`json` is not JSON), KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_jsonpath_print(const ki_jsonpath *path, const char *json, size_t size,
                                                 ki_jsonpath_text *ret_text, ki_error *err);
/* Frees the output and empties `*text`. NULL is accepted. */
KI_API void ki_jsonpath_text_clear(ki_jsonpath_text *text);

/* Calls `visit` with each value of a template, in order, until `visit` returns false. Text outside of braces is a
 * value, too. Arrays and objects are compact JSON in ki_value.text.
 * Ownership: the value is borrowed for the call; do not clear it. Threads: any. Blocks: no.
 * Errors: as ki_jsonpath_print. Values may have been visited before an error. */
KI_API KI_MUST_CHECK ki_status ki_jsonpath_each(const ki_jsonpath *path, const char *json, size_t size,
                                                bool (*visit)(const ki_value *value, void *user) KI_NOEXCEPT,
                                                void *user, ki_error *err);

KI_END_DECLS

#endif
