/* main.c: the kinformer program: finds the command and runs it. */
#include "complete.h"
#include "flags.h"
#include "output.h"

#include <kinformer/version.h>

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const cli_command *const commands[] = { &command_watch,   &command_get,        &command_describe, &command_top,
                                               &command_doctor,  &command_gen,        &command_serve,    &command_demo,
                                               &command_version, &command_completion, &command_man };
enum {
    COMMANDS = sizeof commands / sizeof commands[0]
};

static const char *name_at(size_t index, const void *user) {
    (void)user;
    return commands[index]->name;
}

const cli_command *command_at(size_t index) {
    return index < COMMANDS ? commands[index] : NULL;
}

const char program_purpose[] = "watch and cache the resources of a Kubernetes cluster";
const char program_examples[] = "  kinformer demo                      run a demo of five seconds, no cluster needed\n"
                                "  kinformer watch pods -A             print all pods, then every change\n"
                                "  kinformer top -A                    look at pods, nodes and more as they change\n";

static void print_help(FILE *out) {
    fprintf(out, "kinformer: %s\n\n%s\ncommands:\n", program_purpose, program_examples);
    for (size_t i = 0; i < COMMANDS; i++) {
        fprintf(out, "  %-11s %s\n", commands[i]->name, commands[i]->purpose);
    }
    fprintf(out, "\nRun kinformer COMMAND --help for a command's flags and examples.\n");
}

static const cli_command *find(const char *name) {
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    }
    return NULL;
}

/* Returns true for a kubectl command that kinformer does not have. */
static bool is_kubectl_command(const char *name) {
    static const char *const kubectl_commands[] = { "annotate", "api-resources", "apply",  "create", "delete", "edit",
                                                    "exec",     "explain",       "expose", "label",  "logs",   "patch",
                                                    "replace",  "rollout",       "run",    "scale",  "wait" };
    for (size_t i = 0; i < sizeof kubectl_commands / sizeof *kubectl_commands; i++) {
        if (strcmp(name, kubectl_commands[i]) == 0)
            return true;
    }
    return false;
}

static int say_unknown(const char *name) {
    const char *meant = nearest(name, COMMANDS, name_at, NULL);
    fprintf(stderr, "kinformer: there is no command \"%s\"", name);
    if (is_kubectl_command(name))
        fprintf(stderr, "; use kubectl %s: kinformer only gets and watches\n", name);
    else if (meant)
        fprintf(stderr, "; did you mean %s?\n", meant);
    else
        fprintf(stderr, "; see kinformer --help\n");
    return EXIT_USAGE;
}

/* Opens /dev/null for each standard descriptor that is closed. Otherwise a socket would get its number, and output
 * would go into the socket. */
static bool fill_standard_descriptors(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
            return false;
    }
    return true;
}

/* Moves the command before the flags: "-n shop get pods" becomes "get -n shop pods". Returns false, with a message, for
 * an unknown flag. */
static bool move_command_first(int count, char **words) {
    int at = 1;
    while (at < count && words[at][0] == '-' && words[at][1]) {
        int taken = strcmp(words[at], "--version") == 0 ? 1 : flags_count_arguments(words[at]);
        if (!taken) {
            fprintf(stderr, "kinformer: there is no flag %s; see kinformer --help\n", words[at]);
            return false;
        }
        at += taken;
    }
    if (at >= count)
        return true; /* only flags */
    char *command = words[at];
    for (; at > 1; at--)
        words[at] = words[at - 1];
    words[1] = command;
    return true;
}

int main(int count, char **words) {
    options o;
    if (!fill_standard_descriptors())
        return EXIT_FAILED;   /* there is no stderr to print to */
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is seen as a failed write */
    if (count > 1 && strcmp(words[1], "__complete") == 0)
        return complete(count - 2, words + 2);
    if (!move_command_first(count, words))
        return EXIT_USAGE;
    const char *name = count > 1 ? words[1] : "";
    bool wants_help = strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0;
    if (strcmp(name, "--version") == 0)
        name = command_version.name;
    if (!*name) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (wants_help && count < 3) {
        print_help(stdout);
        return output_flush() ? EXIT_OK : output_status();
    }
    if (wants_help)
        name = words[2];
    const cli_command *command = find(name);
    if (!command)
        return say_unknown(name);
    if (wants_help) {
        flags_print_help(command, stdout);
        return output_flush() ? EXIT_OK : output_status();
    }
    if (!flags_parse(command, count - 2, words + 2, &o))
        return EXIT_USAGE;
    if (o.help) {
        flags_print_help(command, stdout);
        return output_flush() ? EXIT_OK : output_status();
    }
    return command->run(&o);
}
