/* status.c: see status.h. */
#include "testing/request/status.h"

#include <stdio.h>
#include <string.h>

#define RESOURCE_FORMAT "%s%s%s"
#define RESOURCE_ARGS(resource) (resource)->plural, (resource)->group[0] ? "." : "", (resource)->group

ki_status kt_status_append(ki_buffer *out, int code, const char *reason, const kt_details *details, ki_str message) {
    ki_buffer_append_string(out, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{");
    if (details && details->continue_token.size) {
        ki_buffer_append_string(out, "\"continue\":");
        ki_buffer_append_json_string(out, details->continue_token);
    }
    ki_buffer_append_string(out, "},\"status\":\"Failure\",\"message\":");
    ki_buffer_append_json_string(out, message);
    if (reason && reason[0])
        ki_buffer_printf(out, ",\"reason\":\"%s\"", reason);
    if (details) {
        const char *comma = "";
        ki_buffer_append_string(out, ",\"details\":{");
        if (details->name.size) {
            ki_buffer_append_string(out, "\"name\":");
            ki_buffer_append_json_string(out, details->name);
            comma = ",";
        }
        if (details->group && details->group[0]) {
            ki_buffer_printf(out, "%s\"group\":\"%s\"", comma, details->group);
            comma = ",";
        }
        if (details->kind && details->kind[0]) {
            ki_buffer_printf(out, "%s\"kind\":\"%s\"", comma, details->kind);
            comma = ",";
        }
        if (details->uid.size) {
            ki_buffer_printf(out, "%s\"uid\":", comma);
            ki_buffer_append_json_string(out, details->uid);
            comma = ",";
        }
        if (details->causes.size) {
            ki_buffer_printf(out, "%s\"causes\":[", comma);
            ki_buffer_append_view(out, details->causes);
            ki_buffer_append_char(out, ']');
            comma = ",";
        }
        if (details->retry_after_s > 0)
            ki_buffer_printf(out, "%s\"retryAfterSeconds\":%d", comma, details->retry_after_s);
        ki_buffer_append_char(out, '}');
    }
    return ki_buffer_printf(out, ",\"code\":%d}", code);
}

static ki_status fail_text(kt_call *call, int code, const char *reason, const kt_details *details, ki_buffer *message) {
    kt_response *response = call->response;
    ki_buffer_reset(&response->body, SIZE_MAX);
    if (message->failed)
        response->body.failed = message->failed;
    kt_status_append(&response->body, code, reason, details, (ki_str){ message->data, message->size });
    ki_buffer_append_char(&response->body, '\n');
    ki_buffer_free(message);
    response->status = code;
    response->content_type = "application/json";
    response->retry_after_s = details && details->retry_after_s > 0 ? details->retry_after_s : -1;
    return response->body.failed ? KI_ERR_NO_MEMORY : KT_RESPONDED;
}

ki_status kt_fail(kt_call *call, int code, const char *reason, const kt_details *details, const char *format, ...) {
    ki_buffer message;
    ki_buffer_init(&message, call->allocator, 0);
    va_list args;
    va_start(args, format);
    ki_buffer_vprintf(&message, format, args);
    va_end(args);
    return fail_text(call, code, reason, details, &message);
}

ki_status kt_fail_bad_request(kt_call *call, const char *format, ...) {
    ki_buffer message;
    ki_buffer_init(&message, call->allocator, 0);
    va_list args;
    va_start(args, format);
    ki_buffer_vprintf(&message, format, args);
    va_end(args);
    return fail_text(call, 400, "BadRequest", NULL, &message);
}

ki_status kt_fail_internal(kt_call *call, const char *format, ...) {
    ki_buffer why, cause;
    ki_buffer_init(&why, call->allocator, 0);
    ki_buffer_init(&cause, call->allocator, 0);
    va_list args;
    va_start(args, format);
    ki_buffer_vprintf(&why, format, args);
    va_end(args);
    ki_buffer_append_string(&cause, "{\"message\":");
    ki_buffer_append_json_string(&cause, (ki_str){ why.data, why.size });
    ki_buffer_append_char(&cause, '}');
    kt_details details = { .causes = { cause.data, cause.size } };
    ki_status status = why.failed || cause.failed
                           ? KI_ERR_NO_MEMORY
                           : kt_fail(call, 500, "InternalError", &details, "Internal error occurred: %s", why.data);
    ki_buffer_free(&why);
    ki_buffer_free(&cause);
    return status;
}

ki_status kt_fail_generic(kt_call *call, int code) {
    static const kt_details nothing;
    switch (code) {
    case 404:
        return kt_fail(call, 404, "NotFound", &nothing, "the server could not find the requested resource");
    case 405:
        return kt_fail(call, 405, "MethodNotAllowed", &nothing,
                       "the server does not allow this method on the requested resource");
    case 413:
        return kt_fail(call, 413, "RequestEntityTooLarge", NULL, "Request entity too large: limit is %d",
                       (int)KT_BODY_MAX);
    default:
        return kt_fail(call, code, "InternalError", &nothing, "an error on the server has prevented the request");
    }
}

static kt_details details_of(const ki_resource *resource, ki_str name) {
    return (kt_details){ .name = name, .group = resource->group, .kind = resource->plural };
}

/* Appends a quoted string as Go's %q does. A name in a path can have any bytes. */
static void append_quoted(ki_buffer *out, ki_str text) {
    static const char escaped[] = "\"\\\a\b\f\n\r\t\v", letters[] = "\"\\abfnrtv";
    ki_buffer_append_string(out, "\"");
    for (size_t i = 0; i < text.size; i++) {
        const char *at = text.data[i] ? strchr(escaped, text.data[i]) : NULL;
        if (at)
            ki_buffer_printf(out, "\\%c", letters[at - escaped]);
        else if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f)
            ki_buffer_printf(out, "\\x%02x", (unsigned)(unsigned char)text.data[i]);
        else
            ki_buffer_append(out, text.data + i, 1);
    }
    ki_buffer_append_string(out, "\"");
}

ki_status kt_fail_not_found(kt_call *call, const ki_resource *resource, ki_str name) {
    kt_details details = details_of(resource, name);
    ki_buffer message;
    ki_buffer_init(&message, call->allocator, 0);
    ki_buffer_printf(&message, RESOURCE_FORMAT " ", RESOURCE_ARGS(resource));
    append_quoted(&message, name);
    ki_buffer_append_string(&message, " not found");
    return fail_text(call, 404, "NotFound", &details, &message);
}

ki_status kt_fail_exists(kt_call *call, const ki_resource *resource, ki_str name, bool is_deleting) {
    kt_details details = details_of(resource, name);
    return kt_fail(call, 409, "AlreadyExists", &details, "%s" RESOURCE_FORMAT " \"%.*s\" already exists",
                   is_deleting ? "object is being deleted: " : "", RESOURCE_ARGS(resource), (int)name.size, name.data);
}

ki_status kt_fail_conflict(kt_call *call, const char *what, ki_str name, const char *format, ...) {
    kt_details details = { .name = name, .group = call->resource->group, .kind = what };
    ki_buffer message;
    ki_buffer_init(&message, call->allocator, 0);
    ki_buffer_printf(&message, "Operation cannot be fulfilled on %s%s%s \"%.*s\": ", what,
                     call->resource->group[0] ? "." : "", call->resource->group, (int)name.size, name.data);
    va_list args;
    va_start(args, format);
    ki_buffer_vprintf(&message, format, args);
    va_end(args);
    return fail_text(call, 409, "Conflict", &details, &message);
}

ki_status kt_fail_causes(kt_call *call, kt_causes *causes, const char *group, const char *kind, ki_str name) {
    ki_status status = KI_OK;
    if (causes->text.failed || causes->json.failed) {
        status = KI_ERR_NO_MEMORY;
    } else if (causes->count) {
        kt_details details = {
            .name = name, .group = group, .kind = kind, .causes = { causes->json.data, causes->json.size }
        };
        const char *open = causes->count > 1 ? "[" : "", *close = causes->count > 1 ? "]" : "";
        status =
            kt_fail(call, 422, "Invalid", &details, "%s%s%s \"%.*s\" is invalid: %s%s%s", kind, group[0] ? "." : "",
                    group, (int)name.size, name.data ? name.data : "", open, causes->text.data, close);
    }
    kt_causes_free(causes);
    return status;
}
