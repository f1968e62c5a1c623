/* failure.c: see failure.h. */
#include "failure.h"

#include "cli/output.h"

#include <stdio.h>
#include <string.h>

/* Returns true for a failure that a person has to fix. */
static bool needs_a_person(const ki_error *cause) {
    switch (cause->code) {
    case KI_ERR_CONNECT:
    case KI_ERR_TLS:
    case KI_ERR_CONFIG:
        return true;
    default:
        return cause->category == KI_CATEGORY_FATAL || cause->category == KI_CATEGORY_CREDENTIALS ||
               cause->category == KI_CATEGORY_REQUEST || ki_error_is_foreign(cause);
    }
}

static bool is_bad_request(const ki_error *cause) {
    return ki_error_is_bad_request(cause) && cause->reason[0];
}

bool failure_is_hopeless(const session *s, const ki_error *cause) {
    return is_bad_request(cause) || (session_ends_at_once(s) && needs_a_person(cause));
}

bool failure_is_of_server(const ki_error *cause) {
    return cause->http_status == 0 || cause->http_status == 401 || ki_error_is_foreign(cause);
}

int failure_status(const ki_error *cause) {
    return is_bad_request(cause) ? EXIT_FAILED : EXIT_UNREACHED;
}

/* Returns the server's message, without the prefix "list pods in namespace shop: ". No name of a resource or namespace
 * contains a colon. */
static const char *message_of_server(const ki_error *cause) {
    static const char *const prefixes[] = { "list ", "watch ", "GET ", "discovery: GET " };
    const char *message = ki_error_message(cause);
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        size_t size = strlen(prefixes[i]);
        const char *colon = strncmp(message, prefixes[i], size) == 0 ? strstr(message + size, ": ") : NULL;
        if (colon)
            return colon + 2;
    }
    return message;
}

