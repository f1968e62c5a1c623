/* selector.c: see selector.h. */
#include "testing/request/selector.h"

#include "src/base/memory.h"
#include "testing/request/status.h"
#include "testing/schema/validate.h"

enum {
    MAX_REQUIREMENTS = 64,
    MAX_VALUES = 256
};

typedef enum operation {
    OP_EQUALS,
    OP_NOT_EQUALS,
    OP_IN,
    OP_NOT_IN,
    OP_EXISTS,
    OP_NOT_EXISTS,
    OP_GREATER,
    OP_LESS
} operation;

typedef struct requirement {
    bool is_field;
    operation op;
    ki_str key;
    size_t first_value; /* index in the selector's values */
    size_t value_count;
} requirement;

struct kt_selector {
    const ki_allocator *allocator;
    char *text; /* owns the bytes of all strings */
    ki_str ns;
    requirement requirements[MAX_REQUIREMENTS];
    size_t count;
    ki_str values[MAX_VALUES];
    size_t value_count;
};

/* The text of a selector and the position of the parser. */
typedef struct reader {
    kt_call *call;
    kt_selector *selector;
    ki_str text;
    size_t at;
} reader;

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void skip_spaces(reader *in) {
    while (in->at < in->text.size && is_space(in->text.data[in->at]))
        in->at++;
}

static bool take(reader *in, const char *symbol) {
    skip_spaces(in);
    size_t size = strlen(symbol);
    if (in->text.size - in->at < size || memcmp(in->text.data + in->at, symbol, size) != 0)
        return false;
    in->at += size;
    return true;
}

/* Returns the text up to the next special character or space. */
static ki_str take_token(reader *in) {
    skip_spaces(in);
    size_t start = in->at;
    while (in->at < in->text.size && !is_space(in->text.data[in->at]) && !strchr("=!(),<>", in->text.data[in->at]))
        in->at++;
    return (ki_str){ in->text.data + start, in->at - start };
}

static bool take_keyword(reader *in, const char *keyword) {
    size_t mark = in->at;
    if (ki_str_equals(take_token(in), keyword))
        return true;
    in->at = mark;
    return false;
}

static ki_status fail_found(reader *in, const char *expected) {
    skip_spaces(in);
    size_t mark = in->at;
    ki_str found = take_token(in);
    if (!found.size && mark < in->text.size)
        found = (ki_str){ in->text.data + mark, 1 };
    return kt_fail_bad_request(in->call, "unable to parse requirement: found '%.*s', expected: %s", (int)found.size,
                               found.data, expected);
}

static ki_status add_value(reader *in, requirement *item, ki_str value) {
    kt_selector *selector = in->selector;
    if (selector->value_count == MAX_VALUES)
        return kt_fail_bad_request(in->call, "a selector may have %d values at most", (int)MAX_VALUES);
    const char *why = item->is_field ? NULL : kt_validate_label_value(value);
    if (why)
        return kt_fail_bad_request(
            in->call, "unable to parse requirement: values[%zu][%.*s]: Invalid value: \"%.*s\": %s", item->value_count,
            (int)item->key.size, item->key.data, (int)value.size, value.data, why);
    selector->values[selector->value_count++] = value;
    item->value_count++;
    return KI_OK;
}

static ki_status read_values(reader *in, requirement *item) {
    if (!take(in, "("))
        return fail_found(in, "'('");
    do {
        ki_status status = add_value(in, item, take_token(in));
        if (status)
            return status;
    } while (take(in, ","));
    return take(in, ")") ? KI_OK : fail_found(in, "',' or ')'");
}

static ki_status read_operator(reader *in, requirement *item) {
    skip_spaces(in);
    if (in->at == in->text.size || in->text.data[in->at] == ',') {
        item->op = OP_EXISTS;
        return KI_OK;
    }
    bool is_in = take_keyword(in, "in");
    if (is_in || take_keyword(in, "notin")) {
        item->op = is_in ? OP_IN : OP_NOT_IN;
        return read_values(in, item);
    }
    if (take(in, "==") || take(in, "="))
        item->op = OP_EQUALS;
    else if (take(in, "!="))
        item->op = OP_NOT_EQUALS;
    else if (take(in, ">"))
        item->op = OP_GREATER;
    else if (take(in, "<"))
        item->op = OP_LESS;
    else
        return fail_found(in, "in, notin, =, ==, !=, gt, lt");
    return add_value(in, item, take_token(in));
}

