/* ask.c: the second half of a checkup: what the server says to a client that shows its credentials. */
#include "src/checkup/way.h"

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
    BOOKMARK_WATCH_S = 5 /* an API server sends a bookmark before it ends a watch, however short */
};

static const char streaming[] =
    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&watch=true";
static const char end_mark[] = "\"k8s.io/initial-events-end\":\"true\"";
static const char bookmark_mark[] = "\"type\":\"BOOKMARK\"";

static bool is_refusal(const ki_error *err) {
    return err->http_status >= 400;
}

/* --- credentials ------------------------------------------------------------------------------------------------------------ */

static ki_status post(ki_checkup_way *way, const char *path, const ki_buffer *body, ki_response **ret_answer,
                      ki_error *err) {
    const ki_request_options call = KI_REQUEST_OPTIONS(.timeout_ms = way->timeout_ms);
    return ki_client_do(way->client,
                        &KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = "POST", .path = path, .body = body->data,
                                           .body_size = body->size, .options = &call),
                        ret_answer, err);
}

static void take_text(const ki_response *answer, const char *path, char *to, size_t size) {
    ki_value value = KI_VALUE_INIT;
    to[0] = '\0';
    if (ki_response_field(answer, path, &value, NULL))
        return;
    if (value.type == KI_VALUE_STRING || value.type == KI_VALUE_ARRAY)
        snprintf(to, size, "%s", value.text);
    ki_value_clear(&value);
}

/* Login pages and proxies answer with 200, too. */
static bool is_of_kind(const ki_response *answer, const char *kind) {
    char found[64];
    take_text(answer, "kind", found, sizeof found);
    return strcmp(found, kind) == 0;
}

static void remedy_credentials(ki_checkup_way *way) {
    const unsigned has = way->description.credentials;
    if (has & KI_CREDENTIAL_EXEC)
        ki_checkup_remedy(way, "run %s by hand: it may have to log in again",
                          way->description.exec_command ? way->description.exec_command : "the plugin");
    else if (has & KI_CREDENTIAL_TOKEN_FILE)
        ki_checkup_remedy(way, "get a new token into %s",
                          way->description.token_file ? way->description.token_file : "the token file");
    else if (has & KI_CREDENTIAL_TOKEN)
        ki_checkup_remedy(way, "the token is wrong or has expired: get a new one, or use another context or user");
    else if (has & KI_CREDENTIAL_CERTIFICATE)
        ki_checkup_remedy(way, "the client certificate is not this cluster's, or has expired: get a new one");
    else
        ki_checkup_remedy(way, "give credentials: a token, a client certificate or a plugin for the kubeconfig's user");
}

/* Failed requests that are not about permission end the way. */
static void fail(ki_checkup_way *way, const ki_error *why) {
    ki_checkup_find(way, "%s", ki_error_message(why));
    if (why->http_status == 401 || why->category == KI_CATEGORY_CREDENTIALS)
        remedy_credentials(way);
    else
        ki_checkup_remedy(way, "%s",
                          why->category == KI_CATEGORY_RETRY || why->category == KI_CATEGORY_SERVER
                              ? "try again; if it stays, look at the server's log"
                              : "mend what the message names");
    ki_checkup_end(way, KI_CHECK_FAILED);
    way->is_lost = true;
}

static void check_credentials(ki_checkup_way *way) {
    static const char review[] = "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"SelfSubjectReview\"}";
    ki_buffer body = { .data = (char *)(uintptr_t)review, .size = sizeof review - 1 };
    ki_response *answer = NULL;
    ki_error why = KI_ERROR_INIT;
    char groups[200], *name = way->user_name;

    ki_checkup_begin(way, KI_CHECK_CREDENTIALS);
    ki_status status = post(way, "/apis/authentication.k8s.io/v1/selfsubjectreviews", &body, &answer, &why);
    if (status && why.http_status == 401) {
        fail(way, &why);
    } else if (status && is_refusal(&why) && why.http_status < 500) {
        ki_checkup_find(way, "the server does not say who we are (%s)", ki_error_message(&why));
        ki_checkup_end(way, KI_CHECK_WARNING);
    } else if (status) {
        fail(way, &why);
    } else if (!is_of_kind(answer, "SelfSubjectReview")) {
        ki_checkup_find(way, "the server's answer (HTTP %d) is no SelfSubjectReview", ki_response_http_status(answer));
        ki_checkup_remedy(way, "is it a Kubernetes API server, or a proxy or login page in front of one?");
        ki_checkup_end(way, KI_CHECK_FAILED);
        way->is_lost = true;
    } else {
        take_text(answer, "status.userInfo.username", name, sizeof way->user_name);
        take_text(answer, "status.userInfo.groups", groups, sizeof groups);
        bool is_anonymous = strcmp(name, "system:anonymous") == 0;
        ki_checkup_find(way, "%s%s%s", name[0] ? name : "a user without a name", groups[0] ? ", groups " : "", groups);
        if (is_anonymous)
            remedy_credentials(way);
        ki_checkup_end(way, is_anonymous ? KI_CHECK_WARNING : KI_CHECK_OK);
    }
    ki_response_unref(answer);
}