bool failure_is_unread(const ki_resource_map *map, const char *name, failure_get get, void *user, ki_error *err) {
    const char *failed = ki_resource_map_failed_for(map, name);
    if (!failed)
        return false;
    const char *version = strrchr(failed, '/'), *meant = ki_resource_map_nearest(map, name);
    char path[640], service[640] = "";
    ki_error cause = KI_ERROR_INIT;
    snprintf(path, sizeof path, "/%s/%s", version ? "apis" : "api", failed);
    get(user, path, &cause);
    if (version)
        snprintf(service, sizeof service, "; kubectl get apiservice %s.%.*s shows why", version + 1,
                 (int)(version - failed), failed);
    ki_error_set(err, KI_ERR_HTTP, "could not read the resources of %s, which can have \"%s\"%s%.200s%s%s%s%s", failed,
                 name, cause.code ? ": " : "", cause.code ? message_of_server(&cause) : "", service,
                 meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
    return true;
}

/* Copies the host and port of a URL: "127.0.0.1:6443" of "https://127.0.0.1:6443/path". */
static void copy_host(const char *url, char *host, size_t size) {
    const char *begin = strstr(url, "://");
    begin = begin ? begin + 3 : url;
    snprintf(host, size, "%.*s", (int)strcspn(begin, "/"), begin);
}

static void print_cause(const session *s, const ki_resource *resource, const ki_error *cause, char *text, size_t size) {
    const char *message = message_of_server(cause);
    const char *server = ki_config_server(s->config);
    char host[256];
    copy_host(server, host, sizeof host);
    if (ki_error_is_foreign(cause))
        snprintf(text, size, "error: %s is not a Kubernetes API server: %s; check --server, or the kubeconfig's server",
                 server, message);
    else if (cause->http_status == 401)
        snprintf(text, size, "error: You must be logged in to the server (%s)", message);
    else if (cause->http_status == 404 && resource)
        snprintf(text, size, "error: the server doesn't have a resource type \"%s\" in version %s%s%s",
                 resource->plural, resource->group, *resource->group ? "/" : "", resource->version);
    else if (cause->http_status)
        snprintf(text, size, "Error from server (%s): %s",
                 cause->reason[0]            ? cause->reason
                 : cause->http_status == 403 ? "Forbidden"
                                             : "no reason given",
                 message);
    else if (cause->code == KI_ERR_CONNECT && strstr(message, "Connection refused"))
        snprintf(text, size, "The connection to the server %s was refused - did you specify the right host or port?",
                 host);
    else if (cause->code == KI_ERR_CONNECT || cause->code == KI_ERR_TLS || cause->category == KI_CATEGORY_CREDENTIALS)
        snprintf(text, size, "Unable to connect to the server: %s", message);
    else
        snprintf(text, size, "error: %s", message);
}

const char *failure_remedy(const session *s, const ki_resource *resource, const ki_error *cause,
                           char text[FAILURE_REMEDY_MAX]) {
    bool is_everywhere = s->options->all_namespaces;
    text[0] = '\0';
    if (cause->http_status == 401)
        snprintf(text, FAILURE_REMEDY_MAX, "; fix the credentials");
    else if (cause->http_status == 403)
        snprintf(text, FAILURE_REMEDY_MAX, "; %s needs the %s for %s%s%s%s%s", s->command,
                 session_needs_watch(s) ? "verbs list and watch" : "verb list", resource->plural,
                 resource->group[0] ? "." : "", resource->group,
                 !resource->namespaced ? ""
                 : is_everywhere       ? " in all namespaces"
                                       : " in namespace ",
                 resource->namespaced && !is_everywhere ? ki_config_namespace(s->config) : "");
    else if (cause->code == KI_ERR_CONNECT)
        snprintf(text, FAILURE_REMEDY_MAX, "; check the address, and that the server is running");
    return text;
}

void failure_print(session *s, const ki_resource *resource, const ki_error *cause) {
    char text[KI_ERROR_MESSAGE_MAX + 512], needs[FAILURE_REMEDY_MAX] = "";
    print_cause(s, resource, cause, text, sizeof text);
    show_progress(NULL);
    print_safe(stderr, text);
    fputc('\n', stderr);
    if (s->options->quiet || s->has_hinted || failure_status(cause) == EXIT_FAILED)
        return;
    s->has_hinted = true;
    if (resource && cause->http_status == 403)
        (void)failure_remedy(s, resource, cause, needs);
    say(s->command, "run kinformer doctor to find the cause; --wait tries again until the list succeeds%s", needs);
}

/* ---- what is not there ---- */

/* Returns true if the named object is not in the cache. A server that ignores field selectors sends others. */
static bool is_missing(const target *t) {
    const char *namespace_name = session_namespace(t);
    ki_object *obj = NULL;
    ki_status status = ki_lister_get(t->informer, namespace_name, t->name, &obj, NULL);
    ki_object_unref(obj);
    return status == KI_ERR_NOT_FOUND;
}

/* Prints a name quoted as the server quotes it. */
static void print_quoted(const char *name) {
    char text[2] = "";
    const char *rest = name;
    if (!strpbrk(name, "\\\"")) {
        print_safe(stderr, name);
        return;
    }
    for (; *rest; rest++) {
        text[0] = *rest;
        if (*rest == '\\' || *rest == '"')
            fputc('\\', stderr);
        print_safe(stderr, text);
    }
}

size_t failure_count_missing(const session *s) {
    size_t missing = 0;
    for (size_t i = 0; i < s->target_count; i++) {
        const target *t = &s->targets[i];
        missing += t->name && t->synced && is_missing(t);
    }
    return missing;
}

void failure_print_missing(const session *s) {
    show_progress(NULL);
    for (size_t i = 0; i < s->target_count; i++) {
        const target *t = &s->targets[i];
        if (!t->name || !t->synced || !is_missing(t))
            continue;
        fprintf(stderr, "Error from server (NotFound): %s%s%s \"", t->resource.plural, *t->resource.group ? "." : "",
                t->resource.group);
        print_quoted(t->name);
        fprintf(stderr, "\" not found\n");
    }
}

void failure_print_empty(const session *s) {
    const options *o = s->options;
    if (!s->targets[0].resource.namespaced || o->all_namespaces)
        fprintf(stderr, "No resources found\n");
    else
        fprintf(stderr, "No resources found in %s namespace.\n", ki_config_namespace(s->config));
}
