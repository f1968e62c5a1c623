/* describe.c: kinformer describe: objects as kubectl describe shows them. The objects are those of synced informers;
 * what else a description has is requested afterwards: Events, a node's pods and lease, a service's endpoints, a
 * deployment's replica sets. */
#include "describe/describe.h"

#include "describe/selector.h"
#include "flags.h"
#include "format/listing.h"
#include "output.h"
#include "session/failure.h"
#include "session/manifest.h"
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

enum {
    PAGE_OBJECTS = 500 /* objects of a page, as in kubectl */
};

/* Parsed objects. */
typedef struct parsed {
    yyjson_doc **docs;
    yyjson_val **roots;
    size_t count;
} parsed;

static void clear_parsed(parsed *p) {
    for (size_t i = 0; i < p->count; i++)
        yyjson_doc_free(p->docs[i]);
    free(p->docs);
    free(p->roots);
    *p = (parsed){ .count = 0 };
}

static described_list list_of(const parsed *p) {
    return (described_list){ p->roots, p->count };
}

static ki_status add_parsed(parsed *p, const ki_object *obj, ki_error *err) {
    ki_value json = KI_VALUE_INIT;
    yyjson_doc **docs = realloc(p->docs, (p->count + 1) * sizeof *docs);
    p->docs = docs ? docs : p->docs;
    yyjson_val **roots = docs ? realloc(p->roots, (p->count + 1) * sizeof *roots) : NULL;
    if (!roots)
        return KI_ERR_NO_MEMORY;
    p->roots = roots;
    ki_status status = ki_object_json(obj, &json, err);
    yyjson_doc *doc = status ? NULL : yyjson_read(json.text, json.text_size, 0);
    ki_value_clear(&json);
    if (!doc)
        return status ? status : KI_ERR_NO_MEMORY;
    p->docs[p->count] = doc;
    p->roots[p->count++] = yyjson_doc_get_root(doc);
    return KI_OK;
}

/* ---- requests ---- */

typedef struct request {
    bool has_ended;
    ki_error cause;
    const ki_response *response;
} request;

static void on_response(const ki_response *response, const ki_error *err, void *user) {
    request *r = user;
    r->has_ended = true;
    r->response = ki_response_ref(response);
    if (err)
        r->cause = *err;
}

static bool has_ended(void *user) {
    return ((const request *)user)->has_ended;
}

/* Sends a request and waits. Returns its status; `*ret_response` can be set after an error, too. */
static ki_status send_request(session *s, const ki_client_request *what, const ki_response **ret_response,
                              ki_error *err) {
    request r = { .cause = KI_ERROR_INIT };
    ki_pending_request *call = NULL;
    ki_status status = ki_client_send(ki_factory_client(s->factory), what, on_response, &r, &call, err);
    if (status)
        return status;
    status = session_wait(s, has_ended, &r, err);
    ki_pending_request_cancel(call);
    while (!r.has_ended && ki_engine_step(s->engine, 0, NULL) == KI_OK)
        ; /* the callback runs, also after a signal */
    ki_pending_request_free(call);
    *ret_response = r.response;
    if (!status && r.cause.code)
        *err = r.cause;
    return status ? status : r.cause.code;
}

/* What is listed. */
typedef struct listed {
    const ki_resource *resource;
    const char *namespace_name; /* NULL: all */
    const char *labels;
    const char *fields;
} listed;

/* Adds the objects of a list, which arrives in pages. */
static ki_status add_list(session *s, const listed *what, parsed *to, ki_error *err) {
    char *token = NULL;
    ki_status status;
    do {
        const ki_response *response = NULL;
        const ki_request_options how = { .size = sizeof how,
                                         .timeout_ms = s->options->request_timeout_ms,
                                         .label_selector = what->labels,
                                         .field_selector = what->fields,
                                         .limit = s->options->chunk_size,
                                         .continue_token = token };
        const ki_client_request list = { .size = sizeof list,
                                         .verb = KI_CLIENT_LIST,
                                         .resource = what->resource,
                                         .namespace_name = what->namespace_name,
                                         .options = &how };
        status = send_request(s, &list, &response, err);
        free(token);
        token = NULL;
        for (size_t i = 0; !status && i < ki_response_item_count(response); i++)
            status = add_parsed(to, ki_response_item(response, i), err);
        if (!status && *ki_response_continue(response)) {
            token = strdup(ki_response_continue(response));
            status = token ? KI_OK : KI_ERR_NO_MEMORY;
        }
        ki_response_unref(response);
    } while (token);
    return status;
}

/* ---- what a description has beside the object ---- */

typedef struct surroundings {
    parsed events;
    parsed related;
    parsed slices;
    parsed lease;
    char *lease_failure;
} surroundings;

