/* validate.c: see validate.h. */
#include "testing/validation/validate.h"

#include "src/object/label.h"
#include "testing/validation/address.h"
#include "testing/values/json.h"

#define WILDCARD_MESSAGE \
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of " \
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', " \
    "regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define LABEL_MESSAGE \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end " \
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
#define TOO_LONG_63 "must be no more than 63 bytes"
#define TOO_LONG_63_NAME "must be no more than 63 characters"
#define TOO_LONG_253 "must be no more than 253 characters"

const char *kt_validate_dns_label(ki_str name) {
    if (name.size > KI_LABEL_MAX)
        return TOO_LONG_63;
    if (ki_is_dns_label(name))
        return NULL;
    return ki_is_subdomain(name) ? "must not contain dots" : LABEL_MESSAGE;
}

const char *kt_validate_rfc1035_label(ki_str name) {
    if (ki_is_dns_label(name) && name.data[0] >= 'a')
        return name.size > KI_LABEL_MAX ? TOO_LONG_63 : NULL;
    return "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
           "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
           "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
}

const char *kt_validate_wildcard(ki_str name) {
    if (name.size > KI_SUBDOMAIN_MAX)
        return TOO_LONG_253;
    bool is_wildcard =
        ki_str_starts_with(name, KI_STR("*.")) && ki_is_subdomain((ki_str){ name.data + 2, name.size - 2 });
    return is_wildcard ? NULL : WILDCARD_MESSAGE;
}

const char *kt_validate_segment(ki_str name) {
    if (ki_str_equals(name, ".") || ki_str_equals(name, ".."))
        return name.size == 1 ? "may not be '.'" : "may not be '..'";
    if (memchr(name.data, '/', name.size))
        return "may not contain '/'";
    return memchr(name.data, '%', name.size) ? "may not contain '%'" : NULL;
}

const char *kt_validate_in_lower_case(ki_str text, const char *(*check)(ki_str text)) {
    char lower[KI_SUBDOMAIN_MAX + KI_LABEL_MAX + 2];
    if (text.size > sizeof lower)
        return check(text);
    for (size_t i = 0; i < text.size; i++)
        lower[i] = text.data[i] >= 'A' && text.data[i] <= 'Z' ? (char)(text.data[i] - 'A' + 'a') : text.data[i];
    return check((ki_str){ lower, text.size });
}

/* Checks a name of an object of this resource. `is_prefix`: the name is a generateName. */
static const char *validate_name(const ki_resource *resource, ki_str name, bool is_prefix) {
    if (strcmp(resource->group, "rbac.authorization.k8s.io") == 0 || resource == KI_APISERVICES)
        return kt_validate_segment(name);
    if (resource == KI_IPADDRESSES)
        return kt_address_problem(name, NULL);
    bool is_core = resource->group[0] == '\0';
    if (is_prefix && name.size && name.data[name.size - 1] == '-')
        name.size--; /* the generated part follows */
    if ((is_core && (strcmp(resource->plural, "namespaces") == 0 || strcmp(resource->plural, "services") == 0)) ||
        (strcmp(resource->group, "apps") == 0 && strcmp(resource->plural, "statefulsets") == 0))
        return name.size > KI_LABEL_MAX ? TOO_LONG_63_NAME : kt_validate_dns_label(name);
    return ki_label_check_subdomain(name);
}

/* Checks labels, or annotations, whose names can be in upper case. */
static void validate_map(kt_causes *causes, const char *field, yyjson_val *map, bool are_labels) {
    size_t index, count;
    yyjson_val *key, *val;
    yyjson_obj_foreach(map, index, count, key, val) {
        ki_str name = kt_json_str(key), value = kt_json_str(val);
        const char *why = are_labels ? ki_label_check_key(name) : kt_validate_in_lower_case(name, ki_label_check_key);
        if (why)
            kt_causes_add(causes, KT_CAUSE_INVALID, field, name, why);
        why = are_labels ? ki_label_check_value(value) : NULL;
        if (why)
            kt_causes_add(causes, KT_CAUSE_INVALID, field, value, why);
    }
}

void kt_validate_meta(kt_causes *causes, const ki_resource *resource, yyjson_val *meta, bool is_update) {
    ki_str name = kt_json_get_str(meta, "name"), prefix = kt_json_get_str(meta, "generateName");
    const char *why;
    if (!is_update && name.size && (why = validate_name(resource, name, false)) != NULL)
        kt_causes_add(causes, KT_CAUSE_INVALID, "metadata.name", name, why);
    if (!is_update && prefix.size && (why = validate_name(resource, prefix, true)) != NULL)
        kt_causes_add(causes, KT_CAUSE_INVALID, "metadata.generateName", prefix, why);
    if (!is_update && !name.size && !prefix.size)
        kt_causes_add(causes, KT_CAUSE_REQUIRED, "metadata.name", (ki_str){ NULL, 0 },
                      "name or generateName is required");
    validate_map(causes, "metadata.labels", yyjson_obj_get(meta, "labels"), true);
    validate_map(causes, "metadata.annotations", yyjson_obj_get(meta, "annotations"), false);
}
