/* requests.c: the checkup's steps that send requests with credentials. */
#include "state.h"

#include "src/base/buffer.h"
#include "src/base/error.h"
#include "src/client/http_list_watch.h"
#include "src/engine/engine.h"

#include <stdio.h>
#include <string.h>

enum {
    BODY_LIMIT = 16 * 1024,
    FIRST_PAGE = 500,
    MARK_MAX = 64,
    BOOKMARK_WATCH_S = 5 /* an API server sends a bookmark before it ends a watch, even a short one */
};

static const char streaming[] =
    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&watch=true";
static const char end_mark[] = "\"k8s.io/initial-events-end\":\"true\"";
static const char bookmark_mark[] = "\"type\":\"BOOKMARK\"";

static bool is_error_response(const ki_error *err) {
    return err->http_status >= 400;
}

/* --- credentials -------------------------------------------------------------------------------------------------- */

static ki_status post(ki_checkup_state *state, const char *path, const ki_buffer *body, ki_response **ret_response,
                      ki_error *err) {
    const ki_request_options call = KI_REQUEST_OPTIONS(.timeout_ms = state->timeout_ms);
    return ki_client_do(state->client,
                        &KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = "POST", .path = path, .body = body->data,
                                           .body_size = body->size, .options = &call),
                        ret_response, err);
}

static void take_text(const ki_response *response, const char *path, char *to, size_t size) {
    ki_value value = KI_VALUE_INIT;
    to[0] = '\0';
    if (ki_response_field(response, path, &value, NULL))
        return;
    if (value.type == KI_VALUE_STRING || value.type == KI_VALUE_ARRAY)
        snprintf(to, size, "%s", value.text);
    ki_value_clear(&value);
}

/* Returns true if the response has this kind: login pages and proxies also respond with 200. */
static bool is_of_kind(const ki_response *response, const char *kind) {
    char found[64];
    take_text(response, "kind", found, sizeof found);
    return strcmp(found, kind) == 0;
}

static void remedy_credentials(ki_checkup_state *state) {
    const unsigned has = state->description.credentials;
    if (has & KI_CREDENTIAL_EXEC)
        ki_checkup_remedy(state, "run %s by hand: it may need a new login",
                          state->description.exec_command ? state->description.exec_command : "the plugin");
    else if (has & KI_CREDENTIAL_TOKEN_FILE)
        ki_checkup_remedy(state, "get a new token into %s",
                          state->description.token_file ? state->description.token_file : "the token file");
    else if (has & KI_CREDENTIAL_TOKEN)
        ki_checkup_remedy(state, "the token is wrong or has expired: get a new one, or use another context or user");
    else if (has & KI_CREDENTIAL_CERTIFICATE)
        ki_checkup_remedy(state, "the client certificate belongs to another cluster or has expired: get a new one");
    else
        ki_checkup_remedy(state,
                          "set credentials: a token, a client certificate or a plugin for the kubeconfig's user");
}

/* Reports a failed request that ends the checkup. */
static void fail_checkup(ki_checkup_state *state, const ki_error *why) {
    ki_checkup_find(state, "%s", ki_error_message(why));
    if (why->http_status == 401 || why->category == KI_CATEGORY_CREDENTIALS)
        remedy_credentials(state);
    else
        ki_checkup_remedy(state, "%s",
                          why->category == KI_CATEGORY_RETRY || why->category == KI_CATEGORY_SERVER
                              ? "try again; if the error remains, read the server's log"
                              : "fix what the message names");
    ki_checkup_end(state, KI_CHECK_FAILED);
    state->is_lost = true;
}

/* Reports a server that is no Kubernetes API server, which ends the checkup. */
static void fail_foreign(ki_checkup_state *state, const char *why) {
    ki_checkup_find(state, "not a Kubernetes API server: %s", why);
    ki_checkup_remedy(state, "check that the address is a Kubernetes API server's, not a proxy's or a login page's");
    ki_checkup_end(state, KI_CHECK_FAILED);
    state->is_lost = true;
}

