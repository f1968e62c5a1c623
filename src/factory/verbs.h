/* verbs.h: frequent requests, for controllers: beside the public functions of <kinformer/client.h>. */
#ifndef KI_FACTORY_VERBS_H
#define KI_FACTORY_VERBS_H

#include "src/client/client.h"

/* Works as ki_client_update, and does not send an object that does not differ from `before`, which is at the same
 * version. */
KI_INTERNAL_API ki_status ki_client_update_over(ki_client *client, const ki_resource *resource, const ki_object *before,
                                                ki_unstructured *object, const ki_request_options *options,
                                                ki_object **ret_obj, ki_error *err);

/* Works as ki_client_patch and ki_client_apply, of any type of patch. Without options->informer `*ret_obj` is made as
 * `like` was: with its views. */
KI_INTERNAL_API ki_status ki_client_patch_like(ki_client *client, const ki_resource *resource, ki_patch_type type,
                                               ki_unstructured *object, const ki_object *like,
                                               const ki_request_options *options, ki_object **ret_obj, ki_error *err);

#endif
