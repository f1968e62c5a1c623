/* http_list_watch.c: lists and watches of an API server as requests over a transport. Loop only.
 *
 * A call is one list or watch. A callback may cancel the call, or free the whole list_watch, while the call's decoder
 * is still inside a chunk. The call is then closed, and the last function that uses the call frees it (`inside`). */
#include "src/client/http_list_watch.h"

#include "src/client/guess_key.h"
#include "src/client/namespace_lookup.h"
#include "src/client/type_lookup.h"

#include "src/base/error.h"
#include "src/base/kept_error.h"
#include "src/base/memory.h"
#include "src/object/json.h"
#include "src/object/keep.h"
#include "src/object/requirements.h"
#include "src/object/resource_table.h"
#include "src/wire/list_decoder.h"
#include "src/wire/status.h"
#include "src/wire/watch_decoder.h"

#include <stdio.h>
#include <strings.h>

enum {
    TARGET_MAX = 250, /* bytes of the selection in a message */
    HTTP_OK = 200,
    WATCH_GRACE_S = 60,  /* a watch is cut this long after its timeoutSeconds */
    LIST_SILENCE_S = 300 /* a list is cut this long after its last object, even if other bytes arrive */
};

typedef struct http_call http_call;

typedef struct http_list_watch {
    ki_list_watch base; /* must be first */
    /* constant */
    ki_engine *engine;
    ki_transport *transport;
    ki_object_format *format;
    ki_selection *selection;
    size_t object_limit;
    ki_throttle *throttle; /* NULL: none */
    /* loop only */
    http_call *call; /* NULL: no list or watch in progress */
    ki_retry_after retry_after;
    ki_type_lookup lookup;
    ki_namespace_lookup namespace_lookup;
} http_list_watch;

struct http_call {
    http_list_watch *owner; /* invalid once the call is closed */
    const ki_allocator *allocator;
    ki_exchange *exchange; /* NULL before the request is sent and after it has ended */
    ki_ticket ticket;      /* a list's place in the client's rate limit */
    ki_buffer target;      /* path and parameters of the request, until it is sent */
    int64_t idle_timeout_ns;
    bool is_closed; /* ended or cancelled: no more callbacks */
    int inside;     /* functions on the stack that use the call */
    ki_list_decoder *list;
    ki_timer silence; /* for a list: LIST_SILENCE_S */
    int64_t last_object_at, retry_after_ms;
    ki_watch_decoder *watch;
    ki_list_handler list_handler;
    ki_watch_handler watch_handler;
    struct {
        ki_buffer bytes; /* not decoded yet, from `at` on: the step had no work left, or the receiver holds */
        size_t at;
    } rest;
    ki_task decode_task;     /* decodes `rest` */
    bool in_stream, is_held; /* held: the receiver accepts no more objects for now */
    int64_t read_until; /* everything that had arrived by then is delivered; `rest` may lack decoding; -1: reported */
    ki_kept_error end_error; /* of a response that has ended, before `rest` is decoded; none: the body is complete */
    int status;              /* HTTP status; 0 before the response's head */
    ki_buffer error_body;
    ki_error *failure; /* while bytes are decoded: where a list's callback puts its error */
    const char *verb;  /* "list" or "watch" */
};

/* --- new, closed, freed ------------------------------------------------------------------------------------------- */

static void leave(http_call *call) {
    if (--call->inside > 0 || !call->is_closed)
        return;
    ki_timer_close(&call->silence);
    ki_buffer_free(&call->target);
    ki_list_decoder_free(call->list);
    ki_watch_decoder_free(call->watch);
    ki_buffer_free(&call->error_body);
    ki_buffer_free(&call->rest.bytes);
    ki_error_keep(call->allocator, &call->end_error, NULL);
    ki_free(call->allocator, call);
}

/* Closes the call: no more callbacks from the transport, none to the handler. */
static void close_call(http_call *call) {
    http_list_watch *owner = call->owner;
    call->is_closed = true;
    owner->call = NULL;
    ki_task_cancel(&call->decode_task);
    ki_timer_close(&call->silence);
    ki_throttle_leave(owner->throttle, &call->ticket);
    ki_exchange *exchange = call->exchange;
    call->exchange = NULL;
    if (exchange)
        ki_transport_cancel(owner->transport, exchange);
}

