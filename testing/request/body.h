/* body.h: reads the object in a request's body and checks it against the request's path. */
#ifndef KT_REQUEST_BODY_H
#define KT_REQUEST_BODY_H

#include "testing/request/call.h"

#include <yyjson.h>

/* Returns true if the request has this media type. Ignores parameters of the type. */
bool kt_body_has_type(const kt_call *call, const char *type);
/* Returns the body as JSON, converted from YAML or protobuf if necessary. Responds 415 for other types and 400 for
 * invalid content. Ownership: the call owns the text. */
ki_status kt_body_text(kt_call *call, ki_str *ret_text);
/* Returns a YAML or JSON body as JSON. Responds 400 if the body is neither. Ownership: the call owns the text. */
ki_status kt_body_yaml(kt_call *call, ki_str *ret_text);
/* Responds 415 with the accepted types. */
ki_status kt_fail_media_type(kt_call *call, const char *accepted);
/* Returns the body as an object of the call's resource. Ownership: the caller frees the document. */
ki_status kt_body_read(kt_call *call, yyjson_doc **ret_doc);
/* Checks that kind and apiVersion of an object, from a body or a patch, match the path. */
ki_status kt_body_check_type(kt_call *call, yyjson_val *root);
/* Checks that the namespace of an object matches the path. Ignores it where the path has
 * no namespace. */
ki_status kt_body_check_namespace(kt_call *call, yyjson_val *root);

#endif
