/* get.c: kinformer get: one synced list from an informer's cache. */
#include "flags.h"
#include "format/listing.h"
#include "format/printer.h"
#include "output.h"
#include "session/definition.h"
#include "session/failure.h"
#include "session/manifest.h"
#include "session/raw.h"
#include "session/session.h"

#include <string.h>

typedef struct get {
    session session;
    printer printer;
    ki_columns *columns[TARGETS_MAX]; /* columns of the table */
} get;

/* Prints the objects. Returns EXIT_FAILED, with a message, on failure. */
static int print_objects(get *g, size_t *ret_count) {
    ki_error err = KI_ERROR_INIT;
    ki_status status = listing_print(&g->session, &g->printer, g->columns, ret_count, &err);
    if (!status)
        return EXIT_OK;
    say("get", "%s", err.code ? ki_error_message(&err) : ki_status_name(status));
    (void)output_flush();
    return EXIT_FAILED;
}

static int print_all(get *g) {
    session *s = &g->session;
    const options *o = s->options;
    format shown = g->printer.format;
    size_t count = 0, missing = failure_count_missing(s);
    bool is_failure = missing && !o->ignore_not_found;
    bool prints_list = !o->watch_only &&
                       (missing < s->target_count || (is_failure && !session_is_single(s))); /* can be an empty List */
    if (prints_list && print_objects(g, &count))
        return EXIT_FAILED;
    if (!count && !s->targets[0].name && !o->quiet && !o->ignore_not_found && !o->watch &&
        (shown == FORMAT_LINE || shown == FORMAT_WIDE))
        failure_print_empty(s);
    if (!output_flush())
        return output_status();
    if (is_failure)
        failure_print_missing(s);
    return is_failure ? EXIT_FAILED : EXIT_OK;
}

/* ---- the informer's handler ---- */

static void on_synced(ki_informer *informer, void *user) {
    target *t = user;
    session *s = t->session;
    (void)informer;
    t->synced = true;
    if (!s->options->watch) {
        if (session_has_synced(s))
            session_end(s, EXIT_OK);
        return;
    }
    s->is_once = false;
    t->shown = KI_STATE_WATCHING; /* kubectl does not say that it watches either */
    int status = print_all(s->user);
    if (status != EXIT_OK)
        session_end(s, status);
}

/* Prints a change after the first list, for --watch. */
static void print_change(target *t, const ki_event *event, const char *type) {
    session *s = t->session;
    get *g = s->user;
    ki_error err = KI_ERROR_INIT;
    bool is_other = t->name && strcmp(t->name, ki_object_name(event->obj)) != 0; /* a server can ignore fields */
    if (!s->options->watch || !t->synced || s->done || is_other)
        return;
    if (listing_print_change(s, &g->printer, g->columns, type, event->obj, &err)) {
        say("get", "%s: %s", ki_object_key(event->obj), ki_error_message(&err));
        session_end(s, EXIT_FAILED);
    }
    if (!output_flush())
        session_end(s, output_status());
}

static void on_add(const ki_event *event, void *user) {
    print_change(user, event, "ADDED");
}

static void on_update(const ki_event *event, void *user) {
    print_change(user, event, "MODIFIED");
}

static void on_delete(const ki_event *event, void *user) {
    print_change(user, event, "DELETED");
}

/* ---- the command ---- */

/* Prints the lists that succeeded, then why the others failed. */
static int print_and_say_failures(get *g) {
    session *s = &g->session;
    const ki_error *failure = NULL;
    bool has_any = false;
    for (size_t i = 0; i < s->target_count; i++)
        has_any |= s->targets[i].synced;
    int status = has_any ? print_all(g) : EXIT_OK;
    for (size_t i = 0; i < s->target_count; i++) {
        failure = &s->targets[i].failure;
        if (!failure->code)
            continue;
        failure_print(s, &s->targets[i].resource, failure);
        status = status ? status : failure_status(failure);
    }
    return status;
}

/* Checks --sort-by before the first request. */
static int check_sort_by(const options *o) {
    ki_jsonpath *path = NULL;
    ki_error err = KI_ERROR_INIT;
    if (o->sort_by && ki_jsonpath_new_relaxed(o->sort_by, NULL, &path, &err)) {
        say("get", "--sort-by: %s", ki_error_message(&err));
        return EXIT_USAGE;
    }
    ki_jsonpath_free(path);
    return EXIT_OK;
}