/* Begins a message: "watch pods in all namespaces: …". */
static void add_prefix(const http_call *call, ki_error *err) {
    ki_error_prefix(err, "%s %.*s", call->verb, TARGET_MAX, call->owner->selection->target);
}

static void fail_call(http_call *call, const ki_error *why) {
    ki_error err = *why;
    add_prefix(call, &err);
    bool opened = call->status == HTTP_OK;
    close_call(call);
    if (call->list)
        call->list_handler.on_end(NULL, &err, call->list_handler.user);
    else
        call->watch_handler.on_end(&err, opened, call->in_stream, call->watch_handler.user);
}

static void fail_with(http_call *call, ki_status status, const char *message) {
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, status, "%s", message);
    fail_call(call, &err);
}

/* Ends a list that delivers no objects. Other bytes, such as white space, do not count as progress. */
static void silence_timer_fired(ki_timer *timer, void *user) {
    http_call *call = user;
    int64_t deadline = call->last_object_at + KI_SECONDS(LIST_SILENCE_S);
    if (ki_engine_now(call->owner->engine) < deadline) {
        ki_timer_set(timer, deadline);
        return;
    }
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_TIMEOUT, "no object of the list for %d s", LIST_SILENCE_S);
    call->inside++;
    fail_call(call, &err);
    leave(call);
}

/* --- objects ------------------------------------------------------------------------------------------------------ */

/* What is known about a bad object apart from its bytes. */
typedef enum bad_kind {
    UNREADABLE,     /* the text of an object of this resource, as far as known */
    OTHER_KIND,     /* valid JSON, but another kind or no object */
    OTHER_DELETED,  /* the same in a DELETED event */
    BAD_BOOKMARK,   /* the object of a BOOKMARK event */
    DELETED_OBJECT, /* the object of a DELETED event */
    COMPLETE_EVENT  /* a complete event: its type is in the text */
} bad_kind;

/* Adds the namespace to a key without one. Clears the key if the namespace is unknown: a name alone is another object's
 * key. */
static void complete_key(const http_list_watch *owner, ki_guess *guess) {
    if (guess->has_namespace || !owner->selection->resource.namespaced || !guess->key[0])
        return;
    char name[KI_GUESSED_KEY_MAX];
    memcpy(name, guess->key, sizeof name);
    const char *namespace_name = owner->selection->namespace_name;
    int size = namespace_name[0] ? snprintf(guess->key, sizeof guess->key, "%s/%s", namespace_name, name) : 0;
    if (size <= 0 || (size_t)size >= sizeof guess->key)
        guess->key[0] = '\0';
}

static void bad_object(http_call *call, const ki_error *why, ki_str text, bad_kind how) {
    ki_guess guess;
    ki_guess_object(text, &guess);
    bool is_foreign = how == OTHER_KIND || how == OTHER_DELETED;
    if (how != BAD_BOOKMARK && (!is_foreign || call->list))
        complete_key(call->owner, &guess);
    ki_error err = *why;
    add_prefix(call, &err);
    const ki_bad_object bad = { .err = &err,
                                .key = guess.key,
                                .resource_version = guess.resource_version,
                                .is_deleted = how == DELETED_OBJECT || how == OTHER_DELETED ||
                                              (how == COMPLETE_EVENT && guess.is_deleted),
                                .is_foreign = is_foreign,
                                .is_bookmark = how == BAD_BOOKMARK };
    if (call->list)
        call->list_handler.on_bad_object(&bad, call->list_handler.user);
    else
        call->watch_handler.on_bad_object(&bad, call->watch_handler.user);
}

/* Returns true for the kind of the resource, and for that of metadata alone if it was asked for. */
static bool is_of_kind(const http_list_watch *owner, ki_str kind) {
    return ki_str_equals(kind, owner->selection->resource.kind) ||
           (owner->selection->keep == KI_KEEP_METADATA && ki_str_equals(kind, KI_KIND_OF_METADATA));
}

