/* http_list_watch.h: lists and watches of an API server, over a transport. */
#ifndef KI_CLIENT_HTTP_LIST_WATCH_H
#define KI_CLIENT_HTTP_LIST_WATCH_H

#include "src/base/buffer.h"
#include "src/client/throttle.h"
#include "src/object/format.h"
#include "src/object/selection.h"
#include "src/transport/transport.h"
#include <kinformer/parts/list_watch.h>

typedef struct ki_http_list_watch_options {
    ki_selection *selection;
    size_t object_limit;   /* bytes of one object; 0: 32 MiB */
    ki_throttle *throttle; /* borrowed; lists wait in it, watches do not; NULL: no limit */
} ki_http_list_watch_options;

/* Returns a ListWatch over `transport`. Borrows engine and transport; takes references to format and selection.
 * Errors: KI_ERR_INVALID, KI_ERR_PARSE (a selection that each server rejects), KI_ERR_NO_MEMORY. */
ki_status ki_http_list_watch_new(ki_engine *engine, ki_transport *transport, ki_object_format *format,
                                 const ki_http_list_watch_options *options, ki_list_watch **ret_list_watch,
                                 ki_error *err);

/* Rejects what a server would reject at each attempt. Errors: KI_ERR_INVALID, KI_ERR_PARSE, KI_ERR_NO_MEMORY. */
ki_status ki_http_list_watch_check(const ki_allocator *allocator, const ki_selection *selection, ki_error *err);

/* Returns KI_ERR_INVALID if a text is not valid as a path segment: a group, version, plural or namespace that is not
 * made of RFC 1123 labels, or a name that would change the path. The message names the text. NULL and "" are accepted
 * for `namespace_name` and `name`, and "" for the group. */
ki_status ki_resource_check(const ki_resource *resource, const char *namespace_name, const char *name, ki_error *err);
/* Returns KI_ERR_INVALID if `text` would change the path (".", "/", "%", control characters). NULL and "" are
 * accepted. */
ki_status ki_path_segment_check(const char *what, const char *text, ki_error *err);

/* Appends the path of a resource's collection (`name` NULL) or of one object, below the server's URL. */
ki_status ki_resource_path(ki_buffer *out, const ki_resource *resource, const char *namespace_name, const char *name);
/* Appends a parameter of the query to a path; nothing for NULL and "", or for a number below 1. */
void ki_url_parameter(ki_buffer *target, const char *name, const char *value);
void ki_url_number(ki_buffer *target, const char *name, int64_t value);

#endif
