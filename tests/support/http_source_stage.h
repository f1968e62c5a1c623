/* http_source_stage.h: a list/watch source that decodes the bytes of a server in the same process, with a virtual
 * clock; counts what the source hands out. An unexpected failure fails the test. */
#ifndef TESTS_SUPPORT_HTTP_SOURCE_STAGE_H
#define TESTS_SUPPORT_HTTP_SOURCE_STAGE_H

#include "src/client/http_list_watch.h"
#include "testing/memory/transport.h"
#include "tests/support/test_engine.h"

typedef struct http_source_stage {
    test_engine engine;
    ki_transport *transport;
    ki_object_format *format;
    ki_list_watch *source;
    kt_memory_call *call; /* the open request; NULL: none */
    size_t objects, bad, ends;
    size_t cancel_at; /* cancels the list or watch when so many objects are bad */
    ki_error end;     /* of the last list or watch; code 0: it ended well */
} http_source_stage;

extern const ki_resource things; /* a custom resource */

void http_source_open(http_source_stage *s, const ki_resource *resource);
/* Does the same with memory from `allocator`; NULL: malloc. */
void http_source_open_in(http_source_stage *s, const ki_resource *resource, const ki_allocator *allocator);
void http_source_close(http_source_stage *s);
/* Starts a list or a watch. The server has sent the head of the response. */
void http_source_list(http_source_stage *s);
void http_source_watch(http_source_stage *s);

#endif