/* Returns true for valid JSON of another kind or without metadata (a Table, a Status). */
static bool is_foreign(const http_call *call, ki_str text) {
    yyjson_doc *doc;
    if (ki_json_parse(call->allocator, text, &doc, NULL))
        return false;
    yyjson_val *root = yyjson_doc_get_root(doc);
    ki_str kind = ki_json_string(root, "kind");
    bool is_foreign = (kind.size && !is_of_kind(call->owner, kind)) || !yyjson_is_obj(yyjson_obj_get(root, "metadata"));
    yyjson_doc_free(doc);
    return is_foreign;
}

/* Makes one object of the wanted kind. Returns KI_OK with *ret_obj NULL for a bad object, which is reported; the error
 * if the object is assumed and can end elsewhere. */
static ki_status make_object(http_call *call, ki_str text, bool is_deleted, bool is_assumed, ki_object **ret_obj) {
    const ki_selection *selection = call->owner->selection;
    const char *kind = selection->resource.kind;
    bad_kind other = is_deleted ? OTHER_DELETED : OTHER_KIND;
    ki_error err = KI_ERROR_INIT;
    *ret_obj = NULL;
    ki_status status = ki_object_from_server(call->owner->format, text, selection->api_version, kind,
                                             ki_engine_scratch(call->owner->engine), ret_obj, &err);
    if (status == KI_ERR_NO_MEMORY)
        *call->failure = err;
    if (status == KI_ERR_NO_MEMORY || (status && is_assumed))
        return status;
    if (status) {
        bad_object(call, &err, text, is_foreign(call, text) ? other : is_deleted ? DELETED_OBJECT : UNREADABLE);
    } else if (strcmp(ki_object_kind(*ret_obj), kind) != 0) {
        ki_error_set(&err, KI_ERR_PROTOCOL, "expected kind %s, got %.64s", kind, ki_object_kind(*ret_obj));
        ki_object_unref(*ret_obj);
        *ret_obj = NULL;
        bad_object(call, &err, text, other);
    }
    return KI_OK;
}

/* Counts one object as one unit of the step's work: a buffer may hold thousands of small objects. */
static void count_object(http_call *call) {
    if (call->is_closed)
        return;
    call->last_object_at = ki_engine_now(call->owner->engine);
    ki_engine_work(call->owner->engine, 1);
}

static ki_status on_bad_item(const ki_error *why, ki_str sample, void *user) {
    bad_object(user, why, sample, COMPLETE_EVENT);
    count_object(user);
    return KI_OK;
}

static ki_status on_item(ki_str item, void *user) {
    http_call *call = user;
    ki_object *obj;
    ki_status status = make_object(call, item, false, false, &obj);
    if (obj)
        call->list_handler.on_object(obj, call->list_handler.user);
    ki_object_unref(obj);
    count_object(call);
    return status;
}

static ki_status take_bookmark(http_call *call, ki_str object) {
    ki_watch_meta meta;
    ki_error err = KI_ERROR_INIT;
    ki_status status = ki_watch_meta_parse(call->allocator, object, &meta, &err);
    if (status == KI_ERR_NO_MEMORY) {
        *call->failure = err;
        return status;
    }
    if (!status && meta.kind[0] && !is_of_kind(call->owner, ki_str_of(meta.kind)))
        status = ki_error_set(&err, KI_ERR_PROTOCOL, "expected a bookmark of kind %s, got %s",
                              call->owner->selection->resource.kind, meta.kind);
    /* The bookmark that ends a streaming list may lack a version, as a list may. */
    if (!status && !meta.resource_version[0] && !meta.initial_events_end)
        status = ki_error_set(&err, KI_ERR_PROTOCOL, "a bookmark has no resourceVersion");
    if (status)
        bad_object(call, &err, object, BAD_BOOKMARK);
    else
        call->watch_handler.on_bookmark(meta.resource_version, meta.initial_events_end, call->watch_handler.user);
    return KI_OK;
}

static ki_status take_error(http_call *call, ki_str object) {
    call->in_stream = true;
    ki_status status = ki_status_to_error(call->allocator, 0, object, -1, call->failure);
    ki_transport_hide(call->owner->transport, call->failure->message, strlen(call->failure->message));
    return status;
}

