/* claim.c: adopts and releases the children of a controller by their labels, as the ControllerRefManager of Kubernetes'
 * own controllers does. */
#include <kinformer-controllers/controller.h>
#include <kinformer/lister.h>

#include "src/base/error.h"
#include "src/base/options.h"
#include "src/client/client.h"
#include "src/object/resource_table.h"
#include "src/object/unstructured.h"

#include <string.h>

static const char references_path[] = "metadata.ownerReferences";

typedef struct claim {
    ki_client *client;
    const ki_resource *owner_resource;
    const ki_object *owner;
    const ki_resource *resource; /* of the children */
    const ki_selector *selector;
    ki_request_options options;
    bool was_read; /* the owner was read from the server before the first adoption */
    ki_status readable;
    ki_error cause;
} claim;

/* Reads the owner from the server, once: the cache may have an owner that was deleted. Only an owner that exists, with
 * the same uid, and is not being deleted may adopt. */
static ki_status check_owner(claim *self, ki_error *err) {
    const ki_object *owner = self->owner;
    ki_object *current = NULL;
    if (!self->was_read) {
        self->was_read = true;
        self->readable =
            ki_client_get(self->client, self->owner_resource, ki_object_namespace(owner), ki_object_name(owner),
                          &KI_REQUEST_OPTIONS(.timeout_ms = self->options.timeout_ms, .term = self->options.term),
                          &current, &self->cause);
        if (!self->readable && strcmp(ki_object_uid(current), ki_object_uid(owner)) != 0)
            self->readable =
                ki_error_set(&self->cause, KI_ERR_NOT_FOUND, "%s %s is gone: its name has uid %s, not %s",
                             ki_object_kind(owner), ki_object_key(owner), ki_object_uid(current), ki_object_uid(owner));
        else if (!self->readable && ki_object_is_being_deleted(current))
            self->readable = ki_error_set(&self->cause, KI_ERR_STATE, "%s %s has just been deleted",
                                          ki_object_kind(owner), ki_object_key(owner));
        ki_object_unref(current);
    }
    if (self->readable && err)
        *err = self->cause;
    return self->readable;
}

/* Returns a patch with the child's identity, version and owner references. */
static ki_unstructured *patch_of(const claim *self, const ki_object *child) {
    ki_value references = KI_VALUE_INIT;
    ki_unstructured *patch = ki_unstructured_for(self->resource, ki_object_namespace(child), ki_object_name(child));
    ki_unstructured_set_string(patch, "metadata.uid", ki_object_uid(child));
    ki_unstructured_set_string(patch, "metadata.resourceVersion", ki_object_resource_version(child));
    ki_error err = KI_ERROR_INIT;
    ki_status status = ki_object_field(child, references_path, &references, &err);
    if (!status && references.type == KI_VALUE_ARRAY)
        ki_unstructured_set_json(patch, references_path, references.text);
    else if (status && status != KI_ERR_NOT_FOUND)
        ki_unstructured_fail(patch, status, references_path, ki_error_message(&err));
    ki_value_clear(&references);
    return patch;
}

/* Sends the patch, and frees it. An object that is gone is none of the owner's any more: `*ret_is_done` is false. */
static ki_status send(const claim *self, ki_unstructured *patch, bool *ret_is_done, ki_error *err) {
    ki_error cause = KI_ERROR_INIT;
    ki_status status =
        ki_client_patch(self->client, self->resource, KI_PATCH_MERGE, patch, &self->options, NULL, &cause);
    *ret_is_done = status == KI_OK;
    if (status && ki_error_is_not_found(&cause))
        return KI_OK;
    if (status && err)
        *err = cause;
    return status;
}

static ki_status adopt(claim *self, const ki_object *child, bool *ret_is_claimed, ki_error *err) {
    ki_status status = check_owner(self, err);
    if (status) {
        if (err)
            ki_error_prefix(err, "cannot adopt %s", ki_object_key(child));
        return status;
    }
    ki_unstructured *patch = patch_of(self, child);
    ki_unstructured_set_controller(patch, self->owner);
    return send(self, patch, ret_is_claimed, err);
}