static void check_version(ki_checkup_way *way) {
    const ki_request_options call = KI_REQUEST_OPTIONS(.timeout_ms = way->timeout_ms);
    ki_response *answer = NULL;
    ki_error why = KI_ERROR_INIT;
    char version[100];

    ki_checkup_begin(way, KI_CHECK_VERSION);
    ki_status status = ki_client_do(
        way->client, &KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = "GET", .path = "/version", .options = &call),
        &answer, &why);
    if (!status)
        take_text(answer, "gitVersion", version, sizeof version);
    if (!status && version[0]) {
        ki_checkup_find(way, "%s", version);
        ki_checkup_end(way, KI_CHECK_OK);
    } else {
        ki_checkup_find(way, "%s", status ? ki_error_message(&why) : "the answer to /version has no gitVersion");
        ki_checkup_remedy(way, "is it a Kubernetes API server?");
        ki_checkup_end(way, KI_CHECK_WARNING);
    }
    ki_response_unref(answer);
}

/* --- permission ------------------------------------------------------------------------------------------------------------- */

static void append_text(ki_buffer *body, const char *name, const char *value) {
    ki_buffer_printf(body, ",\"%s\":", name);
    ki_buffer_append_json_string(body, ki_str_of(value));
}

/* Adds the one name that a field selector allows, as the server takes it from the request: "metadata.name=web-1". */
static void append_name(ki_buffer *body, const char *selector) {
    static const char field[] = "metadata.name=";
    const char *value = strncmp(selector, field, sizeof field - 1) == 0 ? selector + sizeof field - 1 : "";
    value += *value == '=';
    /* A second requirement, or an escaped character, which no name has: the permission for all is asked for. */
    if (*value && !strpbrk(value, ",\\"))
        append_text(body, "name", value);
}

static ki_status make_access_review(const ki_checkup_way *way, const char *verb, ki_buffer *body, ki_error *err) {
    ki_buffer_printf(body,
                     "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectAccessReview\","
                     "\"spec\":{\"resourceAttributes\":{\"verb\":\"%s\"",
                     verb);
    append_text(body, "group", way->resource->group);
    append_text(body, "version", way->resource->version);
    append_text(body, "resource", way->resource->plural);
    if (way->resource->namespaced && way->namespace_name[0])
        append_text(body, "namespace", way->namespace_name);
    if (way->field_selector)
        append_name(body, way->field_selector);
    ki_buffer_append_string(body, "}}}");
    return body->failed ? ki_error_no_memory(err, "asking for permissions") : KI_OK;
}

/* A person pastes it into a shell: what a server calls something is given only where it is nothing but a name there. */
static const char *for_shell(const char *name, const char *otherwise) {
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:@._-";
    return name[0] && !name[strspn(name, safe)] ? name : otherwise;
}

/* A role of its own, as no role that every cluster has allows everything: `view` has no secrets, nodes or custom resources. */
static void say_not_allowed(ki_checkup_way *way, const char *verb, const char *reason) {
    bool in_namespace = way->resource->namespaced && way->namespace_name[0];
    const char *role = in_namespace ? "role" : "clusterrole";
    const char *dash_n = in_namespace ? " -n " : "";
    const char *namespace_name = in_namespace ? way->namespace_name : "";
    bool is_cut = strlen(way->user_name) == sizeof way->user_name - 1;
    char resource[300];
    snprintf(resource, sizeof resource, "%s%s%s", way->resource->plural, way->resource->group[0] ? "." : "",
             way->resource->group);
    ki_checkup_find(way, "not allowed: %s %s%s%s", verb, way->place, reason[0] ? ": " : "", reason);
    ki_checkup_remedy(way,
                      "an administrator may grant it: kubectl create %s NAME --verb=get,list,watch --resource=%s%s%s; "
                      "kubectl create %sbinding NAME --%s=NAME --user=%s%s%s",
                      role, for_shell(resource, "RESOURCE"), dash_n, namespace_name, role, role,
                      is_cut ? "USER" : for_shell(way->user_name, "USER"), dash_n, namespace_name);
}

