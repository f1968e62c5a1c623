/* man.c: kinformer man: manual pages, made from the tables and texts of --help. */
#include "flags.h"
#include "output.h"

#include <kinformer/version.h>

#include <errno.h>
#include <string.h>

static const char exit_status[] =
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\ndone, or stopped by SIGINT or SIGTERM, or by the reader of standard output\n"
    ".TP\n.B 1\na failure while running\n"
    ".TP\n.B 2\nthe command line is wrong\n"
    ".TP\n.B 3\nthe cluster could not be reached, or returned an error, before the first sync\n";

/* Prints text for roff: escapes control lines, backslashes and hyphens. */
static void print_text(FILE *out, const char *text, size_t size) {
    bool is_at_line = true;
    for (size_t i = 0; i < size; i++) {
        if (is_at_line && (text[i] == '.' || text[i] == '\''))
            fputs("\\&", out);
        unsigned char c = (unsigned char)text[i];
        if (c >= 0xc0) { /* UTF-8: as a code point, which every roff accepts */
            unsigned length = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
            unsigned number = c & (0xffU >> (length + 1));
            for (unsigned j = 1; j < length && i + j < size; j++)
                number = number << 6 | ((unsigned char)text[i + j] & 0x3fU);
            fprintf(out, "\\[u%04X]", number);
            i += length - 1;
        } else if (text[i] == '\\')
            fputs("\\e", out);
        else if (text[i] == '-')
            fputs("\\-", out);
        else
            fputc(text[i], out);
        is_at_line = c == '\n';
    }
}

static void print_string(FILE *out, const char *text) {
    print_text(out, text, strlen(text));
}

static void print_title(FILE *out, const char *name, const char *purpose) {
    fprintf(out, ".\\\" made by: kinformer man\n.TH ");
    for (const char *c = name; *c; c++)
        fputc(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c, out);
    /* No hyphenation and no justification: readers copy flags and examples. */
    fprintf(out, " 1 \"\" \"kinformer %s\" \"kinformer\"\n.nh\n.ad l\n.SH NAME\n", KI_VERSION);
    print_string(out, name);
    fprintf(out, " \\- ");
    print_string(out, purpose);
    fprintf(out, "\n");
}

static void print_example(FILE *out, const char *text, size_t size) {
    fprintf(out, ".SH EXAMPLES\n.nf\n");
    print_text(out, text, size);
    fprintf(out, "%s.fi\n", size && text[size - 1] != '\n' ? "\n" : "");
}

static void print_flags(FILE *out, const cli_command *command) {
    const flag *f;
    fprintf(out, ".SH OPTIONS\n");
    for (size_t i = 0; (f = flags_at(command, i)); i++) {
        fprintf(out, ".TP\n");
        if (f->letter)
            fprintf(out, "\\fB\\-%c\\fR, ", f->letter);
        fprintf(out, "\\fB\\-\\-");
        print_string(out, f->name);
        fprintf(out, "\\fR");
        if (f->value) {
            fprintf(out, " \\fI");
            print_string(out, f->value);
            fprintf(out, "\\fR");
        }
        fprintf(out, "\n");
        print_string(out, f->help);
        fprintf(out, "\n");
    }
}

/* Prints a command's page. Its text begins with the examples; a blank line ends them. */
static void print_page(FILE *out, const cli_command *command) {
    char name[64];
    const char *rest = strstr(command->text, "\n\n");
    snprintf(name, sizeof name, "kinformer-%s", command->name);
    print_title(out, name, command->purpose);
    fprintf(out, ".SH SYNOPSIS\n.B kinformer %s\n", command->name);
    print_string(out, command->usage);
    fprintf(out, "\n");
    if (rest) {
        fprintf(out, ".SH DESCRIPTION\n");
        print_string(out, rest + 2);
    }
    print_flags(out, command);
    print_example(out, command->text, rest ? (size_t)(rest - command->text) : strlen(command->text));
    fprintf(out, "%s.SH SEE ALSO\n.BR kinformer (1)\n", exit_status);
}

