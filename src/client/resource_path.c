/* resource_path.c: the API server's path of a resource, and the checks of each path segment, for informers and
 * requests. */
#include "src/client/http_list_watch.h"

#include "src/base/error.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    LABEL_MAX = 63,     /* bytes of a namespace or a version: RFC 1123 label */
    SUBDOMAIN_MAX = 253 /* bytes of a group or a plural: RFC 1123 subdomain */
};

/* --- checks ------------------------------------------------------------------------------------------------------- */

ki_status ki_path_segment_check(const char *what, const char *text, ki_error *err) {
    if (!text)
        return KI_OK;
    if (strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
        return ki_error_set(err, KI_ERR_INVALID, "%s may not be '%s'", what, text);
    for (const char *at = text; *at; at++) {
        if (*at == '/' || *at == '%' || (unsigned char)*at < 0x20 || *at == 0x7f)
            return ki_error_set(err, KI_ERR_INVALID, "%s '%.100s' may not contain '%s'", what, text,
                                *at == '/'   ? "/"
                                : *at == '%' ? "%"
                                             : "control characters");
    }
    return KI_OK;
}

static bool is_alphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Checks a group, version, plural or namespace: RFC 1123 labels, separated by dots if `limit` is above LABEL_MAX. */
static ki_status check_labels(const char *what, const char *text, size_t limit, ki_error *err) {
    ki_status status = ki_path_segment_check(what, text, err);
    if (status || !text || !text[0])
        return status;
    size_t size = strlen(text);
    bool is_good = size <= limit && is_alphanumeric(text[0]) && is_alphanumeric(text[size - 1]);
    for (size_t i = 0; is_good && i < size; i++)
        is_good = is_alphanumeric(text[i]) || text[i] == '-' || (text[i] == '.' && limit > LABEL_MAX);
    if (is_good)
        return KI_OK;
    return ki_error_set(
        err, KI_ERR_INVALID,
        "%s '%.100s' must have at most %zu of the characters a-z, 0-9%s and '-', and a letter or digit at both ends",
        what, text, limit, limit > LABEL_MAX ? ", '.'" : "");
}

ki_status ki_resource_check(const ki_resource *resource, const char *namespace_name, const char *name, ki_error *err) {
    ki_status status = check_labels("the resource's group", resource->group, SUBDOMAIN_MAX, err);
    if (!status)
        status = check_labels("the resource's version", resource->version, LABEL_MAX, err);
    if (!status)
        status = check_labels("the resource's plural", resource->plural, SUBDOMAIN_MAX, err);
    if (!status)
        status = check_labels("the namespace", namespace_name, LABEL_MAX, err);
    return status ? status : ki_path_segment_check("the name", name, err);
}

/* --- paths -------------------------------------------------------------------------------------------------------- */

static void append_segment(ki_buffer *out, const char *segment) {
    ki_buffer_append_char(out, '/');
    ki_buffer_append_url(out, ki_str_of(segment));
}

ki_status ki_resource_path(ki_buffer *out, const ki_resource *resource, const char *namespace_name, const char *name) {
    if (resource->group[0]) {
        ki_buffer_append_string(out, "/apis");
        append_segment(out, resource->group);
    } else {
        ki_buffer_append_string(out, "/api");
    }
    append_segment(out, resource->version);
    if (resource->namespaced && namespace_name && namespace_name[0]) {
        ki_buffer_append_string(out, "/namespaces");
        append_segment(out, namespace_name);
    }
    append_segment(out, resource->plural);
    if (name)
        append_segment(out, name);
    return out->failed;
}

void ki_url_parameter(ki_buffer *target, const char *name, const char *value) {
    if (!value || !value[0])
        return;
    bool is_first = !target->data || !memchr(target->data, '?', target->size);
    ki_buffer_printf(target, "%c%s=", is_first ? '?' : '&', name);
    ki_buffer_append_url(target, ki_str_of(value));
}

void ki_url_number(ki_buffer *target, const char *name, int64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    ki_url_parameter(target, name, value > 0 ? text : NULL);
}