static void clear_surroundings(surroundings *a) {
    clear_parsed(&a->events);
    clear_parsed(&a->related);
    clear_parsed(&a->slices);
    clear_parsed(&a->lease);
    free(a->lease_failure);
}

static const char *not_null(const char *text) {
    return text ? text : "";
}

/* Lists the Events of an object. Without the permission there are none, as in kubectl. */
static void find_events(session *s, const ki_object *obj, const char *kind, const char *uid, parsed *to) {
    const char *namespace_name = ki_object_namespace(obj);
    char *name = session_name_selector(ki_object_name(obj)), *fields = NULL;
    ki_error err = KI_ERROR_INIT;
    if (name && asprintf(&fields, "involvedObject.name%s,involvedObject.namespace=%s%s%s,involvedObject.uid=%s",
                         strchr(name, '='), namespace_name, *kind ? ",involvedObject.kind=" : "", kind, uid) < 0)
        fields = NULL;
    const listed what = { .resource = KI_EVENTS,
                          .namespace_name = *namespace_name ? namespace_name : NULL,
                          .fields = fields };
    if (fields)
        (void)add_list(s, &what, to, &err);
    free(fields);
    free(name);
}

static void find_all_events(session *s, const ki_object *obj, yyjson_val *root, surroundings *a) {
    described_kind layout = described_kind_of(root);
    yyjson_val *annotations = yyjson_obj_get(yyjson_obj_get(root, "metadata"), "annotations");
    const char *mirror = yyjson_get_str(yyjson_obj_get(annotations, "kubernetes.io/config.mirror"));
    const char *uid = layout == DESCRIBED_POD && mirror ? mirror : ki_object_uid(obj);
    if (layout == DESCRIBED_SECRET)
        return;
    find_events(s, obj, layout == DESCRIBED_POD ? "" : ki_object_kind(obj), uid, &a->events);
    if (layout == DESCRIBED_NODE) /* the kubelet has the name in place of the uid */
        find_events(s, obj, ki_object_kind(obj), ki_object_name(obj), &a->events);
}

/* Gets a node's lease, or why there is none. */
static ki_status find_lease(session *s, const ki_object *node, surroundings *a) {
    const ki_response *response = NULL;
    ki_error err = KI_ERROR_INIT;
    const ki_request_options how = { .size = sizeof how, .timeout_ms = s->options->request_timeout_ms };
    const ki_client_request get = { .size = sizeof get,
                                    .verb = KI_CLIENT_GET,
                                    .resource = KI_LEASES,
                                    .namespace_name = "kube-node-lease",
                                    .name = ki_object_name(node),
                                    .options = &how };
    ki_status status = send_request(s, &get, &response, &err);
    if (!status)
        status = add_parsed(&a->lease, ki_response_object(response), &err);
    const ki_error_response *failure = response ? ki_response_error(response) : NULL;
    if (status)
        a->lease_failure = strdup(failure ? failure->message : ki_error_message(&err));
    ki_response_unref(response);
    return status && !a->lease_failure ? KI_ERR_NO_MEMORY : KI_OK;
}

static ki_status find_for_node(session *s, const ki_object *node, description *d, surroundings *a, ki_error *err) {
    char *fields = NULL, *on_node = NULL;
    ki_error slices_failure = KI_ERROR_INIT;
    if (asprintf(&fields, "spec.nodeName=%s,status.phase!=Succeeded,status.phase!=Failed", ki_object_name(node)) < 0)
        return KI_ERR_NO_MEMORY;
    const listed pods = { .resource = KI_PODS, .fields = fields };
    ki_status status = add_list(s, &pods, &a->related, err);
    free(fields);
    d->is_forbidden = status && ki_error_is_forbidden(err);
    if (status && !d->is_forbidden)
        return status;
    if (find_lease(s, node, a) || asprintf(&on_node, "spec.nodeName=%s", ki_object_name(node)) < 0)
        return KI_ERR_NO_MEMORY;
    const listed slices = { .resource = KI_RESOURCESLICES, .fields = on_node };
    if (add_list(s, &slices, &a->slices, &slices_failure)) /* older servers have none */
        clear_parsed(&a->slices);
    free(on_node);
    return KI_OK;
}

/* Lists the objects with these labels in the object's namespace, if that is allowed. */
static ki_status find_labelled(session *s, const ki_object *obj, const ki_resource *resource, char *labels,
                               parsed *to) {
    ki_error err = KI_ERROR_INIT;
    const listed what = { .resource = resource, .namespace_name = ki_object_namespace(obj), .labels = labels };
    if (!labels)
        return KI_ERR_NO_MEMORY;
    if (add_list(s, &what, to, &err))
        clear_parsed(to);
    free(labels);
    return KI_OK;
}