static ki_status take_event(http_call *call, const ki_watch_event *event) {
    ki_object *obj;
    ki_status status;
    switch (event->part) {
    case KI_WATCH_CHANGE:
        status = make_object(call, event->object, event->type == KI_EVENT_DELETE, event->is_assumed, &obj);
        if (obj)
            call->watch_handler.on_event(event->type, obj, call->watch_handler.user);
        ki_object_unref(obj);
        return status;
    case KI_WATCH_BOOKMARK:
        return take_bookmark(call, event->object);
    case KI_WATCH_ERROR:
        return take_error(call, event->object);
    case KI_WATCH_BAD:
        bad_object(call, event->why, event->object, COMPLETE_EVENT);
        break;
    case KI_WATCH_NOTHING:
        break;
    }
    return KI_OK;
}

/* --- the response ------------------------------------------------------------------------------------------------- */

static bool is_json(const char *content_type) {
    static const char json[] = "application/json";
    if (!content_type[0])
        return true; /* the decoder reports other formats */
    if (strncasecmp(content_type, json, sizeof json - 1) != 0)
        return false;
    char after = content_type[sizeof json - 1];
    return after == '\0' || after == ';' || after == ' ';
}

static void on_head(const ki_response_head *head, void *user) {
    http_call *call = user;
    call->inside++;
    call->retry_after_ms = head->retry_after_ms;
    if (head->status != HTTP_OK)
        ki_retry_after_note(&call->owner->retry_after, head->retry_after_ms);
    if (head->status == HTTP_OK && !is_json(head->content_type)) {
        ki_error err = KI_ERROR_INIT;
        ki_error_set(&err, KI_ERR_PROTOCOL, "expected application/json, got \"%.100s\"", head->content_type);
        fail_call(call, &err);
    } else {
        call->status = head->status;
        if (call->status == HTTP_OK && call->watch)
            call->watch_handler.on_open(call->watch_handler.user);
    }
    leave(call);
}

static void http_error(http_call *call) {
    ki_error err = KI_ERROR_INIT;
    ki_transport_hide(call->owner->transport, call->error_body.data, call->error_body.size);
    if (call->status >= 200 && call->status < 300)
        ki_error_set(&err, KI_ERR_PROTOCOL, "expected HTTP 200, got %d", call->status);
    else
        ki_status_to_error(call->allocator, call->status, (ki_str){ call->error_body.data, call->error_body.size },
                           call->retry_after_ms, &err);
    fail_call(call, &err);
}

static void error_data(http_call *call, const char *data, size_t size) {
    size_t room = KI_STATUS_BODY_MAX - call->error_body.size;
    bool full = size >= room;
    /* On lack of memory the error has the status and no message. */
    ki_status status = ki_buffer_append(&call->error_body, data, full ? room : size);
    if (full || status)
        http_error(call); /* the rest of the body is not needed */
}

/* Returns true while the step has work left and the receiver does not hold: a buffer may hold thousands of small
 * objects, and libcurl reads many buffers at once. */
static bool is_wanted(void *user) {
    const http_call *call = user;
    return !call->is_closed && !call->is_held && ki_engine_work_left(call->owner->engine) > 0;
}

static ki_status decode_watch(http_call *call, ki_str *chunk, ki_error *err) {
    ki_status status = KI_OK;
    while (!status && chunk->size && is_wanted(call)) {
        ki_watch_event event;
        status = ki_watch_decoder_next(call->watch, chunk, &event, err);
        if (status || event.part == KI_WATCH_NOTHING)
            break;
        status = take_event(call, &event);
        if (status && status != KI_ERR_NO_MEMORY && event.is_assumed &&
            (status = ki_watch_decoder_reread(call->watch, chunk, &event, err)) == KI_OK)
            status = take_event(call, &event);
        count_object(call);
    }
    return status;
}

