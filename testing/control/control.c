/* control.c: see control.h. */
#include "testing/control/control.h"

#include "testing/request/status.h"

#include <stdio.h>

static const struct {
    const char *path;
    size_t segments; /* at most */
    ki_status (*respond)(kt_call *call);
} paths[] = {
    { "_faults", 2, kt_control_faults }, { "_requests", 1, kt_control_requests }, { "_wait", 1, kt_control_wait },
    { "_load", 1, kt_control_load },     { "_reset", 1, kt_control_reset },       { "_restore", 1, kt_control_restore },
};

enum {
    PATHS = sizeof paths / sizeof paths[0]
};

static size_t path_of(const kt_call *call) {
    size_t i = 0;
    while (i < PATHS && !(call->segment_count && call->segment_count <= paths[i].segments &&
                          ki_str_equals(call->segments[0], paths[i].path)))
        i++;
    return i;
}

bool kt_control_is(const kt_call *call) {
    return path_of(call) < PATHS;
}

ki_status kt_control(kt_call *call) {
    size_t i = path_of(call);
    if (call->request->from_network && !call->request->is_local)
        return kt_fail(call, 403, "Forbidden", NULL, "/%s is for clients on the same machine", paths[i].path);
    return paths[i].respond(call);
}

/* ---- what the paths share ---- */

/* Responds 400 for a parameter that is not in `known`, or is there twice. */
ki_status kt_control_check_params(kt_call *call, const char *const *known) {
    char all[256] = "";
    for (size_t i = 0, size = 0; known[i] && size < sizeof all; i++)
        size += (size_t)snprintf(all + size, sizeof all - size, "%s%s", i ? ", " : "", known[i]);
    for (size_t i = 0; i < call->param_count; i++) {
        ki_str name = call->params[i].name;
        size_t at = 0;
        while (known[at] && !ki_str_equals(name, known[at]))
            at++;
        if (!known[at])
            return kt_fail_bad_request(call, "there is no parameter \"%.*s\"%s%s",
                                       (int)(name.size < 64 ? name.size : 64), name.data,
                                       known[0] ? "; there are " : "", all);
        if (kt_call_param(call, known[at]).data != call->params[i].value.data)
            return kt_fail_bad_request(call, "the parameter \"%s\" is there twice", known[at]);
    }
    return KI_OK;
}

ki_status kt_control_no_params(kt_call *call) {
    static const char *const none[] = { NULL };
    return kt_control_check_params(call, none);
}

ki_status kt_control_number(kt_call *call, const char *name, uint64_t *number) {
    ki_str text = kt_call_param(call, name);
    if (text.data && !ki_str_to_uint64(text, INT64_MAX, number))
        return kt_fail_bad_request(call, "%s=%.*s is no whole number", name, (int)(text.size < 64 ? text.size : 64),
                                   text.data);
    return KI_OK;
}

ki_status kt_control_method(kt_call *call, const char *method) {
    if (strcmp(call->request->method, method) == 0)
        return KI_OK;
    snprintf(call->response->allow, sizeof call->response->allow, "%s", method);
    return kt_fail_generic(call, 405);
}

ki_status kt_control_done(kt_call *call) {
    ki_buffer_append_string(&call->response->body, "{}");
    return kt_call_done(call, 200);
}
