/* completion.c: kinformer completion: scripts for bash, zsh and fish, made of the tables that --help shows. */
#include "flags.h"
#include "output.h"

#include <kinformer/resource.h>

#include <errno.h>
#include <string.h>

/* What a value can be completed to. */
typedef enum guess {
    GUESS_NOTHING,
    GUESS_FILES,
    GUESS_FORMATS
} guess;

static guess guess_of(const flag *f) {
    if (strcmp(f->name, "output") == 0)
        return GUESS_FORMATS;
    if (f->value && (strcmp(f->value, "FILE") == 0 || strcmp(f->value, "DIR") == 0))
        return GUESS_FILES;
    return GUESS_NOTHING;
}

static bool takes_resources(const cli_command *command) {
    return strncmp(command->usage, "RESOURCE", 8) == 0 || strncmp(command->usage, "[RESOURCE", 9) == 0;
}

/* The words that a command's first argument may be, where they are no resources; NULL: none are known. */
static const char *arguments_of(const cli_command *command) {
    return command == &command_completion ? "bash zsh fish" : NULL;
}

static void print_resources(FILE *out) {
    const ki_resource *resource;
    for (unsigned i = 0; (resource = ki_resource_at(i)); i++)
        fprintf(out, "%s%s", i ? " " : "", resource->plural);
}

static void print_commands(FILE *out) {
    for (size_t i = 0; command_at(i); i++)
        fprintf(out, "%s ", command_at(i)->name);
    fprintf(out, "help");
}

/* The first line of a help, for descriptions; `avoid` are characters that the shell's syntax needs. */
static void print_brief(FILE *out, const char *text, const char *avoid) {
    for (; *text && *text != '\n'; text++)
        fputc(strchr(avoid, *text) ? ' ' : *text, out);
}

/* ---- bash ---- */

/* "-o|--output|" of all flags that are of such a kind. */
static void print_bash_pattern(FILE *out, const cli_command *command, guess kind, const char *action) {
    const flag *f;
    bool is_first = true;
    for (size_t i = 0; (f = flags_at(command, i)); i++) {
        if (f->type == FLAG_BOOL || guess_of(f) != kind)
            continue;
        fprintf(out, "%s", is_first ? "        " : "|");
        if (f->letter)
            fprintf(out, "-%c|", f->letter);
        fprintf(out, "--%s", f->name);
        is_first = false;
    }
    if (!is_first)
        fprintf(out, ") %s ;;\n", action);
}

static void print_bash_command(FILE *out, const cli_command *command) {
    const flag *f;
    char formats[256];
    snprintf(formats, sizeof formats, "_kinformer_words \"%s\"; return", flags_output_formats(command));
    fprintf(out, "    %s)\n        case $prev in\n", command->name);
    print_bash_pattern(out, command, GUESS_FORMATS, formats);
    print_bash_pattern(out, command, GUESS_FILES,
                       "compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$cur\")); return");
    print_bash_pattern(out, command, GUESS_NOTHING, "return");
    fprintf(out, "        esac\n        flags=\"");
    for (size_t i = 0; (f = flags_at(command, i)); i++)
        fprintf(out, "%s--%s", i ? " " : "", f->name);
    fprintf(out, "\"\n");
    if (takes_resources(command)) {
        fprintf(out, "        words=\"");
        print_resources(out);
        fprintf(out, "\"\n");
    } else if (arguments_of(command)) {
        fprintf(out, "        words=\"%s\"\n", arguments_of(command));
    } else if (command == &command_man) {
        fprintf(out, "        words=$commands\n");
    }
    fprintf(out, "        ;;\n");
}

