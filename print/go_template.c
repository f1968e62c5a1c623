/* go_template.c: evaluates a parsed Go template. Texts that functions return are kept until the end. */
#include "print/go_template.h"
#include "src/base/error.h"
#include "src/base/memory.h"

#include <stdlib.h>

enum {
    DEFAULT_MAX_OUTPUT = 256 * 1024 * 1024,
    STEPS_MAX = 64 * 1000 * 1000 /* nodes, commands and elements of one evaluation */
};

/* A text that a function returned. */
typedef struct kept_text {
    struct kept_text *next;
    char data[];
} kept_text;

typedef struct run {
    const ki_go_template *template;
    ki_buffer *out;
    ki_go_value variables[KI_GO_TEMPLATE_MAX_VARIABLES];
    kept_text *kept;
    size_t kept_size;
    uint64_t steps;
    ki_error *err;
} run;

static ki_status evaluate_pipe(run *r, const ki_go_pipe *pipe, const ki_go_value *dot, ki_go_value *ret_value);
static ki_status walk(run *r, const ki_go_node *node, const ki_go_value *dot);

static ki_status too_much(run *r) {
    return ki_error_set(r->err, KI_ERR_LIMIT, "go-template: too much to print or to evaluate");
}

static ki_status take_step(run *r) {
    return r->steps++ < STEPS_MAX ? KI_OK : too_much(r);
}

static ki_status check_output(run *r) {
    if (r->out->failed == KI_ERR_LIMIT)
        return too_much(r);
    return r->out->failed ? ki_error_no_memory(r->err, "printing a go-template") : KI_OK;
}

/* Moves a function's text from its scratch to memory that lives until the end. */
static ki_status keep(run *r, ki_go_value *value) {
    if (value->type != KI_GO_IS_STRING)
        return KI_OK;
    r->kept_size += value->text.size;
    if (r->kept_size > r->template->max_output)
        return too_much(r);
    kept_text *text = ki_alloc(&r->template->allocator, sizeof *text + value->text.size + 1);
    if (!text)
        return ki_error_no_memory(r->err, "printing a go-template");
    if (value->text.size)
        memcpy(text->data, value->text.data, value->text.size);
    text->data[value->text.size] = '\0';
    text->next = r->kept;
    r->kept = text;
    value->text.data = text->data;
    return KI_OK;
}

/* ---- operands ---- */

static ki_status get_field(run *r, ki_str name, ki_go_value *value) {
    bool may_miss = r->template->allows_missing;
    if (value->type == KI_GO_NONE)
        return may_miss ? KI_OK
                        : ki_error_set(r->err, KI_ERR_NOT_FOUND, "go-template: nil data; no entry for key \"%.*s\"",
                                       (int)name.size, name.data);
    if (value->type != KI_GO_IS_MAP)
        return ki_error_set(r->err, KI_ERR_INVALID, "go-template: can't evaluate field %.*s in type %s", (int)name.size,
                            name.data, ki_go_type_name(value));
    *value = ki_go_value_of(yyjson_obj_getn(value->json, name.data, name.size));
    if (value->type == KI_GO_NONE && !may_miss)
        return ki_error_set(r->err, KI_ERR_NOT_FOUND, "go-template: map has no entry for key \"%.*s\"", (int)name.size,
                            name.data);
    return KI_OK;
}

static ki_status evaluate_operand(run *r, const ki_go_operand *operand, const ki_go_value *dot,
                                  ki_go_value *ret_value) {
    ki_go_value value = { .type = KI_GO_NULL };
    ki_status status = KI_OK;
    switch (operand->type) {
    case KI_GO_DOT:
        value = *dot;
        break;
    case KI_GO_VARIABLE:
        value = r->variables[operand->index];
        break;
    case KI_GO_PIPE:
        status = evaluate_pipe(r, operand->pipe, dot, &value);
        break;
    case KI_GO_STRING:
        value = (ki_go_value){ .type = KI_GO_IS_STRING, .text = operand->text };
        break;
    case KI_GO_INT:
        value = (ki_go_value){ .type = KI_GO_IS_INT, .integer = operand->integer };
        break;
    case KI_GO_FLOAT:
        value = (ki_go_value){ .type = KI_GO_IS_FLOAT, .number = operand->number };
        break;
    case KI_GO_BOOL:
        value = (ki_go_value){ .type = KI_GO_IS_BOOL, .boolean = operand->boolean };
        break;
    default:
        break;
    }
    for (const ki_go_name *name = operand->fields; name && !status; name = name->next)
        status = get_field(r, name->text, &value);
    *ret_value = value;
    return status;
}

/* ---- commands ---- */