static ki_status check_permission(ki_checkup_way *way, ki_check_step step, const char *verb, bool *ret_may,
                                  ki_error *err) {
    ki_buffer body;
    ki_response *answer = NULL;
    ki_error why = KI_ERROR_INIT;
    ki_value allowed = KI_VALUE_INIT;
    char reason[200] = "";

    ki_checkup_begin(way, step);
    ki_buffer_init(&body, ki_engine_allocator(way->engine), BODY_LIMIT);
    ki_status status = make_access_review(way, verb, &body, err);
    if (status) {
        ki_buffer_free(&body);
        return status;
    }
    *ret_may = true; /* where the server does not say, trying tells */
    status = post(way, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &body, &answer, &why);
    ki_buffer_free(&body);
    if (status || !is_of_kind(answer, "SelfSubjectAccessReview")) {
        ki_checkup_find(way, "the server does not say (%s)",
                        status ? ki_error_message(&why) : "its answer is no SelfSubjectAccessReview");
        ki_checkup_end(way, KI_CHECK_WARNING);
        ki_response_unref(answer);
        return KI_OK;
    }
    *ret_may = !ki_response_field(answer, "status.allowed", &allowed, NULL) && allowed.type == KI_VALUE_BOOL &&
               allowed.boolean;
    ki_value_clear(&allowed);
    take_text(answer, "status.reason", reason, sizeof reason);
    if (*ret_may)
        ki_checkup_find(way, "allowed: %s %s", verb, way->place);
    else
        say_not_allowed(way, verb, reason);
    ki_checkup_end(way, *ret_may ? KI_CHECK_OK : KI_CHECK_FAILED);
    ki_response_unref(answer);
    return KI_OK;
}

/* --- reading ---------------------------------------------------------------------------------------------------------------- */

/* An answer that is looked at while it comes, and not kept. */
typedef struct reading {
    ki_checkup_way *way;
    const char *mark;        /* ends it where it is found; NULL: read to the end */
    char tail[2 * MARK_MAX]; /* the last bytes, for a mark that a chunk's end cuts */
    size_t tail_size;
    bool found;
    int64_t sent_ns;  /* of CLOCK_MONOTONIC: the engine's time stands still within a callback, which is most of this */
    int64_t first_ns; /* 0: no byte yet */
    uint64_t bytes;

    ki_mutex mutex; /* guards what follows */
    ki_cond ended;
    bool is_over;
    ki_error error; /* code KI_OK: the server ended it well */
} reading;

static bool has_mark(const char *data, size_t size, const char *mark) {
    return memmem(data, size, mark, strlen(mark)) != NULL;
}

/* Is the mark in what has come so far? Keeps as much of the end as a mark may have begun in. */
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

static void on_end(const ki_response *answer, const ki_error *err, void *user) {
    reading *r = user;
    (void)answer;
    ki_mutex_lock(&r->mutex);
    r->is_over = true;
    if (err)
        r->error = *err;
    ki_cond_signal(&r->ended);
    ki_mutex_unlock(&r->mutex);
}

