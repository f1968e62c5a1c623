/* Completions and manual pages: made of the same tables as --help, and what the shells make of them. */
#include "tests/support/command.h"
#include "tests/support/load_nodes.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[] = { "watch", "get",  "describe", "doctor",     "gen",
                                     "serve", "demo", "version",  "completion", "man" };
enum {
    NAMES = sizeof names / sizeof names[0]
};

static char directory[64];

static int set_up(void **state) {
    (void)state;
    memset(&command, 0, sizeof command);
    command.pid = command.in = command.out = command.err = -1;
    snprintf(directory, sizeof directory, "/tmp/ki-completion-%d", (int)getpid());
    return mkdir(directory, 0700);
}

static int tear_down(void **state) {
    char line[256];
    snprintf(line, sizeof line, "rm -r %s", directory);
    command_tear_down(state);
    return system(line); /* NOLINT(cert-env33-c): our own directory */
}

#define COMPLETION_TEST(name) TEST_WITH(set_up, tear_down, name)

/* What the shell prints for the script, with the completions' directory as its first argument; NULL where there is no
 * such shell. */
static const char *shell(const char *name, const char *script) {
    char path[64];
    snprintf(path, sizeof path, "/usr/bin/%s", name);
    if (access(path, X_OK)) {
        print_message("%s is not there: left out\n", name);
        return NULL;
    }
    COMMAND_RUN("completion", "--directory", directory);
    command_ends(0);
    command_start(path, (const char *const[]){ "-c", script, directory, directory, NULL });
    return command_output();
}

COMPLETION_TEST(bash_completes) {
    static const char script[] =
        "kinformer() { " KI_TEST_PROGRAM " \"$@\"; }\n"
        ". $1/kinformer; complete -p kinformer;\n"
        "try() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($#-1)); _kinformer; echo \"$*: ${COMPREPLY[*]}\"; }\n"
        "try kinformer wat; try kinformer watch --outp; try kinformer watch -o js; try kinformer get --output = y\n"
        "try kinformer get deploym; try kinformer watch pods,deploym; try kinformer completion f; try kinformer man "
        "ge\n"
        "try kinformer watch -n d; try kinformer nothing d\n";
    const char *printed = shell("bash", script);
    if (!printed)
        return;
    assert_string_equal(printed, "complete -F _kinformer kinformer\n"
                                 "kinformer wat: watch\n"
                                 "kinformer watch --outp: --output\n"
                                 "kinformer watch -o js: json jsonpath= jsonpath-file=\n"
                                 "kinformer get --output = y: yaml\n"
                                 "kinformer get deploym: deployments\n"
                                 "kinformer watch pods,deploym: pods,deployments\n"
                                 "kinformer completion f: fish\n"
                                 "kinformer man ge: get gen\n"
                                 "kinformer watch -n d: \n"
                                 "kinformer nothing d: \n");
    command_ends(0);
}

COMPLETION_TEST(fish_completes) {
    const char *printed = shell(
        "fish",
        "function kinformer; " KI_TEST_PROGRAM " $argv; end; source $argv[1]/kinformer.fish; for l in 'kinformer wat' "
        "'kinformer get --outp' 'kinformer get -o ya' "
        "'kinformer get deploym' 'kinformer completion b'; complete -C $l | string replace -r '\\t.*' ''; end; true");
    if (!printed)
        return;
    assert_string_equal(printed, "watch\n--output\nyaml\ndeployments\nbash\n");
    command_ends(0);
}

COMPLETION_TEST(zsh_understands_it) {
    const char *printed = shell("zsh", "zsh -fn $1/_kinformer && fpath=($1 $fpath) && autoload -Uz compinit && "
                                       "compinit -u -d $1/dump && print -r -- $_comps[kinformer]");
    if (!printed)
        return;
    assert_string_equal(printed, "_kinformer\n");
    command_ends(0);
}

/* What a shell is offered for a line, whose words have blanks between them: the candidates without their descriptions,
 * with commas between them. */
static const char *offered(const char *typed) {
    static char text[4096];
    char words[512];
    const char *argv[COMMAND_WORDS_MAX] = { "__complete" };
    size_t count = 1, used = 0;
    char *rest = words;
    const char *line;
    snprintf(words, sizeof words, "%s", typed);
    for (char *word; (word = strsep(&rest, " "));)
        argv[count++] = strcmp(word, "URL") == 0 ? ki_testing_server_url(command_server) : word;
    command_start(KI_TEST_PROGRAM, argv);
    text[0] = '\0';
    while ((line = ki_process_line(&command)))
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s", used ? "," : "", (int)strcspn(line, "\t"),
                                 line);
    command_ends(0);
    return text;
}

static int set_up_server(void **state) {
    return command_set_up(state) || set_up(state) ? -1 : 0;
}