/* Evaluates and, or: the first argument that decides is the value, and no other is evaluated. */
static ki_status evaluate_logic(run *r, const ki_go_command *command, const ki_go_value *dot, const ki_go_value *last,
                                ki_go_value *ret_value) {
    bool is_or = command->first->index == KI_GO_OR;
    const ki_go_operand *operand = command->first->next;
    if (!operand && !last)
        return ki_error_set(r->err, KI_ERR_INVALID, "go-template: %s: wrong number of arguments", is_or ? "or" : "and");
    for (; operand; operand = operand->next) {
        ki_status status = evaluate_operand(r, operand, dot, ret_value);
        if (status || ki_go_is_true(ret_value) == is_or)
            return status;
    }
    if (last)
        *ret_value = *last;
    return KI_OK;
}

static ki_status evaluate_command(run *r, const ki_go_command *command, const ki_go_value *dot, const ki_go_value *last,
                                  ki_go_value *ret_value) {
    const ki_go_operand *first = command->first;
    ki_go_value arguments[KI_GO_TEMPLATE_MAX_OPERANDS + 1];
    size_t count = 0;
    ki_status status = take_step(r);
    if (status || first->type != KI_GO_FUNCTION)
        return status ? status : evaluate_operand(r, first, dot, ret_value);
    if (first->index == KI_GO_AND || first->index == KI_GO_OR)
        return evaluate_logic(r, command, dot, last, ret_value);
    for (const ki_go_operand *operand = first->next; operand && !status; operand = operand->next)
        status = evaluate_operand(r, operand, dot, &arguments[count++]);
    if (last)
        arguments[count++] = *last;
    if (status)
        return status;
    ki_buffer scratch;
    ki_buffer_init(&scratch, &r->template->allocator, r->template->max_output);
    const ki_go_call call = { .name = ki_go_function_name(first->index), .scratch = &scratch, .err = r->err };
    status = ki_go_function_call(first->index, &call, arguments, count, ret_value);
    if (!status && scratch.size)
        status = keep(r, ret_value);
    ki_buffer_free(&scratch);
    return status;
}

static ki_status evaluate_pipe(run *r, const ki_go_pipe *pipe, const ki_go_value *dot, ki_go_value *ret_value) {
    ki_go_value value = { .type = KI_GO_NONE };
    ki_status status = KI_OK;
    for (const ki_go_command *command = pipe->first; command && !status; command = command->next) {
        const ki_go_value last = value;
        status = evaluate_command(r, command, dot, command == pipe->first ? NULL : &last, &value);
        if (value.type == KI_GO_NULL)
            value.type = KI_GO_NONE; /* as Go, a null at the end of a command is no value */
    }
    if (!status && pipe->variable_count == 1)
        r->variables[pipe->variables[0]] = value;
    *ret_value = value;
    return status;
}

/* ---- nodes ---- */

static ki_status print_value(run *r, const ki_go_value *value) {
    if (value->type == KI_GO_NONE || value->type == KI_GO_NULL)
        ki_buffer_append_string(r->out, "<no value>");
    else
        ki_go_append(r->out, value);
    return check_output(r);
}

static ki_status walk_once(run *r, const ki_go_node *node, const ki_go_value *key, const ki_go_value *element) {
    const ki_go_pipe *pipe = node->pipe;
    ki_status status = take_step(r);
    if (status)
        return status;
    if (pipe->variable_count)
        r->variables[pipe->variables[pipe->variable_count - 1]] = *element;
    if (pipe->variable_count == 2)
        r->variables[pipe->variables[0]] = *key;
    return walk(r, node->body, element);
}

static int by_name(const void *a, const void *b) {
    yyjson_val *const *left = a, *const *right = b;
    return ki_str_order((ki_str){ yyjson_get_str(*left), yyjson_get_len(*left) },
                        (ki_str){ yyjson_get_str(*right), yyjson_get_len(*right) });
}

static ki_status walk_map(run *r, const ki_go_node *node, yyjson_val *map) {
    size_t count = yyjson_obj_size(map), index, max;
    yyjson_val **keys = ki_alloc_array(&r->template->allocator, count, sizeof(yyjson_val *)), *key, *element;
    ki_status status = keys ? KI_OK : ki_error_no_memory(r->err, "printing a go-template");
    yyjson_obj_foreach(map, index, max, key, element) {
        if (keys)
            keys[index] = key;
    }
    if (keys)
        qsort(keys, count, sizeof(yyjson_val *), by_name);
    for (size_t i = 0; i < count && !status; i++) {
        ki_go_value name = ki_go_value_of(keys[i]), value = ki_go_value_of(unsafe_yyjson_get_next(keys[i]));
        status = walk_once(r, node, &name, &value);
    }
    ki_free(&r->template->allocator, keys);
    return status;
}

static ki_status walk_list(run *r, const ki_go_node *node, yyjson_val *list) {
    yyjson_val *element;
    size_t index, count;
    yyjson_arr_foreach(list, index, count, element) {
        ki_go_value at = { .type = KI_GO_IS_INT, .integer = (int64_t)index }, value = ki_go_value_of(element);
        ki_status status = walk_once(r, node, &at, &value);
        if (status)
            return status;
    }
    return KI_OK;
}

