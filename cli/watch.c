/* watch.c: kinformer watch: prints all objects, then every change, as lines or JSON. */
#include "flags.h"
#include "format/printer.h"
#include "line.h"
#include "output.h"
#include "session/definition.h"
#include "session/exec.h"
#include "session/memory.h"
#include "terminal.h"

#include <kinformer-status/server.h>

#include <stdlib.h>
#include <string.h>

typedef struct watch {
    session session;
    printer printer;
    ki_status_server *status;         /* --metrics; else NULL */
    filter filter;                    /* --only and --where */
    terminal terminal;                /* prints the lines on a terminal, and those of --only */
    ki_columns *columns[TARGETS_MAX]; /* columns of the lines */
    bool is_silent;                   /* --exec without -o: events are not printed */
    int64_t changes;                  /* changes after the initial objects, without resyncs */
} watch;

static watch *watch_of(const target *t) {
    return t->session->user;
}

/* Returns true if changes are printed as lines: not with --exec alone. */
static bool has_lines(const watch *w) {
    const options *o = w->session.options;
    return (w->printer.format == FORMAT_LINE || w->printer.format == FORMAT_WIDE) && (o->output || !o->exec);
}

static bool is_for_person(const watch *w) {
    return is_terminal(stdout) || w->filter.only_count;
}

/* ---- printing ---- */

static const char *const type_names[] = { "ADDED", "MODIFIED", "DELETED" };

/* Writes an event as a line of JSON, without the newline. Returns false, with a message, if out of memory. */
static bool write_json(session *s, const ki_event *event, change_type type, FILE *out) {
    ki_value object = KI_VALUE_INIT;
    ki_value old = KI_VALUE_INIT;
    if (!get_json(s, event->obj, &object) || (type == CHANGE_MODIFIED && !get_json(s, event->old, &old))) {
        ki_value_clear(&object);
        return false;
    }
    fprintf(out, "{\"type\":\"%s\",", type_names[type]);
    if (type == CHANGE_MODIFIED) {
        if (event->is_resync)
            fprintf(out, "\"resync\":true,");
        fprintf(out, "\"old\":");
        fwrite(old.text, 1, old.text_size, out);
        fputc(',', out);
    } else if (type == CHANGE_DELETED) {
        fprintf(out, "\"finalStateUnknown\":%s,", event->final_state_unknown ? "true" : "false");
    } else {
        fprintf(out, "\"initial\":%s,", event->is_in_initial_list ? "true" : "false");
    }
    fprintf(out, "\"object\":");
    fwrite(object.text, 1, object.text_size, out);
    fputc('}', out);
    ki_value_clear(&object);
    ki_value_clear(&old);
    return true;
}

static void print_json(session *s, const ki_event *event, change_type type) {
    if (write_json(s, event, type, stdout))
        putchar('\n');
}

/* Queues an event for --exec. */
static void queue_event(watch *w, const target *t, const ki_event *event, change_type type) {
    char *json = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&json, &size);
    bool is_written = out && write_json(&w->session, event, type, out);
    bool is_ok = out && fclose(out) == 0 && is_written &&
                 exec_add(w->session.exec, t, type_names[type], ki_object_key(event->obj), event->is_in_initial_list,
                          json, size);
    free(json);
    if (!is_ok && !w->session.done) {
        say("watch", "--exec: out of memory");
        session_end(&w->session, EXIT_FAILED);
    }
}

/* Prints an object in a format that has only the object. */
static void print_object(watch *w, const ki_object *obj) {
    session *s = &w->session;
    ki_value json = KI_VALUE_INIT;
    ki_error err = KI_ERROR_INIT;
    if (!get_json(s, obj, &json))
        return;
    ki_status status = printer_print(&w->printer, json.text, json.text_size, &err);
    if (!status)
        printer_flush(&w->printer);
    ki_value_clear(&json);
    if (status) {
        say(s->command, "%s: %s", ki_object_key(obj), err.code ? ki_error_message(&err) : ki_status_name(status));
        session_end(s, EXIT_FAILED);
    }
}

/* Prints a line. Returns false for a heartbeat. */
static bool show_line(watch *w, target *t, const ki_event *event, change_type type, passing is_passed) {
    const line_columns columns = { .columns = w->columns[t - w->session.targets],
                                   .is_wide = w->printer.format == FORMAT_WIDE };
    if (is_for_person(w))
        return terminal_show(&w->terminal, t, event, type, is_passed);
    return print_line(t, event, type, columns);
}

/* Flushes after each line. */
static void flush(session *s) {
    if (!output_flush())
        session_end(s, output_status());
}