static void print_bash(FILE *out) {
    fprintf(
        out,
        "# bash completion for kinformer; made by: kinformer completion bash\n"
        "_kinformer_words() {\n"
        "    COMPREPLY=($(compgen -W \"$1\" -- \"$cur\"))\n"
        "    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi\n"
        "}\n"
        "_kinformer() {\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} flags=\"\" words=\"\" before=\"\"\n"
        "    local commands=\"");
    print_commands(out);
    fprintf(out,
            "\"\n"
            "    COMPREPLY=()\n"
            "    if [[ $COMP_CWORD -eq 1 ]]; then _kinformer_words \"$commands --help --version\"; return; fi\n"
            "    if [[ $cur == = ]]; then cur=\"\"; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
            "    case ${COMP_WORDS[1]} in\n"
            "    help) words=$commands ;;\n");
    for (size_t i = 0; command_at(i); i++)
        print_bash_command(out, command_at(i));
    fprintf(out, "    *) return ;;\n"
                 "    esac\n"
                 "    if [[ $cur == -* ]]; then _kinformer_words \"$flags\"; return; fi\n"
                 "    if [[ $cur == *,* ]]; then before=${cur%%,*}, cur=${cur##*,}; fi\n"
                 "    _kinformer_words \"$words\"\n"
                 "    COMPREPLY=(\"${COMPREPLY[@]/#/$before}\")\n"
                 "}\n"
                 "complete -F _kinformer kinformer\n");
}

/* ---- zsh ---- */

static void print_zsh_command(FILE *out, const cli_command *command) {
    const flag *f;
    fprintf(out, "    %s)\n        _arguments -s \\\n", command->name);
    for (size_t i = 0; (f = flags_at(command, i)); i++) {
        bool has_value = f->type != FLAG_BOOL;
        const char *repeated = f->type == FLAG_LIST ? "*" : "";
        if (f->letter)
            fprintf(out, "            %s{-%c%s,--%s%s}'[", *repeated ? "'*'" : "", f->letter, has_value ? "+" : "",
                    f->name, has_value ? "=" : "");
        else
            fprintf(out, "            '%s--%s%s[", repeated, f->name, has_value ? "=" : "");
        print_brief(out, f->help, "'[]:\\");
        fprintf(out, "]");
        if (has_value)
            fprintf(out, ":%s:", f->value);
        if (guess_of(f) == GUESS_FORMATS)
            fprintf(out, "(%s)", flags_output_formats(command));
        else if (guess_of(f) == GUESS_FILES)
            fprintf(out, "_files");
        fprintf(out, "' \\\n");
    }
    if (takes_resources(command)) {
        fprintf(out, "            '1:resource:_sequence compadd - ");
        print_resources(out);
        fprintf(out, "'\n");
    } else if (arguments_of(command)) {
        fprintf(out, "            '1:shell:(%s)'\n", arguments_of(command));
    } else if (command == &command_man) {
        fprintf(out, "            '1:command:(");
        print_commands(out);
        fprintf(out, ")'\n");
    } else {
        fprintf(out, "            && return\n");
    }
    fprintf(out, "        ;;\n");
}

static void print_zsh(FILE *out) {
    fprintf(out, "#compdef kinformer\n# zsh completion for kinformer; made by: kinformer completion zsh\n"
                 "_kinformer() {\n"
                 "    local -a commands\n"
                 "    commands=(\n");
    for (size_t i = 0; command_at(i); i++) {
        fprintf(out, "        '%s:", command_at(i)->name);
        print_brief(out, command_at(i)->purpose, "'");
        fprintf(out, "'\n");
    }
    fprintf(out, "    )\n"
                 "    if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
                 "    shift words\n"
                 "    (( CURRENT-- ))\n"
                 "    case $words[1] in\n"
                 "    help) _describe command commands ;;\n");
    for (size_t i = 0; command_at(i); i++)
        print_zsh_command(out, command_at(i));
    fprintf(out,
            "    esac\n"
            "}\n"
            "if [ \"$funcstack[1]\" = _kinformer ]; then _kinformer \"$@\"; else compdef _kinformer kinformer; fi\n");
}

/* ---- fish ---- */