/* Checks that --watch has one resource or one object. */
static int check_watched(session *s) {
    if (!s->options->watch || s->target_count == 1)
        return EXIT_OK;
    say("get", "--watch takes one resource, or one object of it; kinformer watch prints the changes of several");
    return EXIT_USAGE;
}

/* The cache has whole objects. An object's subresource status is the object itself. */
static int check_subresource(const session *s) {
    const char *name = s->options->subresource;
    if (!name)
        return EXIT_OK;
    if (strcmp(name, "status") != 0)
        say("get",
            "--subresource %s: only status; kinformer get --raw /apis/GROUP/VERSION/namespaces/NAMESPACE/%s/NAME/%s",
            name, s->targets[0].resource.plural ? s->targets[0].resource.plural : "RESOURCE", name);
    else if (!s->targets[0].name)
        say("get", "--subresource cannot be used without a name");
    else
        return EXIT_OK;
    return EXIT_USAGE;
}

static int check_watch_flags(const get *g, const options *o) {
    if (o->output_watch_events && !o->watch) {
        say("get", "--output-watch-events needs --watch or --watch-only");
        return EXIT_USAGE;
    }
    if (o->output_watch_events && g->printer.format != FORMAT_LINE && g->printer.format != FORMAT_WIDE) {
        say("get", "--output-watch-events adds a column to tables; kinformer watch -o json prints an event a line");
        return EXIT_USAGE;
    }
    if (o->watch && o->sort_by)
        fprintf(stderr, "warning: --watch requested, --sort-by will be ignored for watch events received\n");
    return EXIT_OK;
}

static int read_columns(get *g) {
    ki_error err = KI_ERROR_INIT;
    ki_status status = definitions_read(&g->session, g->columns, &err);
    if (!status)
        return EXIT_OK;
    say("get", "%s", err.code ? ki_error_message(&err) : ki_status_name(status));
    return EXIT_FAILED;
}

static void set_defaults(options *o) {
    o->allow_missing_keys = true;
    o->server_print = true;
}

static int run_get(const options *o) {
    static get g;
    manifest *files = NULL;
    session *s = &g.session;
    options own = *o;
    own.watch |= own.watch_only;
    *s = (session){
        .command = "get",
        .uses_discovery = true,
        .options = &own,
        .is_once = true,
        .on_resolved = check_watched,
        .handler = { .on_add = on_add, .on_update = on_update, .on_delete = on_delete, .on_synced = on_synced },
        .user = &g
    };
    if (o->raw)
        return raw_get(o);
    if (!o->arguments[0] && !o->files.count) {
        say("get", "name a resource, for example: kinformer get pods -A");
        return EXIT_USAGE;
    }
    int status = printer_open(&g.printer, "get", o);
    if (status == EXIT_OK)
        status = check_sort_by(o);
    if (status == EXIT_OK)
        status = check_watch_flags(&g, &own);
    if (status == EXIT_OK)
        status = o->files.count ? manifest_add_targets(s, &files) : session_set_resources(s, o->arguments);
    if (status == EXIT_OK)
        status = check_subresource(s);
    if (status == EXIT_OK)
        status = check_watched(s); /* before it connects; a category has its resources later */
    if (status == EXIT_OK)
        status = session_start(s);
    if (status == EXIT_OK && (g.printer.format == FORMAT_LINE || g.printer.format == FORMAT_WIDE))
        status = read_columns(&g); /* the lists arrive meanwhile */
    if (status == EXIT_OK)
        status = session_run(s);
    if (status == EXIT_OK && session_has_synced(s) && s->is_once) /* --watch has printed already */
        status = print_and_say_failures(&g);                      /* otherwise a signal ended the session */
    definitions_free(g.columns);
    session_close(s);
    manifest_free(files);
    printer_close(&g.printer);
    return status;
}