static ki_status read_labels(reader *in) {
    kt_selector *selector = in->selector;
    do {
        if (selector->count == MAX_REQUIREMENTS)
            return kt_fail_bad_request(in->call, "a selector may have %d requirements at most", (int)MAX_REQUIREMENTS);
        requirement item = { .first_value = selector->value_count };
        bool negated = take(in, "!");
        item.key = take_token(in);
        if (!item.key.size)
            return fail_found(in, "!, identifier, or 'end of string'");
        const char *why = kt_validate_qualified_name(item.key);
        if (why)
            return kt_fail_bad_request(in->call, "unable to parse requirement: key: Invalid value: \"%.*s\": %s",
                                       (int)item.key.size, item.key.data, why);
        ki_status status = KI_OK;
        if (negated)
            item.op = OP_NOT_EXISTS;
        else
            status = read_operator(in, &item);
        if (status)
            return status;
        selector->requirements[selector->count++] = item;
    } while (take(in, ","));
    skip_spaces(in);
    return in->at == in->text.size ? KI_OK : fail_found(in, "',' or 'end of string'");
}

static bool is_known_field(const ki_resource_info *info, ki_str name) {
    const ki_resource *resource = info->resource;
    if (ki_str_equals(name, "metadata.name") || (resource->namespaced && ki_str_equals(name, "metadata.namespace")))
        return true;
    for (const char *const *path = kt_object_field_paths(info); *path; path++) {
        if (ki_str_equals(name, *path))
            return true;
    }
    return false;
}

static ki_status fail_field(kt_call *call, ki_str name) {
    if (kt_object_field_paths(call->storage->info)[0])
        return kt_fail_bad_request(call, "field label not supported: %.*s", (int)name.size, name.data);
    return kt_fail_bad_request(call,
                               "\"%.*s\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
                               (int)name.size, name.data);
}

/* Returns the text up to the next comma without a backslash before it. */
static ki_str next_term(ki_str *rest) {
    size_t size = 0;
    while (size < rest->size && rest->data[size] != ',')
        size += rest->data[size] == '\\' && size + 1 < rest->size ? 2 : 1;
    ki_str term = { rest->data, size };
    size_t used = size < rest->size ? size + 1 : size;
    *rest = (ki_str){ rest->data + used, rest->size - used };
    return term;
}

/* Removes the backslashes of a value in place, as Kubernetes' fields.UnescapeValue. Returns false if a backslash
 * precedes another character, or a comma or equals sign has none. */
static bool unescape(kt_selector *selector, ki_str *value) {
    char *text = selector->text + (value->data - selector->text);
    size_t size = 0;
    for (size_t i = 0; i < value->size; i++, size++) {
        bool is_escaped = text[i] == '\\';
        i += is_escaped;
        bool is_special = i < value->size && (text[i] == '\\' || text[i] == ',' || text[i] == '=');
        if (is_special != is_escaped)
            return false;
        text[size] = text[i];
    }
    value->size = size;
    return true;
}

