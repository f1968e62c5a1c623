/* named_list_watch.c: see named_list_watch.h. An inner source sends the requests; it is made for the resource that was
 * found. If discovery fails, a list uses the resource that was found before. */
#include "src/client/named_list_watch.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/client/name_lookup.h"

#include <stdio.h>

enum {
    VERSION_SIZE = 128, /* bytes of a resource version with its zero: a reflector keeps no longer ones */
    MATCH_SIZE = 16     /* bytes of "NotOlderThan" and its zero */
};

typedef struct named_list_watch {
    ki_list_watch base; /* must be first */
    ki_engine *engine;
    ki_transport *transport;
    ki_object_format *format;
    ki_http_list_watch_options options;
    bool finds;
    const ki_selection *used; /* by `inner` */
    ki_list_watch *inner;     /* NULL: not found yet */
    ki_name_lookup lookup;
    /* the request that waits for the lookup */
    bool is_watch;
    ki_list_options list;
    ki_list_handler list_handler;
    ki_watch_options watch;
    ki_watch_handler watch_handler;
    char version[VERSION_SIZE], match[MATCH_SIZE];
} named_list_watch;

static named_list_watch *self_of(ki_list_watch *base) {
    return (named_list_watch *)(void *)base;
}

/* --- the inner source --------------------------------------------------------------------------------------------- */

/* Makes the inner source of the selection that was found last. It has no request under way. */
static ki_status renew_inner(named_list_watch *self, ki_error *err) {
    ki_selection *found = ki_selection_found(self->options.selection);
    if (!found)
        return ki_error_set(err, KI_ERR_STATE, "%s is not found yet", self->options.selection->name);
    if (found == self->used)
        return KI_OK;
    ki_http_list_watch_options options = self->options;
    options.selection = found;
    ki_list_watch *inner = NULL;
    ki_status status = ki_http_list_watch_new(self->engine, self->transport, self->format, &options, &inner, err);
    if (status)
        return status;
    if (self->inner)
        self->inner->ops->free(self->inner);
    self->inner = inner;
    self->used = found;
    return KI_OK;
}

static ki_status note_found(named_list_watch *self, const ki_resource *resource, ki_error *err) {
    ki_status status = ki_selection_set_found(self->options.selection, resource, err);
    return status ? status : renew_inner(self, err);
}

/* --- requests that wait for a lookup ------------------------------------------------------------------------------ */

static void end_waiting(named_list_watch *self, const ki_error *err) {
    if (self->is_watch)
        self->watch_handler.on_end(err, false, false, self->watch_handler.user);
    else
        self->list_handler.on_end(NULL, err, self->list_handler.user);
}

static void on_found(const ki_resource *resource, const ki_error *err, void *user) {
    named_list_watch *self = user;
    ki_error cause = KI_ERROR_INIT;
    bool is_missing = err && err->http_status == KI_DOCUMENT_NOT_FOUND;
    ki_status status = resource ? note_found(self, resource, &cause) : KI_OK;
    if (!resource && (is_missing || !self->inner)) {
        end_waiting(self, err);
        return;
    }
    if (!status && self->is_watch)
        status = self->inner->ops->watch(self->inner, &self->watch, &self->watch_handler, &cause);
    else if (!status)
        status = self->inner->ops->list(self->inner, &self->list, &self->list_handler, &cause);
    if (status)
        end_waiting(self, &cause);
}

static const char *keep_text(char *place, size_t size, const char *text) {
    if (!text)
        return NULL;
    snprintf(place, size, "%s", text);
    return place;
}

static ki_status find_first(named_list_watch *self, ki_error *err) {
    return ki_name_lookup_begin(&self->lookup, on_found, self, err);
}

/* --- the interface ------------------------------------------------------------------------------------------------ */

/* Returns true for a list of all objects: not a further page, not a check of one object. */
static bool begins_list(const ki_list_options *options) {
    return !options->continue_token && !(options->limit == 1 && options->resource_version_match);
}

static ki_status named_list(ki_list_watch *base, const ki_list_options *options, const ki_list_handler *handler,
                            ki_error *err) {
    named_list_watch *self = self_of(base);
    if (self->finds && (!self->inner || begins_list(options))) {
        self->is_watch = false;
        self->list = *options;
        self->list.continue_token = NULL;
        self->list.resource_version = keep_text(self->version, sizeof self->version, options->resource_version);
        self->list.resource_version_match = keep_text(self->match, sizeof self->match, options->resource_version_match);
        self->list_handler = *handler;
        return find_first(self, err);
    }
    ki_status status = self->finds ? KI_OK : renew_inner(self, err);
    return status ? status : self->inner->ops->list(self->inner, options, handler, err);
}