static ki_status find_related(session *s, const ki_object *obj, description *d, surroundings *a, ki_error *err) {
    char *labels = NULL;
    switch (described_kind_of(d->object)) {
    case DESCRIBED_NODE:
        return find_for_node(s, obj, d, a, err);
    case DESCRIBED_DEPLOYMENT:
        return find_labelled(s, obj, KI_REPLICASETS, selector_text(d->object, "spec.selector"), &a->related);
    case DESCRIBED_SERVICE:
        if (asprintf(&labels, "kubernetes.io/service-name=%s", ki_object_name(obj)) < 0)
            return KI_ERR_NO_MEMORY;
        return find_labelled(s, obj, KI_ENDPOINTSLICES, labels, &a->related);
    default:
        return KI_OK;
    }
}

/* Prints the description of one object. */
static ki_status print_one(session *s, const ki_object *obj, bool shows_events, ki_error *err) {
    surroundings a = { .lease_failure = NULL };
    parsed object = { .count = 0 };
    description d = { .now_ms = wall_now_ms(), .shows_events = shows_events };
    sheet text;
    ki_status status = add_parsed(&object, obj, err);
    if (!status) {
        d.object = object.roots[0];
        status = find_related(s, obj, &d, &a, err);
    }
    if (!status && shows_events)
        find_all_events(s, obj, d.object, &a);
    if (!status && !s->is_interrupted) {
        d.events = list_of(&a.events);
        d.related = list_of(&a.related);
        d.slices = list_of(&a.slices);
        d.lease = a.lease.count ? a.lease.roots[0] : NULL;
        d.lease_failure = not_null(a.lease_failure);
        sheet_open(&text);
        describe_object(&d, &text);
        status = sheet_close(&text, stdout) ? KI_OK : KI_ERR_NO_MEMORY;
    }
    clear_surroundings(&a);
    clear_parsed(&object);
    return status;
}

/* ---- the command ---- */

/* Prints why an object could not be described, unless a signal ended its requests. */
static int say_failure(const session *s, const ki_object *obj, ki_status status, const ki_error *err) {
    if (s->is_interrupted)
        return EXIT_OK;
    say(s->command, "%s: %s", ki_object_key(obj), err->code ? ki_error_message(err) : ki_status_name(status));
    return EXIT_FAILED;
}

static bool wants_events(const session *s, bool is_default) {
    choice given = s->options->show_events;
    return given == CHOICE_NONE ? is_default : given == CHOICE_TRUE;
}

/* Prints the objects of all targets, two empty lines apart. */
static int print_all(session *s, const ki_object_list *lists, size_t total, bool has_missing) {
    bool shows_events = wants_events(s, total == 1 && !has_missing), is_first = true;
    int result = EXIT_OK;
    for (size_t i = 0; i < s->target_count; i++) {
        for (size_t j = 0; j < lists[i].count && !s->is_interrupted && output_flush(); j++) {
            ki_error err = KI_ERROR_INIT;
            if (!is_first)
                printf("\n\n");
            is_first = false;
            ki_status status = print_one(s, lists[i].objects[j], shows_events, &err);
            if (status)
                result = say_failure(s, lists[i].objects[j], status, &err);
        }
    }
    return result;
}

/* Returns true if a missing name can be the beginning of other names: `describe TYPE NAME`. */
static bool is_perhaps_prefix(const session *s) {
    const char *const *arguments = s->options->arguments;
    return s->target_count == 1 && arguments[0] && arguments[1] && !arguments[2];
}

/* Prints the objects whose names begin with the target's name. Sets `*ret_has_any` if there is one. */
static int print_by_prefix(session *s, bool *ret_has_any) {
    const target *t = &s->targets[0];
    const ki_response *response = NULL;
    ki_error err = KI_ERROR_INIT;
    const ki_request_options how = { .size = sizeof how, .timeout_ms = s->options->request_timeout_ms };
    const ki_client_request list = { .size = sizeof list,
                                     .verb = KI_CLIENT_LIST,
                                     .resource = &t->resource,
                                     .namespace_name = session_namespace(t),
                                     .options = &how };
    int result = EXIT_OK;
    if (send_request(s, &list, &response, &err)) {
        failure_print(s, &t->resource, &err);
        ki_response_unref(response);
        return failure_status(&err);
    }
    for (size_t i = 0; i < ki_response_item_count(response) && !s->is_interrupted && output_flush(); i++) {
        const ki_object *obj = ki_response_item(response, i);
        if (strncmp(ki_object_name(obj), t->name, strlen(t->name)) != 0)
            continue;
        *ret_has_any = true;
        ki_status status = print_one(s, obj, wants_events(s, false), &err);
        if (status)
            result = say_failure(s, obj, status, &err);
        putchar('\n');
    }
    ki_response_unref(response);
    return result;
}