static void count_change(watch *w, const ki_event *event) {
    session *s = &w->session;
    if (event->is_in_initial_list || event->is_resync)
        return;
    w->changes++;
    if (s->options->count && w->changes >= s->options->count)
        session_end(s, EXIT_OK);
}

/* Returns whether the object fulfils --where. Ends the session with a failure if out of memory. */
static passing passing_of(watch *w, const target *t, const ki_event *event) {
    const ki_columns *columns = w->columns[t - w->session.targets];
    const int64_t now_ms = wall_now_ms();
    passing is_passed = { .before = event->old, .after = true };
    ki_error err = KI_ERROR_INIT;
    if (!w->filter.where_count)
        return is_passed;
    ki_status status = filter_passes(&w->filter, columns, event->obj, now_ms, &is_passed.after, &err);
    if (!status && event->old)
        status = filter_passes(&w->filter, columns, event->old, now_ms, &is_passed.before, &err);
    if (status) {
        say("watch", "%s: %s", ki_object_key(event->obj), err.code ? ki_error_message(&err) : ki_status_name(status));
        session_end(&w->session, EXIT_FAILED);
    }
    return is_passed;
}

/* Returns true for an initial object that is not printed. What folds changes counts it. */
static bool is_left_out(const watch *w, const ki_event *event) {
    const options *o = w->session.options;
    return o->memory || (event->is_in_initial_list && o->changes_only && !(has_lines(w) && w->terminal.folds));
}

static void print_event(target *t, const ki_event *event, change_type type) {
    session *s = t->session;
    watch *w = watch_of(t);
    bool is_shown = true;
    if (s->done || is_left_out(w, event))
        return;
    const passing is_passed = passing_of(w, t, event);
    if (s->done || (!is_passed.before && !is_passed.after)) /* a change that ends it is shown, too */
        return;
    if (w->session.exec)
        queue_event(w, t, event, type);
    if (w->is_silent) {
        count_change(w, event);
        return;
    }
    show_progress(NULL);
    switch (w->printer.format) {
    case FORMAT_JSON:
        print_json(s, event, type);
        break;
    case FORMAT_NAME:
        print_object_name(event->obj);
        putchar('\n');
        break;
    case FORMAT_LINE:
    case FORMAT_WIDE:
        is_shown = show_line(w, t, event, type, is_passed);
        break;
    default:
        print_object(w, event->obj);
    }
    flush(s);
    if (is_shown)
        count_change(w, event);
}

/* ---- the informer's handler ---- */

static void on_add(const ki_event *event, void *user) {
    target *t = user;
    if (event->is_in_initial_list)
        t->initial++;
    print_event(t, event, CHANGE_ADDED);
}

static void on_update(const ki_event *event, void *user) {
    print_event(user, event, CHANGE_MODIFIED);
}

static void on_delete(const ki_event *event, void *user) {
    print_event(user, event, CHANGE_DELETED);
}

/* Prints SYNCED once for each resource, after its last target has synced. The version is the oldest one of its targets:
 * every change up to it is printed. "": a list has no version. */
static void print_synced(const target *t) {
    session *s = t->session;
    size_t count = 0;
    const char *version = ki_informer_synced_version(t->informer);
    for (size_t i = 0; i < s->target_count; i++) {
        const target *other = &s->targets[i];
        if (!session_is_same_resource(t, other))
            continue;
        if (!other->synced)
            return;
        count += other->initial;
        const char *its = ki_informer_synced_version(other->informer);
        if (!its[0] || ki_resource_version_compare(its, version) == KI_ORDER_OLDER)
            version = its;
    }
    printf("{\"type\":\"SYNCED\",\"resource\":\"%s\",\"count\":%zu,\"resourceVersion\":", t->resource.plural, count);
    print_json_string(stdout, version);
    printf("}\n");
    flush(s);
}

static void on_synced(ki_informer *informer, void *user) {
    target *t = user;
    (void)informer;
    session *s = t->session;
    t->synced = true;
    if (s->done)
        return;
    if (watch_of(t)->printer.format == FORMAT_JSON && !watch_of(t)->is_silent && !s->options->memory)
        print_synced(t);
    char count[32], label[LABEL_MAX];
    if (!s->options->quiet)
        say(s->command, "%s: synced, %s object%s", session_label(t, label), with_commas(t->initial, count),
            t->initial == 1 ? "" : "s");
    if (has_lines(watch_of(t)) && is_terminal(stdout)) {
        terminal_show_initial(&watch_of(t)->terminal, t);
        flush(s);
    }
    if (!session_has_synced(s))
        return;
    if (s->options->memory) {
        memory_print(s);
        flush(s);
    }
    if (s->options->until_synced || s->options->memory)
        session_end(s, EXIT_OK);
}