static void print_fish_command(FILE *out, const cli_command *command) {
    const flag *f;
    for (size_t i = 0; (f = flags_at(command, i)); i++) {
        fprintf(out, "complete -c kinformer -n '__kinformer_is %s' -l %s", command->name, f->name);
        if (f->letter)
            fprintf(out, " -s %c", f->letter);
        if (f->type != FLAG_BOOL)
            fprintf(out, guess_of(f) == GUESS_FILES ? " -r -F" : " -x");
        if (guess_of(f) == GUESS_FORMATS)
            fprintf(out, " -a '%s'", flags_output_formats(command));
        fprintf(out, " -d '");
        print_brief(out, f->help, "'\\");
        fprintf(out, "'\n");
    }
    if (takes_resources(command) || arguments_of(command) || command == &command_man) {
        fprintf(out, "complete -c kinformer -n '__kinformer_is %s; and __kinformer_has_no_argument' -a '",
                command->name);
        if (takes_resources(command))
            print_resources(out);
        else if (arguments_of(command))
            fprintf(out, "%s", arguments_of(command));
        else
            print_commands(out);
        fprintf(out, "'\n");
    }
}

static void print_fish(FILE *out) {
    fprintf(out, "# fish completion for kinformer; made by: kinformer completion fish\n"
                 "function __kinformer_is\n"
                 "    set -l words (commandline -opc)\n"
                 "    test (count $words) -ge 2; and test $words[2] = $argv[1]\n"
                 "end\n"
                 "function __kinformer_has_no_argument\n"
                 "    test (count (commandline -opc)) -eq 2\n"
                 "end\n"
                 "complete -c kinformer -f\n");
    for (size_t i = 0; command_at(i); i++) {
        fprintf(out, "complete -c kinformer -n __fish_use_subcommand -a %s -d '", command_at(i)->name);
        print_brief(out, command_at(i)->purpose, "'\\");
        fprintf(out, "'\n");
    }
    for (size_t i = 0; command_at(i); i++)
        print_fish_command(out, command_at(i));
}

/* ---- the command ---- */

static const struct {
    const char *name;
    const char *file; /* as the shell looks for it */
    void (*print)(FILE *out);
} shells[] = { { "bash", "kinformer", print_bash },
               { "zsh", "_kinformer", print_zsh },
               { "fish", "kinformer.fish", print_fish } };
enum {
    SHELLS = sizeof shells / sizeof shells[0]
};

static int write_all(const char *directory) {
    for (size_t i = 0; i < SHELLS; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", directory, shells[i].file);
        FILE *out = fopen(path, "we");
        if (out)
            shells[i].print(out);
        if (!out || fclose(out)) {
            say("completion", "cannot write %s: %s", path, strerror(errno));
            return EXIT_FAILED;
        }
    }
    return EXIT_FINE;
}

static int run(const options *o) {
    if (o->directory)
        return write_all(o->directory);
    for (size_t i = 0; o->arguments[0] && i < SHELLS; i++) {
        if (strcmp(o->arguments[0], shells[i].name) != 0)
            continue;
        shells[i].print(stdout);
        return output_flush() ? EXIT_FINE : output_status();
    }
    say("completion", "for which shell? bash, zsh or fish");
    return EXIT_USAGE;
}

static const flag flags[] = {
    FLAG("directory", 0, FLAG_TEXT, directory, "DIR",
         "write all three into files there: kinformer (bash), _kinformer (zsh), kinformer.fish"),
    FLAGS_END
};
static const flag *const tables[] = { flags, NULL };

const cli_command command_completion = {
    .name = "completion",
    .usage = "bash|zsh|fish",
    .purpose = "print a script that completes commands, flags and resources in a shell",
    .text = "  source <(kinformer completion bash)\n"
            "  kinformer completion zsh > \"${fpath[1]}/_kinformer\"\n"
            "  kinformer completion fish > ~/.config/fish/completions/kinformer.fish\n",
    .max_arguments = 1,
    .flags = tables,
    .run = run,
};