/* Decodes, and removes from the front of `chunk` what it decoded. */
static void decode(http_call *call, ki_str *chunk) {
    ki_error err = KI_ERROR_INIT;
    call->failure = &err; /* which the decoder leaves as it is, if its callback has failed */
    ki_status status = call->list ? ki_list_decoder_feed(call->list, chunk, &err) : decode_watch(call, chunk, &err);
    call->failure = NULL;
    if (status && !call->is_closed)
        fail_call(call, &err);
}

/* Keeps `chunk` for the next step and pauses the transport until then. */
static void keep_rest(http_call *call, ki_str chunk) {
    if (ki_buffer_append(&call->rest.bytes, chunk.data, chunk.size)) {
        fail_with(call, KI_ERR_NO_MEMORY, "out of memory while keeping received bytes");
        return;
    }
    if (call->exchange)
        ki_transport_pause(call->owner->transport, call->exchange, true);
    if (!call->is_held)
        ki_task_post(&call->decode_task);
}

static void end_stream(http_call *call, const ki_error *err);

/* Reports the time of the last on_read, once everything is decoded. */
static void report_read(http_call *call) {
    int64_t until = call->read_until;
    if (until < 0 || call->rest.bytes.size || call->is_closed || !call->watch || !call->watch_handler.on_read)
        return;
    call->read_until = -1;
    call->watch_handler.on_read(until, call->watch_handler.user);
}

static void on_read(int64_t until, void *user) {
    http_call *call = user;
    if (call->status != HTTP_OK)
        return;
    call->inside++;
    call->read_until = until;
    report_read(call);
    leave(call);
}

static void decode_rest(ki_task *task, void *user) {
    http_call *call = user;
    ki_str chunk = { call->rest.bytes.data + call->rest.at, call->rest.bytes.size - call->rest.at };
    call->inside++;
    decode(call, &chunk);
    if (!call->is_closed && chunk.size) {
        call->rest.at = call->rest.bytes.size - chunk.size;
        if (!call->is_held)
            ki_task_post(task);
    } else if (!call->is_closed) {
        ki_buffer_free(&call->rest.bytes); /* most watches have none for the rest of their time */
        call->rest.at = 0;
        report_read(call);
        if (call->exchange) {
            ki_transport_pause(call->owner->transport, call->exchange, false);
        } else if (!call->is_closed) {
            const ki_error err = ki_error_kept(&call->end_error);
            end_stream(call, &err);
        }
    }
    leave(call);
}

static void on_data(const char *data, size_t size, void *user) {
    http_call *call = user;
    call->inside++;
    if (call->status != HTTP_OK) {
        error_data(call, data, size);
        leave(call);
        return;
    }
    if (call->watch && call->watch_handler.on_bytes)
        call->watch_handler.on_bytes(call->watch_handler.user);
    ki_str chunk = { data, size };
    if (call->rest.bytes.size == 0 && !call->is_closed)
        decode(call, &chunk);
    if (chunk.size && !call->is_closed)
        keep_rest(call, chunk);
    leave(call);
}

/* Returns KI_ERR_PROTOCOL for the list of another built-in resource: its items may lack a kind, so only the list's kind
 * shows the mistake. Other lists pass: a custom resource may name its list kind freely, and some servers send just
 * "List". */
static ki_status check_list_kind(const http_call *call, const ki_list_meta *meta, ki_error *err) {
    const char *kind = call->owner->selection->resource.kind;
    ki_str api_version = ki_str_of(meta->api_version);
    ki_str item = ki_str_of(meta->kind); /* ends with "List": ki_list_decoder_finish has checked it */
    item.size -= strlen("List");
    ki_str version;
    ki_str group = ki_str_split(api_version, '/', &version);
    if (!version.data)
        group.size = 0; /* "v1" */
    if (ki_str_equals(item, kind) || !ki_resource_is_built_in(group, item))
        return KI_OK;
    return ki_error_set(err, KI_ERR_PROTOCOL, "expected %sList, got %s of %s", kind, meta->kind,
                        meta->api_version[0] ? meta->api_version : "no apiVersion");
}

