/* fields.c: see fields.h. A path is split into steps first; then the steps are followed in the schema and the tree. */
#include "fields.h"

#include "src/object/nearest.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum step_kind {
    STEP_NAME,
    STEP_ALL,  /* "[]" or "[*]" */
    STEP_INDEX /* "[2]" */
} step_kind;

typedef struct step {
    step_kind kind;
    const char *name; /* in `names` of the parser, with a zero at its end */
    int64_t index;
    const char *at; /* in the fields */
} step;

/* One field, and what reads it. */
typedef struct parser {
    const char *fields;
    const char *at;
    step steps[2 * GEN_STEPS_MAX];
    size_t count;
    const char *type; /* after ':'; NULL: the schema's */
    size_t type_size;
    char names[GEN_PATH_MAX + 1]; /* of the steps, each with a zero */
    size_t names_size;
    ki_error *err;
} parser;

static ki_status fail(const parser *p, const char *where, ki_status code, const char *format, ...)
    __attribute__((__format__(__printf__, 4, 5)));

static ki_status fail(const parser *p, const char *where, ki_status code, const char *format, ...) {
    char why[512];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return gen_fail(p->err, code, "--fields, character %zu: %s", (size_t)(where - p->fields) + 1, why);
}

/* ---- steps ---- */

static ki_status add_step(parser *p, step_kind kind, const char *name, int64_t index, const char *at) {
    if (p->count == sizeof p->steps / sizeof p->steps[0])
        return fail(p, at, KI_ERR_LIMIT, "a path has at most %d names", GEN_STEPS_MAX);
    p->steps[p->count++] = (step){ kind, name, index, at };
    return KI_OK;
}

/* Copies a name up to one of `ends`; a backslash escapes the next character. */
static ki_status parse_name(parser *p, const char *ends, const char **ret_name) {
    const char *name = p->names + p->names_size;
    for (; *p->at && !strchr(ends, *p->at); p->at++) {
        if (*p->at == '\\' && !*++p->at)
            return fail(p, p->at - 1, KI_ERR_PARSE, "nothing after the backslash");
        if (p->names_size + 2 > GEN_PATH_MAX)
            return fail(p, p->at, KI_ERR_LIMIT, "a path of more than %d characters", GEN_PATH_MAX);
        p->names[p->names_size++] = *p->at;
    }
    p->names[p->names_size++] = '\0';
    *ret_name = name;
    return KI_OK;
}

static ki_status parse_brackets(parser *p) {
    const char *begin = p->at++, *name = NULL;
    ki_status status = KI_OK;
    if (*p->at == '\'' || *p->at == '"') {
        const char quote[2] = { *p->at++, '\0' };
        status = parse_name(p, quote, &name);
        if (!status && !*p->at)
            return fail(p, begin + 1, KI_ERR_PARSE, "the quote is not closed");
        if (!status)
            status = add_step(p, STEP_NAME, name, -1, begin);
        p->at += !status;
    } else if (*p->at >= '0' && *p->at <= '9') {
        int64_t index = 0;
        for (; *p->at >= '0' && *p->at <= '9'; p->at++) {
            index = index * 10 + (*p->at - '0');
            if (index > INT32_MAX)
                return fail(p, begin + 1, KI_ERR_PARSE, "the index is too large");
        }
        status = add_step(p, STEP_INDEX, NULL, index, begin);
    } else {
        p->at += *p->at == '*';
        status = add_step(p, STEP_ALL, NULL, -1, begin);
    }
    if (status)
        return status;
    if (*p->at != ']')
        return fail(p, p->at, KI_ERR_PARSE, "']' is missing; write [], [2] or ['a.name']");
    p->at++;
    return KI_OK;
}

static ki_status parse_path(parser *p) {
    const char *begin = p->at, *name = NULL;
    bool expects_name = true;
    p->count = p->names_size = 0;
    p->type = NULL;
    p->at += *p->at == '.';
    for (;;) {
        ki_status status = KI_OK;
        const char *at = p->at;
        if (*p->at == '[') {
            status = parse_brackets(p);
        } else if (expects_name) {
            status = parse_name(p, ".[],:'\" \t\n", &name);
            if (!status && p->at == at)
                return fail(p, at, KI_ERR_PARSE, at == begin ? "a field is missing" : "a name is missing");
            if (!status)
                status = add_step(p, STEP_NAME, name, -1, at);
        }
        if (status)
            return status;
        expects_name = *p->at == '.';
        if (expects_name)
            p->at++;
        else if (*p->at != '[')
            break;
    }
    if (*p->at == ':') {
        p->type = ++p->at;
        p->type_size = strcspn(p->at, ", \t\n");
        p->at += p->type_size;
    }
    return KI_OK;
}

/* ---- the schema ---- */

/* Returns the name closest to `name` among the members of an object; NULL: none is close. */
static const char *nearest_member(const gen_type *type, const char *name) {
    yyjson_val *members = yyjson_obj_get(type->schema, "properties"), *key, *value;
    size_t index, count;
    ki_nearest search;
    if (!ki_nearest_begin(&search, name))
        return NULL;
    yyjson_obj_foreach(members, index, count, key, value) {
        ki_nearest_try(&search, yyjson_get_str(key), yyjson_get_str(key));
    }
    return search.best;
}

