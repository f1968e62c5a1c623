/* go_template_functions.c: the functions of a Go template. */
#include "print/go_template.h"
#include "src/base/base64.h"
#include "src/base/error.h"

typedef ki_status (*implementation)(const ki_go_call *call, const ki_go_value *arguments, size_t count,
                                    ki_go_value *ret_value);

static ki_status wrong(const ki_go_call *call, const char *why, const ki_go_value *value) {
    return ki_error_set(call->err, KI_ERR_INVALID, "go-template: %s: %s%s%s", call->name, why, value ? " of type " : "",
                        value ? ki_go_type_name(value) : "");
}

static ki_go_value of_bool(bool boolean) {
    return (ki_go_value){ .type = KI_GO_IS_BOOL, .boolean = boolean };
}

static bool is_nil(const ki_go_value *value) {
    return value->type == KI_GO_NONE || value->type == KI_GO_NULL;
}

static ki_status call_not(const ki_go_call *call, const ki_go_value *arguments, size_t count, ki_go_value *ret_value) {
    (void)call, (void)count;
    *ret_value = of_bool(!ki_go_is_true(&arguments[0]));
    return KI_OK;
}

static ki_status call_len(const ki_go_call *call, const ki_go_value *arguments, size_t count, ki_go_value *ret_value) {
    (void)count;
    *ret_value = (ki_go_value){ .type = KI_GO_IS_INT };
    switch (arguments->type) {
    case KI_GO_IS_STRING:
        ret_value->integer = (int64_t)arguments->text.size;
        return KI_OK;
    case KI_GO_IS_LIST:
        ret_value->integer = (int64_t)yyjson_arr_size(arguments->json);
        return KI_OK;
    case KI_GO_IS_MAP:
        ret_value->integer = (int64_t)yyjson_obj_size(arguments->json);
        return KI_OK;
    default:
        return wrong(call, "no length", arguments);
    }
}

static ki_status index_once(const ki_go_call *call, const ki_go_value *item, const ki_go_value *index,
                            ki_go_value *ret_value) {
    if (item->type == KI_GO_IS_MAP) {
        if (index->type != KI_GO_IS_STRING)
            return wrong(call, "the key is a value", index);
        *ret_value = ki_go_value_of(yyjson_obj_getn(item->json, index->text.data, index->text.size));
        return KI_OK;
    }
    if (item->type != KI_GO_IS_LIST)
        return wrong(call, "no elements in a value", item);
    if (index->type != KI_GO_IS_INT)
        return wrong(call, "the index is a value", index);
    if (index->integer < 0 || (uint64_t)index->integer >= yyjson_arr_size(item->json))
        return wrong(call, "the index is out of range", NULL);
    *ret_value = ki_go_value_of(yyjson_arr_get(item->json, (size_t)index->integer));
    return KI_OK;
}

static ki_status call_index(const ki_go_call *call, const ki_go_value *arguments, size_t count,
                            ki_go_value *ret_value) {
    ki_status status = KI_OK;
    *ret_value = arguments[0];
    for (size_t i = 1; i < count && !status; i++) {
        const ki_go_value item = *ret_value;
        status = index_once(call, &item, &arguments[i], ret_value);
    }
    return status;
}

/* ---- comparisons ---- */

static ki_status call_eq(const ki_go_call *call, const ki_go_value *arguments, size_t count, ki_go_value *ret_value) {
    const ki_go_value *a = arguments;
    bool is_equal = false;
    for (size_t i = 0; i < count; i++) {
        if (arguments[i].type == KI_GO_IS_LIST || arguments[i].type == KI_GO_IS_MAP)
            return wrong(call, "cannot compare a value", &arguments[i]);
    }
    for (size_t i = 1; i < count && !is_equal; i++) {
        const ki_go_value *b = &arguments[i];
        if (is_nil(a) || is_nil(b))
            is_equal = is_nil(a) && is_nil(b);
        else if (a->type != b->type)
            return wrong(call, "incompatible types for comparison", NULL);
        else if (a->type == KI_GO_IS_STRING)
            is_equal = ki_str_equal(a->text, b->text);
        else if (a->type == KI_GO_IS_INT)
            is_equal = a->integer == b->integer;
        else if (a->type == KI_GO_IS_FLOAT)
            is_equal = !(a->number < b->number) && !(a->number > b->number);
        else
            is_equal = a->boolean == b->boolean;
    }
    *ret_value = of_bool(is_equal);
    return KI_OK;
}

static ki_status call_ne(const ki_go_call *call, const ki_go_value *arguments, size_t count, ki_go_value *ret_value) {
    ki_status status = call_eq(call, arguments, count, ret_value);
    ret_value->boolean = !ret_value->boolean;
    return status;
}

/* Compares two values: a number below, equal to or above 0. */
static ki_status compare(const ki_go_call *call, const ki_go_value *arguments, int *ret_order) {
    const ki_go_value *a = &arguments[0], *b = &arguments[1];
    if (a->type != b->type)
        return wrong(call, "incompatible types for comparison", NULL);
    if (a->type == KI_GO_IS_STRING)
        *ret_order = ki_str_order(a->text, b->text);
    else if (a->type == KI_GO_IS_INT)
        *ret_order = (a->integer > b->integer) - (a->integer < b->integer);
    else if (a->type == KI_GO_IS_FLOAT)
        *ret_order = (a->number > b->number) - (a->number < b->number);
    else
        return wrong(call, "no order for values", a);
    return KI_OK;
}

static ki_status call_lt(const ki_go_call *call, const ki_go_value *arguments, size_t count, ki_go_value *ret_value) {
    int order = 0;
    (void)count;
    ki_status status = compare(call, arguments, &order);
    *ret_value = of_bool(order < 0);
    return status;
}

