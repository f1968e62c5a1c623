/* delete.c: deletes one object, or all objects of a list. */
#include "testing/request/list_options.h"
#include "testing/request/selector.h"
#include "testing/request/status.h"
#include "testing/rest/delete_options.h"
#include "testing/rest/page.h"
#include "testing/rest/verbs.h"
#include "testing/values/json.h"

/* Responds with the object, or with a Status for an object that is removed. */
static ki_status respond(kt_call *call, kt_object *obj, bool is_removed) {
    const ki_resource *resource = call->resource;
    if (!is_removed || (call->storage->strategy->flags & KT_RETURNS_DELETED))
        return kt_call_done_object(call, 200, obj);
    ki_buffer *out = &call->response->body;
    ki_buffer_append_string(out, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\","
                                 "\"details\":{\"name\":");
    ki_buffer_append_json_string(out, obj->name);
    if (resource->group[0])
        ki_buffer_printf(out, ",\"group\":\"%s\"", resource->group);
    ki_buffer_printf(out, ",\"kind\":\"%s\",\"uid\":\"%.*s\"}}", resource->plural, (int)obj->uid.size, obj->uid.data);
    return kt_call_done(call, 200);
}

/* Responds 403 for a namespace that cannot be deleted, as the real server's admission does. */
static ki_status check_not_immortal(kt_call *call) {
    static const char *const immortal[] = { "default", "kube-public", "kube-system" };
    const ki_resource *resource = call->resource;
    kt_details details = { .name = call->name, .kind = resource->plural };
    for (size_t i = 0; i < sizeof immortal / sizeof immortal[0]; i++) {
        if (strcmp(resource->kind, "Namespace") == 0 && ki_str_equals(call->name, immortal[i]))
            return kt_fail(call, 403, "Forbidden", &details,
                           "namespaces \"%s\" is forbidden: this namespace may not be deleted", immortal[i]);
    }
    return KI_OK;
}

ki_status kt_verb_delete(kt_call *call) {
    kt_write write;
    yyjson_doc *options = NULL;
    ki_status status = kt_call_negotiate(call, true);
    if (!status)
        status = kt_delete_options_read(call, &write, &options);
    if (!status)
        status = check_not_immortal(call);
    kt_object *old = status ? NULL : kt_storage_get(call->storage, call->ns, call->name), *obj = NULL;
    if (!status && !old)
        status = kt_fail_not_found(call, call->resource, call->name);
    if (!status)
        status = kt_delete_options_check(call, old, yyjson_doc_get_root(options));
    bool is_removed = false;
    if (!status)
        status = kt_write_delete(&write, old, &obj, &is_removed);
    if (!status)
        status = respond(call, obj, is_removed);
    kt_object_unref(obj);
    yyjson_doc_free(options);
    return status;
}

/* Deletes each object of a page that still exists. */
static ki_status delete_all(kt_call *call, const kt_write *write, yyjson_val *options, const kt_page *page) {
    ki_status status = KI_OK;
    for (size_t i = 0; !status && i < page->count; i++) {
        kt_object *old = kt_storage_get(call->storage, page->objects[i]->ns, page->objects[i]->name), *obj = NULL;
        bool is_removed = false;
        if (!old)
            continue;
        status = kt_delete_options_check(call, old, options);
        if (!status)
            status = kt_write_delete(write, old, &obj, &is_removed);
        kt_object_unref(obj);
    }
    return status;
}

ki_status kt_verb_delete_collection(kt_call *call) {
    kt_write write;
    yyjson_doc *doc = NULL;
    kt_selector *selector = NULL;
    kt_list_options options;
    kt_page page = { 0 };
    ki_status status = kt_call_negotiate(call, true);
    if (!status)
        status = kt_delete_options_read(call, &write, &doc);
    if (!status)
        status = kt_list_options_parse(call, &options);
    if (!status)
        status = kt_selector_parse(call, &selector);
    if (!status)
        status = kt_page_select(call, &options, selector, &page);
    if (!status)
        status = delete_all(call, &write, yyjson_doc_get_root(doc), &page);
    if (!status) /* the objects as they were */
        status = kt_page_respond(call, &page);
    kt_page_free(call, &page);
    kt_selector_free(selector);
    yyjson_doc_free(doc);
    return status;
}