static ki_status walk_range(run *r, const ki_go_node *node, const ki_go_value *dot) {
    ki_go_pipe pipe = *node->pipe;
    ki_go_value value;
    pipe.variable_count = 0; /* they are set for each element */
    ki_status status = evaluate_pipe(r, &pipe, dot, &value);
    if (status)
        return status;
    bool is_list = value.type == KI_GO_IS_LIST, is_map = value.type == KI_GO_IS_MAP;
    if (value.type == KI_GO_IS_INT) {
        for (ki_go_value i = { .type = KI_GO_IS_INT }; i.integer < value.integer && !status; i.integer++)
            status = walk_once(r, node, &i, &i);
        return status || value.integer > 0 ? status : walk(r, node->otherwise, dot);
    }
    if (!is_list && !is_map && value.type != KI_GO_NONE)
        return ki_error_set(r->err, KI_ERR_INVALID, "go-template: range can't iterate over a value of type %s",
                            ki_go_type_name(&value));
    if (!ki_go_is_true(&value))
        return walk(r, node->otherwise, dot);
    return is_list ? walk_list(r, node, value.json) : walk_map(r, node, value.json);
}

static ki_status walk_one(run *r, const ki_go_node *node, const ki_go_value *dot) {
    ki_go_value value;
    ki_status status = take_step(r);
    if (status)
        return status;
    if (node->type == KI_GO_TEXT) {
        ki_buffer_append_view(r->out, node->text);
        return check_output(r);
    }
    if (node->type == KI_GO_RANGE)
        return walk_range(r, node, dot);
    status = evaluate_pipe(r, node->pipe, dot, &value);
    if (status)
        return status;
    if (node->type == KI_GO_PRINT)
        return node->pipe->variable_count ? KI_OK : print_value(r, &value);
    if (!ki_go_is_true(&value))
        return walk(r, node->otherwise, dot);
    return walk(r, node->body, node->type == KI_GO_WITH ? &value : dot);
}

static ki_status walk(run *r, const ki_go_node *node, const ki_go_value *dot) {
    ki_status status = KI_OK;
    for (; node && !status; node = node->next)
        status = walk_one(r, node, dot);
    return status;
}

/* ---- the template ---- */

ki_status ki_go_template_new(const char *text, const ki_jsonpath_options *options, ki_go_template **ret_template,
                             ki_error *err) {
    const ki_allocator *allocator = options && options->allocator ? options->allocator : &ki_allocator_default;
    size_t size = strlen(text);
    if (size > KI_JSONPATH_MAX_LENGTH)
        return ki_error_set(err, KI_ERR_LIMIT, "go-template: the template is longer than %d bytes",
                            KI_JSONPATH_MAX_LENGTH);
    ki_go_template *template = ki_alloc_zero(allocator, sizeof *template);
    if (!template)
        return ki_error_no_memory(err, "parsing a go-template");
    template->allocator = *allocator;
    template->allows_missing = options && options->allow_missing_keys;
    template->max_output = options && options->max_output ? options->max_output : DEFAULT_MAX_OUTPUT;
    ki_status status = ki_go_template_parse(template, (ki_str){ text, size }, err);
    if (status)
        ki_go_template_free(template);
    else
        *ret_template = template;
    return status;
}

void ki_go_template_free(ki_go_template *template) {
    if (!template)
        return;
    const ki_allocator allocator = template->allocator;
    while (template->blocks) {
        ki_block *block = template->blocks;
        template->blocks = block->next;
        ki_free(&allocator, block);
    }
    ki_free(&allocator, template);
}

static ki_status evaluate(const ki_go_template *template, yyjson_val *root, ki_buffer *out, ki_error *err) {
    run r = { .template = template, .out = out, .err = err };
    const ki_go_value dot = ki_go_value_of(root);
    r.variables[0] = dot;
    ki_status status = walk(&r, template->first, &dot);
    while (r.kept) {
        kept_text *text = r.kept;
        r.kept = text->next;
        ki_free(&template->allocator, text);
    }
    return status;
}

ki_status ki_go_template_print(const ki_go_template *template, const char *json, size_t size,
                               ki_jsonpath_text *ret_text, ki_error *err) {
    ki_buffer out;
    yyjson_read_err why;
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)json, size, 0, NULL, &why);
    if (!doc)
        return why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION
                   ? ki_error_no_memory(err, "printing a go-template")
                   : ki_error_set(err, KI_ERR_PARSE, "go-template: the value is not JSON: %s", why.msg);
    ki_buffer_init(&out, &template->allocator, template->max_output);
    ki_status status = ki_buffer_reserve(&out, 1) ? ki_error_no_memory(err, "printing a go-template") : KI_OK;
    if (!status)
        status = evaluate(template, yyjson_doc_get_root(doc), &out, err);
    size_t text_size = 0;
    char *text = status ? NULL : ki_buffer_take(&out, &text_size);
    if (text)
        *ret_text = (ki_jsonpath_text){ text, text_size, &template->allocator };
    else if (!status)
        status = ki_error_no_memory(err, "printing a go-template");
    ki_buffer_free(&out);
    yyjson_doc_free(doc);
    return status;
}
