/* resource_path.c: where the API server keeps a resource. */
#include "src/client/http_list_watch.h"

static void append_segment(ki_buffer *out, const char *segment) {
    ki_buffer_append_char(out, '/');
    ki_buffer_append_url(out, ki_str_of(segment));
}

ki_status ki_resource_path(ki_buffer *out, const ki_resource *resource, const char *namespace_name, const char *name) {
    if (resource->group[0]) {
        ki_buffer_append_string(out, "/apis");
        append_segment(out, resource->group);
    } else {
        ki_buffer_append_string(out, "/api");
    }
    append_segment(out, resource->version);
    if (resource->namespaced && namespace_name && namespace_name[0]) {
        ki_buffer_append_string(out, "/namespaces");
        append_segment(out, namespace_name);
    }
    append_segment(out, resource->plural);
    if (name)
        append_segment(out, name);
    return out->failed;
}
