/* get.c: kinformer get: one synced list from an informer's cache. */
#include "definition.h"
#include "failure.h"
#include "flags.h"
#include "listing.h"
#include "output.h"
#include "printer.h"
#include "session.h"

#include <string.h>

typedef struct get {
    session session;
    printer printer;
    ki_columns *columns[TARGETS_MAX]; /* of the table */
} get;

static void on_synced(ki_informer *informer, void *user) {
    target *t = user;
    (void)informer;
    t->synced = true;
    if (session_has_synced(t->session))
        session_end(t->session, EXIT_FINE);
}

static bool is_empty(const target *t) {
    ki_snapshot *snapshot = ki_informer_snapshot(t->informer);
    size_t count = ki_snapshot_count(snapshot);
    ki_snapshot_free(snapshot);
    return count == 0;
}

/* As the server quotes a name. */
static void print_quoted(const char *name) {
    char text[2] = "";
    const char *rest = name;
    if (!strpbrk(name, "\\\"")) {
        print_tame(stderr, name);
        return;
    }
    for (; *rest; rest++) {
        text[0] = *rest;
        if (*rest == '\\' || *rest == '"')
            fputc('\\', stderr);
        print_tame(stderr, text);
    }
}

/* Says which of the names are not there; gives how many. */
static size_t say_not_found(const session *s) {
    size_t missing = 0;
    show_progress(NULL);
    for (size_t i = 0; i < s->target_count; i++) {
        const target *t = &s->targets[i];
        if (!t->name || !t->synced || !is_empty(t))
            continue;
        fprintf(stderr, "Error from server (NotFound): %s%s%s \"", t->resource.plural, *t->resource.group ? "." : "",
                t->resource.group);
        print_quoted(t->name);
        fprintf(stderr, "\" not found\n");
        missing++;
    }
    return missing;
}

static void say_nothing_found(const session *s) {
    const options *o = s->options;
    if (!s->targets[0].resource.namespaced || o->all_namespaces)
        fprintf(stderr, "No resources found\n");
    else
        fprintf(stderr, "No resources found in %s namespace.\n",
                o->namespace_name ? o->namespace_name : ki_config_namespace(s->config));
}

static int print_all(get *g) {
    session *s = &g->session;
    ki_error err = KI_ERROR_INIT;
    size_t count = 0;
    format shown = g->printer.format;

    if (session_is_single(s) && say_not_found(s)) /* no list, then, that has nothing in it */
        return EXIT_FAILED;
    ki_status status = listing_print(s, &g->printer, g->columns, &count, &err);
    if (status) {
        say("get", "%s", err.code ? ki_error_message(&err) : ki_status_name(status));
        (void)output_flush();
        return EXIT_FAILED;
    }
    if (!count && !s->targets[0].name && !s->options->quiet &&
        (shown == FORMAT_LINE || shown == FORMAT_WIDE || shown == FORMAT_NAME || shown == FORMAT_COLUMNS))
        say_nothing_found(s);
    if (!output_flush())
        return output_status();
    return say_not_found(s) ? EXIT_FAILED : EXIT_FINE;
}

/* What came, then why the rest did not. */
static int print_and_say_failures(get *g) {
    session *s = &g->session;
    const ki_error *failure = NULL;
    bool has_any = false;
    for (size_t i = 0; i < s->target_count; i++)
        has_any |= s->targets[i].synced;
    int status = has_any ? print_all(g) : EXIT_FINE;
    for (size_t i = 0; i < s->target_count; i++) {
        failure = &s->targets[i].failure;
        if (!failure->code)
            continue;
        failure_say(s, &s->targets[i].resource, failure);
        status = status ? status : failure_status(failure);
    }
    return status;
}

/* Before anything is asked of the server. */
static int check_sort_by(const options *o) {
    ki_jsonpath *path = NULL;
    ki_error err = KI_ERROR_INIT;
    if (o->sort_by && ki_jsonpath_new_relaxed(o->sort_by, NULL, &path, &err)) {
        say("get", "--sort-by: %s", ki_error_message(&err));
        return EXIT_USAGE;
    }
    ki_jsonpath_free(path);
    return EXIT_FINE;
}

static int read_columns(get *g) {
    ki_error err = KI_ERROR_INIT;
    ki_status status = definitions_read(&g->session, g->columns, &err);
    if (!status)
        return EXIT_FINE;
    say("get", "%s", err.code ? ki_error_message(&err) : ki_status_name(status));
    return EXIT_FAILED;
}