static ki_status check_credentials(ki_checkup_state *state, ki_error *err) {
    static const char review[] = "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"SelfSubjectReview\"}";
    ki_buffer body = { .data = (char *)(uintptr_t)review, .size = sizeof review - 1 };
    ki_response *response = NULL;
    ki_error why = KI_ERROR_INIT;
    ki_check_result certificate;
    char groups[200], *name = state->user_name;

    ki_checkup_begin(state, KI_CHECK_CREDENTIALS);
    ki_status status = ki_checkup_certificate(state, &certificate, err);
    if (status)
        return status;
    if (certificate == KI_CHECK_FAILED && state->description.credentials == KI_CREDENTIAL_CERTIFICATE) {
        ki_checkup_end(state, KI_CHECK_FAILED);
        state->is_lost = true;
        return KI_OK;
    }
    if (certificate == KI_CHECK_FAILED) { /* the server can accept the other credentials */
        char expiry[KI_CHECK_TEXT_MAX];
        snprintf(expiry, sizeof expiry, "%s", state->check.finding);
        ki_checkup_remedy(state, "%s: get a new one, or fix this machine's clock", expiry);
    }
    status = post(state, "/apis/authentication.k8s.io/v1/selfsubjectreviews", &body, &response, &why);
    if (status && ki_error_is_foreign(&why)) {
        fail_foreign(state, ki_error_message(&why));
    } else if (status && why.http_status == 401) {
        fail_checkup(state, &why);
    } else if (status && is_error_response(&why) && why.http_status < 500) {
        ki_checkup_find(state, "the server does not return the user (%s)", ki_error_message(&why));
        ki_checkup_end(state, KI_CHECK_WARNING);
    } else if (status) {
        fail_checkup(state, &why);
    } else if (!is_of_kind(response, "SelfSubjectReview")) {
        char text[100];
        snprintf(text, sizeof text, "the response (HTTP %d) is not a SelfSubjectReview",
                 ki_response_http_status(response));
        fail_foreign(state, text);
    } else {
        take_text(response, "status.userInfo.username", name, sizeof state->user_name);
        take_text(response, "status.userInfo.groups", groups, sizeof groups);
        bool is_anonymous = strcmp(name, "system:anonymous") == 0;
        ki_checkup_find(state, "%s%s%s", name[0] ? name : "a user without a name", groups[0] ? ", groups " : "",
                        groups);
        if (is_anonymous)
            remedy_credentials(state);
        ki_checkup_end(state, is_anonymous || certificate != KI_CHECK_OK ? KI_CHECK_WARNING : KI_CHECK_OK);
    }
    ki_response_unref(response);
    return KI_OK;
}

static void check_version(ki_checkup_state *state) {
    const ki_request_options call = KI_REQUEST_OPTIONS(.timeout_ms = state->timeout_ms);
    ki_response *response = NULL;
    ki_error why = KI_ERROR_INIT;
    char version[100];

    ki_checkup_begin(state, KI_CHECK_VERSION);
    ki_status status = ki_client_do(
        state->client, &KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = "GET", .path = "/version", .options = &call),
        &response, &why);
    if (!status)
        take_text(response, "gitVersion", version, sizeof version);
    if (!status && version[0]) {
        ki_checkup_find(state, "%s", version);
        ki_checkup_end(state, KI_CHECK_OK);
    } else {
        ki_checkup_find(state, "%s", status ? ki_error_message(&why) : "the response to /version has no gitVersion");
        ki_checkup_remedy(state, "check that the address is a Kubernetes API server's");
        ki_checkup_end(state, KI_CHECK_WARNING);
    }
    ki_response_unref(response);
}

/* --- permission --------------------------------------------------------------------------------------------------- */

static void append_text(ki_buffer *body, const char *name, const char *value) {
    ki_buffer_printf(body, ",\"%s\":", name);
    ki_buffer_append_json_string(body, ki_str_of(value));
}

