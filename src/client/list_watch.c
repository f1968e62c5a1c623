/* list_watch.c: a source of the program's own: the functions of <kinformer/parts/list_watch.h>. */
#include <kinformer/parts/list_watch.h>

#include "src/base/error.h"
#include "src/base/options.h"
#include "src/client/client.h"
#include "src/client/http_list_watch.h"

static ki_status make(ki_client *client, ki_selection *selection, const ki_informer_options *options,
                      ki_list_watch **ret_list_watch, ki_error *err) {
    const ki_object_format_options format_options =
        KI_OBJECT_FORMAT_OPTIONS(.view = options->view, .keep_managed_fields = options->keep_managed_fields);
    ki_object_format *format = NULL;
    ki_status status = ki_object_format_new(client->allocator, &format_options, &format, err);
    if (status)
        return status;
    ki_object_format_set_keep(format, options->keep);
    const ki_http_list_watch_options source_options = {
        .selection = selection,
        .throttle = client->throttle,
    };
    status = ki_http_list_watch_new(client->engine, client->transport, format, &source_options, ret_list_watch, err);
    ki_object_format_unref(format); /* the source has a reference */
    return status;
}

ki_status ki_list_watch_new(ki_client *client, const ki_resource *resource, const ki_informer_options *options,
                            ki_list_watch **ret_list_watch, ki_error *err) {
    ki_informer_options given;
    if (!client || !resource || !ret_list_watch)
        return ki_error_missing(err, "ki_list_watch_new");
    if (KI_OPTIONS_TAKE(options, &given, "KI_INFORMER_OPTIONS", err))
        return KI_ERR_INVALID;
    ki_status status = ki_engine_check_process(client->engine, err);
    if (status)
        return status;
    ki_selection *selection = NULL;
    status = ki_selection_new(client->allocator, resource, &given, &selection, err);
    if (status)
        return status;
    status = make(client, selection, &given, ret_list_watch, err);
    ki_selection_unref(selection); /* the source has a reference */
    return status;
}

void ki_list_watch_free(ki_list_watch *list_watch) {
    if (list_watch)
        list_watch->ops->free(list_watch);
}
