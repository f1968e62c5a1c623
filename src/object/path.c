/* path.c: parses field paths into steps; the names are stored behind the steps in the same block. */
#include "src/object/path.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/body.h"
#include "src/object/json_text.h"

struct ki_path {
    size_t count;
    ki_path_step steps[];
};

/* The parser's state; `out` is where the next name is written. */
typedef struct parser {
    const char *text;
    const char *at;
    char *out;
    size_t count;
    ki_path_step steps[KI_PATH_MAX_STEPS];
    ki_error *err;
} parser;

static ki_status bad(parser *p, const char *why) {
    return ki_error_set(p->err, KI_ERR_PARSE, "path \"%.200s\": %s at position %zu", p->text, why,
                        (size_t)(p->at - p->text));
}

static ki_status add_step(parser *p, ki_path_step next) {
    if (p->count == KI_PATH_MAX_STEPS)
        return bad(p, "too many steps");
    p->steps[p->count++] = next;
    return KI_OK;
}

/* Copies characters up to one of `ends`; a backslash escapes the next character. */
static ki_status parse_name(parser *p, const char *ends) {
    char *name = p->out;
    while (*p->at && !strchr(ends, *p->at)) {
        if (*p->at == '\\' && !*++p->at)
            return bad(p, "nothing after the backslash");
        *p->out++ = *p->at++;
    }
    return add_step(p, (ki_path_step){ name, (size_t)(p->out - name), 0 });
}

static ki_status parse_bare_name(parser *p) {
    const char *begin = p->at;
    ki_status status = parse_name(p, ".[]'\" ");
    if (status)
        return status;
    if (p->at == begin)
        return bad(p, "a name is missing");
    if (*p->at && *p->at != '.' && *p->at != '[')
        return bad(p, "unexpected character");
    return KI_OK;
}

static ki_status parse_index(parser *p) {
    if (*p->at == '*') {
        p->at++;
        return add_step(p, (ki_path_step){ NULL, 0, KI_PATH_ALL });
    }
    if (*p->at == ']')
        return bad(p, "nothing is between the brackets; [*] means all elements");
    bool negative = *p->at == '-';
    if (negative)
        p->at++;
    ki_str digits = { p->at, strspn(p->at, "0123456789") };
    uint64_t number;
    if (!ki_str_to_uint64(digits, INT32_MAX, &number))
        return bad(p, "an index, '*' or a quoted name is missing or too large");
    p->at += digits.size;
    return add_step(p, (ki_path_step){ NULL, 0, negative ? -(int64_t)number : (int64_t)number });
}

static ki_status parse_brackets(parser *p) {
    p->at++;
    ki_status status;
    if (*p->at == '\'' || *p->at == '"') {
        const char quote[2] = { *p->at++, '\0' };
        status = parse_name(p, quote);
        if (!status && *p->at != quote[0])
            status = bad(p, "the quote is not closed");
        if (!status)
            p->at++;
    } else {
        status = parse_index(p);
    }
    if (status)
        return status;
    if (*p->at != ']')
        return bad(p, "']' is missing");
    p->at++;
    return KI_OK;
}

static ki_status parse_steps(parser *p) {
    if (*p->at == '{' || (*p->at == '$' && strchr(".[", p->at[1]))) /* '$' alone, too */
        return bad(p, "a path is no JSONPath: write it without '{', '}' and '$'");
    if (*p->at == '.')
        p->at++;
    bool expects_name = *p->at != '[';
    for (;;) {
        ki_status status = expects_name ? parse_bare_name(p) : parse_brackets(p);
        if (status)
            return status;
        if (!*p->at)
            return KI_OK;
        expects_name = *p->at == '.';
        if (expects_name)
            p->at++;
        else if (*p->at != '[')
            return bad(p, "'.' or '[' is missing");
    }
}

ki_status ki_path_parse(const ki_allocator *allocator, const char *text, ki_path **ret_path, ki_error *err) {
    if (!text)
        return ki_error_set(err, KI_ERR_PARSE, "the path is NULL");
    size_t size = strlen(text);
    if (size > KI_PATH_MAX_LENGTH)
        return ki_error_set(err, KI_ERR_PARSE, "path \"%.60s…\" is longer than %d bytes", text, KI_PATH_MAX_LENGTH);
    char names[KI_PATH_MAX_LENGTH + 1];
    parser p = { .text = text, .at = text, .out = names, .err = err };
    ki_status status = parse_steps(&p);
    if (status)
        return status;

    size_t names_size = (size_t)(p.out - names);
    size_t steps_size = sizeof(ki_path) + p.count * sizeof(ki_path_step);
    ki_path *path = ki_alloc(allocator, steps_size + names_size);
    if (!path)
        return ki_error_no_memory(err, "parsing a field path");
    char *kept = (char *)path + steps_size;
    memcpy(kept, names, names_size);
    path->count = p.count;
    for (size_t i = 0; i < p.count; i++) {
        path->steps[i] = p.steps[i];
        if (p.steps[i].name)
            path->steps[i].name = kept + (p.steps[i].name - names);
    }
    *ret_path = path;
    return KI_OK;
}

void ki_path_free(const ki_allocator *allocator, ki_path *path) {
    ki_free(allocator, path);
}