/* Adds the name of a field selector for one name, as the server reads it from a request: "metadata.name=web-1". */
static void append_name(ki_buffer *body, const char *selector) {
    static const char field[] = "metadata.name=";
    const char *value = strncmp(selector, field, sizeof field - 1) == 0 ? selector + sizeof field - 1 : "";
    value += *value == '=';
    /* A second requirement or an escape, which no name has: checks the permission for all names. */
    if (*value && !strpbrk(value, ",\\"))
        append_text(body, "name", value);
}

static ki_status make_access_review(const ki_checkup_state *state, const char *verb, ki_buffer *body, ki_error *err) {
    ki_buffer_printf(body,
                     "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectAccessReview\","
                     "\"spec\":{\"resourceAttributes\":{\"verb\":\"%s\"",
                     verb);
    append_text(body, "group", state->resource->group);
    append_text(body, "version", state->resource->version);
    append_text(body, "resource", state->resource->plural);
    if (state->resource->namespaced && state->namespace_name[0])
        append_text(body, "namespace", state->namespace_name);
    if (state->field_selector)
        append_name(body, state->field_selector);
    ki_buffer_append_string(body, "}}}");
    return body->failed ? ki_error_no_memory(err, "asking for permissions") : KI_OK;
}

/* Returns a server's name only if it is safe in a shell, because users paste the command; else `otherwise`. */
static const char *for_shell(const char *name, const char *otherwise) {
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:@._-";
    return name[0] && !name[strspn(name, safe)] ? name : otherwise;
}

/* Reports a missing permission. Suggests a new role: built-in roles such as `view` have no secrets, nodes or custom
 * resources. */
static void say_not_allowed(ki_checkup_state *state, const char *verb, const char *reason) {
    bool in_namespace = state->resource->namespaced && state->namespace_name[0];
    const char *role = in_namespace ? "role" : "clusterrole";
    const char *dash_n = in_namespace ? " -n " : "";
    const char *namespace_name = in_namespace ? state->namespace_name : "";
    bool is_cut = strlen(state->user_name) == sizeof state->user_name - 1;
    char resource[300];
    snprintf(resource, sizeof resource, "%s%s%s", state->resource->plural, state->resource->group[0] ? "." : "",
             state->resource->group);
    ki_checkup_find(state, "not allowed: %s %s%s%s", verb, state->place, reason[0] ? ": " : "", reason);
    ki_checkup_remedy(state,
                      "an administrator can grant it: kubectl create %s NAME --verb=list,watch --resource=%s%s%s; "
                      "kubectl create %sbinding NAME --%s=NAME --user=%s%s%s",
                      role, for_shell(resource, "RESOURCE"), dash_n, namespace_name, role, role,
                      is_cut ? "USER" : for_shell(state->user_name, "USER"), dash_n, namespace_name);
}