static ki_status read_fields(reader *in) {
    kt_selector *selector = in->selector;
    ki_str rest = in->text;
    while (rest.size) {
        ki_str term = next_term(&rest);
        if (!term.size)
            continue;
        requirement item = { .is_field = true, .first_value = selector->value_count };
        size_t at = 0;
        while (at < term.size && term.data[at] != '=' && term.data[at] != '!')
            at++;
        item.key = (ki_str){ term.data, at };
        bool negated = at < term.size && term.data[at] == '!';
        at += negated;
        if (at >= term.size || term.data[at] != '=')
            return kt_fail_bad_request(in->call, "invalid selector: '%.*s'; can't understand '%.*s'",
                                       (int)in->text.size, in->text.data, (int)term.size, term.data);
        at++;
        if (!negated && at < term.size && term.data[at] == '=')
            at++;
        item.op = negated ? OP_NOT_EQUALS : OP_EQUALS;
        if (!is_known_field(in->call->storage->info, item.key))
            return fail_field(in->call, item.key);
        if (selector->count == MAX_REQUIREMENTS)
            return kt_fail_bad_request(in->call, "a selector may have %d requirements at most", (int)MAX_REQUIREMENTS);
        ki_str value = { term.data + at, term.size - at };
        if (!unescape(selector, &value))
            return kt_fail_bad_request(
                in->call, "invalid field selector: '%.*s' has a character that needs a '\\', or a '\\' too much",
                (int)term.size, term.data);
        ki_status status = add_value(in, &item, value);
        if (status)
            return status;
        selector->requirements[selector->count++] = item;
    }
    return KI_OK;
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

/* Copies the selectors' text, because a watch outlives its request. */
static ki_status make(kt_call *call, kt_selector **ret_selector) {
    ki_str labels = kt_call_param(call, "labelSelector"), fields = kt_call_param(call, "fieldSelector");
    kt_selector *selector = ki_alloc_zero(call->allocator, sizeof *selector);
    size_t size = labels.size + fields.size + call->ns.size;
    char *text = ki_alloc(call->allocator, size + 1);
    if (!selector || !text) {
        ki_free(call->allocator, selector);
        ki_free(call->allocator, text);
        return KI_ERR_NO_MEMORY;
    }
    *selector = (kt_selector){ .allocator = call->allocator, .text = text };
    ki_str *parts[] = { &labels, &fields, &call->ns };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i]->size)
            memcpy(text, parts[i]->data, parts[i]->size);
        if (i < 2)
            *parts[i] = (ki_str){ text, parts[i]->size };
        else
            selector->ns = (ki_str){ text, parts[i]->size };
        text += parts[i]->size;
    }
    reader in = { call, selector, labels, 0 };
    skip_spaces(&in);
    ki_status status = in.at < labels.size ? read_labels(&in) : KI_OK;
    if (!status) {
        in = (reader){ call, selector, fields, 0 };
        status = read_fields(&in);
    }
    if (status)
        kt_selector_free(selector);
    else
        *ret_selector = selector;
    return status;
}

ki_status kt_selector_parse(kt_call *call, kt_selector **ret_selector) {
    *ret_selector = NULL;
    if (!call->ns.size && !kt_call_param(call, "labelSelector").size && !kt_call_param(call, "fieldSelector").size)
        return KI_OK;
    return make(call, ret_selector);
}

void kt_selector_free(kt_selector *selector) {
    if (!selector)
        return;
    ki_free(selector->allocator, selector->text);
    ki_free(selector->allocator, selector);
}

static bool to_number(ki_str text, int64_t *ret_number) {
    uint64_t number;
    bool negative = text.size && text.data[0] == '-';
    if (negative) {
        text.data++;
        text.size--;
    }
    if (!ki_str_to_uint64(text, INT64_MAX, &number))
        return false;
    *ret_number = negative ? -(int64_t)number : (int64_t)number;
    return true;
}

static bool satisfies(const kt_selector *selector, const requirement *item, const kt_object *obj) {
    ki_str value = item->is_field ? kt_object_field(obj, item->key) : kt_object_label(obj, item->key);
    bool present = value.data != NULL, among = false;
    for (size_t i = 0; i < item->value_count; i++)
        among = among || ki_str_equal(value, selector->values[item->first_value + i]);
    switch (item->op) {
    case OP_EQUALS:
    case OP_IN:
        return (present || item->is_field) && among;
    case OP_NOT_EQUALS:
    case OP_NOT_IN:
        return (!present && !item->is_field) || !among;
    case OP_EXISTS:
        return present;
    case OP_NOT_EXISTS:
        return !present;
    case OP_GREATER:
    case OP_LESS:
        break;
    }
    int64_t number, limit;
    if (!present || !to_number(value, &number) || !to_number(selector->values[item->first_value], &limit))
        return false;
    return item->op == OP_GREATER ? number > limit : number < limit;
}

bool kt_selector_matches(const kt_selector *selector, const kt_object *obj) {
    if (!selector)
        return true;
    if (selector->ns.size && !ki_str_equal(selector->ns, obj->ns))
        return false;
    for (size_t i = 0; i < selector->count; i++) {
        if (!satisfies(selector, &selector->requirements[i], obj))
            return false;
    }
    return true;
}

bool kt_selector_is_filter(const kt_selector *selector) {
    return selector && selector->count > 0;
}
