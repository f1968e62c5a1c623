/* columns.h: the columns of `kubectl get` for an object, computed without a request to the server.
 *
 *     NAME    READY   STATUS    RESTARTS   AGE
 *     web-1   1/1     Running   0          3m20s
 *
 *     ki_columns_new(KI_PODS, NULL, 0, NULL, &columns, &err)             ki_columns_at returns the headings
 *     ki_columns_each(columns, pod, (int64_t)time(NULL) * 1000, print_cell, me, &err)
 *
 * Built-in kinds have the columns of a Kubernetes 1.37 API server. Custom resources have the additionalPrinterColumns
 * of their definition, or name and age. */
#ifndef KINFORMER_PRINT_COLUMNS_H
#define KINFORMER_PRINT_COLUMNS_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>
#include <kinformer/object.h>
#include <kinformer/resource.h>

#include <stdbool.h>
#include <stdint.h>

KI_BEGIN_DECLS

enum {
    KI_COLUMNS_MAX = 64 /* columns of a custom resource; further columns are skipped */
};

typedef struct ki_columns ki_columns;

/* A column. Strings are never NULL. Later versions add members at the end. */
typedef struct ki_column {
    const char *name;        /* "Ready" */
    const char *type;        /* "string", "integer", "number", "boolean" or "date" */
    const char *format;      /* "name" for the object's name, another format, or "" */
    const char *description; /* the description of the definition's column; "" for built-in kinds */
    int priority;            /* 0: always shown; above 0: shown with -o wide */
} ki_column;

/* Makes the columns of a resource. `definition` is the JSON of the CustomResourceDefinition of a custom resource,
 * `size` bytes; NULL for built-in resources. (Get it with ki_client_get of KI_CUSTOMRESOURCEDEFINITIONS, name
 * "foos.example.com", and ki_object_json.) The columns are those of the resource's version. As on a server, a column
 * with an invalid path ends the columns. `allocator` is copied; NULL: malloc.
 * Ownership: the caller frees the columns with ki_columns_free; `resource` and `definition` are not kept. Threads: any.
 * Blocks: no.
 * Errors: KI_ERR_PARSE (`definition` is not JSON), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_columns_new(const ki_resource *resource, const char *definition, size_t size,
                                              const ki_allocator *allocator, ki_columns **ret_columns, ki_error *err);
/* Frees the columns. NULL is accepted. */
KI_API void ki_columns_free(ki_columns *columns);

/* Returns the number of columns. Threads: any. */
KI_API size_t ki_columns_count(const ki_columns *columns);
/* Returns the column number `index`, counted from 0; NULL past the last. Ownership: borrowed from `columns`. Threads:
 * any. */
KI_API const ki_column *ki_columns_at(const ki_columns *columns, size_t index);

/* Calls `visit` with the text of each cell, from left to right, until `visit` returns false. Ages are relative to
 * `now_ms`, milliseconds since 1970. A text with several lines is shortened to its first line and "...".
 * Ownership: the text is borrowed for the call. Threads: any. Blocks: no.
 * Errors: KI_ERR_NO_MEMORY, KI_ERR_LIMIT (the value of a custom resource's column is nested too deeply). */
KI_API KI_MUST_CHECK ki_status ki_columns_each(const ki_columns *columns, const ki_object *obj, int64_t now_ms,
                                               bool (*visit)(size_t index, const char *text, void *user) KI_NOEXCEPT,
                                               void *user, ki_error *err);

KI_END_DECLS

#endif
