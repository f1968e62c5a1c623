/* selection.h: the objects that an informer caches: a resource, and the namespace and selectors of options. Its parts
 * (source, informer, the factory's table) share one selection. Immutable, reference-counted. Any thread. */
#ifndef KI_OBJECT_SELECTION_H
#define KI_OBJECT_SELECTION_H

#include <kinformer/allocator.h>
#include <kinformer/informer.h>

#include "src/base/refcount.h"
#include "src/base/string_view.h"

typedef struct ki_selection {
    const ki_allocator *allocator;
    ki_refcount refs;
    ki_resource resource;
    const char *api_version;                                      /* "apps/v1" */
    const char *namespace_name, *label_selector, *field_selector; /* "" for none */
    const char *target; /* of its requests, for messages: "deployments.apps in namespace default" */
    const char *name;   /* for messages: "deployments in default (app=web)" */
    ki_str key;         /* equal for equal selections; names no kind */
} ki_selection;

/* Copies a resource, and of `options` the namespace (ignored for a cluster-scoped resource) and the selectors.
 * Errors: KI_ERR_INVALID (no resource, or one without a text), KI_ERR_UNSUPPORTED (it cannot be listed and watched),
 * KI_ERR_LIMIT (long selectors), KI_ERR_NO_MEMORY. */
ki_status ki_selection_new(const ki_allocator *allocator, const ki_resource *resource,
                           const ki_informer_options *options, ki_selection **ret_selection, ki_error *err);
ki_selection *ki_selection_ref(ki_selection *selection);
void ki_selection_unref(ki_selection *selection); /* NULL is accepted */

#endif