static int print_and_say_missing(session *s, const ki_object_list *lists, size_t total) {
    bool has_missing = failure_count_missing(s) > 0, has_any = total > 0, has_failed = false;
    int result = EXIT_OK;
    for (size_t i = 0; i < s->target_count; i++)
        has_failed |= s->targets[i].failure.code != KI_OK;
    if (has_missing && is_perhaps_prefix(s))
        result = print_by_prefix(s, &has_any);
    else
        result = print_all(s, lists, total, has_missing || has_failed);
    if (!output_flush())
        return output_status();
    if (result || s->is_interrupted)
        return result;
    if (has_missing && (total || !has_any || !is_perhaps_prefix(s))) {
        failure_print_missing(s);
        return EXIT_FAILED;
    }
    if (!has_any && !has_failed && !s->options->quiet)
        failure_print_empty(s);
    return EXIT_OK;
}

/* Prints the descriptions, then why lists failed. */
static int print_objects(session *s) {
    static ki_object_list lists[TARGETS_MAX];
    ki_error err = KI_ERROR_INIT;
    size_t total = 0;
    ki_status status = KI_OK;
    for (size_t i = 0; i < s->target_count && !status; i++) {
        status = s->targets[i].synced ? listing_read(&s->targets[i], &lists[i], &err) : KI_OK;
        total += status ? 0 : lists[i].count;
    }
    int result = EXIT_FAILED;
    if (status)
        say(s->command, "%s", err.code ? ki_error_message(&err) : ki_status_name(status));
    else
        result = print_and_say_missing(s, lists, total);
    for (size_t i = 0; i < s->target_count; i++) {
        const ki_error *failure = &s->targets[i].failure;
        ki_object_list_free(&lists[i]);
        if (!failure->code)
            continue;
        failure_print(s, &s->targets[i].resource, failure);
        result = result ? result : failure_status(failure);
    }
    return result;
}

static void on_synced(ki_informer *informer, void *user) {
    target *t = user;
    (void)informer;
    t->synced = true;
    if (session_has_synced(t->session))
        session_end(t->session, EXIT_OK);
}

static void set_defaults(options *o) {
    o->chunk_size = PAGE_OBJECTS;
}

static int run_describe(const options *o) {
    static session s;
    manifest *files = NULL;
    s = (session){ .command = "describe",
                   .uses_discovery = true,
                   .options = o,
                   .is_once = true,
                   .handler = { .on_synced = on_synced } };
    if (!o->arguments[0] && !o->files.count) {
        say(s.command, "name a resource, for example: kinformer describe pods -n shop");
        return EXIT_USAGE;
    }
    int status = o->files.count ? manifest_add_targets(&s, &files) : session_set_resources(&s, o->arguments);
    if (status == EXIT_OK)
        status = session_start(&s);
    if (status == EXIT_OK)
        status = session_run(&s);
    if (status == EXIT_OK && session_has_synced(&s) && !s.is_interrupted)
        status = print_objects(&s);
    session_close(&s);
    manifest_free(files);
    return status;
}

static const flag flags[] = {
    FLAG("filename", 'f', FLAG_LIST, files, "FILE",
         "describe the objects that this file of YAML or JSON names, -: standard input; repeatable"),
    FLAG("show-events", 0, FLAG_CHOICE, show_events, NULL,
         "print Events too (default: if one object is described and its name is complete)"),
    FLAG("chunk-size", 0, FLAG_NUMBER, chunk_size, "N", "list N objects at a time (default 500; 0: all at once)"),
    FLAGS_END
};
static const cli_hint hints[] = {
    { "output", 'o', "there is no flag --output; kinformer get prints objects in a format" },
    { "recursive", 'R', "there is no flag --recursive; name each file with -f" },
    { "kustomize", 'k',
      "there is no flag --kustomize; kubectl kustomize DIR | kinformer describe -f - describes its objects" },
    { NULL, '\0', NULL }
};
static const flag *const tables[] = { flags, flags_once, flags_selection, flags_connection, NULL };

const cli_command command_describe = {
    .name = "describe",
    .usage = "RESOURCE[,RESOURCE...] [NAME...] | RESOURCE NAME_PREFIX | RESOURCE/NAME... | -f FILE [flags]",
    .purpose = "print objects with what belongs to them, and their Events",
    .text = "  kinformer describe pod web-1 -n shop\n"
            "  kinformer describe pods web -n shop              the pods whose names begin with web\n"
            "  kinformer describe deployment/web service/web -n shop\n"
            "  kinformer describe nodes\n"
            "  kinformer describe pods -A -l app=web --show-events\n"
            "\n"
            "Prints what kubectl describe prints. Pods, nodes, deployments, services, secrets and config maps have\n"
            "kubectl's layouts, all other kinds the one that kubectl has for custom resources.\n",
    .max_arguments = MAX_ARGUMENTS,
    .flags = tables,
    .hints = hints,
    .set_defaults = set_defaults,
    .run = run_describe,
};