static ki_status release(const claim *self, const ki_object *child, ki_error *err) {
    bool is_done;
    ki_unstructured *patch = patch_of(self, child);
    ki_unstructured_remove_owner(patch, self->owner);
    if (patch && !ki_unstructured_has_metadata(patch, "ownerReferences"))
        ki_unstructured_set_null(patch, references_path); /* the last reference */
    return send(self, patch, &is_done, err);
}

/* Returns true if the child has a controller. */
static ki_status has_controller(const ki_object *child, bool *ret_has, ki_error *err) {
    ki_owner_reference *references = NULL;
    size_t count = 0;
    ki_status status = ki_object_owner_references(child, &references, &count, err);
    *ret_has = false;
    for (size_t i = 0; i < count; i++)
        *ret_has = *ret_has || references[i].controller;
    ki_owner_references_free(references);
    return status;
}

static ki_status claim_one(claim *self, const ki_object *child, bool *ret_is_claimed, ki_error *err) {
    bool matches = ki_object_matches(child, self->selector), is_controlled = false;
    bool owner_is_deleted = ki_object_is_being_deleted(self->owner);
    *ret_is_claimed = false;
    if (ki_object_is_controlled_by(child, self->owner)) {
        *ret_is_claimed = matches;
        return matches || owner_is_deleted ? KI_OK : release(self, child, err);
    }
    if (!matches || owner_is_deleted || ki_object_is_being_deleted(child))
        return KI_OK;
    ki_status status = has_controller(child, &is_controlled, err);
    return status || is_controlled ? status : adopt(self, child, ret_is_claimed, err);
}

/* Claims each object of the list; keeps those that are claimed. Returns the first error, after all objects. */
static ki_status claim_all(claim *self, ki_object_list *list, ki_error *err) {
    ki_status first = KI_OK;
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        bool is_claimed = false;
        ki_error cause = KI_ERROR_INIT;
        ki_status status = claim_one(self, list->objects[i], &is_claimed, &cause);
        if (is_claimed)
            list->objects[count++] = list->objects[i];
        if (!status || first)
            continue;
        first = status;
        if (err)
            *err = cause;
    }
    list->count = count;
    return first;
}

ki_status ki_client_claim(ki_client *client, const ki_resource *owner_resource, const ki_object *owner,
                          ki_informer *children, const char *label_selector, const ki_request_options *options,
                          ki_object_list *ret_claimed, ki_error *err) {
    if (!client || !owner_resource || !owner || !children || !ret_claimed)
        return ki_error_missing(err, "ki_client_claim");
    if (!ki_resource_is_complete(owner_resource))
        return ki_error_set(err, KI_ERR_INVALID, "claiming needs a resource with group, version, plural and kind");
    if (!label_selector || !label_selector[0])
        return ki_error_set(err, KI_ERR_INVALID, "claiming objects without a selector would adopt all of them");
    claim self = { .client = client,
                   .owner_resource = owner_resource,
                   .owner = owner,
                   .resource = ki_informer_resource(children),
                   .cause = KI_ERROR_INIT };
    ki_selector *selector = NULL;
    ki_object_list list = { NULL, 0, NULL };
    ki_status status = KI_OPTIONS_TAKE(options, &self.options, "KI_REQUEST_OPTIONS", err);
    if (!status)
        status = ki_selector_new(label_selector, NULL, &selector, err);
    if (!status)
        status = ki_lister_list(children, ki_object_namespace(owner), NULL, NULL, &list, err);
    self.selector = selector;
    if (!status)
        status = claim_all(&self, &list, err);
    ki_selector_free(selector);
    if (status)
        ki_object_list_free(&list);
    else
        *ret_claimed = list;
    return status;
}