static void end_list(http_call *call) {
    ki_error err = KI_ERROR_INIT;
    const ki_list_meta *meta = ki_list_decoder_meta(call->list);
    if (ki_list_decoder_finish(call->list, &err) || check_list_kind(call, meta, &err)) {
        fail_call(call, &err);
        return;
    }
    const ki_list_result result = { meta->resource_version, meta->continue_token, meta->remaining_item_count };
    close_call(call);
    call->list_handler.on_end(&result, NULL, call->list_handler.user);
}

static void end_watch(http_call *call) {
    if (!ki_watch_decoder_is_clean(call->watch)) {
        fail_with(call, KI_ERR_UNEXPECTED_EOF, "the stream ended in the middle of an event");
        return;
    }
    close_call(call);
    call->watch_handler.on_end(NULL, true, false, call->watch_handler.user);
}

static void end_call(http_call *call, const ki_error *err) {
    if (call->status && call->status != HTTP_OK)
        http_error(call); /* the error response, complete or cut, has more detail than the transport's error */
    else if (err && err->code)
        fail_call(call, err);
    else if (!call->status)
        fail_with(call, KI_ERR_PROTOCOL, "the response has no head");
    else if (call->list)
        end_list(call);
    else
        end_watch(call);
}

/* Ends the call, once everything is decoded. */
static void end_stream(http_call *call, const ki_error *err) {
    ki_str left = call->watch && !call->rest.bytes.size ? ki_watch_decoder_give_back(call->watch) : KI_STR("");
    if (left.size)
        keep_rest(call, left);
    if (call->rest.bytes.size)
        ki_error_keep(call->allocator, &call->end_error, err);
    else if (!call->is_closed)
        end_call(call, err);
}

static void on_end(const ki_error *err, void *user) {
    http_call *call = user;
    call->inside++;
    call->exchange = NULL;
    end_stream(call, err);
    leave(call);
}

/* --- the request -------------------------------------------------------------------------------------------------- */

static void begin_target(ki_buffer *target, const http_list_watch *owner) {
    const ki_selection *selection = owner->selection;
    ki_resource_path(target, &selection->resource, selection->namespace_name, NULL);
    ki_url_parameter(target, "labelSelector", selection->label_selector);
    ki_url_parameter(target, "fieldSelector", selection->field_selector);
}

/* A request can follow one that was cancelled while its error response arrived. */
static ki_status check_may_begin(const http_list_watch *self, ki_error *err) {
    if (self->call)
        return ki_error_set(err, KI_ERR_STATE, "%s %.*s is still in progress", self->call->verb, TARGET_MAX,
                            self->selection->target);
    return ki_retry_after_check(&self->retry_after, self->selection->target, err);
}

/* Makes a call with the beginning of its target, and with the decoder of a list or of a watch. */
static ki_status new_call(http_list_watch *owner, bool is_list, http_call **ret_call, ki_error *err) {
    const ki_allocator *allocator = ki_engine_allocator(owner->engine);
    ki_status status = check_may_begin(owner, err);
    if (status)
        return status;
    http_call *call = ki_alloc_zero(allocator, sizeof *call);
    if (!call)
        return ki_error_no_memory(err, "making a request");
    const ki_list_sink sink = { on_item, on_bad_item, is_wanted, call };
    status = is_list ? ki_list_decoder_new(allocator, owner->object_limit, &sink, &call->list, err)
                     : ki_watch_decoder_new(allocator, owner->object_limit, &call->watch, err);
    if (status) {
        ki_free(allocator, call);
        return status;
    }
    call->owner = owner;
    call->allocator = allocator;
    call->retry_after_ms = call->read_until = -1;
    ki_buffer_init(&call->error_body, allocator, KI_STATUS_BODY_MAX);
    ki_buffer_init(&call->rest.bytes, allocator, 0);
    ki_buffer_init(&call->target, allocator, 0);
    ki_task_init(&call->decode_task, owner->engine, decode_rest, call);
    if (is_list)
        ki_timer_init(&call->silence, owner->engine, silence_timer_fired, call);
    call->verb = is_list ? "list" : "watch";
    begin_target(&call->target, owner);
    *ret_call = call;
    return KI_OK;
}

/* A server that cannot send metadata alone sends the objects. */
static const char *accept_of(const http_call *call) {
    if (call->owner->selection->keep != KI_KEEP_METADATA)
        return "application/json";
    return call->list ? "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
                      : KI_ACCEPT_METADATA;
}

