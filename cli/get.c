/* get.c: kinformer get: one synced list from an informer's cache. */
#include "flags.h"
#include "output.h"
#include "session.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct get {
    session session;
    const char *output;
    bool several; /* resources: each line says which */
} get;

struct row {
    const char *created;
};

static const ki_field row_fields[] = { KI_FIELD(struct row, created, "metadata.creationTimestamp"), KI_FIELD_END };

static void on_synced(ki_informer *informer, void *user) {
    target *t = user;
    (void)informer;
    t->synced = true;
    if (session_has_synced(t->session))
        session_end(t->session, EXIT_FINE);
}

/* "93s", "12m", "5h", "31d": as short as kubectl's. */
static void write_age(const char *created, char age[24]) {
    struct tm parts = { 0 };
    snprintf(age, 24, "<unknown>");
    if (!created || !strptime(created, "%Y-%m-%dT%H:%M:%SZ", &parts))
        return;
    long long seconds = (long long)time(NULL) - (long long)timegm(&parts);
    if (seconds < 0)
        seconds = 0;
    if (seconds < 120)
        snprintf(age, 24, "%llds", seconds);
    else if (seconds < 3 * 3600)
        snprintf(age, 24, "%lldm", seconds / 60);
    else if (seconds < 48 * 3600)
        snprintf(age, 24, "%lldh", seconds / 3600);
    else
        snprintf(age, 24, "%lldd", seconds / 86400);
}

static int by_namespace_and_name(const void *a, const void *b) {
    const ki_object *const *left = a;
    const ki_object *const *right = b;
    int order = strcmp(ki_object_namespace(*left), ki_object_namespace(*right));
    return order ? order : strcmp(ki_object_name(*left), ki_object_name(*right));
}

static void print_table(const get *g, const target *t, const ki_object_list *list) {
    size_t namespace_width = strlen("NAMESPACE");
    size_t name_width = strlen("NAME");
    size_t prefix = g->several ? strlen(t->resource.kind) + strlen(t->resource.group) + 2 : 0;
    bool shows_namespace = t->resource.namespaced && g->session.options->all_namespaces;
    for (size_t i = 0; i < list->count; i++) {
        size_t size = strlen(ki_object_namespace(list->objects[i]));
        if (size > namespace_width)
            namespace_width = size;
        size = strlen(ki_object_name(list->objects[i])) + prefix;
        if (size > name_width)
            name_width = size;
    }
    if (shows_namespace)
        printf("%-*s   ", (int)namespace_width, "NAMESPACE");
    printf("%-*s   AGE\n", (int)name_width, "NAME");
    for (size_t i = 0; i < list->count; i++) {
        const ki_object *obj = list->objects[i];
        const struct row *row = ki_object_view(obj);
        char age[24];
        write_age(row ? row->created : NULL, age);
        if (shows_namespace) {
            const char *namespace_name = ki_object_namespace(obj);
            print_tame(stdout, namespace_name);
            printf("%*s   ", (int)(namespace_width - strlen(namespace_name)), "");
        }
        size_t size = strlen(ki_object_name(obj));
        if (g->several) {
            print_object_name(&t->resource, obj);
            size += strlen(ki_object_kind(obj)) + strlen(t->resource.group) + (*t->resource.group ? 2 : 1);
        } else {
            print_tame(stdout, ki_object_name(obj));
        }
        printf("%*s   %s\n", size < name_width ? (int)(name_width - size) : 0, "", age);
    }
}

static ki_status print_json(const ki_object_list *list, bool *first, ki_error *err) {
    for (size_t i = 0; i < list->count; i++) {
        ki_value json = KI_VALUE_INIT;
        ki_status status = ki_object_json(list->objects[i], &json, err);
        if (status)
            return status;
        if (!*first)
            printf(",\n");
        *first = false;
        fwrite(json.text, 1, json.text_size, stdout);
        ki_value_clear(&json);
    }
    return KI_OK;
}

static ki_status print_target(get *g, const target *t, bool *first, size_t *count, ki_error *err) {
    ki_object_list list = { 0 };
    ki_status status = ki_lister_list(t->informer, NULL, NULL, &list, err);
    if (status)
        return status;
    if (list.count)
        qsort(list.objects, list.count, sizeof *list.objects, by_namespace_and_name);
    if (strcmp(g->output, "json") == 0) {
        status = print_json(&list, first, err);
    } else if (strcmp(g->output, "name") == 0) {
        for (size_t i = 0; i < list.count; i++) {
            print_object_name(&t->resource, list.objects[i]);
            putchar('\n');
        }
    } else if (list.count) {
        if (*count)
            putchar('\n');
        print_table(g, t, &list);
    }
    *count += list.count;
    ki_object_list_free(&list);
    return status;
}

