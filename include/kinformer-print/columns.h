/* columns.h: an object as a row under the columns that kubectl get shows of its kind, made of the object alone: no request.
 *
 *     NAME    READY   STATUS    RESTARTS   AGE
 *     web-1   1/1     Running   0          3m20s
 *
 *     ki_columns_new(KI_PODS, NULL, 0, NULL, &columns, &err)       then ki_columns_at(columns, i)->name for the first line, and for each object
 *     ki_columns_each(columns, pod, (int64_t)time(NULL) * 1000, print_cell, me, &err)
 *
 * Of built-in kinds the columns are those of a Kubernetes 1.36 API server; of custom resources what their definition says
 * (additionalPrinterColumns), else name and age. */
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
    KI_COLUMNS_MAX = 64 /* of a custom resource; the definition's others are left out */
};

typedef struct ki_columns ki_columns;

/* Strings are never NULL. Fields are added at the end. */
typedef struct ki_column {
    const char *name;        /* "Ready" */
    const char *type;        /* "string", "integer", "number", "boolean" or "date" */
    const char *format;      /* "name": the object's name; "" or another */
    const char *description; /* of a definition's column; "" */
    int priority;            /* 0: shown always; more: with -o wide */
} ki_column;

/* The columns of a resource. `definition` is the JSON of the CustomResourceDefinition of a custom one, `size` bytes, or NULL: the object
 * of KI_CUSTOMRESOURCEDEFINITIONS named "foos.example.com" (ki_client_get), by ki_object_json. The columns are those of the resource's version. As on a server, a column whose path cannot be read ends them.
 * Ownership: the caller's, freed with ki_columns_free; `resource` and `definition` are not kept; `allocator` is copied, NULL: malloc.
 * Threads: any. Blocks: no. Errors: KI_ERR_PARSE (`definition` is no JSON), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_columns_new(const ki_resource *resource, const char *definition, size_t size,
                                              const ki_allocator *allocator, ki_columns **ret_columns, ki_error *err);
/* NULL is accepted. */
KI_API void ki_columns_free(ki_columns *columns);

KI_API size_t ki_columns_count(const ki_columns *columns);
/* By number from 0; NULL past the last. Ownership: borrowed from `columns`. Threads: any. */
KI_API const ki_column *ki_columns_at(const ki_columns *columns, size_t index);

/* Calls `visit` with the text of each cell, left to right, until it gives false. Ages are from `now_ms`, milliseconds since 1970. A text
 * with several lines is its first and "...".
 * Ownership: the text is borrowed, for the call. Threads: any. Blocks: no. Errors: KI_ERR_NO_MEMORY, KI_ERR_LIMIT (what a column of a custom
 * resource leads to is nested too deep). */
KI_API KI_MUST_CHECK ki_status ki_columns_each(const ki_columns *columns, const ki_object *obj, int64_t now_ms,
                                               bool (*visit)(size_t index, const char *text, void *user) KI_NOEXCEPT,
                                               void *user, ki_error *err);

KI_END_DECLS

#endif
