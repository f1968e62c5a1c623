/* call.c: see call.h. */
#include "testing/request/call.h"

#include <kinformer-print/yaml.h>

#include "src/base/memory.h"
#include "testing/cluster/view.h"
#include "testing/request/form.h"
#include "testing/request/selector.h"
#include "testing/request/status.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#define YAML_TYPE "application/yaml"

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Percent-decodes `from` to `*at` and advances `*at`. */
static ki_str decode(char **at, ki_str from, bool plus_is_space) {
    char *start = *at;
    for (size_t i = 0; i < from.size; i++) {
        char c = from.data[i];
        if (c == '%' && from.size - i > 2 && hex_digit(from.data[i + 1]) >= 0 && hex_digit(from.data[i + 2]) >= 0) {
            c = (char)(hex_digit(from.data[i + 1]) * 16 + hex_digit(from.data[i + 2]));
            i += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        *(*at)++ = c;
    }
    size_t size = (size_t)(*at - start);
    *(*at)++ = '\0';
    return (ki_str){ start, size };
}

/* Finds storage, namespace, name and subresource from the path's segments after the version. */
static void find_resource(kt_call *call, ki_str group, ki_str version, size_t first) {
    const ki_str *segments = call->segments;
    size_t count = call->segment_count, at = first;
    if (at >= count)
        return;
    if (count - at >= 3 && ki_str_equals(segments[at], "namespaces")) {
        kt_storage *storage = kt_storage_find(call->cluster, group, version, segments[at + 2]);
        if (storage && storage->info->resource->namespaced) {
            call->storage = storage;
            call->ns = segments[at + 1];
            at += 2;
        }
    }
    if (!call->storage)
        call->storage = kt_storage_find(call->cluster, group, version, segments[at]);
    if (!call->storage || count - at > 3) {
        call->storage = NULL;
        return;
    }
    call->resource = call->storage->info->resource;
    if (count - at > 1)
        call->name = segments[at + 1];
    if (count - at > 2)
        call->subresource = segments[at + 2];
}

ki_status kt_call_parse(kt_call *call) {
    ki_str query, path = ki_str_split(ki_str_of(call->request->target), '?', &query);
    size_t target_size = strlen(call->request->target);
    if (target_size > KT_TARGET_MAX)
        return kt_fail(call, 414, "", NULL, "the request's target is longer than %d bytes", (int)KT_TARGET_MAX);
    call->text = ki_alloc(call->allocator, 2 * target_size + KT_SEGMENTS_MAX + 2 * KT_PARAMS_MAX + 3);
    if (!call->text)
        return KI_ERR_NO_MEMORY;
    char *at = call->text;
    call->path = decode(&at, path, false);
    while (path.size) {
        ki_str segment = ki_str_split(path, '/', &path);
        if (!segment.size)
            continue;
        if (call->segment_count == KT_SEGMENTS_MAX)
            return kt_fail_generic(call, 404);
        call->segments[call->segment_count++] = decode(&at, segment, false);
    }
    while (query.size && call->param_count < KT_PARAMS_MAX) {
        ki_str value, name = ki_str_split(ki_str_split(query, '&', &query), '=', &value);
        if (!name.size)
            continue;
        kt_param *param = &call->params[call->param_count++];
        param->name = decode(&at, name, true);
        param->value = decode(&at, value, true);
    }
    if (call->segment_count >= 3 && ki_str_equals(call->segments[0], "api"))
        find_resource(call, KI_STR(""), call->segments[1], 2);
    else if (call->segment_count >= 4 && ki_str_equals(call->segments[0], "apis"))
        find_resource(call, call->segments[1], call->segments[2], 3);
    return KI_OK;
}

void kt_call_free(kt_call *call) {
    ki_free(call->allocator, call->text);
    ki_buffer_free(&call->decoded);
    ki_buffer_free(&call->equal_keys);
}

ki_str kt_call_param(const kt_call *call, const char *name) {
    for (size_t i = 0; i < call->param_count; i++) {
        if (ki_str_equals(call->params[i].name, name))
            return call->params[i].value;
    }
    return (ki_str){ NULL, 0 };
}

bool kt_call_param_bool(const kt_call *call, const char *name) {
    ki_str value = kt_call_param(call, name);
    bool is_no = ki_str_equals(value, "0") || (value.size == 5 && strncasecmp(value.data, "false", 5) == 0);
    return value.data && !is_no; /* as the real server: every other value is true */
}

bool kt_call_is_watch(const kt_call *call) {
    return !call->name.size && strcmp(call->request->method, "GET") == 0 && kt_call_param_bool(call, "watch");
}

ki_status kt_call_dry_run(kt_call *call, bool *ret_dry_run) {
    ki_str value = kt_call_param(call, "dryRun");
    *ret_dry_run = ki_str_equals(value, "All");
    if (!value.data || *ret_dry_run)
        return KI_OK;
    ki_buffer shown;
    kt_causes causes;
    kt_causes_init(&causes, call->allocator);
    ki_buffer_init(&shown, call->allocator, 0);
    ki_buffer_append_char(&shown, '[');
    ki_buffer_append_json_string(&shown, value);
    if (ki_buffer_append_char(&shown, ']'))
        causes.text.failed = KI_ERR_NO_MEMORY;
    kt_causes_add_value(&causes, KT_CAUSE_NOT_SUPPORTED, "dryRun", (ki_str){ shown.data, shown.size }, false,
                        "supported values: \"All\"");
    ki_buffer_free(&shown);
    const char *kind = strcmp(call->request->method, "POST") == 0    ? "CreateOptions"
                       : strcmp(call->request->method, "PUT") == 0   ? "UpdateOptions"
                       : strcmp(call->request->method, "PATCH") == 0 ? "PatchOptions"
                                                                     : "DeleteOptions";
    return kt_fail_causes(call, &causes, "meta.k8s.io", kind, (ki_str){ NULL, 0 });
}

ki_str kt_call_manager(const kt_call *call) {
    ki_str manager = kt_call_param(call, "fieldManager");
    if (manager.size)
        return manager;
    ki_str rest, agent = ki_str_of(call->request->user_agent);
    manager = agent.data ? ki_str_split(agent, '/', &rest) : agent;
    return manager.size ? manager : KI_STR("unknown");
}

/* ---- attributes of a request ---- */

static const struct {
    const char *method;
    ki_str of_one;
    ki_str of_all;
} verbs[] = {
    { "GET", { "get", 3 }, { "list", 4 } },
    { "POST", { "create", 6 }, { "create", 6 } },
    { "PUT", { "update", 6 }, { "update", 6 } },
    { "PATCH", { "patch", 5 }, { "patch", 5 } },
    { "DELETE", { "delete", 6 }, { "deletecollection", 16 } },
};

void kt_call_describe(const kt_call *call, char small[KT_VERB_SIZE], kt_attributes *ret) {
    const char *method = call->request->method;
    size_t size = 0;
    for (; method[size] && size < KT_VERB_SIZE - 1; size++)
        small[size] = (char)tolower((unsigned char)method[size]);
    *ret = (kt_attributes){ .verb = { small, size } }; /* of a path, or of an unknown method */
    if (!call->storage) {
        ret->of_path = true;
        ret->path = call->path;
        return;
    }
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(verbs[i].method, method) == 0)
            ret->verb = kt_call_is_watch(call) ? KI_STR("watch") : call->name.size ? verbs[i].of_one : verbs[i].of_all;
    }
    ret->group = ki_str_of(call->resource->group);
    ret->resource = ki_str_of(call->resource->plural);
    ret->subresource = call->subresource;
    ret->name = call->name;
    ret->ns = call->ns;
    if (!call->name.size && (ki_str_equals(ret->verb, "list") || ki_str_equals(ret->verb, "watch")))
        ret->name = kt_selector_name(call); /* so that a rule with resourceNames can allow it */
    if (!call->resource->group[0] && strcmp(call->resource->plural, "namespaces") == 0)
        ret->ns = call->name; /* as in the real server: a namespace object is in itself */
}

