/* rest.c: finds the verb of a request, serves paths that are no resources, and completes the response. */
#include "testing/rest/rest.h"

#include "src/base/memory.h"
#include "testing/access/authorize.h"
#include "testing/access/review.h"
#include "testing/cluster/cluster_state.h"
#include "testing/control/condition.h"
#include "testing/control/control.h"
#include "testing/faults/stream.h"
#include "testing/request/status.h"
#include "testing/request/watch.h"
#include "testing/rest/health.h"
#include "testing/rest/subresource.h"
#include "testing/rest/verbs.h"

#include <stdio.h>

#define VERSION_MINOR "37"

enum {
    DECODED_MAX = 8 * KT_BODY_MAX /* bytes of a protobuf body as JSON, which is longer because of names and escapes */
};

typedef struct method {
    const char *name;
    unsigned verb; /* a bit of ki_verb */
    ki_status (*handle)(kt_call *call);
} method;

static const method collection_methods[] = {
    { "DELETE", KI_VERB_DELETECOLLECTION, kt_verb_delete_collection },
    { "GET", KI_VERB_LIST, kt_verb_list },
    { "POST", KI_VERB_CREATE, kt_verb_create },
    { NULL, 0, NULL },
};

static const method object_methods[] = {
    { "DELETE", KI_VERB_DELETE, kt_verb_delete },
    { "GET", KI_VERB_GET, kt_verb_get },
    { "PATCH", KI_VERB_PATCH, kt_verb_patch },
    { "PUT", KI_VERB_UPDATE, kt_verb_update },
    { NULL, 0, NULL },
};

static const method other_methods[] = {
    { "GET", KI_VERB_GET, kt_subresource },
    { "PATCH", KI_VERB_PATCH, kt_subresource },
    { "POST", KI_VERB_CREATE, kt_subresource },
    { "PUT", KI_VERB_UPDATE, kt_subresource },
    { NULL, 0, NULL },
};

static const method status_methods[] = {
    { "GET", KI_VERB_GET, kt_verb_get },
    { "PATCH", KI_VERB_PATCH, kt_verb_patch },
    { "PUT", KI_VERB_UPDATE, kt_verb_update },
    { NULL, 0, NULL },
};

static ki_status fail_method(kt_call *call, const method *methods, unsigned verbs) {
    char *allow = call->response->allow;
    size_t size = sizeof call->response->allow, used = 0;
    for (const method *m = methods; m->name; m++) {
        if (!(verbs & m->verb) || used >= size)
            continue;
        int wrote = snprintf(allow + used, size - used, "%s%s", used ? ", " : "", m->name);
        used += (size_t)wrote;
    }
    const ki_resource *resource = call->resource;
    if (!call->storage->custom)
        return kt_fail_generic(call, 405);
    char verb[16];
    for (used = 0; call->request->method[used] && used < sizeof verb - 1; used++)
        verb[used] = (char)(call->request->method[used] | 0x20);
    verb[used] = '\0';
    kt_details details = { .group = resource->group, .kind = resource->plural };
    return kt_fail(call, 405, "MethodNotAllowed", &details, "%s is not supported on resources of kind \"%s.%s\"", verb,
                   resource->plural, resource->group);
}

static ki_status resource_call(kt_call *call) {
    const method *methods = collection_methods;
    const char *group = call->resource->group, *deprecation = NULL;
    unsigned verbs = call->storage->info->verbs;
    bool everywhere = call->resource->namespaced && !call->ns.size; /* only lists cover all namespaces */
    bool is_review = strcmp(group, "authentication.k8s.io") == 0 || strcmp(group, "authorization.k8s.io") == 0;
    if (call->storage->custom)
        deprecation = call->storage->custom->deprecation;
    else if (call->resource == KI_ENDPOINTS)
        deprecation = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
    if (deprecation && ki_buffer_printf(&call->response->warnings, "%s\n", deprecation))
        return KI_ERR_NO_MEMORY;
    if (call->subresource.size) {
        bool is_status = ki_str_equals(call->subresource, "status") || ki_str_equals(call->subresource, "approval");
        methods = is_status ? status_methods : other_methods;
        verbs = 0;
        for (const ki_subresource_info *sub = call->storage->info->subresources; sub->name; sub++) {
            if (ki_str_equals(call->subresource, sub->name) &&
                (methods == status_methods || kt_subresource_is_served(sub->name)))
                verbs = sub->verbs;
        }
        if (!verbs)
            return call->storage->custom ? kt_fail_not_found(call, call->resource, call->name)
                                         : kt_fail_generic(call, 404);
    } else if (call->name.size) {
        methods = object_methods;
    }
    if (everywhere && call->name.size)
        return kt_fail_generic(call, 404);
    if (everywhere)
        verbs &= KI_VERB_LIST;
    for (const method *m = methods; m->name; m++) {
        if (strcmp(m->name, call->request->method) != 0 || !(verbs & m->verb))
            continue;
        if (m->verb == KI_VERB_CREATE && is_review)
            return kt_review(call);
        if (m->verb == KI_VERB_CREATE && call->resource == KI_BINDINGS)
            return kt_binding(call);
        return m->handle(call);
    }
    if (call->resource == KI_BINDINGS && (call->name.size || everywhere))
        return kt_fail_generic(call, 404);
    return fail_method(call, methods, verbs);
}

