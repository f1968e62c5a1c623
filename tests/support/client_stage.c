/* client_stage.c: see client_stage.h. */
#include "tests/support/client_stage.h"

#include "src/client/client.h"

#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

static void serve(kt_memory_call *call, const ki_request *request, void *user) {
    client_stage *self = user;
    const client_reply *reply =
        &self->script[self->requests < self->script_size ? self->requests : self->script_size - 1];
    if (self->requests < CLIENT_TIMES)
        self->times[self->requests] = self->engine.now / 1000000;
    self->requests++;
    self->bytes += request->body.size;
    snprintf(self->line, sizeof self->line, "%s %s %s %.*s", request->method, request->target,
             request->content_type ? request->content_type : "-", (int)request->body.size,
             request->body.size ? request->body.data : "");
    if (reply->status == CLIENT_NEVER)
        return;
    if (reply->status) {
        const ki_response_head head = { .status = reply->status,
                                        .retry_after_ms = reply->retry_after_ms,
                                        .content_type = "application/json" };
        if (!kt_memory_call_head(call, &head))
            return;
        if (reply->body && reply->body[0] && !kt_memory_call_data(call, reply->body, strlen(reply->body)))
            return;
    }
    ki_error err = KI_ERROR_INIT;
    err.code = reply->ended;
    err.retry_after_ms = reply->status ? -1 : reply->retry_after_ms;
    kt_memory_call_end(call, reply->ended ? &err : NULL);
}

ki_status client_stage_try(client_stage *self, const ki_allocator *allocator, const ki_client_options *more) {
    const kt_memory_server server = { serve, NULL, self };
    if (!test_engine_open(&self->engine, allocator, 1))
        return KI_ERR_NO_MEMORY;
    ki_status status = kt_memory_transport_new(self->engine.engine, &server, &self->transport, NULL);
    ki_client_options options = more ? *more : KI_CLIENT_OPTIONS(.engine = NULL);
    options.engine = self->engine.engine;
    return status ? status : ki_client_new_on(NULL, self->transport, &options, &self->client, NULL);
}

void client_stage_open(client_stage *self, const ki_client_options *more) {
    *self = (client_stage){ .script = { { .status = 200, .retry_after_ms = -1, .body = "{}" } }, .script_size = 1 };
    assert_int_equal(client_stage_try(self, NULL, more), KI_OK);
}

void client_stage_close(client_stage *self) {
    ki_client_free(self->client);
    ki_response_unref(self->response);
    ki_transport_free(self->transport);
    if (self->engine.engine)
        test_engine_close(&self->engine);
}

void client_stage_response(const ki_response *response, const ki_error *err, void *user) {
    client_stage *self = user;
    self->ends++;
    self->err = err ? *err : (ki_error)KI_ERROR_INIT;
    ki_response_unref(self->response);
    self->response = ki_response_ref(response);
}
