/* managed.c: the managedFields of the load's objects, as the API server computes them. See state.h. */
#include "testing/load/state.h"

#include "testing/cluster/managed_fields.h"

#include <yyjson.h>

static yyjson_doc *parse(kt_load *load, ki_str members) {
    ki_buffer_reset(&load->text, KT_LOAD_TEXT_KEPT);
    ki_buffer_append_char(&load->text, '{');
    ki_buffer_append_view(&load->text, members);
    ki_buffer_append_char(&load->text, '}');
    return load->text.failed ? NULL : yyjson_read(load->text.data, load->text.size, 0);
}

void kt_load_add_managed(kt_load *load, const ki_resource *resource, const char *manager, const char *subresource,
                         int64_t now_ms, ki_str before, ki_str after) {
    const kt_write write = { .storage = kt_storage_of(load->cluster, resource),
                             .now_ms = now_ms,
                             .manager = ki_str_of(manager),
                             .subresource = subresource };
    yyjson_doc *old = parse(load, before), *new = parse(load, after);
    ki_buffer entries;
    ki_buffer_init(&entries, &load->allocator, 0);
    if (old && new)
        kt_managed_fields_write(&write, NULL, yyjson_doc_get_root(old), yyjson_doc_get_root(new), &entries);
    if (!old || !new || entries.failed) {
        load->managed.failed = KI_ERR_NO_MEMORY;
    } else if (entries.size > 2) { /* without the brackets */
        if (load->managed.size)
            ki_buffer_append_char(&load->managed, ',');
        ki_buffer_append(&load->managed, entries.data + 1, entries.size - 2);
    }
    ki_buffer_free(&entries);
    yyjson_doc_free(old);
    yyjson_doc_free(new);
}