kt_request_facts kt_request_facts_of(const kt_call *call, kt_facts_space *space) {
    kt_attributes wanted;
    ki_str rest;
    kt_call_describe(call, space->verb, &wanted);
    kt_request_facts facts = { .verb = wanted.verb,
                               .ns = call->ns,
                               .name = wanted.name,
                               .path = ki_str_split(ki_str_of(call->request->target), '?', &rest),
                               .user_agent = ki_str_of(call->request->user_agent) };
    const ki_resource *resource = call->resource;
    if (!resource)
        return facts;
    int size = snprintf(space->resource, sizeof space->resource, "%s%s%s%s%.*s", resource->plural,
                        resource->group[0] ? "." : "", resource->group, call->subresource.size ? "/" : "",
                        (int)call->subresource.size, call->subresource.size ? call->subresource.data : "");
    if (size > 0 && (size_t)size < sizeof space->resource)
        facts.resource = (ki_str){ space->resource, (size_t)size };
    return facts;
}

static bool has(const kt_spec *spec, const char *field, ki_str value) {
    return kt_spec_list_has(kt_spec_get(spec, field), value);
}

bool kt_request_matches(const kt_spec *spec, const kt_request_facts *facts) {
    ki_str resources = kt_spec_get(spec, "resource");
    return has(spec, "verb", facts->verb) && (!resources.data || facts->resource.data) &&
           has(spec, "resource", facts->resource) && has(spec, "name", facts->name) &&
           has(spec, "namespace", facts->ns) && has(spec, "path", facts->path) &&
           has(spec, "user-agent", facts->user_agent);
}

