/* selection.h: the objects that an informer caches: a resource, and the namespace and selectors of options. Its parts
 * (source, informer, the factory's table) share one selection. Reference-counted. Immutable but for `found`. Any
 * thread. */
#ifndef KI_OBJECT_SELECTION_H
#define KI_OBJECT_SELECTION_H

#include <kinformer/allocator.h>
#include <kinformer/informer.h>

#include "src/base/refcount.h"
#include "src/base/string_view.h"

#include <stdatomic.h>

enum {
    KI_SELECTION_PLURAL_SIZE = 253 + 1 /* bytes of a plural with the closing zero */
};

typedef struct ki_selection {
    const ki_allocator *allocator;
    ki_refcount refs;
    ki_resource resource;
    const char *api_version;                                      /* "apps/v1" */
    const char *namespace_name, *label_selector, *field_selector; /* "" for none */
    const char *target; /* of its requests, for messages: "deployments.apps in namespace default" */
    const char *name;   /* for messages: "deployments in default (app=web, metadata)" */
    ki_keep keep;
    bool is_set; /* of a set of namespaces: `namespace_name` is its name in parentheses */
    /* Of a selection by name: `resource` has neither version nor kind, and counts as namespaced. */
    bool is_by_name;
    const char *keep_name;                /* "object", "metadata", "view" or "keys" */
    ki_str key;                           /* equal for equal selections; names no kind */
    _Atomic(struct ki_selection *) found; /* the selection of the resource that has the name; NULL: not found yet */
    struct ki_selection *older;           /* what was found before; other threads may still read it */
} ki_selection;

/* Copies a resource, and of `options` the namespace (ignored for a cluster-scoped resource), the selectors and what is
 * kept. Errors: KI_ERR_INVALID (no resource, or one without a text), KI_ERR_UNSUPPORTED (it cannot be listed and
 * watched), KI_ERR_LIMIT (long selectors), KI_ERR_NO_MEMORY. */
ki_status ki_selection_new(const ki_allocator *allocator, const ki_resource *resource,
                           const ki_informer_options *options, ki_selection **ret_selection, ki_error *err);
/* Reads the name of a resource that is not built in, "widgets.example.com": a resource without version and kind (""),
 * with its texts in `name` and `plural`. Errors: KI_ERR_INVALID (a name without a group). */
ki_status ki_selection_split_name(const char *name, char plural[KI_SELECTION_PLURAL_SIZE], ki_resource *ret_resource,
                                  ki_error *err);
/* As ki_selection_new for such a resource. Errors: KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
ki_status ki_selection_new_by_name(const ki_allocator *allocator, const ki_resource *name,
                                   const ki_informer_options *options, ki_selection **ret_selection, ki_error *err);
/* Sets the resource of a selection by name. Loop. Errors: those of ki_selection_new; nothing has changed. */
ki_status ki_selection_set_found(ki_selection *selection, const ki_resource *resource, ki_error *err);
/* Returns the selection with its whole resource: itself, or what was found by its name; NULL: nothing yet. Ownership:
 * borrowed from `selection`. */
ki_selection *ki_selection_found(ki_selection *selection);
/* Returns KI_OK if the key can be that of an object of the selection, whose resource is found. Errors: KI_ERR_INVALID
 * (without a namespace, or with one of a cluster-scoped resource; another namespace than the selection's). */
ki_status ki_selection_check_key(const ki_selection *selection, const char *key, ki_error *err);
/* Returns true if the set of namespaces has this name (ki_informer_options.namespace_set). */
bool ki_selection_has_set(const ki_selection *selection, const char *set_name);
ki_selection *ki_selection_ref(ki_selection *selection);
void ki_selection_unref(ki_selection *selection); /* NULL is accepted */

#endif