static ki_status check_permission(ki_checkup_state *state, ki_check_step step, const char *verb, bool *ret_may,
                                  ki_error *err) {
    ki_buffer body;
    ki_response *response = NULL;
    ki_error why = KI_ERROR_INIT;
    ki_value allowed = KI_VALUE_INIT;
    char reason[200] = "";

    ki_checkup_begin(state, step);
    ki_buffer_init(&body, ki_engine_allocator(state->engine), BODY_LIMIT);
    ki_status status = make_access_review(state, verb, &body, err);
    if (status) {
        ki_buffer_free(&body);
        return status;
    }
    *ret_may = true; /* if the server does not say, the request will show it */
    status = post(state, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &body, &response, &why);
    ki_buffer_free(&body);
    if (status || !is_of_kind(response, "SelfSubjectAccessReview")) {
        ki_checkup_find(state, "the server does not return permissions (%s)",
                        status ? ki_error_message(&why) : "its response is not a SelfSubjectAccessReview");
        ki_checkup_end(state, KI_CHECK_WARNING);
        ki_response_unref(response);
        return KI_OK;
    }
    *ret_may = !ki_response_field(response, "status.allowed", &allowed, NULL) && allowed.type == KI_VALUE_BOOL &&
               allowed.boolean;
    ki_value_clear(&allowed);
    take_text(response, "status.reason", reason, sizeof reason);
    if (*ret_may)
        ki_checkup_find(state, "allowed: %s %s", verb, state->place);
    else
        say_not_allowed(state, verb, reason);
    ki_checkup_end(state, *ret_may ? KI_CHECK_OK : KI_CHECK_FAILED);
    ki_response_unref(response);
    return KI_OK;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* A response that is inspected as it arrives, and not stored. */
typedef struct reading {
    ki_checkup_state *state;
    const char *mark;        /* ends the response where it is found; NULL: read to the end */
    char tail[2 * MARK_MAX]; /* the last bytes, for a mark that spans two chunks */
    size_t tail_size;
    bool found;
    int64_t sent_ns;  /* CLOCK_MONOTONIC: the engine's time stands still within a callback */
    int64_t first_ns; /* 0: no byte yet */
    uint64_t bytes;

    ki_mutex mutex; /* guards the members below */
    ki_cond ended;
    bool has_ended;
    ki_error error; /* code KI_OK: the response is complete */
} reading;

static bool has_mark(const char *data, size_t size, const char *mark) {
    return memmem(data, size, mark, strlen(mark)) != NULL;
}

/* Returns true if the mark is in the bytes so far. Keeps as many bytes as the beginning of a mark can have. */
static bool look_for_mark(reading *r, const char *data, size_t size) {
    size_t keep = strlen(r->mark) - 1;
    size_t head = size < keep ? size : keep;
    memcpy(r->tail + r->tail_size, data, head);
    if (has_mark(r->tail, r->tail_size + head, r->mark) || has_mark(data, size, r->mark))
        return true;
    if (size >= keep) {
        memcpy(r->tail, data + size - keep, keep);
        r->tail_size = keep;
    } else {
        size_t all = r->tail_size + size, drop = all > keep ? all - keep : 0;
        memmove(r->tail, r->tail + drop, all - drop);
        r->tail_size = all - drop;
    }
    return false;
}

static bool on_data(const void *data, size_t size, void *user) {
    reading *r = user;
    if (!r->first_ns)
        r->first_ns = ki_monotonic_now();
    r->bytes += size;
    r->found = r->found || (r->mark && look_for_mark(r, data, size));
    return !r->found;
}

static void on_end(const ki_response *response, const ki_error *err, void *user) {
    reading *r = user;
    (void)response;
    ki_mutex_lock(&r->mutex);
    r->has_ended = true;
    if (err)
        r->error = *err;
    ki_cond_signal(&r->ended);
    ki_mutex_unlock(&r->mutex);
}

static ki_status wait_for(reading *r, const ki_client_request *request, ki_error *err) {
    r->sent_ns = ki_monotonic_now();
    ki_status status = ki_client_send(r->state->client, request, on_end, r, NULL, err);
    if (status)
        return status;
    ki_mutex_lock(&r->mutex);
    while (!r->has_ended)
        ki_cond_wait(&r->ended, &r->mutex);
    ki_mutex_unlock(&r->mutex);
    return KI_OK;
}

static void append_selector(ki_buffer *path, const char *name, const char *selector) {
    if (!selector || !*selector)
        return;
    ki_buffer_printf(path, "&%s=", name);
    ki_buffer_append_url(path, ki_str_of(selector));
}

/* Reads the resource's collection with these parameters. */
static ki_status read_collection(reading *r, const char *parameters, ki_error *err) {
    ki_checkup_state *state = r->state;
    const ki_request_options call = KI_REQUEST_OPTIONS(.timeout_ms = state->timeout_ms);
    ki_buffer path;
    r->error = (ki_error)KI_ERROR_INIT;
    ki_status status = ki_mutex_init(&r->mutex, err);
    if (status)
        return status;
    status = ki_cond_init(&r->ended, err);
    if (status) {
        ki_mutex_destroy(&r->mutex);
        return status;
    }
    ki_buffer_init(&path, ki_engine_allocator(state->engine), KI_CLIENT_TARGET_MAX);
    if (ki_resource_path(&path, state->resource, state->namespace_name, NULL) == KI_OK) {
        ki_buffer_printf(&path, "?%s", parameters);
        append_selector(&path, "labelSelector", state->label_selector);
        append_selector(&path, "fieldSelector", state->field_selector);
    }
    if (path.failed)
        status = ki_error_no_memory(err, "reading a list");
    if (!status)
        status = wait_for(r,
                          &KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = "GET", .path = path.data,
                                             .options = &call, .on_data = on_data),
                          err);
    ki_buffer_free(&path);
    ki_cond_destroy(&r->ended);
    ki_mutex_destroy(&r->mutex);
    return status;
}

