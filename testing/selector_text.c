/* selector_text.c: a label selector as text. */
#include "testing/selector_text.h"

#include "testing/json.h"
#include "testing/schema/index.h"

void kt_selector_append_text(kt_arena *arena, yyjson_val *selector, ki_buffer *out) {
    yyjson_val *labels = yyjson_obj_get(selector, "matchLabels");
    yyjson_val *expressions =
        labels || yyjson_obj_get(selector, "matchExpressions") ? yyjson_obj_get(selector, "matchExpressions") : NULL;
    yyjson_val *one, *value;
    size_t index, count, i, n;
    kt_index sorted;
    const char *comma = "";
    kt_index_members(arena, labels || expressions ? labels : selector, &sorted);
    for (i = 0; i < sorted.count; i++) {
        ki_buffer_append_string(out, comma);
        ki_buffer_append_view(out, sorted.sorted[i]->name);
        ki_buffer_append_char(out, '=');
        ki_buffer_append_view(out, kt_json_str(sorted.sorted[i]->val));
        comma = ",";
    }
    yyjson_arr_foreach(expressions, index, count, one) {
        ki_str operation = kt_json_get_str(one, "operator");
        bool negative = ki_str_equals(operation, "DoesNotExist");
        ki_buffer_append_string(out, comma);
        ki_buffer_append_string(out, negative ? "!" : "");
        ki_buffer_append_view(out, kt_json_get_str(one, "key"));
        comma = ",";
        if (negative || ki_str_equals(operation, "Exists"))
            continue;
        ki_buffer_append_string(out, ki_str_equals(operation, "In") ? " in (" : " notin (");
        yyjson_arr_foreach(yyjson_obj_get(one, "values"), i, n, value) {
            ki_buffer_append_string(out, i ? "," : "");
            ki_buffer_append_view(out, kt_json_str(value));
        }
        ki_buffer_append_char(out, ')');
    }
}
