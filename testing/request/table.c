/* table.c: see table.h. print/columns.h has the columns, for the command too. */
#include "testing/request/table.h"

#include "print/columns.h"
#include "testing/crd/custom.h"
#include "testing/values/json.h"

static void append_column(ki_buffer *out, const ki_column *column, size_t index) {
    const struct {
        const char *name;
        const char *value;
    } texts[] = { { "name", column->name },
                  { "type", column->type },
                  { "format", column->format },
                  { "description", column->description } };
    ki_buffer_append_string(out, index ? ",{" : "{");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ki_buffer_printf(out, "\"%s\":", texts[i].name);
        ki_buffer_append_json_string(out, ki_str_of(texts[i].value));
        ki_buffer_append_char(out, ',');
    }
    ki_buffer_printf(out, "\"priority\":%d}", column->priority);
}

ki_status kt_table_append_columns(const ki_resource_info *info, ki_buffer *out) {
    const kt_custom *custom = kt_custom_of(info);
    const ki_cell *cells = custom ? NULL : ki_columns_find(info->resource);
    ki_buffer_append_char(out, '[');
    for (size_t i = 0; cells ? cells[i].column.name != NULL : i < ki_columns_count(custom->columns); i++)
        append_column(out, cells ? &cells[i].column : ki_columns_at(custom->columns, i), i);
    return ki_buffer_append_char(out, ']');
}

ki_status kt_table_append_cells(const ki_resource_info *info, const kt_object *obj, int64_t now_ms, ki_buffer *out) {
    const kt_custom *custom = kt_custom_of(info);
    yyjson_doc *doc = NULL;
    ki_status status = kt_json_read_trusted(out->allocator, obj->json, &doc, NULL);
    if (status)
        return status;
    yyjson_val *root = yyjson_doc_get_root(doc);
    status = custom ? ki_columns_append_row(custom->columns, root, now_ms, out, NULL)
                    : ki_cells_append_row(ki_columns_find(info->resource), root, now_ms, out);
    yyjson_doc_free(doc);
    return status;
}