static ki_status version(kt_call *call) {
    ki_buffer_append_string(
        &call->response->body,
        "{\"major\":\"1\",\"minor\":\"" VERSION_MINOR "\",\"emulationMajor\":\"1\",\"emulationMinor\":\"" VERSION_MINOR
        "\",\"minCompatibilityMajor\":\"1\",\"minCompatibilityMinor\":\"36\",\"gitVersion\":\"v1." VERSION_MINOR
        ".0+kinformer\",\"gitCommit\":\"\",\"gitTreeState\":\"clean\",\"buildDate\":\"1970-01-01T00:00:00Z\","
        "\"goVersion\":\"\",\"compiler\":\"cc\",\"platform\":\"linux\"}");
    return kt_call_done(call, 200);
}

static ki_status other_call(kt_call *call) {
    ki_str first = call->segment_count ? call->segments[0] : (ki_str){ NULL, 0 };
    bool is_get = strcmp(call->request->method, "GET") == 0;
    if (kt_health_is(call))
        return kt_health(call);
    if (kt_metrics_is(call) && is_get)
        return kt_metrics(call);
    if (call->segment_count == 1 && ki_str_equals(first, "version"))
        return version(call);
    if (kt_discovery_is(call) || kt_openapi_is(call)) {
        if (is_get)
            return kt_openapi_is(call) ? kt_openapi(call) : kt_discovery(call);
        snprintf(call->response->allow, sizeof call->response->allow, "GET");
        return kt_fail_generic(call, 405);
    }
    /* Like the real server: an unknown resource of a served group version gets a Status, any other path a plain
     * text. */
    if (call->segment_count >= 3 && ki_str_equals(first, "api") && ki_str_equals(call->segments[1], "v1"))
        return kt_fail_generic(call, 404);
    for (size_t i = 0; call->segment_count >= 4 && ki_str_equals(first, "apis"); i++) {
        const kt_storage *storage = kt_storage_at(call->cluster, i);
        if (!storage)
            break;
        if (ki_str_equals(call->segments[1], storage->info->resource->group) &&
            ki_str_equals(call->segments[2], storage->info->resource->version))
            return kt_fail_generic(call, 404);
    }
    return kt_plain_text(call, 404, "404 page not found\n");
}

ki_status kt_rest_handle(kt_cluster *cluster, const kt_request *request, int64_t now_ms, kt_response *ret_response) {
    KT_HOLDS(cluster);
    kt_response response = { .retry_after_s = -1, .content_type = "application/json" };
    ki_buffer_init(&response.body, &cluster->allocator, 0);
    ki_buffer_init(&response.warnings, &cluster->allocator, 0);
    kt_call call = { .cluster = cluster,
                     .allocator = &cluster->allocator,
                     .request = request,
                     .now_ms = now_ms,
                     .response = &response,
                     .injection = KT_INJECTION_NONE,
                     .form_version = "v1" };
    ki_buffer_init(&call.decoded, &cluster->allocator, DECODED_MAX);
    ki_buffer_init(&call.equal_keys, &cluster->allocator, 0);
    kt_cluster_trim(cluster, now_ms);
    ki_status status = kt_call_parse(&call);
    bool is_control = !status && !call.storage && kt_control_is(&call);
    if (is_control) {
        status = kt_auth_check_admin(&call);
        if (!status)
            status = kt_control(&call);
    }
    if (!status && request->from_network && cluster->faults.first)
        status = kt_faults_inject(&cluster->faults, &call, &call.injection);
    if (!status)
        status = kt_auth_check(&call);
    if (!status && request->body.size > KT_BODY_MAX)
        status = kt_fail_generic(&call, 413);
    if (!status)
        status = call.storage ? resource_call(&call) : other_call(&call);
    /* A call ends with KT_RESPONDED, also for an error response, or with KI_ERR_NO_MEMORY. */
    if (status == KT_RESPONDED && kt_cluster_reconcile(cluster, now_ms))
        status = KI_ERR_NO_MEMORY;
    if (status == KT_RESPONDED && request->from_network && !is_control)
        kt_request_log_add(&cluster->requests, &call, call.injection.close ? 0 : response.status);
    if (status == KT_RESPONDED && call.injection.any) {
        response.faults = kt_fault_stream_new(&cluster->allocator, &call.injection);
        status = response.faults ? status : KI_ERR_NO_MEMORY;
    }
    if (status == KT_RESPONDED && request->accept && !response.until && (call.storage || !kt_openapi_is(&call)) &&
        kt_call_write_yaml(&call))
        status = KI_ERR_NO_MEMORY;
    if (call.injection.any)
        kt_injection_free(&call.injection, &cluster->allocator);
    kt_call_free(&call);
    if (status != KT_RESPONDED) { /* other failures are lack of memory */
        kt_response_free(&response);
        return KI_ERR_NO_MEMORY;
    }
    *ret_response = response;
    return KI_OK;
}

ki_status kt_response_read(kt_response *response, int64_t now_ms, ki_buffer *out, size_t max, kt_object **ret_shared,
                           kt_watch_state *ret_state) {
    return response->faults ? kt_fault_read(response, now_ms, out, max, ret_state)
                            : kt_watch_read(response->watch, now_ms, out, max, ret_shared, ret_state);
}

void kt_response_free(kt_response *response) {
    if (response->watch)
        kt_watch_free(response->watch);
    response->watch = NULL;
    if (response->faults)
        kt_fault_stream_free(response->faults);
    response->faults = NULL;
    if (response->until)
        kt_condition_delete(response->until);
    response->until = NULL;
    ki_buffer_free(&response->body);
    ki_buffer_free(&response->warnings);
}