/* ---- the Accept header ---- */

static ki_str trim(ki_str text) {
    while (text.size && (text.data[0] == ' ' || text.data[0] == '\t')) {
        text.data++;
        text.size--;
    }
    while (text.size && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t'))
        text.size--;
    return text;
}

static bool is_json(ki_str type) {
    return ki_str_equals(type, "application/json") || ki_str_equals(type, "*/*") ||
           ki_str_equals(type, "application/*");
}

/* Returns true if the server can serve one clause of the header, and sets the form. */
static bool accept_clause(kt_call *call, ki_str clause, bool may_be_table) {
    ki_str rest, type = trim(ki_str_split(clause, ';', &rest));
    if (!is_json(type) && (!ki_str_equals(type, YAML_TYPE) || kt_call_is_watch(call)))
        return false;
    ki_str as = { NULL, 0 }, version = { NULL, 0 }, group = { NULL, 0 };
    while (rest.size) {
        ki_str value, name = trim(ki_str_split(ki_str_split(rest, ';', &rest), '=', &value));
        value = trim(value);
        if (ki_str_equals(name, "as"))
            as = value;
        else if (ki_str_equals(name, "v"))
            version = value;
        else if (ki_str_equals(name, "g"))
            group = value;
    }
    call->form = KT_FORM_OBJECT;
    if (!as.size)
        return true;
    bool v1 = ki_str_equals(version, "v1"), v1beta1 = ki_str_equals(version, "v1beta1");
    if (!may_be_table || !ki_str_equals(group, "meta.k8s.io") || (!v1 && !v1beta1))
        return false;
    call->form_version = v1 ? "v1" : "v1beta1";
    if (ki_str_equals(as, "Table"))
        call->form = KT_FORM_TABLE;
    else if (ki_str_equals(as, "PartialObjectMetadata") || ki_str_equals(as, "PartialObjectMetadataList"))
        call->form = KT_FORM_METADATA;
    return call->form != KT_FORM_OBJECT;
}

ki_status kt_call_negotiate(kt_call *call, bool may_be_table) {
    call->form = KT_FORM_OBJECT;
    ki_str rest = ki_str_of(call->request->accept);
    if (!rest.size)
        return KI_OK;
    while (rest.size) { /* in order, without weights: clients list their preference first */
        if (accept_clause(call, ki_str_split(rest, ',', &rest), may_be_table))
            return KI_OK;
    }
    return kt_fail(call, 406, "NotAcceptable", NULL, "only the following media types are accepted: application/json%s",
                   kt_call_is_watch(call) ? "" : ", " YAML_TYPE);
}

static bool prefers_yaml(const kt_call *call) {
    ki_str rest = ki_str_of(call->request->accept), parameters;
    while (rest.size) {
        ki_str clause = ki_str_split(rest, ',', &rest), type = trim(ki_str_split(clause, ';', &parameters));
        if (is_json(type) || ki_str_equals(type, YAML_TYPE))
            return ki_str_equals(type, YAML_TYPE);
    }
    return false;
}

static bool append_text(const char *text, size_t size, void *user) {
    return ki_buffer_append(user, text, size) == KI_OK;
}

ki_status kt_call_write_yaml(kt_call *call) {
    kt_response *response = call->response;
    if (response->watch || strcmp(response->content_type, "application/json") != 0 || !prefers_yaml(call))
        return KI_OK;
    ki_buffer text;
    ki_buffer_init(&text, call->allocator, 0);
    ki_status status =
        ki_yaml_write(call->allocator, response->body.data, response->body.size, append_text, &text, NULL);
    if (status) { /* a fault's invalid JSON stays as it is */
        ki_buffer_free(&text);
        return status == KI_ERR_PARSE ? KI_OK : KI_ERR_NO_MEMORY;
    }
    ki_buffer_free(&response->body);
    response->body = text;
    response->content_type = YAML_TYPE;
    return KI_OK;
}

/* ---- the response ---- */

ki_status kt_call_done(kt_call *call, int code) {
    ki_buffer_append_char(&call->response->body, '\n');
    call->response->status = code;
    call->response->content_type = "application/json";
    return call->response->body.failed ? KI_ERR_NO_MEMORY : KT_RESPONDED;
}

ki_status kt_call_done_object(kt_call *call, int code, kt_object *obj) {
    kt_shape shape;
    kt_object *converted = NULL;
    ki_status status = kt_shape_of(call, &shape);
    if (!status && call->storage->converts)
        status = kt_view_object(call->storage, obj, &converted);
    if (!status)
        status = kt_shape_append(&shape, converted ? converted : obj, call->now_ms, true, &call->response->body);
    kt_object_unref(converted);
    return status ? status : kt_call_done(call, code);
}
