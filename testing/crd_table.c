/* crd_table.c: what kubectl get shows of custom resources: the definition's additionalPrinterColumns. */
#include "testing/crd.h"
#include "testing/json.h"
#include "testing/object.h"
#include "testing/table_cells.h"

static const kt_column age = { "Age", "date", 0, KT_CELL_AGE, "metadata.creationTimestamp" };

ki_status kt_custom_append_columns(const kt_custom *custom, ki_buffer *out) {
    size_t index, count;
    yyjson_val *column;
    ki_buffer_append_string(out, "[{\"name\":\"Name\",\"type\":\"string\",\"format\":\"name\",\"description\":\"\","
                                 "\"priority\":0}");
    if (!yyjson_arr_size(custom->columns))
        ki_buffer_append_string(out, ",{\"name\":\"Age\",\"type\":\"date\",\"format\":\"\",\"description\":\"\","
                                     "\"priority\":0}");
    yyjson_arr_foreach(custom->columns, index, count, column) {
        static const char *const texts[] = { "name", "type", "format", "description" };
        ki_buffer_append_string(out, ",{");
        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
            ki_str value = kt_json_get_str(column, texts[i]);
            ki_buffer_printf(out, "\"%s\":", texts[i]);
            ki_buffer_append_json_string(out, value.data ? value : KI_STR(""));
            ki_buffer_append_char(out, ',');
        }
        ki_buffer_printf(out, "\"priority\":%lld}", (long long)yyjson_get_sint(yyjson_obj_get(column, "priority")));
    }
    return ki_buffer_append_char(out, ']');
}

/* A path of names, indexes and ['quoted names'], which is what definitions have. NULL where it leads nowhere or is more than that. */
static yyjson_val *walk(yyjson_val *val, const char *path) {
    while (val && *path) {
        if (*path == '.') {
            size_t size = strcspn(++path, ".[\\");
            if (path[size] == '\\') { /* .metadata.annotations.a\.b */
                char name[256];
                size_t used = 0;
                while (*path && *path != '.' && *path != '[' && used < sizeof name) {
                    path += *path == '\\';
                    if (*path)
                        name[used++] = *path++;
                }
                val = yyjson_obj_getn(val, name, used);
                continue;
            }
            val = yyjson_obj_getn(val, path, size);
            path += size;
        } else if (path[0] == '[' && path[1] == '\'') {
            size_t size = strcspn(path + 2, "'");
            val = yyjson_obj_getn(val, path + 2, size);
            path += 2 + size;
            path += strspn(path, "']");
        } else if (path[0] == '[' && path[1] >= '0' && path[1] <= '9') {
            uint64_t index = 0;
            size_t size = strcspn(path + 1, "]");
            if (!ki_str_to_uint64((ki_str){ path + 1, size }, UINT32_MAX, &index))
                return NULL;
            val = yyjson_arr_get(val, (size_t)index);
            path += 1 + size;
            path += *path == ']';
        } else if (path[0] == '[') { /* [?(@.type=="Ready")] */
            static const char head[] = "[?(@.";
            size_t name = 0, index, count;
            yyjson_val *one, *found = NULL;
            if (strncmp(path, head, sizeof head - 1) != 0)
                return NULL;
            path += sizeof head - 1;
            name = strcspn(path, " =");
            const char *value = path + name + strspn(path + name, " =");
            char quote = *value;
            const char *end = quote == '"' || quote == '\'' ? strchr(value + 1, quote) : NULL;
            if (!end)
                return NULL;
            yyjson_arr_foreach(val, index, count, one) {
                if (ki_str_equal(kt_json_str(yyjson_obj_getn(one, path, name)),
                                 (ki_str){ value + 1, (size_t)(end - value - 1) })) {
                    found = one;
                    break;
                }
            }
            val = found;
            path = end + 1;
            path += strspn(path, ")]");
        } else {
            return NULL;
        }
    }
    return val;
}

static void append_cell(yyjson_val *column, yyjson_val *root, int64_t now_ms, ki_buffer *out) {
    const char *path = yyjson_get_str(yyjson_obj_get(column, "jsonPath"));
    ki_str type = kt_json_get_str(column, "type");
    yyjson_val *val = path ? walk(root, path) : NULL;
    if (ki_str_equals(type, "date") && yyjson_is_str(val)) {
        kt_cell_append_age(val, now_ms, out);
    } else if (!val || yyjson_is_null(val)) {
        ki_buffer_append_string(out, ki_str_equals(type, "string") ? "\"\"" : "null");
    } else if (ki_str_equals(type, "string") && !yyjson_is_str(val)) {
        ki_buffer text;
        ki_buffer_init(&text, out->allocator, 0);
        if (kt_json_append(&text, val))
            out->failed = KI_ERR_NO_MEMORY;
        ki_buffer_append_json_string(out, (ki_str){ text.data, text.size });
        ki_buffer_free(&text);
    } else {
        kt_json_append(out, val);
    }
}

ki_status kt_custom_append_cells(const kt_custom *custom, const kt_object *obj, int64_t now_ms, ki_buffer *out) {
    yyjson_doc *doc = NULL;
    size_t index, count;
    yyjson_val *column;
    ki_status status = kt_json_read_trusted(out->allocator, obj->json, &doc, NULL);
    if (status)
        return status;
    ki_buffer_append_char(out, '[');
    ki_buffer_append_json_string(out, obj->name);
    if (!yyjson_arr_size(custom->columns)) {
        ki_buffer_append_char(out, ',');
        kt_cell_append(&age, yyjson_doc_get_root(doc), now_ms, out);
    }
    yyjson_arr_foreach(custom->columns, index, count, column) {
        ki_buffer_append_char(out, ',');
        append_cell(column, yyjson_doc_get_root(doc), now_ms, out);
    }
    yyjson_doc_free(doc);
    return ki_buffer_append_char(out, ']');
}
