/* selector.c: see selector.h. */
#include "testing/request/selector.h"

#include "src/base/memory.h"
#include "src/object/requirements.h"
#include "testing/request/status.h"

struct kt_selector {
    const ki_allocator *allocator;
    ki_requirements *labels, *fields;
    ki_str ns; /* its bytes are in this block */
};

static bool is_known_field(const kt_storage *storage, ki_str name) {
    bool namespaced = storage->info->resource->namespaced;
    if (ki_str_equals(name, "metadata.name") || (namespaced && ki_str_equals(name, "metadata.namespace")))
        return true;
    for (const char *const *path = storage->paths; *path; path++) {
        if (ki_str_equals(name, *path))
            return true;
    }
    return false;
}

static ki_status fail_field(kt_call *call, ki_str name) {
    const ki_resource *resource = call->resource;
    if (strcmp(resource->group, "batch") == 0 && strcmp(resource->plural, "jobs") == 0)
        return kt_fail_bad_request(call, "field label \"%.*s\" not supported for Job", (int)name.size, name.data);
    if (strcmp(resource->group, "resource.k8s.io") == 0 && strcmp(resource->plural, "resourceslices") == 0)
        return kt_fail_bad_request(call, "field label not supported for %s/%s, Kind=%s: %.*s", resource->group,
                                   resource->version, resource->kind, (int)name.size, name.data);
    if (call->storage->paths[0])
        return kt_fail_bad_request(call, "field label not supported: %.*s", (int)name.size, name.data);
    return kt_fail_bad_request(call,
                               "\"%.*s\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
                               (int)name.size, name.data);
}

ki_str kt_selector_name(const kt_call *call) {
    static const char wanted[] = "metadata.name=";
    ki_str rest = kt_call_param(call, "fieldSelector"), name = { NULL, 0 };
    while (rest.size) {
        ki_str term = ki_str_split(rest, ',', &rest);
        if (term.size && !memchr(term.data, '=', term.size))
            return (ki_str){ NULL, 0 }; /* not a selector */
        if (name.data || !ki_str_starts_with(term, KI_STR(wanted)))
            continue;
        size_t skipped = sizeof wanted - 1;
        skipped += term.size > skipped && term.data[skipped] == '=';
        name = (ki_str){ term.data + skipped, term.size - skipped };
    }
    bool is_segment = name.data && name.size && !ki_str_equals(name, ".") && !ki_str_equals(name, "..") &&
                      !memchr(name.data, '/', name.size) && !memchr(name.data, '%', name.size);
    return is_segment ? name : (ki_str){ NULL, 0 };
}

/* Parses both selectors. Fills `err` for what the client must correct, and responds for fields that do not exist. */
static ki_status parse(kt_call *call, kt_selector *selector, ki_error *err) {
    ki_str labels = kt_call_param(call, "labelSelector"), fields = kt_call_param(call, "fieldSelector");
    ki_status status = ki_requirements_parse_labels(call->allocator, labels, &selector->labels, err);
    if (!status)
        status = ki_requirements_parse_fields(call->allocator, fields, &selector->fields, err);
    if (status)
        return status == KI_ERR_NO_MEMORY ? status : kt_fail_bad_request(call, "%s", err->message);
    ki_str key;
    for (size_t i = 0; (key = ki_requirements_key(selector->fields, i)).data; i++) {
        if (!is_known_field(call->storage, key))
            return fail_field(call, key);
    }
    return KI_OK;
}

ki_status kt_selector_parse(kt_call *call, kt_selector **ret_selector) {
    *ret_selector = NULL;
    if (!call->ns.size && !kt_call_param(call, "labelSelector").size && !kt_call_param(call, "fieldSelector").size)
        return KI_OK;
    /* The namespace is copied, because a watch outlives its request. */
    kt_selector *selector = ki_alloc_zero(call->allocator, sizeof *selector + call->ns.size + 1);
    if (!selector)
        return KI_ERR_NO_MEMORY;
    if (call->ns.size)
        memcpy(selector + 1, call->ns.data, call->ns.size);
    selector->allocator = call->allocator;
    selector->ns = (ki_str){ (const char *)(selector + 1), call->ns.size };
    ki_error err = KI_ERROR_INIT;
    ki_status status = parse(call, selector, &err);
    if (status)
        kt_selector_free(selector);
    else
        *ret_selector = selector;
    return status;
}

void kt_selector_free(kt_selector *selector) {
    if (!selector)
        return;
    ki_requirements_free(selector->allocator, selector->labels);
    ki_requirements_free(selector->allocator, selector->fields);
    ki_free(selector->allocator, selector);
}

static ki_str label_of(ki_str name, const void *context) {
    return kt_object_label(context, name);
}

static ki_str field_of(ki_str path, const void *context) {
    ki_str value = kt_object_field(context, path);
    return value.data ? value : KI_STR(""); /* a field always has a value */
}

bool kt_selector_matches(const kt_selector *selector, const kt_object *obj) {
    if (!selector)
        return true;
    return (!selector->ns.size || ki_str_equal(selector->ns, obj->ns)) &&
           ki_requirements_match_values(selector->labels, label_of, obj) &&
           ki_requirements_match_values(selector->fields, field_of, obj);
}

bool kt_selector_is_filter(const kt_selector *selector) {
    return selector && (ki_requirements_key(selector->labels, 0).data || ki_requirements_key(selector->fields, 0).data);
}
