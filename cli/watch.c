/* watch.c: kinformer watch: what is there, then every change, as lines or JSON. */
#include "flags.h"
#include "line.h"
#include "output.h"
#include "printer.h"

#include <string.h>

typedef struct watch {
    session session;
    printer printer;
    int64_t changes; /* those after the initial objects, without resyncs */
} watch;

static watch *watch_of(const target *t) {
    return t->session->user;
}

/* ---- printing ---- */

static void print_json(session *s, const ki_event *event, change_type type) {
    static const char *const names[] = { "ADDED", "MODIFIED", "DELETED" };
    ki_value object = KI_VALUE_INIT;
    ki_value old = KI_VALUE_INIT;
    if (!get_json(s, event->obj, &object) || (type == CHANGE_MODIFIED && !get_json(s, event->old, &old))) {
        ki_value_clear(&object);
        return;
    }
    printf("{\"type\":\"%s\",", names[type]);
    if (type == CHANGE_MODIFIED) {
        if (event->is_resync)
            printf("\"resync\":true,");
        printf("\"old\":");
        fwrite(old.text, 1, old.text_size, stdout);
        putchar(',');
    } else if (type == CHANGE_DELETED) {
        printf("\"finalStateUnknown\":%s,", event->final_state_unknown ? "true" : "false");
    } else {
        printf("\"initial\":%s,", event->is_in_initial_list ? "true" : "false");
    }
    printf("\"object\":");
    fwrite(object.text, 1, object.text_size, stdout);
    printf("}\n");
    ki_value_clear(&object);
    ki_value_clear(&old);
}

/* In one of the formats that show the object alone. */
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

/* After each line. */
static void flush(session *s) {
    if (!output_flush())
        session_end(s, output_status());
}

static void print_event(target *t, const ki_event *event, change_type type) {
    session *s = t->session;
    watch *w = watch_of(t);
    if (s->done)
        return;
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
        print_line(s, event, type);
        break;
    default:
        print_object(w, event->obj);
    }
    flush(s);
    if (event->is_in_initial_list || event->is_resync)
        return;
    w->changes++;
    if (s->options->count && w->changes >= s->options->count)
        session_end(s, EXIT_FINE);
}

/* ---- what the informer tells ---- */

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

static void on_synced(ki_informer *informer, void *user) {
    target *t = user;
    session *s = t->session;
    t->synced = true;
    if (s->done)
        return;
    if (watch_of(t)->printer.format == FORMAT_JSON) {
        ki_snapshot *snapshot = ki_informer_snapshot(informer);
        printf("{\"type\":\"SYNCED\",\"resource\":\"%s\",\"count\":%zu,\"resourceVersion\":\"%s\"}\n",
               t->resource.plural, t->initial, ki_snapshot_resource_version(snapshot));
        ki_snapshot_free(snapshot);
        flush(s);
    }
    char count[32];
    if (!s->options->quiet)
        say(s->command, "%s: synced, %s objects", t->resource.plural, with_commas(t->initial, count));
    if (s->options->until_synced && session_has_synced(s))
        session_end(s, EXIT_FINE);
}

/* ---- the command ---- */

static void set_defaults(options *o) {
    o->allow_missing_keys = true;
}

static int run(const options *o) {
    static watch w; /* with room for many resources: not on the stack */
    session *s = &w.session;
    *s = (session){ .command = "watch",
                    .options = o,
                    .user = &w,
                    .handler = {
                        .on_add = on_add, .on_update = on_update, .on_delete = on_delete, .on_synced = on_synced } };
    if (!o->arguments[0]) {
        say("watch", "which resource? kinformer watch pods -A, for example");
        return EXIT_USAGE;
    }
    if (o->resync_ms && o->resync_ms < 1000) {
        say("watch", "--resync is at least 1s");
        return EXIT_USAGE;
    }
    int status = printer_open(&w.printer, "watch", o, false);
    if (status == EXIT_FINE)
        status = session_set_resources(s, o->arguments[0]);
    if (status == EXIT_FINE)
        status = session_start(s);
    if (status == EXIT_FINE)
        status = session_run(s);
    session_close(s);
    printer_close(&w.printer);
    return status;
}

static const flag flags[] = {
    FLAG("output", 'o', FLAG_TEXT, output, "FORMAT",
         "line (default), json, yaml, name, jsonpath=TEMPLATE, jsonpath-file=FILE,\ncustom-columns=HEADER:PATH,..., "
         "custom-columns-file=FILE"),
    FLAG("show-managed-fields", 0, FLAG_BOOL, show_managed_fields, NULL, "objects with metadata.managedFields"),
    FLAG("no-headers", 0, FLAG_BOOL, no_headers, NULL, "custom-columns without their first line"),
    FLAG("allow-missing-template-keys", 0, FLAG_BOOL, allow_missing_keys, NULL,
         "a field that is nowhere prints nothing (default true)"),
    FLAG("until-synced", 0, FLAG_BOOL, until_synced, NULL, "end once all that is there has been shown"),
    FLAG("count", 0, FLAG_NUMBER, count, "N", "end after N changes; what is there at first does not count"),
    FLAG("resync", 0, FLAG_DURATION, resync_ms, "DURATION", "show every object again so often"),
    FLAG("timeout", 0, FLAG_DURATION, timeout_ms, "DURATION",
         "give up, with status 3, where it has not synced by then (default: keep trying)"),
    FLAG("quiet", 'q', FLAG_BOOL, quiet, NULL, "nothing on stderr but what ends the command"),
    FLAG("verbose", 'v', FLAG_BOOL, verbose, NULL, "more on stderr"),
    FLAG_NOT_YET("exec", "kinformer watch -o json | while read -r event; do ...; done does the same"),
    FLAG_NOT_YET("metrics", "-v tells how the connection is"),
    FLAGS_END
};
static const flag *const tables[] = { flags, flags_selection, flags_connection, NULL };

const cli_command command_watch = {
    .name = "watch",
    .usage = "RESOURCE[,RESOURCE...] [flags]",
    .purpose = "show what is there, then every change, until stopped",
    .text = "  kinformer watch pods -A\n"
            "  kinformer watch deployments,pods -n shop -l app=web\n"
            "  kinformer watch nodes -o json | jq -c 'select(.type == \"MODIFIED\") | .object.metadata.name'\n"
            "\n"
            "A line is + added, ~ updated or - deleted, the time, the object and, for an update, what changed.\n"
            "With -o json each line is an object: ADDED, MODIFIED and DELETED, and SYNCED once for each resource,\n"
            "after its last initial object.\n",
    .max_arguments = 1,
    .flags = tables,
    .set_defaults = set_defaults,
    .run = run,
};
