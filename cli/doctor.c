/* doctor.c: kinformer doctor: checks the connection to the cluster step by step, and prints how to fix the first
 * failure. */
#include "doctor/checkup.h"

#include "flags.h"
#include "output.h"
#include "session/connection.h"

#include <string.h>

typedef struct doctor {
    const options *options;
    bool is_json;
    bool is_first;
    int first_failed; /* index of a step; KI_CHECK_STEPS: none */
    unsigned warnings;
} doctor;

static const char *title_of(ki_check_step step) {
    static const char *const titles[KI_CHECK_STEPS] = {
        "configuration",  "name resolution", "TCP connection", "TLS",  "HTTP",           "credentials",
        "server version", "may list",        "may watch",      "list", "streaming list", "bookmarks"
    };
    return titles[step];
}

static const char *result_name(ki_check_result result) {
    static const char *const names[] = { "ok", "warning", "failed", "skipped" };
    return names[result];
}

static void print_json_text(const char *name, const char *text) {
    printf(",\"%s\":", name);
    print_json_string(stdout, text);
}

static void print_check_json(doctor *d, const ki_check *check) {
    printf("%s{\"step\":\"%s\",\"result\":\"%s\"", d->is_first ? "" : ",\n", ki_check_step_name(check->step),
           result_name(check->result));
    if (check->duration_us >= 0)
        printf(",\"milliseconds\":%lld.%03lld", (long long)(check->duration_us / 1000),
               (long long)(check->duration_us % 1000));
    print_json_text("finding", check->finding);
    if (check->remedy[0])
        print_json_text("remedy", check->remedy);
    putchar('}');
}

static void print_check(const ki_check *check) {
    static const char *const marks[] = { "\342\234\224", "!", "\342\234\230", "-" }; /* a tick, a cross */
    static const colour colours[] = { COLOUR_GREEN, COLOUR_YELLOW, COLOUR_RED, COLOUR_DIM };
    char took[24] = "";
    if (check->duration_us >= 0)
        snprintf(took, sizeof took, "%lld.%lld ms", (long long)(check->duration_us / 1000),
                 (long long)(check->duration_us % 1000 / 100));
    printf("%s%s%s %-16s %10s  ", colour_text(stdout, colours[check->result]), marks[check->result],
           colour_text(stdout, COLOUR_NONE), title_of(check->step), took);
    print_safe(stdout, check->finding);
    putchar('\n');
    if (check->remedy[0]) {
        printf("%30s\342\206\222 ", "");
        print_safe(stdout, check->remedy);
        putchar('\n');
    }
}

static void on_check(const ki_check *check, void *user) {
    doctor *d = user;
    if (check->result == KI_CHECK_FAILED && d->first_failed == KI_CHECK_STEPS)
        d->first_failed = (int)check->step;
    d->warnings += check->result == KI_CHECK_WARNING;
    if (d->is_json)
        print_check_json(d, check);
    else
        print_check(check);
    d->is_first = false;
    (void)output_flush();
}

/* Returns 3 if the server cannot be reached or rejects the credentials, 1 for a later failure. */
static int status_of(const doctor *d) {
    if (d->first_failed == KI_CHECK_STEPS)
        return EXIT_OK;
    return d->first_failed <= (int)KI_CHECK_CREDENTIALS ? EXIT_UNREACHED : EXIT_FAILED;
}

static void print_sum(const doctor *d) {
    if (d->first_failed < KI_CHECK_STEPS)
        printf("\nfailed: %s; fix this step first\n", title_of((ki_check_step)d->first_failed));
    else if (d->warnings)
        printf("\nall steps succeeded, with %u warning%s\n", d->warnings, d->warnings == 1 ? "" : "s");
    else
        printf("\nall steps succeeded\n");
}

static ki_status make_config(void *user, ki_config **ret_config, ki_error *err) {
    const doctor *d = user;
    return connection_config(d->options, NULL, ret_config, err);
}

static int run_doctor(const options *o) {
    doctor d = { .options = o, .is_first = true, .first_failed = KI_CHECK_STEPS };
    ki_error err = KI_ERROR_INIT;
    d.is_json = o->output && strcmp(o->output, "json") == 0;
    if (o->output && !d.is_json && strcmp(o->output, "text") != 0) {
        say("doctor", "-o %s is not a format; use text or json", o->output);
        return EXIT_USAGE;
    }
    int status = EXIT_OK;
    const char *word = o->arguments[0];
    if (word && (!*word || strpbrk(word, ",/ "))) {
        say("doctor", "name one resource, not \"%s\"", word);
        return EXIT_USAGE;
    }
    const ki_checkup_options checkup = { .size = sizeof checkup,
                                         .make_config = make_config,
                                         .resource_name = word,
                                         .namespace_name = o->all_namespaces ? "" : o->namespace_name,
                                         .timeout_ms = o->timeout_ms,
                                         .label_selector = o->selector,
                                         .field_selector = o->field_selector };
    if (d.is_json)
        printf("{\"checks\":[\n");
    if (ki_checkup(&checkup, on_check, &d, &err)) {
        say("doctor", "%s", ki_error_message(&err));
        status = EXIT_FAILED;
    } else if (d.is_json) {
        printf("\n],\"ok\":%s}\n", d.first_failed == KI_CHECK_STEPS ? "true" : "false");
        status = status_of(&d);
    } else {
        print_sum(&d);
        status = status_of(&d);
    }
    return output_flush() ? status : output_status();
}

static const flag flags[] = {
    FLAG("output", 'o', FLAG_TEXT, output, "FORMAT", "text (default) or json"),
    FLAG("timeout", 0, FLAG_DURATION, timeout_ms, "DURATION", "end each step after this time (default: 15s)"), FLAGS_END
};
static const flag *const tables[] = { flags, flags_selection, flags_connection, NULL };

const cli_command command_doctor = {
    .name = "doctor",
    .usage = "[RESOURCE] [flags]",
    .purpose = "check the connection to the cluster, step by step",
    .text =
        "  kinformer doctor\n"
        "  kinformer doctor deployments -A --context staging\n"
        "  kinformer doctor secrets -n shop --field-selector metadata.name=web\n"
        "  kinformer doctor pods -o json\n"
        "\n"
        "Checks each step from the kubeconfig to a list and a watch of RESOURCE (default: pods), and prints its time\n"
        "and how to fix a failure. Changes nothing in the cluster. Exit status: 0 all steps succeeded; 1 a permission\n"
        "or the resource is missing; 3 the configuration cannot be used, or the cluster cannot be reached or rejects "
        "the\n"
        "credentials.\n",
    .max_arguments = 1,
    .flags = tables,
    .run = run_doctor,
};