static int say_not_found(const session *s) {
    const ki_resource *resource = &s->targets[0].resource;
    show_progress(NULL);
    fprintf(stderr, "Error from server (NotFound): %s%s%s \"%s\" not found\n", resource->plural,
            *resource->group ? "." : "", resource->group, s->name);
    return EXIT_FAILED;
}

static int print_all(get *g) {
    session *s = &g->session;
    ki_error err = KI_ERROR_INIT;
    bool first = true;
    size_t count = 0;
    bool is_json = strcmp(g->output, "json") == 0;
    bool is_list = is_json && !s->name;

    if (s->name) { /* before anything is printed */
        ki_snapshot *snapshot = ki_informer_snapshot(s->targets[0].informer);
        count = ki_snapshot_count(snapshot);
        ki_snapshot_free(snapshot);
        if (!count)
            return say_not_found(s);
        count = 0;
    }
    if (is_list)
        printf("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"\"},\"items\":[\n");
    for (size_t i = 0; i < s->target_count; i++) {
        if (print_target(g, &s->targets[i], &first, &count, &err)) {
            say("get", "%s", ki_error_message(&err));
            return EXIT_FAILED;
        }
    }
    if (is_list)
        printf("%s]}\n", first ? "" : "\n");
    else if (is_json)
        putchar('\n');
    else if (!count && !s->options->quiet) {
        const options *o = s->options;
        bool in_namespace = s->targets[0].resource.namespaced && !o->all_namespaces;
        if (!in_namespace)
            fprintf(stderr, "No resources found\n");
        else
            fprintf(stderr, "No resources found in %s namespace.\n", ki_config_namespace(s->config));
    }
    return output_flush() ? EXIT_FINE : output_status();
}

static int check(const get *g) {
    const session *s = &g->session;
    const options *o = s->options;
    if (!o->arguments[0]) {
        say("get", "which resource? kinformer get pods -A, for example");
        return EXIT_USAGE;
    }
    if (strcmp(g->output, "line") != 0 && strcmp(g->output, "json") != 0 && strcmp(g->output, "name") != 0) {
        say("get", "-o %s is not offered by this version; line, json and name are", g->output);
        return EXIT_USAGE;
    }
    if (s->name && strchr(o->arguments[0], ',')) {
        say("get", "a NAME goes with one resource, not with %s", o->arguments[0]);
        return EXIT_USAGE;
    }
    return EXIT_FINE;
}

static int run(const options *o) {
    static get g;
    session *s = &g.session;
    options own = *o;
    *s = (session){ .command = "get",
                    .options = &own,
                    .is_once = true,
                    .name = o->arguments[0] ? o->arguments[1] : NULL,
                    .handler = { .on_synced = on_synced },
                    .view = row_fields,
                    .user = &g };
    g.output = o->output ? o->output : "line";
    int status = check(&g);
    if (status == EXIT_FINE)
        status = session_set_resources(s, o->arguments[0]);
    if (status == EXIT_FINE && s->name && o->all_namespaces && s->targets[0].resource.namespaced) {
        say("get", "a resource cannot be retrieved by name across all namespaces");
        status = EXIT_USAGE;
    }
    g.several = s->target_count > 1;
    if (status == EXIT_FINE)
        status = session_start(s);
    if (status == EXIT_FINE)
        status = session_run(s);
    if (status == EXIT_FINE && session_has_synced(s))
        status = print_all(&g); /* else a signal ended it */
    session_close(s);
    return status;
}

static const flag flags[] = { FLAG("output", 'o', FLAG_TEXT, output, "FORMAT", "line (default), json or name"),
                              FLAG("show-managed-fields", 0, FLAG_BOOL, show_managed_fields, NULL,
                                   "objects with metadata.managedFields"),
                              FLAG("timeout", 0, FLAG_DURATION, timeout_ms, "DURATION",
                                   "give up, with status 3, where it has not synced by then (default: keep trying)"),
                              FLAG("quiet", 'q', FLAG_BOOL, quiet, NULL, "nothing on stderr but what ends the command"),
                              FLAG("verbose", 'v', FLAG_BOOL, verbose, NULL, "more on stderr"),
                              FLAGS_END };
static const flag *const tables[] = { flags, flags_selection, flags_connection, NULL };

const cli_command command_get = {
    .name = "get",
    .usage = "RESOURCE[,RESOURCE...] [NAME] [flags]",
    .purpose = "show what is there, once",
    .text = "  kinformer get pods -A\n"
            "  kinformer get deployment web -n shop -o json\n"
            "\n"
            "Lists through an informer and shows its cache: what a program with an informer would see.\n",
    .max_arguments = 2,
    .flags = tables,
    .run = run,
};
