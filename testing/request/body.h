/* body.h: the object in a request's body, checked against the path that it was sent to. */
#ifndef KT_REQUEST_BODY_H
#define KT_REQUEST_BODY_H

#include "testing/request/call.h"

#include <yyjson.h>

/* Is `type` the request's media type, its parameters aside? */
bool kt_body_is(const kt_call *call, const char *type);
/* The body as JSON, from JSON, YAML or protobuf; 415 where it is neither, 400 where it is not what it says. The text is the call's. */
ki_status kt_body_text(kt_call *call, ki_str *ret_text);
/* A body that is YAML, and may be JSON, as JSON; 400 where it is neither. The text is the call's. */
ki_status kt_body_yaml(kt_call *call, ki_str *ret_text);
/* 415 with what would be accepted. */
ki_status kt_fail_media_type(kt_call *call, const char *accepted);
/* The body as an object of the call's resource. Ownership: the caller frees the document. */
ki_status kt_body_read(kt_call *call, yyjson_doc **ret_doc);
/* Does it name the type and the namespace of the path? For objects from a body or from a patch. */
ki_status kt_body_check(kt_call *call, yyjson_val *root, bool is_create);

#endif