static ki_status named_watch(ki_list_watch *base, const ki_watch_options *options, const ki_watch_handler *handler,
                             ki_error *err) {
    named_list_watch *self = self_of(base);
    if (self->finds && (!self->inner || options->send_initial_events)) {
        self->is_watch = true;
        self->watch = *options;
        self->watch.resource_version = keep_text(self->version, sizeof self->version, options->resource_version);
        self->watch_handler = *handler;
        return find_first(self, err);
    }
    ki_status status = self->finds ? KI_OK : renew_inner(self, err);
    return status ? status : self->inner->ops->watch(self->inner, options, handler, err);
}

/* Called for a resource that was listed before, or for a namespace that is watched: there is an inner source. */
static ki_status named_find_type(ki_list_watch *base, ki_on_type_found on_type, void *user, ki_error *err) {
    named_list_watch *self = self_of(base);
    return self->inner ? self->inner->ops->find_type(self->inner, on_type, user, err)
                       : ki_error_set(err, KI_ERR_STATE, "%s is not found yet", self->options.selection->name);
}

static ki_status named_find_namespace(ki_list_watch *base, ki_on_namespace_found on_namespace, void *user,
                                      ki_error *err) {
    named_list_watch *self = self_of(base);
    return self->inner && self->used->namespace_name[0]
               ? self->inner->ops->find_namespace(self->inner, on_namespace, user, err)
               : ki_error_set(err, KI_ERR_STATE, "%s is not found in a namespace", self->options.selection->name);
}

static void named_cancel(ki_list_watch *base) {
    named_list_watch *self = self_of(base);
    ki_document_request_cancel(&self->lookup.request);
    if (self->inner)
        self->inner->ops->cancel(self->inner);
}

static void named_hold(ki_list_watch *base, bool is_held) {
    named_list_watch *self = self_of(base);
    if (self->inner)
        self->inner->ops->hold(self->inner, is_held);
}

static bool named_waits_for(const ki_list_watch *base, char *text, size_t size) {
    const named_list_watch *self = (const named_list_watch *)(const void *)base;
    const ki_exchange *exchange = self->lookup.request.exchange;
    if (exchange)
        return ki_transport_waits_for(self->transport, exchange, text, size);
    return self->inner && self->inner->ops->waits_for(self->inner, text, size);
}

static void named_free(ki_list_watch *base) {
    named_list_watch *self = self_of(base);
    ki_document_request_cancel(&self->lookup.request);
    if (self->inner)
        self->inner->ops->free(self->inner);
    ki_object_format_unref(self->format);
    ki_selection_unref(self->options.selection);
    ki_free(ki_engine_allocator(self->engine), self);
}

ki_status ki_named_list_watch_new(ki_engine *engine, ki_transport *transport, ki_object_format *format,
                                  const ki_http_list_watch_options *options, bool finds, ki_list_watch **ret_list_watch,
                                  ki_error *err) {
    static const ki_list_watch_ops ops = { .list = named_list,
                                           .watch = named_watch,
                                           .find_type = named_find_type,
                                           .find_namespace = named_find_namespace,
                                           .cancel = named_cancel,
                                           .hold = named_hold,
                                           .waits_for = named_waits_for,
                                           .free = named_free };
    const ki_allocator *allocator = ki_engine_allocator(engine);
    const ki_selection *selection = options->selection;
    const ki_resource *resource = &selection->resource;
    ki_status status = ki_http_list_watch_check(allocator, selection, err);
    if (status)
        return status;
    named_list_watch *self = ki_alloc_zero(allocator, sizeof *self);
    if (!self)
        return ki_error_no_memory(err, "making an informer");
    self->base.ops = &ops;
    self->engine = engine;
    self->transport = transport;
    self->format = ki_object_format_ref(format);
    self->options = *options;
    self->options.selection = ki_selection_ref(options->selection);
    self->finds = finds;
    ki_name_lookup_init(&self->lookup, engine, transport, resource->group, resource->plural);
    *ret_list_watch = &self->base;
    return KI_OK;
}