static ki_status transmit(http_call *call, int64_t total_timeout_ns, ki_error *err) {
    http_list_watch *owner = call->owner;
    const ki_request request = { .method = "GET",
                                 .target = call->target.data,
                                 .accept = accept_of(call),
                                 .endless = call->watch != NULL,
                                 .idle_timeout_ns = call->idle_timeout_ns,
                                 .total_timeout_ns = total_timeout_ns };
    const ki_response_sink sink = {
        .on_head = on_head, .on_data = on_data, .on_read = on_read, .on_end = on_end, .user = call
    };
    if (call->list) {
        call->last_object_at = ki_engine_now(owner->engine);
        ki_timer_set(&call->silence, call->last_object_at + KI_SECONDS(LIST_SILENCE_S));
    }
    ki_status status = ki_transport_send(owner->transport, &request, &sink, &call->exchange, err);
    ki_buffer_free(&call->target);
    return status;
}

/* Sends a list at its turn in the client's rate limit. */
static void granted(void *user) {
    http_call *call = user;
    ki_error err = KI_ERROR_INIT;
    call->inside++;
    if (transmit(call, 0, &err))
        fail_call(call, &err);
    leave(call);
}

/* Sends the call's request: a watch at once, a list at its turn in the rate limit. Frees the call on failure. */
static ki_status send_call(http_call *call, int64_t idle_timeout_ns, int64_t total_timeout_ns, ki_error *err) {
    http_list_watch *owner = call->owner;
    ki_status status = KI_OK;
    call->idle_timeout_ns = idle_timeout_ns;
    if (call->target.failed)
        status = ki_error_no_memory(err, "making a request");
    else if (call->watch || ki_throttle_pass(owner->throttle, &call->ticket, granted, call))
        status = transmit(call, total_timeout_ns, err);
    if (!status) {
        owner->call = call;
        return KI_OK;
    }
    add_prefix(call, err);
    call->is_closed = true;
    call->inside++;
    leave(call);
    return status;
}

static ki_status http_list(ki_list_watch *base, const ki_list_options *options, const ki_list_handler *handler,
                           ki_error *err) {
    http_list_watch *self = (http_list_watch *)(void *)base;
    http_call *call;
    ki_status status = new_call(self, true, &call, err);
    if (status)
        return status;
    call->list_handler = *handler;
    ki_buffer *target = &call->target;
    ki_url_number(target, "limit", options->limit);
    ki_url_parameter(target, "continue", options->continue_token);
    ki_url_parameter(target, "resourceVersion", options->resource_version);
    ki_url_parameter(target, "resourceVersionMatch", options->resource_version_match);
    return send_call(call, options->idle_timeout_ns, 0, err);
}

static ki_status http_watch(ki_list_watch *base, const ki_watch_options *options, const ki_watch_handler *handler,
                            ki_error *err) {
    http_list_watch *self = (http_list_watch *)(void *)base;
    http_call *call;
    ki_status status = new_call(self, false, &call, err);
    if (status)
        return status;
    call->watch_handler = *handler;
    ki_buffer *target = &call->target;
    ki_url_parameter(target, "watch", "true");
    ki_url_parameter(target, "resourceVersion", options->resource_version);
    ki_url_parameter(target, "allowWatchBookmarks", options->allow_bookmarks ? "true" : NULL);
    ki_url_parameter(target, "sendInitialEvents", options->send_initial_events ? "true" : NULL);
    ki_url_parameter(target, "resourceVersionMatch", options->send_initial_events ? "NotOlderThan" : NULL);
    ki_url_number(target, "timeoutSeconds", options->timeout_s);
    int64_t total = options->timeout_s > 0 && options->timeout_s < INT64_MAX / KI_SECONDS(2)
                        ? KI_SECONDS(options->timeout_s + WATCH_GRACE_S)
                        : 0;
    return send_call(call, options->idle_timeout_ns, total, err);
}

