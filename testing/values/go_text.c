/* go_text.c: see go_text.h. */
#include "testing/values/go_text.h"

#include "testing/values/index.h"
#include "testing/values/json.h"

/* How a value is printed: with the verb %v, or with %#v. */
typedef struct verb {
    const char *map, *list, *end, *comma, *nothing;
    bool is_quoted;
} verb;

static const verb plain = { "map[", "[", "]", " ", "<nil>", false };
static const verb syntax = { "map[string]interface {}{", "[]interface {}{", "}", ", ", "interface {}(nil)", true };

static void append_text(const verb *how, ki_buffer *out, ki_str text) {
    if (how->is_quoted)
        ki_buffer_append_json_string(out, text);
    else
        ki_buffer_append_view(out, text);
}

static void print(kt_arena *arena, const verb *how, ki_buffer *out, yyjson_val *val) {
    if (yyjson_is_obj(val)) {
        kt_index index;
        kt_index_members(arena, val, &index);
        ki_buffer_append_string(out, how->map);
        for (size_t i = 0; i < index.count; i++) {
            ki_buffer_append_string(out, i ? how->comma : "");
            append_text(how, out, index.sorted[i]->name);
            ki_buffer_append_char(out, ':');
            print(arena, how, out, index.sorted[i]->val);
        }
        ki_buffer_append_string(out, how->end);
    } else if (yyjson_is_arr(val)) {
        size_t index, count;
        yyjson_val *element;
        ki_buffer_append_string(out, how->list);
        yyjson_arr_foreach(val, index, count, element) {
            ki_buffer_append_string(out, index ? how->comma : "");
            print(arena, how, out, element);
        }
        ki_buffer_append_string(out, how->end);
    } else if (yyjson_is_str(val)) {
        append_text(how, out, kt_json_str(val));
    } else if (yyjson_is_null(val)) {
        ki_buffer_append_string(out, how->nothing);
    } else {
        kt_json_append(out, val);
    }
}

void kt_go_print(kt_arena *arena, ki_buffer *out, yyjson_val *val) {
    print(arena, &plain, out, val);
}

void kt_go_print_syntax(kt_arena *arena, ki_buffer *out, yyjson_val *val) {
    print(arena, &syntax, out, val);
}

const char *kt_go_type(yyjson_val *val) {
    if (yyjson_is_obj(val))
        return "map[string]interface {}";
    if (yyjson_is_arr(val))
        return "[]interface {}";
    if (yyjson_is_num(val))
        return yyjson_is_real(val) ? "float64" : "int64";
    return yyjson_is_str(val) ? "string" : yyjson_is_bool(val) ? "bool" : "<nil>";
}