static void on_tick(session *s, int64_t now_ms) {
    watch *w = s->user;
    (void)now_ms;
    terminal_tick(&w->terminal, s);
    flush(s);
}

/* ---- the command ---- */

static void set_defaults(options *o) {
    o->allow_missing_keys = true;
    o->server_print = true;
}

static int serve_status(watch *w) {
    session *s = &w->session;
    ki_error err = KI_ERROR_INIT;
    ki_status status = ki_status_server_new(
        s->factory, &KI_STATUS_SERVER_OPTIONS(.address = s->options->metrics, .title = "kinformer watch"), &w->status,
        &err);
    if (status) {
        say(s->command, "--metrics: %s", ki_error_message(&err));
        return status == KI_ERR_INVALID ? EXIT_USAGE : EXIT_FAILED;
    }
    if (!s->options->quiet)
        say(s->command, "status at %s/, metrics at %s/metrics", ki_status_server_url(w->status),
            ki_status_server_url(w->status));
    return EXIT_OK;
}

/* Starts --exec and --metrics. Signals are blocked by now. */
static int add_parts(watch *w) {
    session *s = &w->session;
    const options *o = s->options;
    if (o->exec) {
        s->exec = exec_new(s, o->exec);
        if (!s->exec)
            return EXIT_FAILED;
        w->is_silent = !o->output;
    }
    return o->metrics ? serve_status(w) : EXIT_OK;
}

/* Reads the columns of custom resources, which the first lines need. Checks --where, which names columns. */
static int read_columns(session *s) {
    watch *w = s->user;
    ki_error err = KI_ERROR_INIT;
    char message[FILTER_MESSAGE_MAX];
    if (!has_lines(w) && !w->filter.where_count)
        return EXIT_OK;
    if (definitions_read(s, w->columns, &err)) {
        say("watch", "%s", ki_error_message(&err));
        return EXIT_FAILED;
    }
    if (s->done || filter_check(&w->filter, (const ki_columns *const *)w->columns, s->target_count, message))
        return EXIT_OK;
    say("watch", "--where: %s", message);
    return EXIT_USAGE;
}

/* Parses --only and --where. Returns an exit status. */
static int open_filter(watch *w, const options *o) {
    char message[FILTER_MESSAGE_MAX];
    if (!filter_open(&w->filter, o->only, o->where, message)) {
        say("watch", "%s", message);
        return EXIT_USAGE;
    }
    if (o->only && !has_lines(w)) {
        say("watch", "--only is for lines; leave out %s", o->exec ? "--exec" : "-o, or write -o wide");
        return EXIT_USAGE;
    }
    return EXIT_OK;
}

static int check_flags(const options *o) {
    if (!o->arguments[0])
        say("watch", "name a resource, for example: kinformer watch pods -A");
    else if (o->resync_ms && o->resync_ms < 1000)
        say("watch", "--resync must be at least 1s");
    else if (o->exec && !*o->exec)
        say("watch", "--exec needs a command");
    else
        return EXIT_OK;
    return EXIT_USAGE;
}

static void open_terminal(watch *w, const options *o) {
    w->terminal.columns = w->columns;
    w->terminal.filter = &w->filter;
    w->terminal.is_wide = w->printer.format == FORMAT_WIDE;
    w->terminal.folds = is_terminal(stdout) && has_lines(w) && !o->every;
    w->session.on_tick = w->terminal.folds ? on_tick : NULL;
    w->session.tick_ms = 1000;
}

static int run_watch(const options *o) {
    static watch w; /* too large for the stack */
    session *s = &w.session;
    *s = (session){ .command = "watch",
                    .uses_discovery = true,
                    .options = o,
                    .user = &w,
                    .on_resolved = read_columns,
                    .handler = {
                        .on_add = on_add, .on_update = on_update, .on_delete = on_delete, .on_synced = on_synced } };
    int status = check_flags(o);
    if (status == EXIT_OK)
        status = printer_open(&w.printer, "watch", o);
    if (status == EXIT_OK)
        status = open_filter(&w, o);
    open_terminal(&w, o);
    if (status == EXIT_OK)
        status = session_set_resources(s, o->arguments);
    if (status == EXIT_OK)
        status = session_start(s);
    if (status == EXIT_OK)
        status = add_parts(&w);
    if (status == EXIT_OK)
        status = session_run(s);
    if (status == EXIT_OK && w.terminal.folds)
        on_tick(s, 0); /* the changes of the last second */
    if (status == EXIT_OK && exec_failures(w.session.exec) && !s->is_interrupted)
        status = EXIT_FAILED; /* each failure has been printed */
    exec_free(w.session.exec);
    ki_status_server_free(w.status);
    terminal_close(&w.terminal);
    filter_close(&w.filter);
    definitions_free(w.columns);
    session_close(s);
    printer_close(&w.printer);
    return status;
}

