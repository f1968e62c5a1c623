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

static bool is_lower_alnum(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alnum(char c) {
    return is_lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

bool ki_is_dns_label(ki_str text) {
    if (!text.size || !is_lower_alnum(text.data[0]) || !is_lower_alnum(text.data[text.size - 1]))
        return false;
    for (size_t i = 0; i < text.size; i++) {
        if (!is_lower_alnum(text.data[i]) && text.data[i] != '-')
            return false;
    }
    return true;
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

static bool is_name_part(ki_str text) {
    if (!text.size || !is_alnum(text.data[0]) || !is_alnum(text.data[text.size - 1]))
        return false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (!is_alnum(c) && c != '-' && c != '_' && c != '.')
            return false;
    }
    return true;
}

const char *ki_label_check_value(ki_str value) {
    if (value.size > KI_LABEL_MAX)
        return TOO_LONG_63;
    return value.size == 0 || is_name_part(value) ? NULL : VALUE_MESSAGE;
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
    return is_name_part(name) ? NULL : QUALIFIED_MESSAGE;
}

const char *ki_label_check_subdomain(ki_str name) {
    if (name.size > KI_SUBDOMAIN_MAX)
        return TOO_LONG_253;
    return ki_is_subdomain(name) ? NULL : SUBDOMAIN_MESSAGE;
}
