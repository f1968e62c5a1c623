/* http_list_watch.h: lists and watches of an API server, over a transport. */
#ifndef KI_CLIENT_HTTP_LIST_WATCH_H
#define KI_CLIENT_HTTP_LIST_WATCH_H

#include <kinformer/resource.h>

#include "src/base/buffer.h"
#include "src/cache/list_watch.h"
#include "src/client/throttle.h"
#include "src/object/format.h"
#include "src/transport/transport.h"

typedef struct ki_http_list_watch_options {
    ki_resource resource;       /* strings are copied */
    const char *namespace_name; /* NULL or "": all namespaces */
    const char *label_selector; /* NULL: none */
    const char *field_selector;
    size_t object_limit;   /* bytes of one object; 0: 32 MiB */
    ki_throttle *throttle; /* borrowed: lists wait their turn in it, watches do not; NULL: none */
} ki_http_list_watch_options;

/* Borrows engine and transport; shares `format`. */
ki_status ki_http_list_watch_new(ki_engine *engine, ki_transport *transport, ki_object_format *format,
                                 const ki_http_list_watch_options *options, ki_list_watch **ret_list_watch,
                                 ki_error *err);

/* Returns KI_ERR_INVALID where one of the texts, as a segment of a path, would lead somewhere else or is none that an API server knows: what, in a word,
 * is in the message. NULL and "" are accepted for `namespace_name` and `name`, and "" for the group. */
ki_status ki_resource_check(const ki_resource *resource, const char *namespace_name, const char *name, ki_error *err);
/* The same for any other segment of a path; NULL and "" are accepted. */
ki_status ki_path_segment_check(const char *what, const char *text, ki_error *err);

/* The path of a resource's collection or of one object below the server's URL. */
ki_status ki_resource_path(ki_buffer *out, const ki_resource *resource, const char *namespace_name, const char *name);

#endif