size_t ki_path_step_count(const ki_path *path) {
    return path->count;
}

const ki_path_step *ki_path_step_at(const ki_path *path, size_t number) {
    return &path->steps[number];
}

static yyjson_val *element(yyjson_val *array, int64_t index) {
    int64_t count = (int64_t)yyjson_arr_size(array); /* 0 if it is not an array */
    if (index < 0)
        index += count;
    return index < 0 || index >= count ? NULL : yyjson_arr_get(array, (size_t)index);
}

bool ki_path_has_all(const ki_path *path) {
    for (size_t i = 0; i < path->count; i++)
        if (!path->steps[i].name && path->steps[i].index == KI_PATH_ALL)
            return true;
    return false;
}

static bool is_name(const ki_path_step *step, const char *name) {
    return step->name && ki_str_equals((ki_str){ step->name, step->name_size }, name);
}

ki_str ki_path_label(const ki_path *path) {
    const ki_path_step *steps = path->steps;
    bool is_label = path->count == 3 && is_name(&steps[0], "metadata") && is_name(&steps[1], "labels") && steps[2].name;
    return is_label ? (ki_str){ steps[2].name, steps[2].name_size } : (ki_str){ NULL, 0 };
}

bool ki_path_is_of_metadata(const ki_path *path) {
    const ki_path_step *first = path->steps;
    return is_name(first, "metadata") || is_name(first, "apiVersion") || is_name(first, "kind");
}

typedef struct walk {
    bool (*visit)(yyjson_val *value, void *user);
    void *user;
} walk;

/* Follows `count` steps from `value`. Returns false if the visit has ended the walk. As deep as the path has "[*]". */
static bool walk_steps(const walk *w, const ki_path_step *steps, size_t count, yyjson_val *value) {
    for (; count && value; steps++, count--) {
        if (!steps->name && steps->index == KI_PATH_ALL) {
            size_t index, size;
            yyjson_val *member;
            yyjson_arr_foreach(value, index, size, member) {
                if (!walk_steps(w, steps + 1, count - 1, member))
                    return false;
            }
            return true;
        }
        value = steps->name ? yyjson_obj_getn(value, steps->name, steps->name_size) : element(value, steps->index);
    }
    return !value || w->visit(value, w->user);
}

void ki_path_walk(const ki_path *path, yyjson_val *root, bool (*visit)(yyjson_val *value, void *user), void *user) {
    walk_steps(&(walk){ visit, user }, path->steps, path->count, root);
}

static bool take_first(yyjson_val *value, void *user) {
    yyjson_val **ret_value = user;
    *ret_value = value;
    return false;
}

yyjson_val *ki_path_find(const ki_path *path, yyjson_val *root) {
    yyjson_val *found = NULL;
    ki_path_walk(path, root, take_first, &found);
    return found;
}

/* --- walking text ------------------------------------------------------------------------------------------------- */

typedef struct text_walk {
    bool (*visit)(ki_str value, void *user);
    void *user;
} text_walk;

/* Returns the text from an element on of the array that `text` begins with; an empty view if there is none. */
static ki_str text_element(ki_str text, int64_t index) {
    if (index < 0) {
        for (ki_str rest = ki_json_text_inside(text, '['); rest.size; index++)
            (void)ki_json_text_take(&rest);
    }
    ki_str rest = ki_json_text_inside(text, '[');
    for (; rest.size && index > 0; index--)
        (void)ki_json_text_take(&rest);
    return index == 0 ? rest : (ki_str){ NULL, 0 };
}

/* Returns the text from what a step leads to on. */
static ki_str follow_in_text(const ki_path_step *step, ki_str text) {
    return step->name ? ki_json_text_find(text, (ki_str){ step->name, step->name_size })
                      : text_element(text, step->index);
}

static bool walk_text_steps(const text_walk *w, const ki_path_step *steps, size_t count, ki_str text) {
    for (; count && text.size; steps++, count--) {
        if (!steps->name && steps->index == KI_PATH_ALL) {
            for (ki_str rest = ki_json_text_inside(text, '['); rest.size;) {
                if (!walk_text_steps(w, steps + 1, count - 1, ki_json_text_take(&rest)))
                    return false;
            }
            return true;
        }
        text = follow_in_text(steps, text);
    }
    return !text.size || w->visit(ki_json_text_take(&text), w->user);
}

void ki_path_walk_text(const ki_path *path, ki_str json, bool (*visit)(ki_str value, void *user), void *user) {
    walk_text_steps(&(text_walk){ visit, user }, path->steps, path->count, json);
}

bool ki_path_is_past_end(const ki_path *path, ki_str json) {
    ki_str at = json, parent = { NULL, 0 };
    const ki_path_step *step = path->steps;
    for (size_t i = 0; i < path->count && at.size; i++) {
        step = &path->steps[i];
        parent = at;
        at = follow_in_text(step, at);
    }
    return !at.size && !step->name && parent.size && *parent.data == '[';
}

void ki_path_walk_object(const ki_path *path, const ki_object *obj, bool (*visit)(ki_str value, void *user),
                         void *user) {
    ki_body body = ki_body_open_surely(obj);
    ki_path_walk_text(path, body.text, visit, user);
    ki_body_close(obj, &body);
}
