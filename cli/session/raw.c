/* raw.c: see raw.h. The session has no informers: it connects, and ends with the response or with a signal. */
#include "raw.h"

#include "cli/output.h"
#include "failure.h"
#include "session.h"

typedef struct raw_request {
    bool has_ended;
    ki_error cause;
} raw_request;

/* Prints bytes of the body. Ends the request once nobody reads them. */
static bool print_bytes(const void *bytes, size_t size, void *user) {
    (void)user;
    fwrite(bytes, 1, size, stdout);
    return output_flush();
}

static void on_response(const ki_response *response, const ki_error *err, void *user) {
    raw_request *r = user;
    (void)response;
    r->has_ended = true;
    if (err)
        r->cause = *err;
}

static bool has_ended(void *user) {
    return ((const raw_request *)user)->has_ended;
}

static int send_request(session *s, const char *path) {
    int64_t limit_ms = s->options->request_timeout_ms;
    const ki_request_options limits = { .size = sizeof limits, .timeout_ms = limit_ms ? limit_ms : -1 };
    const ki_client_request request = { .size = sizeof request,
                                        .verb = KI_CLIENT_RAW,
                                        .method = "GET",
                                        .path = path,
                                        .accept = "application/json, */*",
                                        .options = &limits,
                                        .on_data = print_bytes };
    raw_request r = { .cause = KI_ERROR_INIT };
    ki_pending_request *call = NULL;
    ki_status status = ki_client_send(ki_factory_client(s->factory), &request, on_response, &r, &call, &r.cause);
    if (!status)
        status = session_wait(s, has_ended, &r, &r.cause);
    if (call)
        ki_pending_request_cancel(call);
    while (call && !r.has_ended && ki_engine_step(s->engine, 0, NULL) == KI_OK)
        ; /* the callback runs, also after a signal */
    ki_pending_request_free(call);
    if (s->is_interrupted)
        return EXIT_OK;
    if (!output_flush())
        return output_status();
    if (!status && !r.cause.code)
        return EXIT_OK;
    s->has_hinted = true; /* the hint is about lists */
    if (r.cause.http_status == 404 && !r.cause.reason[0])
        fprintf(stderr, "Error from server (NotFound): the server could not find the requested resource\n");
    else
        failure_print(s, NULL, &r.cause);
    return r.cause.http_status == 404 ? EXIT_FAILED : failure_status(&r.cause);
}

int raw_get(const options *o) {
    static session s;
    if (o->arguments[0] || o->output || o->watch) {
        say("get", "--raw takes no resources, no --output and no --watch");
        return EXIT_USAGE;
    }
    if (o->raw[0] != '/') {
        say("get", "--raw %s: a path is needed, such as /version", o->raw);
        return EXIT_USAGE;
    }
    s = (session){ .command = "get", .options = o, .is_once = true };
    int status = session_start(&s);
    if (status == EXIT_OK)
        status = send_request(&s, o->raw);
    session_close(&s);
    return status;
}