static const flag flags[] = {
    FLAG("output", 'o', FLAG_TEXT, output, "FORMAT",
         "wide, json, jsonl (a line for each object), yaml, name, jsonpath=TEMPLATE,\njsonpath-file=FILE, "
         "jsonpath-as-json=TEMPLATE, go-template=TEMPLATE,\ngo-template-file=FILE, custom-columns=HEADER:PATH,...,\n"
         "custom-columns-file=FILE"),
    FLAG("template", 0, FLAG_TEXT, template, "TEMPLATE",
         "the template of -o go-template, or the file of -o go-template-file"),
    FLAG("watch", 'w', FLAG_BOOL, watch, NULL, "then print each object that changes, until stopped"),
    FLAG("watch-only", 0, FLAG_BOOL, watch_only, NULL, "print only the objects that change"),
    FLAG("output-watch-events", 0, FLAG_BOOL, output_watch_events, NULL,
         "with --watch: add a column with ADDED, MODIFIED or DELETED"),
    FLAG("filename", 'f', FLAG_LIST, files, "FILE",
         "print the objects that this file of YAML or JSON names, -: standard input; repeatable"),
    FLAG("subresource", 0, FLAG_TEXT, subresource, "status", "print named objects; the status is a part of them"),
    FLAG("raw", 0, FLAG_TEXT, raw, "PATH", "print the server's response to this path: /version, /metrics"),
    FLAG("show-managed-fields", 0, FLAG_BOOL, show_managed_fields, NULL, "print metadata.managedFields too"),
    FLAG("no-headers", 0, FLAG_BOOL, no_headers, NULL, "print tables without headers"),
    FLAG("sort-by", 0, FLAG_TEXT, sort_by, "PATH", "sort by this field: .metadata.creationTimestamp"),
    FLAG("show-labels", 0, FLAG_BOOL, show_labels, NULL, "add a column with all labels"),
    FLAG("label-columns", 'L', FLAG_LIST, label_columns, "LABEL,...",
         "add a column for each of these labels; repeatable"),
    FLAG("show-kind", 0, FLAG_BOOL, show_kind, NULL, "print names with their resource: pod/web-1"),
    FLAG("ignore-not-found", 0, FLAG_BOOL, ignore_not_found, NULL,
         "print nothing, with status 0, if an object is missing"),
    FLAG("server-print", 0, FLAG_BOOL, server_print, NULL,
         "print the columns of the resource (default true); false: name and age"),
    FLAG("chunk-size", 0, FLAG_NUMBER, chunk_size, "N",
         "list N objects at a time where the server has no streaming lists"),
    FLAG("allow-missing-template-keys", 0, FLAG_BOOL, allow_missing_keys, NULL,
         "print nothing for a missing field (default true)"),
    FLAGS_END
};
static const cli_hint hints[] = {
    { "recursive", 'R', "there is no flag --recursive; name each file with -f" },
    { "kustomize", 'k', "there is no flag --kustomize; kubectl kustomize DIR | kinformer get -f - gets its objects" },
    { NULL, '\0', NULL }
};
static const flag *const tables[] = { flags, flags_once, flags_selection, flags_connection, NULL };

const cli_command command_get = {
    .name = "get",
    .usage = "RESOURCE[,RESOURCE...] [NAME...] | RESOURCE/NAME... | -f FILE | --raw PATH [flags]",
    .purpose = "print the objects once, from an informer's cache",
    .text =
        "  kinformer get pods -A\n"
        "  kinformer get deployment web -n shop -o json\n"
        "  kinformer get pods/web-1 services/web -n shop\n"
        "  kinformer get pods -n shop -w\n"
        "  kinformer get pods -A --sort-by .metadata.creationTimestamp\n"
        "  kinformer get nodes -o custom-columns=NAME:.metadata.name,CPU:.status.capacity.cpu\n"
        "  kinformer get pods -o jsonpath='{range .items[*]}{.metadata.name}{\"\\t\"}{.spec.nodeName}{\"\\n\"}{end}'\n"
        "\n"
        "Starts an informer and prints its cache once it has synced: the objects that a program with an informer\n"
        "would see. Ends at once, as kubectl does, after a failure that waiting does not fix, such as a wrong token.\n",
    .max_arguments = MAX_ARGUMENTS,
    .flags = tables,
    .hints = hints,
    .set_defaults = set_defaults,
    .run = run_get,
};