/* Writes the part of the fields before a step, without its last dot: "spec.containers[]". */
static const char *path_before(const parser *p, const step *s, char text[GEN_TEXT_MAX]) {
    const char *begin = p->steps[0].at, *end = s->at;
    if (end > begin && end[-1] == '.')
        end--;
    snprintf(text, GEN_TEXT_MAX, "%.*s", end - begin < GEN_TEXT_MAX ? (int)(end - begin) : GEN_TEXT_MAX - 1, begin);
    return text;
}

static ki_status fail_member(const parser *p, const step *s, const gen_type *type) {
    char before[GEN_TEXT_MAX], owner[GEN_TEXT_MAX + 3] = "the object";
    const char *meant = type->kind == GEN_OBJECT ? nearest_member(type, s->name) : NULL;
    if (s != p->steps)
        snprintf(owner, sizeof owner, "\"%s\"", path_before(p, s, before));
    if (type->kind == GEN_LIST)
        return fail(p, s->at, KI_ERR_NOT_FOUND, "%s is a list; write %s[].%.100s for all of its elements", owner,
                    path_before(p, s, before), s->name);
    if (type->kind != GEN_OBJECT)
        return fail(p, s->at, KI_ERR_NOT_FOUND, "%s is %s and has no field \"%.100s\"", owner,
                    gen_kind_name(type->kind), s->name);
    return fail(p, s->at, KI_ERR_NOT_FOUND, "%s has no field \"%.100s\"%s%.100s%s", owner, s->name,
                meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
}

/* Follows a name: `type` becomes the type of the member. */
static ki_status enter_name(const parser *p, const step *s, const gen_schema *schema, gen_type *type) {
    const char *name = s->name ? s->name : "";
    yyjson_val *member = type->kind == GEN_OBJECT ? gen_schema_member(type, name, strlen(name)) : NULL;
    if (!member && type->kind == GEN_OBJECT)
        member = yyjson_obj_get(type->schema, "additionalProperties");
    if (type->kind == GEN_MAP)
        member = type->element;
    bool is_open =
        type->kind == GEN_ANY || yyjson_is_true(yyjson_obj_get(type->schema, "x-kubernetes-preserve-unknown-fields"));
    if (!yyjson_is_obj(member) && !is_open)
        return fail_member(p, s, type);
    *type = gen_schema_type(schema, yyjson_is_obj(member) ? member : NULL);
    return KI_OK;
}

/* Follows "[]" or an index: `type` becomes the type of the element. */
static ki_status enter_element(const parser *p, const step *s, const gen_schema *schema, gen_type *type) {
    char before[GEN_TEXT_MAX];
    if (type->kind != GEN_LIST && type->kind != GEN_ANY)
        return fail(p, s->at, KI_ERR_INVALID, "\"%s\" is %s, not a list", path_before(p, s, before),
                    gen_kind_name(type->kind));
    *type = gen_schema_type(schema, type->kind == GEN_LIST ? type->element : NULL);
    return KI_OK;
}

/* ---- the tree ---- */

/* A type word, and the kinds of values that it reads. */
typedef struct reading {
    const char *word;
    ki_field_type type;
    gen_kind kinds[4]; /* beside GEN_ANY */
} reading;

static const reading readings[] = {
    { "string", KI_FIELD_TYPE_STRING, { GEN_STRING, GEN_TIME, GEN_QUANTITY, GEN_INT_OR_STRING } },
    { "text", KI_FIELD_TYPE_TEXT, { GEN_STRING, GEN_INT_OR_STRING, GEN_QUANTITY, GEN_INT64 } },
    { "bool", KI_FIELD_TYPE_BOOL, { GEN_BOOL, GEN_BOOL, GEN_BOOL, GEN_BOOL } },
    { "int32", KI_FIELD_TYPE_INT32, { GEN_INT32, GEN_INT64, GEN_INT_OR_STRING, GEN_INT32 } },
    { "int64", KI_FIELD_TYPE_INT64, { GEN_INT32, GEN_INT64, GEN_INT_OR_STRING, GEN_DOUBLE } },
    { "double", KI_FIELD_TYPE_DOUBLE, { GEN_INT32, GEN_INT64, GEN_DOUBLE, GEN_DOUBLE } },
    { "time", KI_FIELD_TYPE_TIME, { GEN_TIME, GEN_STRING, GEN_TIME, GEN_TIME } },
    { "quantity", KI_FIELD_TYPE_QUANTITY, { GEN_QUANTITY, GEN_STRING, GEN_INT_OR_STRING, GEN_INT64 } },
    { "milli", KI_FIELD_TYPE_MILLI, { GEN_QUANTITY, GEN_STRING, GEN_INT_OR_STRING, GEN_INT64 } },
};

/* Reads the word after ':'. */
static ki_status find_reading(const parser *p, const gen_field *field, ki_field_type *ret_type) {
    ki_nearest search;
    char word[32];
    snprintf(word, sizeof word, "%.*s", p->type_size < sizeof word ? (int)p->type_size : (int)sizeof word - 1, p->type);
    if (strcmp(word, "present") == 0) {
        *ret_type = KI_FIELD_TYPE_PRESENT;
        return KI_OK;
    }
    bool can_guess = ki_nearest_begin(&search, word);
    for (size_t i = 0; i < sizeof readings / sizeof readings[0]; i++) {
        const reading *r = &readings[i];
        if (can_guess)
            ki_nearest_try(&search, r->word, r->word);
        if (strcmp(word, r->word) != 0)
            continue;
        bool fits = field->type.kind == GEN_ANY;
        for (size_t j = 0; j < 4; j++)
            fits |= r->kinds[j] == field->type.kind;
        *ret_type = r->type;
        return fits ? KI_OK
                    : fail(p, p->type, KI_ERR_INVALID, "the value is %s: it cannot be read as %s",
                           gen_kind_name(field->type.kind), word);
    }
    if (can_guess && search.best)
        return fail(p, p->type, KI_ERR_PARSE, "there is no type \"%s\"; did you mean %s?", word, search.best);
    return fail(
        p, p->type, KI_ERR_PARSE,
        "there is no type \"%s\"; write string, text, bool, int32, int64, double, time, quantity, milli or present",
        word);
}

/* Adds the field that a path ends with. */
static ki_status add_last(const parser *p, gen_tree *tree, const gen_schema *schema, gen_node *parent,
                          const gen_field *field) {
    gen_node *node = NULL;
    gen_type element;
    const char *begin = p->steps[0].at;
    ki_field_type type = gen_field_member(schema, field);
    if (p->type) {
        ki_status status = find_reading(p, field, &type);
        return status ? status : gen_tree_add(tree, parent, field, GEN_MEMBER, type, &node, p->err);
    }
    if (field->type.kind == GEN_ANY)
        return fail(p, begin, KI_ERR_INVALID,
                    "the schema has no type for this field; append how to read it, such as :string or :present");
    if (type == KI_FIELD_TYPE_END && field->type.kind != GEN_OBJECT && !gen_field_has_items(schema, field, &element))
        return fail(p, begin, KI_ERR_INVALID, "%s: a view cannot have it", gen_field_problem(schema, field));
    return gen_tree_add_all(tree, schema, parent, field, p->err);
}

/* Says where a field is that cannot be added beside those before it. */
static ki_status note_conflict(const parser *p, const gen_field *field, ki_status status) {
    if (status != KI_ERR_EXISTS)
        return status;
    return fail(p, p->steps[0].at, status,
                "\"%.100s\" gives the member of a field before it another type; name only one of them", field->key);
}

/* Follows the steps of one path and adds its field. */
static ki_status add_path(const parser *p, gen_tree *tree, const gen_schema *schema) {
    gen_node *node = tree->root;
    gen_type type = gen_schema_type(schema, schema->root), element;
    for (size_t i = 0; i < p->count;) {
        const step *s = &p->steps[i++], *after = i < p->count ? &p->steps[i] : NULL;
        if (s->kind != STEP_NAME)
            return fail(p, s->at, KI_ERR_INVALID,
                        i == 1 ? "a path begins with a name" : "a list of lists: a view cannot have it");
        ki_status status = enter_name(p, s, schema, &type);
        if (status)
            return status;
        gen_field field = { s->name, strlen(s->name), -1, type };
        gen_form form = GEN_NESTED;
        if (after && after->kind != STEP_NAME) {
            i++;
            status = enter_element(p, after, schema, &type);
            if (status)
                return status;
            if (after->kind == STEP_INDEX) {
                field.index = after->index;
                field.type = type;
            } else {
                form = GEN_ITEMS;
            }
        }
        if (i == p->count)
            return note_conflict(p, &field, add_last(p, tree, schema, node, &field));
        if (form == GEN_ITEMS && !gen_field_has_items(schema, &field, &element) && type.kind != GEN_ANY)
            return fail(p, p->steps[i].at, KI_ERR_NOT_FOUND, "each element is %s and has no fields",
                        gen_kind_name(type.kind));
        status = gen_tree_add(tree, node, &field, form, KI_FIELD_TYPE_END, &node, p->err);
        if (status)
            return note_conflict(p, &field, status);
        node->schema = type.schema;
    }
    return KI_OK;
}

static void skip_space(parser *p) {
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n')
        p->at++;
}

ki_status gen_fields_add(gen_tree *tree, const gen_schema *schema, const char *fields, ki_error *err) {
    parser p = { .fields = fields, .at = fields, .err = err };
    for (;;) {
        skip_space(&p);
        ki_status status = parse_path(&p);
        if (!status)
            status = add_path(&p, tree, schema);
        if (status)
            return status;
        skip_space(&p);
        if (!*p.at)
            return KI_OK;
        if (*p.at != ',')
            return fail(&p, p.at, KI_ERR_PARSE, "',' expected between two fields");
        p.at++;
    }
}