static ki_status wait_for(reading *r, const ki_client_request *request, ki_error *err) {
    r->sent_ns = ki_monotonic_now();
    ki_status status = ki_client_send(r->way->client, request, on_end, r, NULL, err);
    if (status)
        return status;
    ki_mutex_lock(&r->mutex);
    while (!r->is_over)
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
    ki_checkup_way *way = r->way;
    const ki_request_options call = KI_REQUEST_OPTIONS(.timeout_ms = way->timeout_ms);
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
    ki_buffer_init(&path, ki_engine_allocator(way->engine), KI_CLIENT_TARGET_MAX);
    if (ki_resource_path(&path, way->resource, way->namespace_name, NULL) == KI_OK) {
        ki_buffer_printf(&path, "?%s", parameters);
        append_selector(&path, "labelSelector", way->label_selector);
        append_selector(&path, "fieldSelector", way->field_selector);
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

static void say_list_failed(ki_checkup_way *way, const ki_error *why) {
    const ki_resource *resource = way->resource;
    ki_checkup_find(way, "%s", ki_error_message(why));
    if (why->http_status == 404)
        ki_checkup_remedy(way, "the server has no %s of %s/%s: install its definition, or name another version",
                          resource->plural, resource->group, resource->version);
    else if (why->http_status == 403)
        ki_checkup_remedy(way, "an administrator may grant it: list %s", way->place);
    else
        ki_checkup_remedy(way, "try again; if it stays, look at the server's log");
    ki_checkup_end(way, KI_CHECK_FAILED);
}

static ki_status check_list(ki_checkup_way *way, ki_error *err) {
    const ki_request_options call =
        KI_REQUEST_OPTIONS(.timeout_ms = way->timeout_ms, .limit = FIRST_PAGE, .label_selector = way->label_selector,
                           .field_selector = way->field_selector);
    ki_response *answer = NULL;
    ki_error why = KI_ERROR_INIT;
    char parameters[32], size[32];
    reading page = { .way = way };

    ki_checkup_begin(way, KI_CHECK_LIST);
    snprintf(parameters, sizeof parameters, "limit=%d", FIRST_PAGE);
    ki_status status = read_collection(&page, parameters, err);
    if (status)
        return status;
    why = page.error;
    if (why.code || ki_client_list(way->client, way->resource, way->namespace_name, &call, &answer, &why)) {
        say_list_failed(way, &why);
        return KI_OK;
    }
    size_t count = ki_response_item_count(answer);
    int64_t more = ki_response_remaining(answer) > 0 ? ki_response_remaining(answer) : 0;
    uint64_t bytes = count ? page.bytes / count * (count + (uint64_t)more) : page.bytes;
    write_size(size, more ? bytes : page.bytes);
    int64_t first_us = page.first_ns ? (page.first_ns - page.sent_ns) / 1000 : 0;
    ki_checkup_find(way, "%lld %s, %s%s; first byte after %lld.%lld ms", (long long)count + (long long)more, way->place,
                    more ? "about " : "", size, (long long)(first_us / 1000), (long long)(first_us % 1000 / 100));
    ki_checkup_end(way, KI_CHECK_OK);
    ki_response_unref(answer);
    return KI_OK;
}

static ki_status check_streaming_list(ki_checkup_way *way, ki_error *err) {
    reading stream = { .way = way, .mark = end_mark };
    char size[32];
    ki_checkup_begin(way, KI_CHECK_STREAMING_LIST);
    ki_status status = read_collection(&stream, streaming, err);
    if (status)
        return status;
    way->has_end_bookmark = stream.found;
    write_size(size, stream.bytes);
    if (stream.found) {
        ki_checkup_find(way, "offered: %s", size);
        ki_checkup_end(way, KI_CHECK_OK);
    } else if (stream.error.http_status == 400 || stream.error.http_status == 422) {
        ki_checkup_find(way, "not offered by this server: lists come in pages");
        ki_checkup_end(way, KI_CHECK_WARNING);
    } else {
        ki_checkup_find(way, "it did not come to its end: %s",
                        stream.error.code ? ki_error_message(&stream.error) : "the server closed it");
        ki_checkup_remedy(way, "an informer uses plain lists then; look at what stands between here and the server");
        ki_checkup_end(way, KI_CHECK_WARNING);
    }
    return KI_OK;
}

static ki_status check_bookmarks(ki_checkup_way *way, ki_error *err) {
    reading watch = { .way = way, .mark = bookmark_mark };
    char parameters[100];
    ki_checkup_begin(way, KI_CHECK_BOOKMARKS);
    if (way->has_end_bookmark) {
        ki_checkup_find(way, "sent: the streaming list ended with one");
        ki_checkup_end(way, KI_CHECK_OK);
        return KI_OK;
    }
    snprintf(parameters, sizeof parameters, "watch=true&allowWatchBookmarks=true&timeoutSeconds=%d", BOOKMARK_WATCH_S);
    ki_status status = read_collection(&watch, parameters, err);
    if (status)
        return status;
    if (watch.found) {
        ki_checkup_find(way, "sent");
        ki_checkup_end(way, KI_CHECK_OK);
        return KI_OK;
    }
    ki_checkup_find(way, "none came within a watch of %d s%s%s", BOOKMARK_WATCH_S, watch.error.code ? ": " : "",
                    watch.error.code ? ki_error_message(&watch.error) : "");
    ki_checkup_remedy(way, "a watch that was cut may have to list again; newer servers send bookmarks");
    ki_checkup_end(way, KI_CHECK_WARNING);
    return KI_OK;
}

/* --- all -------------------------------------------------------------------------------------------------------------------- */

static void name_place(ki_checkup_way *way) {
    const ki_resource *resource = way->resource;
    const char *in = !resource->namespaced ? "" : way->namespace_name[0] ? " in namespace " : " in all namespaces";
    snprintf(way->place, sizeof way->place, "%s%s%s%s%s", resource->plural, *resource->group ? "." : "",
             resource->group, in, resource->namespaced ? way->namespace_name : "");
}

static ki_status check_resource(ki_checkup_way *way, ki_error *err) {
    ki_status status = check_permission(way, KI_CHECK_MAY_LIST, "list", &way->may_list, err);
    if (!status)
        status = check_permission(way, KI_CHECK_MAY_WATCH, "watch", &way->may_watch, err);
    if (!status && way->may_list)
        status = check_list(way, err);
    else if (!status)
        ki_checkup_skip(way, KI_CHECK_LIST, "listing is not allowed");
    if (!status && way->may_watch)
        status = check_streaming_list(way, err);
    else if (!status)
        ki_checkup_skip(way, KI_CHECK_STREAMING_LIST, "watching is not allowed");
    if (!status && way->may_watch)
        status = check_bookmarks(way, err);
    else if (!status)
        ki_checkup_skip(way, KI_CHECK_BOOKMARKS, "watching is not allowed");
    return status;
}

/* Which resource does the server mean by the word? */
static ki_status look_up(ki_checkup_way *way, ki_error *err) {
    ki_discovery *discovery = NULL;
    const ki_discovered *found = NULL;
    ki_status status =
        ki_discovery_new(way->client, &KI_DISCOVERY_OPTIONS(.timeout_ms = way->timeout_ms), &discovery, err);
    if (!status)
        status = ki_discovery_find(discovery, way->resource_name, &way->map, &found, err);
    if (!status)
        way->resource = &found->resource;
    ki_discovery_free(discovery);
    return status;
}

static void say_not_found(ki_checkup_way *way, const ki_error *why) {
    ki_checkup_skip(way, KI_CHECK_MAY_LIST, "the resource is not known");
    ki_checkup_skip(way, KI_CHECK_MAY_WATCH, "the resource is not known");
    ki_checkup_begin(way, KI_CHECK_LIST);
    ki_checkup_find(way, "%s", ki_error_message(why));
    ki_checkup_remedy(way, "install its definition, or name one that is there: kubectl api-resources");
    ki_checkup_end(way, KI_CHECK_FAILED);
    ki_checkup_skip(way, KI_CHECK_STREAMING_LIST, "the resource is not known");
    ki_checkup_skip(way, KI_CHECK_BOOKMARKS, "the resource is not known");
}

ki_status ki_checkup_ask(ki_checkup_way *way, ki_error *err) {
    ki_status status = ki_client_new(way->config, &KI_CLIENT_OPTIONS(.engine = way->engine, .requests_per_second = -1),
                                     &way->client, err);
    if (!status)
        status = ki_engine_start(way->engine, err);
    if (status)
        return status;
    check_credentials(way);
    if (way->is_lost) {
        for (int step = KI_CHECK_VERSION; step < KI_CHECK_STEPS; step++)
            ki_checkup_skip(way, (ki_check_step)step, "the way ends at the credentials");
        return KI_OK;
    }
    check_version(way);
    if (way->resource_name) {
        ki_error why = KI_ERROR_INIT;
        status = look_up(way, &why);
        if (status == KI_ERR_NO_MEMORY) {
            if (err)
                *err = why;
            return status;
        }
        if (status) {
            say_not_found(way, &why);
            return KI_OK;
        }
    }
    name_place(way);
    return check_resource(way, err);
}
