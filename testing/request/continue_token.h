/* continue_token.h: the opaque continue token of a list: a revision and the last key of the page. */
#ifndef KT_REQUEST_CONTINUE_TOKEN_H
#define KT_REQUEST_CONTINUE_TOKEN_H

#include "testing/request/call.h"

/* `revision` -1: the next page has the objects of its own time, not of the first page's. */
ki_status kt_continue_token_append(ki_buffer *out, int64_t revision, ki_str after);
/* Parses a token. Overwrites `ret_text`, to which `*ret_after` points. Responds 400 for an invalid token. */
ki_status kt_continue_token_parse(kt_call *call, ki_str token, ki_buffer *ret_text, int64_t *ret_revision,
                                  ki_str *ret_after);

#endif
