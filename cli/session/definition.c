/* definition.c: see definition.h. A definition that is missing or cannot be read leaves the columns name and age. */
#include "definition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WAIT_MS = 5000
};

/* The requests for definitions. */
typedef struct definition_requests {
    const session *session;
    const ki_response *responses[TARGETS_MAX];
    struct request {
        struct definition_requests *all;
        size_t index;
        ki_pending_request *call;
    } requests[TARGETS_MAX];
    size_t under_way;
} definition_requests;

static void on_response(const ki_response *response, const ki_error *err, void *user) {
    struct request *r = user;
    if (!err)
        r->all->responses[r->index] = ki_response_ref(response);
    r->all->under_way--;
}

/* Returns true once all requests have ended, or once the session has ended with a failure. */
static bool have_all(void *user) {
    const definition_requests *a = user;
    return a->under_way == 0 || (a->session->done && a->session->status != EXIT_OK);
}

static bool is_built_in(const ki_resource *resource) {
    const ki_resource *one;
    for (unsigned i = 0; (one = ki_resource_at(i)); i++) {
        if (strcmp(one->plural, resource->plural) == 0 && strcmp(one->group, resource->group) == 0)
            return true;
    }
    return false;
}

static ki_status send_request(session *s, definition_requests *a, size_t index, ki_error *err) {
    const ki_resource *resource = &s->targets[index].resource;
    const ki_request_options limits = { .size = sizeof limits, .timeout_ms = WAIT_MS };
    char *name = NULL;
    if (asprintf(&name, "%s.%s", resource->plural, resource->group) < 0)
        return KI_ERR_NO_MEMORY;
    const ki_client_request request = { .size = sizeof request,
                                        .verb = KI_CLIENT_GET,
                                        .resource = KI_CUSTOMRESOURCEDEFINITIONS,
                                        .name = name,
                                        .options = &limits };
    a->requests[index] = (struct request){ .all = a, .index = index };
    ki_status status = ki_client_send(ki_factory_client(s->factory), &request, on_response, &a->requests[index],
                                      &a->requests[index].call, err);
    a->under_way += !status;
    free(name);
    return status;
}

ki_status definitions_read(session *s, ki_columns *columns[TARGETS_MAX], ki_error *err) {
    if (s->done) /* a signal ended it, perhaps before the resources were resolved */
        return KI_OK;
    definition_requests *a = calloc(1, sizeof *a);
    ki_status status = a ? KI_OK : KI_ERR_NO_MEMORY;
    if (a)
        a->session = s;
    for (size_t i = 0; i < s->target_count && !status && s->options->server_print; i++) {
        if (!is_built_in(&s->targets[i].resource))
            status = send_request(s, a, i, err);
    }
    if (a && a->under_way && !status)
        status = session_wait(s, have_all, a, err);
    for (size_t i = 0; a && i < s->target_count; i++) {
        if (a->requests[i].call)
            ki_pending_request_cancel(a->requests[i].call);
    }
    while (a && a->under_way && ki_engine_step(s->engine, 0, NULL) == KI_OK)
        ; /* each callback runs, also after a signal */
    for (size_t i = 0; i < s->target_count && !status; i++) {
        const ki_object *definition = a->responses[i] ? ki_response_object(a->responses[i]) : NULL;
        ki_value json = KI_VALUE_INIT;
        if (definition)
            status = ki_object_json(definition, &json, err);
        if (!status && !s->options->server_print)
            status =
                ki_columns_new(&s->targets[i].resource, "{}", 2, s->allocator, &columns[i], err); /* name and age */
        else if (!status)
            status = ki_columns_new(&s->targets[i].resource, json.text, json.text_size, s->allocator, &columns[i], err);
        ki_value_clear(&json);
    }
    for (size_t i = 0; a && i < s->target_count; i++) {
        ki_pending_request_free(a->requests[i].call);
        ki_response_unref(a->responses[i]);
    }
    free(a);
    return status;
}

void definitions_free(ki_columns *columns[TARGETS_MAX]) {
    for (size_t i = 0; i < TARGETS_MAX; i++) {
        ki_columns_free(columns[i]);
        columns[i] = NULL;
    }
}