TEST_WITH(set_up_server, tear_down, what_the_cluster_has_is_offered) {
    static const char definition[] =
        "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":"
        "\"foos.example.com\"},\"spec\":{\"group\":\"example.com\",\"scope\":\"Cluster\",\"names\":{\"plural\":"
        "\"foos\","
        "\"singular\":\"foo\",\"kind\":\"Foo\",\"listKind\":\"FooList\"},\"versions\":[{\"name\":\"v1\",\"served\":"
        "true,"
        "\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}";
    static const struct {
        const char *typed, *offered;
    } rows[] = {
        { "--server URL get nodes ", NODE_0 "," NODE_1 "," NODE_2 },
        { "--server URL get nodes " NODE_1 " ", NODE_0 "," NODE_2 },
        { "get --server URL no/" NODE_1 " nodes/" NODE_2, "nodes/" NODE_2 },
        { "watch --server URL foos ", "mine" },
        { "watch --server URL foo/", "foo/mine" },
        { "watch --server URL pods,fo", "pods,foos.example.com" },
        { "watch --server URL -n kube-s", "kube-system" },
        { "watch --server URL --namespace=kube-s", "--namespace=kube-system" },
        { "watch --server URL --namespace = kube-s", "kube-system" },
        { "get nodes,pods --server URL ", "" }, /* names of which? */
        { "get pods --server http://127.0.0.1:1 ", "" },
        { "get --no-such-flag nodes --server URL ", "" },
        { "gen --ffi ki_factory_ru", "ki_factory_run" },
        { "gen --server URL KI_POD", "" },
    };
    assert_int_equal(ki_testing_server_request(command_server, "POST",
                                               "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", NULL,
                                               definition, 0, NULL, NULL),
                     KI_OK);
    assert_int_equal(ki_testing_server_request(
                         command_server, "POST", "/apis/example.com/v1/foos", NULL,
                         "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"mine\"}}", 0,
                         NULL, NULL),
                     KI_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *got = offered(rows[i].typed);
        if (strcmp(got, rows[i].offered) != 0)
            fail_msg("%s: '%s', not '%s'", rows[i].typed, got, rows[i].offered);
    }
}

COMPLETION_TEST(what_the_kubeconfig_has_is_offered) {
    char path[128], typed[256];
    static const struct {
        const char *flag, *offered;
    } rows[] = { { "--context", "there,then" }, { "--cluster", "c1" }, { "--user", "u1" } };
    snprintf(path, sizeof path, "%s/kubeconfig", directory);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs("contexts: [{name: there}, {name: 'a b'}, {name: then}]\nclusters: [{name: c1}]\nusers:\n- name: u1\n", out);
    assert_int_equal(fclose(out), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(typed, sizeof typed, "get --kubeconfig %s %s ", path, rows[i].flag);
        assert_string_equal(offered(typed), rows[i].offered);
    }
    assert_string_equal(offered("get --kubeconfig "), ":files");
    assert_string_equal(offered("get --kubeconfig /nowhere --context "), "");
}

COMPLETION_TEST(a_shell_that_is_none_is_said) {
    COMMAND_RUN("completion", "tcsh");
    command_says("bash, zsh or fish");
    command_ends(2);
    COMMAND_RUN("completion");
    command_says("bash, zsh or fish");
    command_ends(2);
    COMMAND_RUN("completion", "--directory", "/nowhere/at/all");
    command_says("cannot write /nowhere/at/all/kinformer");
    command_ends(1);
}

COMPLETION_TEST(the_main_page_is_shown_without_a_command_or_by_its_name) {
    static const char *const words[] = { "kinformer", NULL };
    for (size_t i = 0; i < 2; i++) {
        COMMAND_RUN("man", words[i]);
        const char *printed = command_output();
        assert_non_null(strstr(printed, ".TH KINFORMER 1 "));
        assert_non_null(strstr(printed, "\n.nh\n")); /* no flag or example is broken with a hyphen */
        command_ends(0);
    }
}

/* "--name" with each '-' as roff writes it, in bold. */
static void make_roff_name(const char *flag, char *out, size_t size) {
    size_t used = (size_t)snprintf(out, size, "\\fB");
    for (; *flag && *flag != ' ' && *flag != '\n' && used + 3 < size; flag++)
        used += (size_t)snprintf(out + used, size - used, *flag == '-' ? "\\-" : "%c", *flag);
    snprintf(out + used, size - used, "\\fR");
}

COMPLETION_TEST(each_flag_of_the_help_is_in_the_page_and_is_offered) {
    for (size_t i = 0; i < NAMES; i++) {
        char roff[128], offer[128];
        size_t flags = 0;
        COMMAND_RUN(names[i], "--help");
        char *help = strdup(command_output());
        command_ends(0);
        COMMAND_RUN("man", names[i]);
        char *page = strdup(command_output());
        command_ends(0);
        COMMAND_RUN("__complete", names[i], "-");
        const char *script = command_output();
        assert_non_null(strstr(page, ".SH EXAMPLES"));
        assert_non_null(strstr(page, ".SH EXIT STATUS"));
        for (const char *line = strstr(help, "flags:\n"); line && (line = strchr(line, '\n')) && *++line; flags++) {
            const char *flag = strstr(line, "--");
            if (!flag || flag - line > 8)
                continue; /* the second line of a flag */
            make_roff_name(flag, roff, sizeof roff);
            if (!strstr(page, roff))
                fail_msg("%s: %s is not in its page", names[i], roff);
            snprintf(offer, sizeof offer, "\n%.*s\t", (int)strcspn(flag, " \n"), flag);
            if (strncmp(script, offer + 1, strlen(offer + 1)) != 0 && !strstr(script, offer))
                fail_msg("%s: %s is not offered", names[i], offer + 1);
        }
        assert_true(flags > 0 || strcmp(names[i], "version") == 0);
        command_ends(0);
        free(help);
        free(page);
    }
}

COMPLETION_TEST(pages_are_sound) {
    char script[256];
    COMMAND_RUN("man", "--directory", directory);
    command_ends(0);
    for (size_t i = 0; i < NAMES; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/kinformer-%s.1", directory, names[i]);
        assert_int_equal(access(path, R_OK), 0);
    }
    if (access("/usr/bin/groff", X_OK)) {
        print_message("groff is not there: left out\n");
        return;
    }
    snprintf(script, sizeof script, "groff -man -ww -Tutf8 %s/*.1 2>&1 >/dev/null", directory);
    command_start("/bin/sh", (const char *const[]){ "-c", script, NULL });
    assert_string_equal(command_output(), "");
    command_ends(0);
    COMMAND_RUN("man", "wach");
    command_says("did you mean watch?");
    command_ends(2);
}