static void write_size(char text[32], uint64_t bytes) {
    if (bytes < 10 * 1024)
        snprintf(text, 32, "%llu bytes", (unsigned long long)bytes);
    else if (bytes < 10 * 1024 * 1024)
        snprintf(text, 32, "%llu KiB", (unsigned long long)(bytes / 1024));
    else
        snprintf(text, 32, "%llu MiB", (unsigned long long)(bytes / 1024 / 1024));
}

static void say_list_failed(ki_checkup_state *state, const ki_error *why) {
    const ki_resource *resource = state->resource;
    ki_checkup_find(state, "%s", ki_error_message(why));
    if (why->http_status == 404)
        ki_checkup_remedy(state, "the server has no %s of %s/%s: install its definition, or use another version",
                          resource->plural, resource->group, resource->version);
    else if (why->http_status == 403)
        ki_checkup_remedy(state, "an administrator can grant it: the verbs list and watch for %s", state->place);
    else
        ki_checkup_remedy(state, "try again; if the error remains, read the server's log");
    ki_checkup_end(state, KI_CHECK_FAILED);
}

/* Warns of a namespace that does not exist: its lists are empty and succeed. Returns true if it warned. */
static bool warn_of_namespace(ki_checkup_state *state) {
    const ki_request_options call = KI_REQUEST_OPTIONS(.timeout_ms = state->timeout_ms);
    ki_error why = KI_ERROR_INIT;
    ki_object *found = NULL;
    if (!state->resource->namespaced || !state->namespace_name[0])
        return false;
    ki_status status = ki_client_get(state->client, KI_NAMESPACES, NULL, state->namespace_name, &call, &found, &why);
    ki_object_unref(found);
    if (!status || !ki_error_is_not_found(&why))
        return false; /* it exists, or the user may not read it */
    ki_checkup_remedy(state, "there is no namespace %.100s: check -n, or use -A for all namespaces",
                      state->namespace_name);
    return true;
}

static ki_status check_list(ki_checkup_state *state, ki_error *err) {
    const ki_request_options call =
        KI_REQUEST_OPTIONS(.timeout_ms = state->timeout_ms, .limit = FIRST_PAGE,
                           .label_selector = state->label_selector, .field_selector = state->field_selector);
    ki_response *response = NULL;
    ki_error why = KI_ERROR_INIT;
    char parameters[32], size[32];
    reading page = { .state = state };

    ki_checkup_begin(state, KI_CHECK_LIST);
    snprintf(parameters, sizeof parameters, "limit=%d", FIRST_PAGE);
    ki_status status = read_collection(&page, parameters, err);
    if (status)
        return status;
    why = page.error;
    if (why.code || ki_client_list(state->client, state->resource, state->namespace_name, &call, &response, &why)) {
        say_list_failed(state, &why);
        return KI_OK;
    }
    size_t count = ki_response_item_count(response);
    int64_t more = ki_response_remaining(response) > 0 ? ki_response_remaining(response) : 0;
    uint64_t bytes = count ? page.bytes / count * (count + (uint64_t)more) : page.bytes;
    write_size(size, more ? bytes : page.bytes);
    int64_t first_us = page.first_ns ? (page.first_ns - page.sent_ns) / 1000 : 0;
    ki_checkup_find(state, "%lld %s, %s%s; first byte after %lld.%lld ms", (long long)count + (long long)more,
                    state->place, more ? "about " : "", size, (long long)(first_us / 1000),
                    (long long)(first_us % 1000 / 100));
    bool is_misnamed = count == 0 && warn_of_namespace(state);
    ki_checkup_end(state, is_misnamed ? KI_CHECK_WARNING : KI_CHECK_OK);
    ki_response_unref(response);
    return KI_OK;
}

