/* continue_token.h: the opaque text by which a list goes on: a revision and the key to start behind. */
#ifndef KT_REQUEST_CONTINUE_TOKEN_H
#define KT_REQUEST_CONTINUE_TOKEN_H

#include "testing/request/call.h"

/* `revision` -1: whatever is there then, not the first page's state. */
ki_status kt_continue_token_append(ki_buffer *out, int64_t revision, ki_str after);
/* `ret_text` is emptied and then holds `ret_after`. Bad tokens are answered with 400. */
ki_status kt_continue_token_parse(kt_call *call, ki_str token, ki_buffer *ret_text, int64_t *ret_revision,
                                  ki_str *ret_after);

#endif
