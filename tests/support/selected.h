/* selected.h: makes informers and HTTP sources of a resource; each holds the only reference to its selection. */
#ifndef TESTS_SUPPORT_SELECTED_H
#define TESTS_SUPPORT_SELECTED_H

#include "src/cache/informer/shared_informer.h"
#include "src/client/http_list_watch.h"

/* Returns options of a factory whose informers stream their lists, or list in pages. */
static inline const ki_factory_options *streaming_if(bool streams) {
    static const ki_factory_options pages = { .size = sizeof pages, .no_streaming_list = true },
                                    stream = { .size = sizeof stream };
    return streams ? &stream : &pages;
}

typedef struct selected {
    ki_resource resource;
    ki_informer_options given; /* namespace and selectors */
    size_t object_limit;
} selected;

/* `options` lack only the selection. */
static inline ki_status informer_of(const ki_resource *resource, ki_shared_informer_options options,
                                    ki_informer **ret_informer) {
    const ki_allocator *allocator = ki_engine_allocator(options.engine);
    ki_status status = ki_selection_new(allocator, resource, &options.given, &options.selection, NULL);
    if (!status)
        status = ki_informer_new(&options, ret_informer, NULL);
    ki_selection_unref(options.selection);
    return status;
}

static inline ki_status source_of(const selected *of, ki_engine *engine, ki_transport *transport,
                                  ki_object_format *format, ki_throttle *throttle, ki_list_watch **ret_source) {
    ki_http_list_watch_options options = { .object_limit = of->object_limit, .throttle = throttle };
    const ki_allocator *allocator = ki_engine_allocator(engine);
    ki_status status = ki_selection_new(allocator, &of->resource, &of->given, &options.selection, NULL);
    if (!status)
        status = ki_http_list_watch_new(engine, transport, format, &options, ret_source, NULL);
    ki_selection_unref(options.selection);
    return status;
}

#endif