static void print_program_page(FILE *out) {
    print_title(out, "kinformer", program_purpose);
    fprintf(out, ".SH SYNOPSIS\n.B kinformer\n.I COMMAND\n[flags]\n.SH COMMANDS\n");
    for (size_t i = 0; command_at(i); i++) {
        fprintf(out, ".TP\n.BR kinformer\\-%s (1)\n", command_at(i)->name);
        print_string(out, command_at(i)->purpose);
        fprintf(out, "\n");
    }
    print_example(out, program_examples, strlen(program_examples));
    fprintf(out, "%s", exit_status);
    fprintf(out, ".SH ENVIRONMENT\n"
                 ".TP\n.B KUBECONFIG\nthe kubeconfig files, separated by colons\n"
                 ".TP\n.B NO_COLOR\nif set and not empty, the output has no colour\n");
}

static int write_page(const char *directory, const cli_command *command) {
    char path[4096];
    snprintf(path, sizeof path, "%s/kinformer%s%s.1", directory, command ? "-" : "", command ? command->name : "");
    FILE *out = fopen(path, "we");
    if (out && command)
        print_page(out, command);
    else if (out)
        print_program_page(out);
    if (out && fclose(out) == 0)
        return EXIT_OK;
    say("man", "cannot write %s: %s", path, strerror(errno));
    return EXIT_FAILED;
}

/* Prints a page: formatted by man if stdout is a terminal, else its source, for "kinformer man watch | man -l -". */
static int show_page(const cli_command *command) {
    bool is_shown = is_terminal(stdout);
    FILE *out = is_shown ? popen("if command -v man >/dev/null; then exec man -l -; else exec cat; fi", "w") : stdout;
    if (!out) {
        say("man", "cannot start man: %s", strerror(errno));
        return EXIT_FAILED;
    }
    if (command)
        print_page(out, command);
    else
        print_program_page(out);
    if (is_shown)
        return pclose(out) == 0 ? EXIT_OK : EXIT_FAILED;
    return output_flush() ? EXIT_OK : output_status();
}

static const char *name_at(size_t index, const void *user) {
    (void)user;
    return command_at(index)->name;
}

static int run_man(const options *o) {
    const char *name = o->arguments[0];
    const cli_command *command = NULL;
    size_t count = 0;
    int status = EXIT_OK;
    if (o->directory) {
        status = write_page(o->directory, NULL);
        for (size_t i = 0; command_at(i) && !status; i++)
            status = write_page(o->directory, command_at(i));
        return status;
    }
    for (; command_at(count); count++) {
        if (name && strcmp(command_at(count)->name, name) == 0)
            command = command_at(count);
    }
    if (name && !command && strcmp(name, "kinformer") != 0) {
        const char *meant = nearest(name, count, name_at, NULL);
        say("man", "there is no command \"%s\"%s%s%s", name, meant ? "; did you mean " : "", meant ? meant : "",
            meant ? "?" : "");
        return EXIT_USAGE;
    }
    return show_page(command);
}

static const flag flags[] = { FLAG("directory", 0, FLAG_TEXT, directory, "DIR",
                                   "write all pages there: kinformer.1, kinformer-watch.1, ..."),
                              FLAGS_END };
static const flag *const tables[] = { flags, NULL };

const cli_command command_man = {
    .name = "man",
    .usage = "[COMMAND]",
    .purpose = "print a manual page of kinformer or of a command",
    .text = "  kinformer man\n"
            "  kinformer man watch\n"
            "  kinformer man watch > kinformer-watch.1\n"
            "\n"
            "Formats the page if stdout is a terminal and man is installed; prints its source otherwise. Without\n"
            "COMMAND it prints the main page.\n",
    .max_arguments = 1,
    .flags = tables,
    .run = run_man,
};
