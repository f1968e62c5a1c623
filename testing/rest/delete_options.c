/* delete_options.c: see delete_options.h. */
#include "testing/rest/delete_options.h"

#include "testing/request/body.h"
#include "testing/request/status.h"
#include "testing/rest/change.h"
#include "testing/values/json.h"

#include <inttypes.h>

#define JOBS_ARE_ORPHANED \
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or " \
    "set " \
    "propagationPolicy=Orphan to suppress this warning\n"

/* The options of a request. An absent option has data NULL or is NULL. */
typedef struct chosen {
    ki_str policy;
    bool has_orphan;
    bool orphan;
    yyjson_val *dry_run;
} chosen;

static ki_status fail_options(kt_call *call, kt_causes *causes) {
    return kt_fail_causes(call, causes, "meta.k8s.io", "DeleteOptions", (ki_str){ NULL, 0 });
}

static ki_status take_into_write(kt_call *call, const chosen *from, kt_write *write) {
    static const struct {
        const char *name;
        kt_propagation propagation;
    } policies[] = { { "Foreground", KT_PROPAGATE_FOREGROUND },
                     { "Background", KT_PROPAGATE_BACKGROUND },
                     { "Orphan", KT_PROPAGATE_ORPHAN } };
    const ki_resource *resource = call->resource;
    bool is_known = !from->policy.data,
         is_job = strcmp(resource->group, "batch") == 0 && strcmp(resource->plural, "jobs") == 0;
    ki_buffer shown;
    kt_causes causes;
    kt_causes_init(&causes, call->allocator);
    ki_buffer_init(&shown, call->allocator, 0);
    for (size_t i = 0; from->policy.data && i < sizeof policies / sizeof policies[0]; i++) {
        if (!ki_str_equals(from->policy, policies[i].name))
            continue;
        write->propagation = policies[i].propagation;
        is_known = true;
    }
    if (!is_known)
        kt_causes_add(&causes, KT_CAUSE_NOT_SUPPORTED, "propagationPolicy", from->policy,
                      "supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"");
    if (from->has_orphan && from->policy.data)
        kt_causes_add(&causes, KT_CAUSE_INVALID, "propagationPolicy", from->policy,
                      "orphanDependents and deletionPropagation cannot be both set");
    else if (from->has_orphan)
        write->propagation = from->orphan ? KT_PROPAGATE_ORPHAN : KT_PROPAGATE_BACKGROUND;
    if (yyjson_arr_size(from->dry_run) == 1 && ki_str_equals(kt_json_str(yyjson_arr_get_first(from->dry_run)), "All")) {
        write->dry_run = true;
    } else if (yyjson_arr_size(from->dry_run)) {
        if (kt_json_append(&shown, from->dry_run))
            causes.text.failed = KI_ERR_NO_MEMORY;
        kt_causes_add_value(&causes, KT_CAUSE_NOT_SUPPORTED, "dryRun", (ki_str){ shown.data, shown.size }, false,
                            "supported values: \"All\"");
    }
    ki_buffer_free(&shown);
    ki_status status = fail_options(call, &causes);
    if (!status && is_job && !from->policy.data && !from->has_orphan)
        status = ki_buffer_append_string(&call->response->warnings, JOBS_ARE_ORPHANED);
    return status;
}

ki_status kt_delete_options_take(kt_call *call, yyjson_val *options, kt_write *write) {
    yyjson_val *orphan = yyjson_obj_get(options, "orphanDependents");
    const chosen from = { .policy = kt_json_get_str(options, "propagationPolicy"),
                          .has_orphan = yyjson_is_bool(orphan),
                          .orphan = yyjson_get_bool(orphan),
                          .dry_run = yyjson_obj_get(options, "dryRun") };
    return take_into_write(call, &from, write);
}

static ki_status read_query(kt_call *call, kt_write *write) {
    const chosen from = { .policy = kt_call_param(call, "propagationPolicy"),
                          .has_orphan = kt_call_param(call, "orphanDependents").data != NULL,
                          .orphan = kt_call_param_bool(call, "orphanDependents") };
    return take_into_write(call, &from, write);
}

ki_status kt_delete_options_read(kt_call *call, kt_write *write, yyjson_doc **ret_doc) {
    ki_status status = kt_change_begin(call, write);
    if (status)
        return status;
    if (call->request->body.size == 0)
        return read_query(call, write);
    ki_str text;
    status = kt_body_text(call, &text);
    if (status)
        return status;
    const char *why = NULL;
    status = kt_json_read(call->allocator, text, ret_doc, &why);
    if (status == KI_ERR_PARSE)
        return kt_fail_bad_request(call,
                                   "the object provided is unrecognized (must be of type DeleteOptions): couldn't get "
                                   "version/kind; json parse error: %s",
                                   why);
    if (status)
        return status;
    yyjson_val *root = yyjson_doc_get_root(*ret_doc);
    ki_str kind = kt_json_get_str(root, "kind");
    if (kind.size && !ki_str_equals(kind, "DeleteOptions"))
        return kt_fail_bad_request(call,
                                   "%.*s in version \"%s\" cannot be handled as a DeleteOptions: unknown conversion",
                                   (int)kind.size, kind.data, call->resource->version);
    return kt_delete_options_take(call, root, write);
}

ki_status kt_delete_options_check(kt_call *call, const kt_object *obj, yyjson_val *options) {
    yyjson_val *preconditions = yyjson_obj_get(options, "preconditions");
    ki_str uid = kt_json_get_str(preconditions, "uid"), text = kt_json_get_str(preconditions, "resourceVersion");
    uint64_t revision;
    if (uid.data && !ki_str_equal(uid, obj->uid))
        return kt_fail_conflict(
            call, call->resource->kind, obj->name,
            "the UID in the precondition (%.*s) does not match the UID in record (%.*s). The object "
            "might have been deleted and then recreated",
            (int)uid.size, uid.data, (int)obj->uid.size, obj->uid.data);
    if (text.data && (!ki_str_to_uint64(text, UINT64_MAX, &revision) || revision != obj->revision))
        return kt_fail_conflict(call, call->resource->kind, obj->name,
                                "the ResourceVersion in the precondition (%.*s) does not match the ResourceVersion in "
                                "record (%" PRIu64 "). The object might have been modified",
                                (int)text.size, text.data, obj->revision);
    return KI_OK;
}
