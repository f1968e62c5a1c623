/* list.c: get and list. */
#include "testing/request/list_options.h"
#include "testing/request/selector.h"
#include "testing/request/status.h"
#include "testing/request/watch.h"
#include "testing/rest/page.h"
#include "testing/rest/verbs.h"

static ki_status list(kt_call *call, const kt_list_options *options, const kt_selector *selector) {
    kt_page page;
    ki_status status = kt_page_select(call, options, selector, &page);
    if (!status)
        status = kt_page_respond(call, &page);
    kt_page_free(call, &page);
    return status;
}

ki_status kt_verb_list(kt_call *call) {
    ki_status status = kt_call_negotiate(call, true);
    kt_list_options options;
    if (!status)
        status = kt_list_options_parse(call, &options);
    kt_selector *selector = NULL;
    if (!status)
        status = kt_selector_parse(call, &selector);
    if (status)
        return status;
    if (options.watch)
        return kt_watch_open(call, &options, selector);
    status = list(call, &options, selector);
    kt_selector_free(selector);
    return status;
}

ki_status kt_verb_get(kt_call *call) {
    ki_status status = kt_call_negotiate(call, true);
    if (status)
        return status;
    ki_str version = kt_call_param(call, "resourceVersion");
    uint64_t revision = 0;
    if (version.size && !ki_str_to_uint64(version, UINT64_MAX, &revision))
        return kt_fail_bad_request(
            call,
            "resourceVersion: Invalid value: \"%.*s\": strconv.ParseUint: parsing \"%.*s\": invalid "
            "syntax",
            (int)version.size, version.data, (int)version.size, version.data);
    if (revision > kt_cluster_revision(call->cluster))
        return kt_fail_too_large(call, revision);
    kt_object *obj = kt_storage_get(call->storage, call->ns, call->name);
    return obj ? kt_call_done_object(call, 200, obj) : kt_fail_not_found(call, call->resource, call->name);
}