static const flag flags[] = {
    FLAG("output", 'o', FLAG_TEXT, output, "FORMAT",
         "line (default), wide, json, yaml, name, jsonpath=TEMPLATE, "
         "jsonpath-file=FILE,\ngo-template=TEMPLATE, go-template-file=FILE, custom-columns=HEADER:PATH,...,\n"
         "custom-columns-file=FILE"),
    FLAG("show-managed-fields", 0, FLAG_BOOL, show_managed_fields, NULL, "print metadata.managedFields too"),
    FLAG("no-headers", 0, FLAG_BOOL, no_headers, NULL, "print custom-columns without headers"),
    FLAG("allow-missing-template-keys", 0, FLAG_BOOL, allow_missing_keys, NULL,
         "print nothing for a missing field (default true)"),
    FLAG("all", 0, FLAG_BOOL, all_objects, NULL,
         "print a line for each initial object, also on a terminal, where a table counts them"),
    FLAG("every", 0, FLAG_BOOL, every, NULL,
         "print each change, also on a terminal, where more than 20 a second are folded by owner"),
    FLAG("only", 0, FLAG_TEXT, only, "NAME,...", "print only updates of these columns or fields: ready,status,image"),
    FLAG("where", 0, FLAG_TEXT, where, "NAME=VALUE,...",
         "print only objects with these values of columns or fields, before or after a change:\nstatus!=Running, "
         "spec.nodeName=n1, node~eu-central, restarts>3, age<5m"),
    FLAG("changes-only", 0, FLAG_BOOL, changes_only, NULL, "do not print the initial objects"),
    FLAG("until-synced", 0, FLAG_BOOL, until_synced, NULL, "end once the initial objects are printed"),
    FLAG("memory", 0, FLAG_BOOL, memory, NULL, "print where the memory of the initial objects is, and end"),
    FLAG("count", 0, FLAG_NUMBER, count, "N", "end after N changes; the initial objects do not count"),
    FLAG("resync", 0, FLAG_DURATION, resync_ms, "DURATION", "print every object again after each DURATION"),
    FLAG("timeout", 0, FLAG_DURATION, timeout_ms, "DURATION",
         "end with status 3 if the first sync takes longer (default: keep trying)"),
    FLAG("quiet", 'q', FLAG_BOOL, quiet, NULL, "print only fatal errors on stderr"),
    FLAG("verbose", 'v', FLAG_LEVEL, verbose, NULL,
         "print more on stderr; -v=N as in kubectl: the same for every N above 0"),
    FLAG(
        "exec", 0, FLAG_TEXT, exec, "COMMAND",
        "run COMMAND with sh for each event, one at a time, with the event as JSON on its\nstandard input and KI_TYPE, "
        "KI_KEY, KI_RESOURCE and KI_INITIAL in its environment;\nwithout -o print nothing else"),
    FLAG("metrics", 0, FLAG_TEXT, metrics, "ADDRESS",
         "serve a status page at http://ADDRESS/, metrics at /metrics, probes at /livez and /readyz;\na port alone "
         "listens "
         "on loopback, 0: any free port"),
    FLAGS_END
};
static const flag *const tables[] = { flags, flags_selection, flags_connection, NULL };

const cli_command command_watch = {
    .name = "watch",
    .usage = "RESOURCE[,RESOURCE...] [NAME...] | RESOURCE/NAME... [flags]",
    .purpose = "print the objects, then every change, until stopped",
    .text =
        "  kinformer watch pods -A\n"
        "  kinformer watch deployments,pods -n shop -l app=redis\n"
        "  kinformer watch deployment/web pods/web-1\n"
        "  kinformer watch pods -A --only ready,status,image --where 'status!=Running'\n"
        "  kinformer watch nodes -o json | jq -c 'select(.type == \"MODIFIED\") | .object.metadata.name'\n"
        "\n"
        "A line has + (added), ~ (updated) or - (deleted), the time and the object. For an added object the columns "
        "of\n"
        "kubectl get follow, for an update the changed fields. On a terminal an update has the changed columns first,\n"
        "and a line is as wide as the terminal. -o wide: more columns, whole lines.\n"
        "Heartbeats, updates that only renew a time such as a lease's, are counted in the next line; -v prints them.\n"
        "With -o json each line is an object: ADDED, MODIFIED and DELETED, and SYNCED once for each resource,\n"
        "after its last initial object.\n",
    .max_arguments = MAX_ARGUMENTS,
    .flags = tables,
    .set_defaults = set_defaults,
    .run = run_watch,
};
