/* selection.c: parses the arguments into the session's targets: RESOURCE,RESOURCE..., RESOURCE NAME NAME... and
 * RESOURCE/NAME RESOURCE/NAME..., as kubectl. */
#include "session.h"

#include "cli/output.h"

#include <stdlib.h>
#include <string.h>

int session_check_verbs(const session *s, const ki_resource *resource, bool lists, bool watches) {
    if (!lists)
        say(s->command, "%s cannot be listed: the server does not store them; kubectl create -f FILE -o yaml sends one",
            resource->plural);
    else if (!watches && session_needs_watch(s))
        say(s->command, "%s cannot be watched; kinformer get %s%s%s lists them", resource->plural, resource->plural,
            *resource->group ? "." : "", resource->group);
    else
        return EXIT_OK;
    return EXIT_FAILED;
}

static bool is_same(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool session_has_target(const session *s, const target *but, const ki_resource *resource, const char *name,
                        const char *namespace_name) {
    for (size_t i = 0; i < s->target_count; i++) {
        const target *t = &s->targets[i];
        bool has_name = is_same(t->name, name) && is_same(t->namespace_name, namespace_name);
        if (t != but && !t->lookup_name && has_name && strcmp(t->resource.plural, resource->plural) == 0 &&
            strcmp(t->resource.group, resource->group) == 0)
            return true;
    }
    return false;
}

/* Finds a resource by any of its names. Skips a duplicate: "pods,po" is one target. */
int session_add_object(session *s, const char *word, const char *name, const char *namespace_name) {
    const ki_resource *known = ki_resource_find(word);
    if (s->target_count == TARGETS_MAX) {
        say(s->command, "at most %d resources and names at once", TARGETS_MAX);
        return EXIT_USAGE;
    }
    target *t = &s->targets[s->target_count];
    *t = (target){ .session = s, .name = name, .namespace_name = namespace_name };
    bool watches = known && ki_resource_has_verb(known, "watch");
    int status = known ? session_check_verbs(s, known, ki_resource_has_verb(known, "list"), watches) : EXIT_OK;
    if (status || (known && session_has_target(s, NULL, known, name, namespace_name)))
        return status;
    if (known) {
        t->resource = *known;
    } else if (s->uses_discovery) {
        t->lookup_name = strdup(word); /* session_start resolves it */
        if (!t->lookup_name)
            return EXIT_FAILED;
    } else if (!session_set_custom(t, word)) {
        return session_print_unknown(s, word, ki_resource_nearest(word));
    }
    s->target_count++;
    return EXIT_OK;
}

static int check_name(const session *s, const char *name) {
    if (!*name)
        say(s->command, "resource name may not be empty");
    else if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        say(s->command, "invalid resource name \"%s\": may not be '%s'", name, name);
    else if (strpbrk(name, "/%"))
        say(s->command, "invalid resource name \"%s\": may not contain '%c'", name, *strpbrk(name, "/%"));
    else
        return EXIT_OK;
    return EXIT_USAGE;
}

static int add_target(session *s, const char *word, const char *name) {
    return session_add_object(s, word, name, NULL);
}

/* Adds the resources of "pods,deployments.apps", each with all of the names. */
static int add_resources(session *s, const char *words, const char *const *names) {
    char word[256];
    for (const char *at = words;;) {
        size_t size = strcspn(at, ",");
        if (size == 0) {
            say(s->command, "the server doesn't have a resource type \"\": \"%s\" has an empty name", words);
            return EXIT_USAGE;
        }
        if (size >= sizeof word) {
            say(s->command, "\"%.60s...\" is not a resource", at);
            return EXIT_USAGE;
        }
        memcpy(word, at, size);
        word[size] = '\0';
        int status = *names ? EXIT_OK : add_target(s, word, NULL);
        for (const char *const *name = names; *name && !status; name++)
            status = add_target(s, word, *name);
        if (status || !at[size])
            return status;
        at += size + 1;
    }
}

/* Adds the target of "pods/web-1". */
static int add_pair(session *s, const char *text) {
    const char *slash = strchr(text, '/');
    char word[256];
    if (!slash) {
        say(s->command,
            "\"%s\" has no object name, but others have: write RESOURCE/NAME RESOURCE/NAME..., or RESOURCE NAME "
            "NAME...",
            text);
        return EXIT_USAGE;
    }
    size_t size = (size_t)(slash - text);
    if (size == 0 || !slash[1] || size >= sizeof word || memchr(text, ',', size)) {
        say(s->command, "arguments in resource/name form must have a single resource and name, not \"%s\"", text);
        return EXIT_USAGE;
    }
    if (strchr(slash + 1, '/')) {
        say(s->command, "arguments in resource/name form may not have more than one slash: \"%s\"", text);
        return EXIT_USAGE;
    }
    memcpy(word, text, size);
    word[size] = '\0';
    int status = check_name(s, slash + 1);
    return status ? status : add_target(s, word, slash + 1);
}

int session_check_flags(const session *s) {
    const options *o = s->options;
    bool has_name = false;
    for (size_t i = 0; i < s->target_count; i++) {
        const target *t = &s->targets[i];
        has_name |= t->name != NULL;
        if (t->name && o->all_namespaces && !t->lookup_name && t->resource.namespaced) { /* unresolved: checked later */
            say(s->command, "a resource cannot be retrieved by name across all namespaces");
            return EXIT_USAGE;
        }
    }
    if (has_name && ((o->selector && *o->selector) || (o->field_selector && *o->field_selector))) {
        say(s->command, "name cannot be provided when a selector is specified");
        return EXIT_USAGE;
    }
    return EXIT_OK;
}

int session_set_resources(session *s, const char *const *arguments) {
    int status = EXIT_OK;
    bool has_slash = false;
    if (!arguments[0]) {
        say(s->command, "name a resource");
        return EXIT_USAGE;
    }
    for (const char *const *at = arguments; *at; at++)
        has_slash |= strchr(*at, '/') != NULL;
    if (has_slash) {
        for (const char *const *at = arguments; *at && !status; at++)
            status = add_pair(s, *at);
    } else {
        for (const char *const *at = arguments + 1; *at && !status; at++)
            status = check_name(s, *at);
        if (!status)
            status = add_resources(s, arguments[0], arguments + 1);
    }
    return status ? status : session_check_flags(s);
}

/* ---- names ---- */

bool session_is_single(const session *s) {
    return s->target_count == 1 && s->targets[0].name;
}

const char *session_namespace(const target *t) {
    if (!t->resource.namespaced || t->session->options->all_namespaces)
        return NULL;
    return t->namespace_name ? t->namespace_name : ki_config_namespace(t->session->config);
}

bool session_is_same_resource(const target *a, const target *b) {
    return strcmp(a->resource.plural, b->resource.plural) == 0 && strcmp(a->resource.group, b->resource.group) == 0;
}

const char *session_label(const target *t, char text[LABEL_MAX]) {
    snprintf(text, LABEL_MAX, "%s%s%s", t->resource.plural, t->name ? "/" : "", t->name ? t->name : "");
    return text;
}

char *session_name_selector(const char *name) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fputs("metadata.name=", out);
    print_selector_value(out, name);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
