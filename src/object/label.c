/* label.c: see label.h. The rules are those of apimachinery's validation and content packages. */
#include "src/object/label.h"

#define SUBDOMAIN_MESSAGE \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start " \
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define VALUE_MESSAGE \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start " \
    "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation " \
    "is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
#define QUALIFIED_MESSAGE \
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " \
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " \
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define TOO_LONG_63 "must be no more than 63 bytes"
#define TOO_LONG_253 "must be no more than 253 characters"

/* Returns true for letters and digits, and between them also the bytes of `inner`. `capitals`: of both cases. */
static bool is_name(ki_str text, bool capitals, const char *inner) {
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool is_alnum = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (capitals && c >= 'A' && c <= 'Z');
        if (!is_alnum && (i == 0 || i == text.size - 1 || !c || !strchr(inner, c)))
            return false;
    }
    return text.size > 0;
}

bool ki_is_dns_label(ki_str text) {
    return is_name(text, false, "-");
}

bool ki_is_subdomain(ki_str text) {
    if (!text.size || text.data[text.size - 1] == '.')
        return false;
    while (text.size) {
        if (!ki_is_dns_label(ki_str_split(text, '.', &text)))
            return false;
    }
    return true;
}

const char *ki_label_check_value(ki_str value) {
    if (value.size > KI_LABEL_MAX)
        return TOO_LONG_63;
    return value.size == 0 || is_name(value, true, "-_.") ? NULL : VALUE_MESSAGE;
}

const char *ki_label_check_key(ki_str key) {
    ki_str name, prefix = ki_str_split(key, '/', &name);
    if (!name.data)
        name = key;
    else if (!prefix.size)
        return "prefix part must be non-empty";
    else if (prefix.size > KI_SUBDOMAIN_MAX)
        return "prefix part " TOO_LONG_253;
    else if (!ki_is_subdomain(prefix))
        return "prefix part " SUBDOMAIN_MESSAGE;
    if (!name.size)
        return "name part must be non-empty";
    if (name.size > KI_LABEL_MAX)
        return "name part " TOO_LONG_63;
    return is_name(name, true, "-_.") ? NULL : QUALIFIED_MESSAGE;
}

const char *ki_label_check_subdomain(ki_str name) {
    if (name.size > KI_SUBDOMAIN_MAX)
        return TOO_LONG_253;
    return ki_is_subdomain(name) ? NULL : SUBDOMAIN_MESSAGE;
}
