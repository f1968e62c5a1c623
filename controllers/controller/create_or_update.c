/* create_or_update.c: brings one object to the state that a function makes of it, as controller-runtime's
 * CreateOrUpdate does: from the informer's cache first, and from the server after a conflict. */
#include <kinformer-controllers/controller.h>

#include "src/base/error.h"
#include "src/base/options.h"
#include "src/cache/informer/shared_informer.h"
#include "src/client/client.h"
#include "src/factory/verbs.h"
#include "src/object/keep.h"
#include "src/object/resource_table.h"
#include "src/object/unstructured.h"

#include <string.h>

enum {
    ATTEMPTS_MAX = 5 /* as client-go's retry.DefaultRetry */
};

typedef struct job {
    ki_client *client;
    ki_informer *informer;
    const ki_resource *resource;
    const ki_unstructured *object; /* what is created if there is none */
    const char *namespace_name, *name;
    ki_mutate_function mutate;
    void *user;
    ki_request_options options;
    ki_object **ret_obj;
} job;

/* Looks for the object in the cache. */
static ki_object *cached(const job *self) {
    char key[KI_OBJECT_KEY_MAX];
    return ki_key_join(self->namespace_name, self->name, key, sizeof key) ? ki_informer_get(self->informer, key) : NULL;
}

/* Gets the object from the server; NULL if there is none. */
static ki_status get(const job *self, ki_object **ret_current, ki_error *err) {
    ki_error cause = KI_ERROR_INIT;
    ki_status status = ki_client_get(self->client, self->resource, self->namespace_name, self->name,
                                     &KI_REQUEST_OPTIONS(.timeout_ms = self->options.timeout_ms,
                                                         .term = self->options.term, .informer = self->informer),
                                     ret_current, &cause);
    if (status && ki_error_is_not_found(&cause))
        return KI_OK;
    if (status && err)
        *err = cause;
    return status;
}

static bool is_equal(const char *a, const char *b) {
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Checks that the function left the object's identity as it was. */
static ki_status check_identity(const job *self, const ki_unstructured *next, ki_error *err) {
    if (next->failure.code || (is_equal(ki_unstructured_metadata(next, "name"), self->name) &&
                               is_equal(ki_unstructured_metadata(next, "namespace"), self->namespace_name)))
        return KI_OK;
    return ki_error_set(err, KI_ERR_INVALID, "%s %s: the function changed the object's name or namespace",
                        self->resource->plural, self->name);
}

/* Makes the wanted state of the current one, and writes the difference. `current` NULL: the object does not exist. Sets
 * `*ret_is_stale` if the server has another state than `current`. */
static ki_status write_once(const job *self, const ki_object *current, bool *ret_is_stale, ki_error *err) {
    ki_unstructured *next = current ? ki_unstructured_from_object(current) : ki_unstructured_copy(self->object);
    *ret_is_stale = false;
    if (!next)
        return ki_error_no_memory(err, "making an object");
    ki_error cause = KI_ERROR_INIT;
    ki_status status = self->mutate(next, current, self->user, &cause);
    if (status && !cause.code)
        ki_error_set(&cause, status, "%s %s%s%s: the function returned \"%s\"", self->resource->plural,
                     self->namespace_name ? self->namespace_name : "", self->namespace_name ? "/" : "", self->name,
                     ki_status_name(status));
    if (!status)
        status = check_identity(self, next, &cause);
    if (status) {
        ki_unstructured_free(next);
        if (err)
            *err = cause;
        return status;
    }
    if (!current) {
        status = ki_client_create(self->client, self->resource, next, &self->options, self->ret_obj, err);
        *ret_is_stale = status && ki_error_is_already_exists(err);
    } else {
        status = ki_client_update_over(self->client, self->resource, current, next, &self->options, self->ret_obj, err);
        *ret_is_stale = status && (ki_error_is_conflict(err) || ki_error_is_not_found(err));
    }
    return status;
}

static ki_status write_until_current(job *self, ki_error *err) {
    ki_error_response **ret_error_response = self->options.ret_error_response, *error_response = NULL;
    ki_object *current = cached(self);
    ki_status status;
    self->options.ret_error_response = ret_error_response ? &error_response : NULL;
    for (int attempts = 1;; attempts++) {
        bool is_stale;
        status = write_once(self, current, &is_stale, err);
        ki_object_unref(current);
        current = NULL;
        if (!is_stale || attempts == ATTEMPTS_MAX)
            break;
        ki_error_response_free(error_response);
        error_response = NULL;
        status = get(self, &current, err);
        if (status)
            break;
    }
    self->options.ret_error_response = ret_error_response;
    if (error_response)
        *ret_error_response = error_response;
    return status;
}

static ki_status check(const job *self, ki_error *err) {
    const ki_shared_informer_options *made_with = ki_informer_made_with(self->informer);
    if (!ki_resource_is_complete(self->resource))
        return ki_error_set(err, KI_ERR_STATE, "the informer's resource is not found yet");
    if (ki_keep_of_all(&made_with->given, made_with->format) != KI_KEEP_OBJECT ||
        ki_informer_transform_step(self->informer).transform)
        return ki_error_set(
            err, KI_ERR_UNSUPPORTED,
            "%s: the informer's cache does not have the objects as the server does: it keeps less or has "
            "a transform",
            self->resource->plural);
    if (self->object->failure.code) {
        if (err)
            *err = self->object->failure;
        return self->object->failure.code;
    }
    if (!self->name || !self->name[0])
        return ki_error_set(err, KI_ERR_INVALID, "%s: the object has no metadata.name", self->resource->plural);
    return KI_OK;
}

ki_status ki_client_create_or_update(ki_client *client, ki_informer *informer, ki_unstructured *object,
                                     ki_mutate_function mutate, void *user, const ki_request_options *options,
                                     ki_object **ret_obj, ki_error *err) {
    ki_error cause = KI_ERROR_INIT;
    ki_status status = KI_OK;
    job self = {
        .client = client, .informer = informer, .object = object, .mutate = mutate, .user = user, .ret_obj = ret_obj
    };
    if (!client || !informer || !mutate)
        status = ki_error_missing(&cause, "ki_client_create_or_update");
    else if (!object)
        status = ki_error_no_memory(&cause, "making an object");
    if (!status)
        status = KI_OPTIONS_TAKE(options, &self.options, "KI_REQUEST_OPTIONS", &cause);
    if (!status) {
        self.options.informer = informer;
        self.resource = ki_informer_resource(informer);
        self.namespace_name = ki_unstructured_metadata(object, "namespace");
        self.name = ki_unstructured_metadata(object, "name");
        status = check(&self, &cause);
    }
    if (!status)
        status = write_until_current(&self, &cause);
    ki_unstructured_free(object);
    if (status && err)
        *err = cause;
    return status;
}