static ki_status check_streaming_list(ki_checkup_state *state, ki_error *err) {
    reading stream = { .state = state, .mark = end_mark };
    char size[32];
    ki_checkup_begin(state, KI_CHECK_STREAMING_LIST);
    ki_status status = read_collection(&stream, streaming, err);
    if (status)
        return status;
    state->has_end_bookmark = stream.found;
    write_size(size, stream.bytes);
    if (stream.found) {
        ki_checkup_find(state, "supported: %s", size);
        ki_checkup_end(state, KI_CHECK_OK);
    } else if (stream.error.http_status == 400 || stream.error.http_status == 422) {
        ki_checkup_find(state, "not supported by this server: informers list in pages");
        ki_checkup_end(state, KI_CHECK_WARNING);
    } else {
        ki_checkup_find(state, "it did not complete: %s",
                        stream.error.code ? ki_error_message(&stream.error) : "the server closed the connection");
        ki_checkup_remedy(state, "informers use plain lists; check for a proxy between this machine and the server");
        ki_checkup_end(state, KI_CHECK_WARNING);
    }
    return KI_OK;
}

static ki_status check_bookmarks(ki_checkup_state *state, ki_error *err) {
    reading watch = { .state = state, .mark = bookmark_mark };
    char parameters[100];
    ki_checkup_begin(state, KI_CHECK_BOOKMARKS);
    if (state->has_end_bookmark) {
        ki_checkup_find(state, "supported: the streaming list ended with one");
        ki_checkup_end(state, KI_CHECK_OK);
        return KI_OK;
    }
    snprintf(parameters, sizeof parameters, "watch=true&allowWatchBookmarks=true&timeoutSeconds=%d", BOOKMARK_WATCH_S);
    ki_status status = read_collection(&watch, parameters, err);
    if (status)
        return status;
    if (watch.found) {
        ki_checkup_find(state, "supported");
        ki_checkup_end(state, KI_CHECK_OK);
        return KI_OK;
    }
    if (watch.error.code)
        ki_checkup_find(state, "none received in a watch that should have ended after %d s: %s", BOOKMARK_WATCH_S,
                        ki_error_message(&watch.error));
    else
        ki_checkup_find(state, "none received within a watch of %d s", BOOKMARK_WATCH_S);
    ki_checkup_remedy(state, "an interrupted watch may need a new list; newer servers send bookmarks");
    ki_checkup_end(state, KI_CHECK_WARNING);
    return KI_OK;
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

static void name_place(ki_checkup_state *state) {
    const ki_resource *resource = state->resource;
    const char *in = !resource->namespaced ? "" : state->namespace_name[0] ? " in namespace " : " in all namespaces";
    snprintf(state->place, sizeof state->place, "%s%s%s%s%s", resource->plural, *resource->group ? "." : "",
             resource->group, in, resource->namespaced ? state->namespace_name : "");
}

static ki_status check_resource(ki_checkup_state *state, ki_error *err) {
    ki_status status = check_permission(state, KI_CHECK_MAY_LIST, "list", &state->may_list, err);
    if (!status)
        status = check_permission(state, KI_CHECK_MAY_WATCH, "watch", &state->may_watch, err);
    if (!status && state->may_list)
        status = check_list(state, err);
    else if (!status)
        ki_checkup_skip(state, KI_CHECK_LIST, "listing is not allowed");
    if (!status && state->may_watch)
        status = check_streaming_list(state, err);
    else if (!status)
        ki_checkup_skip(state, KI_CHECK_STREAMING_LIST, "watching is not allowed");
    if (!status && state->may_watch)
        status = check_bookmarks(state, err);
    else if (!status)
        ki_checkup_skip(state, KI_CHECK_BOOKMARKS, "watching is not allowed");
    return status;
}

/* Gets the document of the unread group version once more, for the cause. */
static void ask_why(ki_checkup_state *state) {
    const ki_request_options call = KI_REQUEST_OPTIONS(.timeout_ms = state->timeout_ms);
    char path[640];
    ki_response *response = NULL;
    snprintf(path, sizeof path, "/%s/%s", strchr(state->unread, '/') ? "apis" : "api", state->unread);
    (void)!ki_client_do(state->client,
                        &KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = "GET", .path = path, .options = &call),
                        &response, &state->unread_cause);
    ki_response_unref(response);
}