static ki_status call_le(const ki_go_call *call, const ki_go_value *arguments, size_t count, ki_go_value *ret_value) {
    int order = 0;
    (void)count;
    ki_status status = compare(call, arguments, &order);
    *ret_value = of_bool(order <= 0);
    return status;
}

static ki_status call_gt(const ki_go_call *call, const ki_go_value *arguments, size_t count, ki_go_value *ret_value) {
    ki_status status = call_le(call, arguments, count, ret_value);
    ret_value->boolean = !ret_value->boolean;
    return status;
}

static ki_status call_ge(const ki_go_call *call, const ki_go_value *arguments, size_t count, ki_go_value *ret_value) {
    ki_status status = call_lt(call, arguments, count, ret_value);
    ret_value->boolean = !ret_value->boolean;
    return status;
}

/* ---- texts ---- */

/* Returns the text that was added to the scratch since `begin`. */
static ki_status take_text(const ki_go_call *call, size_t begin, ki_go_value *ret_value) {
    const ki_buffer *scratch = call->scratch;
    if (scratch->failed == KI_ERR_LIMIT)
        return ki_error_set(call->err, KI_ERR_LIMIT, "go-template: %s: too much text", call->name);
    if (scratch->failed)
        return ki_error_no_memory(call->err, "printing a go-template");
    *ret_value = (ki_go_value){ .type = KI_GO_IS_STRING,
                                .text = { scratch->data ? scratch->data + begin : "", scratch->size - begin } };
    return KI_OK;
}

static ki_status call_print(const ki_go_call *call, const ki_go_value *arguments, size_t count,
                            ki_go_value *ret_value) {
    size_t begin = call->scratch->size;
    ki_go_append_all(call->scratch, arguments, count, false);
    return take_text(call, begin, ret_value);
}

static ki_status call_println(const ki_go_call *call, const ki_go_value *arguments, size_t count,
                              ki_go_value *ret_value) {
    size_t begin = call->scratch->size;
    ki_go_append_all(call->scratch, arguments, count, true);
    return take_text(call, begin, ret_value);
}

ki_status ki_go_format_check(ki_str format, ki_error *err) {
    for (size_t i = 0; i < format.size; i++) {
        if (format.data[i] != '%')
            continue;
        for (i++; i < format.size && strchr("-+0123456789.", format.data[i]); i++)
            ;
        if (i < format.size && strchr("cUTpboOXFG*[# ", format.data[i]))
            return ki_error_set(
                err, KI_ERR_PARSE,
                "go-template: printf: %%%c is not supported; what is: %%v, %%s, %%q, %%d, %%x, %%t, %%f, "
                "%%e, %%g with -, +, 0, width and precision",
                format.data[i]);
    }
    return KI_OK;
}

static ki_status call_printf(const ki_go_call *call, const ki_go_value *arguments, size_t count,
                             ki_go_value *ret_value) {
    size_t begin = call->scratch->size;
    if (arguments->type != KI_GO_IS_STRING)
        return wrong(call, "the format is a value", arguments);
    ki_status status = ki_go_format_check(arguments->text, call->err);
    if (status)
        return status;
    ki_go_append_format(call->scratch, arguments->text, arguments + 1, count - 1);
    return take_text(call, begin, ret_value);
}

static ki_status call_base64decode(const ki_go_call *call, const ki_go_value *arguments, size_t count,
                                   ki_go_value *ret_value) {
    size_t begin = call->scratch->size, size = 0;
    (void)count;
    if (arguments->type != KI_GO_IS_STRING)
        return wrong(call, "expected a string, not a value", arguments);
    if (!ki_base64_decode(arguments->text, NULL, &size))
        return wrong(call, "base64 decode failed", NULL);
    if (!ki_buffer_reserve(call->scratch, KI_BASE64_DECODED_MAX(arguments->text.size))) {
        (void)ki_base64_decode(arguments->text, call->scratch->data + begin, &size);
        call->scratch->size += size;
    }
    return take_text(call, begin, ret_value);
}

/* ---- the table ---- */

static const struct {
    const char *name;
    size_t least, most; /* arguments */
    implementation call;
} functions[] = {
    [KI_GO_AND] = { "and", 1, KI_GO_TEMPLATE_MAX_OPERANDS, NULL },
    [KI_GO_OR] = { "or", 1, KI_GO_TEMPLATE_MAX_OPERANDS, NULL },
    { "not", 1, 1, call_not },
    { "len", 1, 1, call_len },
    { "index", 1, KI_GO_TEMPLATE_MAX_OPERANDS, call_index },
    { "eq", 2, KI_GO_TEMPLATE_MAX_OPERANDS, call_eq },
    { "ne", 2, 2, call_ne },
    { "lt", 2, 2, call_lt },
    { "le", 2, 2, call_le },
    { "gt", 2, 2, call_gt },
    { "ge", 2, 2, call_ge },
    { "print", 0, KI_GO_TEMPLATE_MAX_OPERANDS, call_print },
    { "println", 0, KI_GO_TEMPLATE_MAX_OPERANDS, call_println },
    { "printf", 1, KI_GO_TEMPLATE_MAX_OPERANDS, call_printf },
    { "base64decode", 1, 1, call_base64decode },
};

int ki_go_function_find(ki_str name) {
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (ki_str_equals(name, functions[i].name))
            return (int)i;
    }
    return -1;
}

const char *ki_go_function_name(size_t index) {
    return functions[index].name;
}

ki_status ki_go_function_call(size_t index, const ki_go_call *call, const ki_go_value *arguments, size_t count,
                              ki_go_value *ret_value) {
    if (count < functions[index].least || count > functions[index].most)
        return wrong(call, "wrong number of arguments", NULL);
    return functions[index].call(call, arguments, count, ret_value);
}
