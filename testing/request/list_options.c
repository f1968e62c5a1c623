/* list_options.c: see list_options.h. */
#include "testing/request/list_options.h"

#include "testing/cluster/cluster_state.h"
#include "testing/request/status.h"

#include <inttypes.h>
#include <stdio.h>

static const char too_large_cause[] =
    "{\"reason\":\"ResourceVersionTooLarge\",\"message\":\"Too large resource version\"}";

static const kt_details too_large_details = { .causes = { too_large_cause, sizeof too_large_cause - 1 },
                                              .retry_after_s = 1 };

ki_status kt_fail_too_large(kt_call *call, uint64_t revision) {
    return kt_fail(call, 504, "Timeout", &too_large_details,
                   "Timeout: Too large resource version: %" PRIu64 ", current: %" PRIu64, revision,
                   kt_cluster_revision(call->cluster));
}

ki_status kt_append_too_large(ki_buffer *out, uint64_t revision, uint64_t current) {
    char text[128];
    int size = snprintf(text, sizeof text, "Timeout: Too large resource version: %" PRIu64 ", current: %" PRIu64,
                        revision, current);
    return kt_status_append(out, 504, "Timeout", &too_large_details, (ki_str){ text, (size_t)size });
}

static ki_status parse_integer(kt_call *call, const char *name, int64_t *ret_value) {
    ki_str text = kt_call_param(call, name), digits = text;
    if (!text.size)
        return KI_OK;
    bool negative = text.data[0] == '-';
    if (negative) {
        digits.data++;
        digits.size--;
    }
    uint64_t value;
    if (!ki_str_to_uint64(digits, INT64_MAX, &value))
        return kt_fail_bad_request(call, "strconv.ParseInt: parsing \"%.*s\": invalid syntax", (int)text.size,
                                   text.data);
    *ret_value = negative ? -(int64_t)value : (int64_t)value;
    return KI_OK;
}

/* Checks which parameters can be combined. */
static ki_status check(kt_call *call, const kt_list_options *options, ki_str match) {
    static const ki_str none = { NULL, 0 };
    static const char field[] = "resourceVersionMatch";
    bool no_streaming_list = call->cluster->options.no_streaming_list;
    kt_causes causes;
    kt_causes_init(&causes, call->allocator);
    if (options->watch) {
        if (options->has_send_initial) {
            if (options->match != KT_MATCH_NOT_OLDER)
                kt_causes_add(&causes, KT_CAUSE_FORBIDDEN, field, none,
                              "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
            if (no_streaming_list)
                kt_causes_add(&causes, KT_CAUSE_FORBIDDEN, "sendInitialEvents", none,
                              "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled");
        }
        if (match.size) {
            if (!options->has_send_initial)
                kt_causes_add(&causes, KT_CAUSE_FORBIDDEN, field, none,
                              "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
            if (options->match != KT_MATCH_NOT_OLDER)
                kt_causes_add(&causes, KT_CAUSE_NOT_SUPPORTED, field, match, "supported values: \"NotOlderThan\"");
        }
        if (options->continue_token.size)
            kt_causes_add(&causes, KT_CAUSE_FORBIDDEN, field, none,
                          "resourceVersionMatch is forbidden when continue is provided");
    } else {
        if (match.size) {
            if (!options->resource_version.size)
                kt_causes_add(&causes, KT_CAUSE_FORBIDDEN, field, none,
                              "resourceVersionMatch is forbidden unless resourceVersion is provided");
            if (options->continue_token.size)
                kt_causes_add(&causes, KT_CAUSE_FORBIDDEN, field, none,
                              "resourceVersionMatch is forbidden when continue is provided");
            if (options->match == KT_MATCH_UNSET)
                kt_causes_add(&causes, KT_CAUSE_NOT_SUPPORTED, field, match,
                              "supported values: \"Exact\", \"NotOlderThan\", \"\"");
            if (options->match == KT_MATCH_EXACT && ki_str_equals(options->resource_version, "0"))
                kt_causes_add(&causes, KT_CAUSE_FORBIDDEN, field, none,
                              "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
        }
        if (options->has_send_initial)
            kt_causes_add(&causes, KT_CAUSE_FORBIDDEN, "sendInitialEvents", none,
                          "sendInitialEvents is forbidden for list");
    }
    return kt_fail_causes(call, &causes, "meta.k8s.io", "ListOptions", none);
}

ki_status kt_list_options_parse(kt_call *call, kt_list_options *ret_options) {
    kt_list_options options = { .timeout_s = -1 };
    ki_str match = kt_call_param(call, "resourceVersionMatch");
    static const char again[] = "again."; /* begins the token of an injected empty page, also once the fault is gone */
    options.continue_token = kt_call_param(call, "continue");
    if (call->request->from_network && ki_str_starts_with(options.continue_token, KI_STR(again))) {
        options.continue_token.data += sizeof again - 1;
        options.continue_token.size -= sizeof again - 1;
    }
    options.resource_version = kt_call_param(call, "resourceVersion");
    options.has_send_initial = kt_call_param(call, "sendInitialEvents").data != NULL;
    if (ki_str_equals(match, "Exact"))
        options.match = KT_MATCH_EXACT;
    else if (ki_str_equals(match, "NotOlderThan"))
        options.match = KT_MATCH_NOT_OLDER;
    options.watch = kt_call_is_watch(call);
    options.bookmarks = kt_call_param_bool(call, "allowWatchBookmarks");
    options.send_initial = kt_call_param_bool(call, "sendInitialEvents");
    ki_status status = KI_OK;
    if ((status = parse_integer(call, "limit", &options.limit)) != KI_OK ||
        (status = parse_integer(call, "timeoutSeconds", &options.timeout_s)) != KI_OK ||
        (status = check(call, &options, match)) != KI_OK)
        return status;
    if (options.resource_version.size && !ki_str_to_uint64(options.resource_version, UINT64_MAX, &options.revision)) {
        ki_str text = options.resource_version;
        if (options.watch)
            return kt_fail(call, 500, "", NULL,
                           "resourceVersion: Invalid value: \"%.*s\": strconv.ParseUint: parsing \"%.*s\": invalid "
                           "syntax",
                           (int)text.size, text.data, (int)text.size, text.data);
        return kt_fail_bad_request(call,
                                   "invalid resource version: resourceVersion: Invalid value: \"%.*s\": "
                                   "strconv.ParseUint: parsing \"%.*s\": invalid syntax",
                                   (int)text.size, text.data, (int)text.size, text.data);
    }
    if (options.limit < 0)
        options.limit = 0;
    *ret_options = options;
    return KI_OK;
}