/* Resolves the resource name by discovery. */
static ki_status look_up(ki_checkup_state *state, ki_error *err) {
    ki_discovery *discovery = NULL;
    const ki_discovered *found = NULL;
    ki_status status =
        ki_discovery_new(state->client, &KI_DISCOVERY_OPTIONS(.timeout_ms = state->timeout_ms), &discovery, err);
    if (!status)
        status = ki_discovery_find(discovery, state->resource_name, &state->map, &found, err);
    if (!status)
        state->resource = &found->resource;
    else if (status == KI_ERR_NOT_FOUND && ki_discovery_get(discovery, &state->map, NULL) == KI_OK)
        state->unread = ki_resource_map_failed_for(state->map, state->resource_name);
    if (state->unread)
        ask_why(state);
    ki_discovery_free(discovery);
    return status;
}

static void say_not_found(ki_checkup_state *state, const ki_error *why) {
    ki_checkup_skip(state, KI_CHECK_MAY_LIST, "the resource is not known");
    ki_checkup_skip(state, KI_CHECK_MAY_WATCH, "the resource is not known");
    ki_checkup_begin(state, KI_CHECK_LIST);
    ki_checkup_find(state, "%s%s%s", ki_error_message(why), state->unread_cause.code ? ": " : "",
                    state->unread_cause.code ? ki_error_message(&state->unread_cause) : "");
    const char *version = state->unread ? strrchr(state->unread, '/') : NULL;
    if (version)
        ki_checkup_remedy(state, "find out why with kubectl get apiservice %s.%.*s", version + 1,
                          (int)(version - state->unread), state->unread);
    else if (why->code == KI_ERR_NOT_FOUND)
        ki_checkup_remedy(state, "install its definition, or use a resource of kubectl api-resources");
    else if (ki_error_is_forbidden(why))
        ki_checkup_remedy(state, "bind the ClusterRole system:discovery to the user");
    ki_checkup_end(state, KI_CHECK_FAILED);
    ki_checkup_skip(state, KI_CHECK_STREAMING_LIST, "the resource is not known");
    ki_checkup_skip(state, KI_CHECK_BOOKMARKS, "the resource is not known");
}

ki_status ki_checkup_ask(ki_checkup_state *state, ki_error *err) {
    ki_status status = ki_client_new(
        state->config, &KI_CLIENT_OPTIONS(.engine = state->engine, .requests_per_second = -1), &state->client, err);
    if (!status)
        status = ki_engine_start(state->engine, err);
    if (status)
        return status;
    status = check_credentials(state, err);
    if (status)
        return status;
    if (state->is_lost) {
        for (int step = KI_CHECK_VERSION; step < KI_CHECK_STEPS; step++)
            ki_checkup_skip(state, (ki_check_step)step, "the credentials failed");
        return KI_OK;
    }
    check_version(state);
    if (state->resource_name) {
        ki_error why = KI_ERROR_INIT;
        status = look_up(state, &why);
        if (status == KI_ERR_NO_MEMORY) {
            if (err)
                *err = why;
            return status;
        }
        if (status) {
            say_not_found(state, &why);
            return KI_OK;
        }
    }
    name_place(state);
    return check_resource(state, err);
}
