/* doctor.c: kinformer doctor: the way to the cluster, step by step, and what to mend. */
#include "src/checkup/checkup.h"

#include "connection.h"
#include "flags.h"
#include "output.h"

#include <string.h>

typedef struct doctor {
    const options *options;
    bool is_json;
    bool is_first;
    int first_failed; /* a step's number; KI_CHECK_STEPS: none */
    unsigned warnings;
} doctor;

static const char *title_of(ki_check_step step) {
    static const char *const titles[KI_CHECK_STEPS] = {
        "configuration",  "name resolution", "TCP connection", "TLS",  "HTTP",           "credentials",
        "server version", "may list",        "may watch",      "list", "streaming list", "bookmarks"
    };
    return titles[step];
}

static const char *word_of(ki_check_result result) {
    static const char *const words[] = { "well", "warning", "failed", "skipped" };
    return words[result];
}

static void print_json_text(const char *name, const char *text) {
    printf(",\"%s\":", name);
    print_json_string(stdout, text);
}

static void print_check_json(doctor *d, const ki_check *check) {
    printf("%s{\"step\":\"%s\",\"result\":\"%s\"", d->is_first ? "" : ",\n", ki_check_step_name(check->step),
           word_of(check->result));
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
    print_tame(stdout, check->finding);
    putchar('\n');
    if (check->remedy[0]) {
        printf("%30s\342\206\222 ", "");
        print_tame(stdout, check->remedy);
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

/* What scripts tell apart: no way to the server at all, or a way with something amiss. */
static int status_of(const doctor *d) {
    if (d->first_failed == KI_CHECK_STEPS)
        return EXIT_FINE;
    return d->first_failed <= (int)KI_CHECK_CREDENTIALS ? EXIT_UNREACHED : EXIT_FAILED;
}

static void print_sum(const doctor *d) {
    if (d->first_failed < KI_CHECK_STEPS)
        printf("\nnot well: %s. Begin there.\n", title_of((ki_check_step)d->first_failed));
    else if (d->warnings)
        printf("\nwell, with %u remark%s.\n", d->warnings, d->warnings == 1 ? "" : "s");
    else
        printf("\nall is well.\n");
}

static ki_status make_config(void *user, ki_config **ret_config, ki_error *err) {
    const doctor *d = user;
    return connection_config(d->options, NULL, ret_config, err);
}

static int run(const options *o) {
    doctor d = { .options = o, .is_first = true, .first_failed = KI_CHECK_STEPS };
    ki_error err = KI_ERROR_INIT;
    d.is_json = o->output && strcmp(o->output, "json") == 0;
    if (o->output && !d.is_json && strcmp(o->output, "text") != 0) {
        say("doctor", "-o %s is not offered; text and json are", o->output);
        return EXIT_USAGE;
    }
    int status = EXIT_FINE;
    const char *word = o->arguments[0];
    if (word && (!*word || strpbrk(word, ",/ "))) {
        say("doctor", "one resource at a time, not '%s'", word);
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
        printf("\n],\"well\":%s}\n", d.first_failed == KI_CHECK_STEPS ? "true" : "false");
        status = status_of(&d);
    } else {
        print_sum(&d);
        status = status_of(&d);
    }
    return output_flush() ? status : output_status();
}

static const flag flags[] = { FLAG("output", 'o', FLAG_TEXT, output, "FORMAT", "text (default) or json"),
                              FLAG("timeout", 0, FLAG_DURATION, timeout_ms, "DURATION", "of each step (default: 15s)"),
                              FLAGS_END };
static const flag *const tables[] = { flags, flags_selection, flags_connection, NULL };

const cli_command command_doctor = {
    .name = "doctor",
    .usage = "[RESOURCE] [flags]",
    .purpose = "check the way to the cluster, step by step",
    .text =
        "  kinformer doctor\n"
        "  kinformer doctor deployments -A --context staging\n"
        "  kinformer doctor secrets -n shop --field-selector metadata.name=web\n"
        "  kinformer doctor pods -o json\n"
        "\n"
        "Each step of the way with its time, from the kubeconfig to the size of a list (default: of pods), and what "
        "to\n"
        "do about the ones that are not well. Changes nothing. Ends with 0 where all is well, 1 where a permission or\n"
        "the resource is missing, 3 where the cluster cannot be reached or refuses the credentials.\n",
    .max_arguments = 1,
    .flags = tables,
    .run = run,
};