static void set_defaults(options *o) {
    o->allow_missing_keys = true;
}

static int run(const options *o) {
    static get g;
    session *s = &g.session;
    options own = *o;
    *s = (session){ .command = "get",
                    .may_ask = true,
                    .options = &own,
                    .is_once = true,
                    .handler = { .on_synced = on_synced },
                    .user = &g };
    if (!o->arguments[0]) {
        say("get", "which resource? kinformer get pods -A, for example");
        return EXIT_USAGE;
    }
    int status = printer_open(&g.printer, "get", o);
    if (status == EXIT_FINE)
        status = check_sort_by(o);
    if (status == EXIT_FINE)
        status = session_set_resources(s, o->arguments);
    if (status == EXIT_FINE)
        status = session_start(s);
    if (status == EXIT_FINE && (g.printer.format == FORMAT_LINE || g.printer.format == FORMAT_WIDE))
        status = read_columns(&g); /* while the lists are on their way */
    if (status == EXIT_FINE)
        status = session_run(s);
    if (status == EXIT_FINE && session_has_synced(s))
        status = print_and_say_failures(&g); /* else a signal ended it */
    definitions_free(g.columns);
    session_close(s);
    printer_close(&g.printer);
    return status;
}

static const flag flags[] = {
    FLAG("output", 'o', FLAG_TEXT, output, "FORMAT",
         "wide, json, yaml, name, jsonpath=TEMPLATE, jsonpath-file=FILE,\ncustom-columns=HEADER:PATH,..., "
         "custom-columns-file=FILE"),
    FLAG("show-managed-fields", 0, FLAG_BOOL, show_managed_fields, NULL, "objects with metadata.managedFields"),
    FLAG("no-headers", 0, FLAG_BOOL, no_headers, NULL, "tables without their first line"),
    FLAG("sort-by", 0, FLAG_TEXT, sort_by, "PATH", "in the order of this field: .metadata.creationTimestamp"),
    FLAG("show-labels", 0, FLAG_BOOL, show_labels, NULL, "tables with a column of all labels"),
    FLAG("label-columns", 'L', FLAG_TEXT, label_columns, "LABEL,...", "tables with a column for each of these labels"),
    FLAG("allow-missing-template-keys", 0, FLAG_BOOL, allow_missing_keys, NULL,
         "a field that is nowhere prints nothing (default true)"),
    FLAG("wait", 0, FLAG_BOOL, wait, NULL,
         "try again until the list is there, also where credentials, permissions or the way\nto the server are wrong"),
    FLAG("timeout", 0, FLAG_DURATION, timeout_ms, "DURATION", "the same, and give up after so long, with status 3"),
    FLAG("quiet", 'q', FLAG_BOOL, quiet, NULL, "nothing on stderr but what ends the command"),
    FLAG("verbose", 'v', FLAG_BOOL, verbose, NULL, "more on stderr"),
    FLAGS_END
};
static const cli_hint hints[] = {
    { "watch", 'w', "there is no flag --watch: kinformer watch shows what is there, then every change" },
    { NULL, '\0', NULL }
};
static const flag *const tables[] = { flags, flags_selection, flags_connection, NULL };

const cli_command command_get = {
    .name = "get",
    .usage = "RESOURCE[,RESOURCE...] [NAME...] | RESOURCE/NAME... [flags]",
    .purpose = "show what is there, once",
    .text =
        "  kinformer get pods -A\n"
        "  kinformer get deployment web -n shop -o json\n"
        "  kinformer get pods/web-1 services/web -n shop\n"
        "  kinformer get pods -A --sort-by .metadata.creationTimestamp\n"
        "  kinformer get nodes -o custom-columns=NAME:.metadata.name,CPU:.status.capacity.cpu\n"
        "  kinformer get pods -o jsonpath='{range .items[*]}{.metadata.name}{\"\\t\"}{.spec.nodeName}{\"\\n\"}{end}'\n"
        "\n"
        "Lists through an informer and shows its cache: what a program with an informer would see. Ends at once, as\n"
        "kubectl does, on what does not pass by waiting, such as a wrong token or a server that is not there.\n",
    .max_arguments = MAX_ARGUMENTS,
    .flags = tables,
    .hints = hints,
    .set_defaults = set_defaults,
    .run = run,
};