static ki_status http_find_type(ki_list_watch *base, ki_on_type_found on_found, void *user, ki_error *err) {
    http_list_watch *self = (http_list_watch *)(void *)base;
    ki_status status = check_may_begin(self, err);
    return status ? status : ki_type_lookup_begin(&self->lookup, on_found, user, err);
}

static ki_status http_find_namespace(ki_list_watch *base, ki_on_namespace_found on_found, void *user, ki_error *err) {
    http_list_watch *self = (http_list_watch *)(void *)base;
    return ki_namespace_lookup_begin(&self->namespace_lookup, self->selection->namespace_name, on_found, user, err);
}

static void http_cancel(ki_list_watch *base) {
    http_list_watch *self = (http_list_watch *)(void *)base;
    http_call *call = self->call;
    ki_document_request_cancel(&self->lookup.request);
    ki_document_request_cancel(&self->namespace_lookup.request);
    if (!call)
        return;
    call->inside++;
    close_call(call);
    leave(call);
}

/* Sets `is_held`. A held call pauses the transport when the next bytes arrive. */
static void http_hold(ki_list_watch *base, bool is_held) {
    http_call *call = ((http_list_watch *)(void *)base)->call;
    if (!call || call->is_held == is_held)
        return;
    call->is_held = is_held;
    if (!is_held && call->rest.bytes.size)
        ki_task_post(&call->decode_task);
}

static void http_free(ki_list_watch *base) {
    http_list_watch *self = (http_list_watch *)(void *)base;
    http_cancel(base);
    ki_selection_unref(self->selection);
    ki_object_format_unref(self->format);
    ki_free(ki_engine_allocator(self->engine), self);
}

static bool http_waits_for(const ki_list_watch *base, char *text, size_t size) {
    const http_list_watch *self = (const http_list_watch *)(const void *)base;
    const ki_exchange *exchange = self->call ? self->call->exchange : self->lookup.request.exchange;
    return exchange && ki_transport_waits_for(self->transport, exchange, text, size);
}

static const ki_list_watch_ops http_ops = {
    .list = http_list,
    .watch = http_watch,
    .find_type = http_find_type,
    .find_namespace = http_find_namespace,
    .cancel = http_cancel,
    .hold = http_hold,
    .waits_for = http_waits_for,
    .free = http_free,
};

/* --- new ---------------------------------------------------------------------------------------------------------- */

ki_status ki_http_list_watch_check(const ki_allocator *allocator, const ki_selection *selection, ki_error *err) {
    ki_status status = ki_resource_check(&selection->resource, selection->namespace_name, NULL, err);
    if (status)
        return status;
    ki_requirements *labels = NULL, *fields = NULL;
    if ((status = ki_requirements_parse_labels(allocator, ki_str_of(selection->label_selector), &labels, err)))
        ki_error_prefix(err, "label selector");
    else if ((status = ki_requirements_parse_fields(allocator, ki_str_of(selection->field_selector), &fields, err)))
        ki_error_prefix(err, "field selector");
    ki_requirements_free(allocator, labels);
    ki_requirements_free(allocator, fields);
    return status;
}

ki_status ki_http_list_watch_new(ki_engine *engine, ki_transport *transport, ki_object_format *format,
                                 const ki_http_list_watch_options *options, ki_list_watch **ret_list_watch,
                                 ki_error *err) {
    ki_status status = ki_http_list_watch_check(ki_engine_allocator(engine), options->selection, err);
    if (status)
        return status;
    http_list_watch *self = ki_alloc_zero(ki_engine_allocator(engine), sizeof *self);
    if (!self)
        return ki_error_no_memory(err, "making a list and watch");
    self->base.ops = &http_ops;
    self->engine = engine;
    self->transport = transport;
    self->format = ki_object_format_ref(format);
    self->selection = ki_selection_ref(options->selection);
    self->throttle = options->throttle;
    ki_type_lookup_init(&self->lookup, engine, transport, &self->selection->resource);
    ki_namespace_lookup_init(&self->namespace_lookup, engine, transport);
    ki_retry_after_init(&self->retry_after, engine);
    self->object_limit = options->object_limit ? options->object_limit : KI_WIRE_OBJECT_LIMIT;
    *ret_list_watch = &self->base;
    return KI_OK;
}
