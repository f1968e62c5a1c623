/* test_cli_lines.c: the lines of kinformer watch: what of an object they show, in which order, and how much of it. */
#include "tests/support/command.h"
#include "tests/support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void put(const ki_resource *resource, const char *json) {
    ki_error err = KI_ERROR_INIT;
    if (ki_testing_server_put(command_server, resource, json, 0, &err))
        fail_msg("%s", ki_error_message(&err));
}

#define POD(rest) "{\"metadata\":{\"name\":\"a\",\"namespace\":\"x\"" rest "}"
#define STATUS(rest) ",\"status\":{" rest "}"
#define READY(value, more) "\"conditions\":[{\"type\":\"Ready\",\"status\":\"" value "\"" more "}]"

/* Starts a watch of the namespace x and waits until it has synced. */
static void watch(const char *resource, const char *flag) {
    COMMAND_RUN("watch", resource, "-n", "x", "--server", "URL", flag);
    command_says("synced, ");
}

/* The next line must be this, after its sign and time. */
static void assert_line(char sign, const char *expected) {
    const char *line = ki_process_line(&command);
    assert_non_null(line);
    if (line[0] != sign || strlen(line) < 11 || strcmp(line + 11, expected) != 0)
        fail_msg("'%s' is not '%c' and '%s'", line, sign, expected);
}

COMMAND_TEST(an_added_object_is_shown_with_its_columns) {
    static const char pod[] = POD("") ",\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\"}]}" STATUS(
        "\"phase\":\"Running\",\"podIP\":\"10.0.0.1\",\"podIPs\":[{\"ip\":\"10.0.0.1\"}]") "}";
    put(KI_PODS, pod);
    watch("pods", NULL);
    assert_line('+', "Pod x/a  ready: 0/1, status: Running, restarts: 0, node: n1");
    watch("pods", "-owide");
    assert_line('+', "Pod x/a  ready: 0/1, status: Running, restarts: 0, ip: 10.0.0.1, node: n1");
}

/* As its definition says, from the first line on. */
COMMAND_TEST(a_custom_resource_is_shown_with_the_columns_of_its_definition) {
    static const char definition[] =
        "{\"apiVersion\":\"apiextensions.k8s.io/"
        "v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":\"foos.example.com\"},\"spec\":{\"group\":"
        "\"example.com\",\"scope\":\"Namespaced\","
        "\"names\":{\"plural\":\"foos\",\"singular\":\"foo\",\"kind\":\"Foo\",\"listKind\":\"FooList\"},\"versions\":[{"
        "\"name\":\"v1\","
        "\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
        "\"x-kubernetes-preserve-unknown-fields\":true}},\"additionalPrinterColumns\":[{\"name\":\"Colour\","
        "\"type\":\"string\",\"jsonPath\":\".spec.colour\"}]}]}}";
    assert_int_equal(ki_testing_server_request(command_server, "POST",
                                               "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", NULL,
                                               definition, 0, NULL, NULL),
                     KI_OK);
    assert_int_equal(ki_testing_server_request(command_server, "POST", "/apis/example.com/v1/namespaces/default/foos",
                                               NULL,
                                               "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\","
                                               "\"metadata\":{\"name\":\"a\"},\"spec\":{\"colour\":\"red\"}}",
                                               0, NULL, NULL),
                     KI_OK);
    watch("foos", "-A");
    assert_line('+', "Foo default/a  colour: red");
}

COMMAND_TEST(what_changed_is_shown_with_the_important_fields_first) {
    static const struct {
        const char *after;
        const char *line;
    } rows[] = {
        /* what an object gained is shown field by field, what a list gained by its members' names */
        { POD(",\"labels\":{\"k\":\"v\"}") STATUS(READY("False", "")) "}",
          "status.conditions: + Ready=False, metadata.labels.k: (none) → v" },
        { POD(",\"labels\":{\"k\":\"v\"}")
              STATUS("\"phase\":\"Running\"," READY("True", ",\"message\":\"m\",\"lastTransitionTime\":\"2024-01-01T"
                                                            "00:00:00Z\"")) "}",
          "status.phase: (none) → Running, status.conditions[Ready].status: False → True, "
          "status.conditions[Ready].message: (none) → m (+1 more)" },
        { POD(",\"finalizers\":[\"e.com/a\",\"e.com/b\"]") STATUS("\"phase\":\"Running\"") "}",
          "status.conditions: - Ready=True, metadata.finalizers: + e.com/a, e.com/b, metadata.labels: {…} → (none)" },
        { POD(",\"finalizers\":[\"e.com/b\",\"e.com/c\"]") STATUS("\"phase\":\"Running\"") "}",
          "metadata.finalizers: + e.com/c - e.com/a" },
        { POD("") STATUS("\"a\":1,\"nodeName\":\"n\",\"image\":\"i\",\"readyReplicas\":2") "}",
          "status.phase: Running → (none), status.readyReplicas: (none) → 2, status.image: (none) → i (+3 more)" },
    };
    put(KI_PODS, POD("") "}");
    watch("pods", "--changes-only");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char expected[512];
        snprintf(expected, sizeof expected, "Pod x/a  %s", rows[i].line);
        put(KI_PODS, rows[i].after);
        assert_line('~', expected);
    }
}

#define LEASE(holder, time) \
    "{\"metadata\":{\"name\":\"l\",\"namespace\":\"x\"},\"spec\":{\"holderIdentity\":\"" holder \
    "\",\"renewTime\":\"2024-01-01T00:00:0" time ".000000Z\"}}"

COMMAND_TEST(heartbeats_are_folded) {
    static const struct {
        const char *flag, *count;
        const char *lines[4];
    } rows[] = {
        { NULL, "1", { "Lease x/l  spec.holderIdentity: a → b (after 2 heartbeats)" } },
        { "-v", "3", { "Lease x/l  ", "Lease x/l  ", "Lease x/l  spec.holderIdentity: a → b" } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        put(KI_LEASES, LEASE("a", "1"));
        COMMAND_RUN("watch", "leases", "-n", "x", "--server", "URL", "--changes-only", "--count", rows[i].count,
                    rows[i].flag);
        command_says("synced, ");
        put(KI_LEASES, LEASE("a", "2"));
        put(KI_LEASES, LEASE("a", "3"));
        put(KI_LEASES, LEASE("b", "4"));
        for (const char *const *line = rows[i].lines; *line; line++)
            assert_line('~', *line);
        command_ends(0);
    }
}

COMMAND_TEST(changes_only_leaves_out_what_is_there_at_the_start) {
    put(KI_PODS, POD("") "}");
    COMMAND_RUN("watch", "pods", "-n", "x", "-o", "json", "--changes-only", "--until-synced", "-q", "--server", "URL");
    const char *printed = command_output();
    assert_null(strstr(printed, "ADDED"));
    assert_non_null(strstr(printed, "\"SYNCED\",\"resource\":\"pods\",\"count\":1"));
    command_ends(0);
}

/* They would turn the direction of what follows, or begin a line of their own. */
COMMAND_TEST(characters_that_turn_the_text_are_not_printed) {
    put(KI_PODS, POD("") ",\"spec\":{\"nodeName\":\"a\\u202eb\\u2066c\\u200fd\\u2028e\\u061cf\\u009bg\"}}");
    watch("pods", NULL);
    assert_line('+', "Pod x/a  ready: 0/0, restarts: 0, node: a???b???c???d???e??f??g");
    COMMAND_RUN("get", "pods", "-n", "x", "-o", "custom-columns=NODE:.spec.nodeName,NAME:.metadata.name", "--server",
                "URL");
    assert_non_null(strstr(command_output(), "NODE                      NAME\na???b???c???d???e??f??g   a\n"));
    command_ends(0);
}

/* ---- filters ---- */

#define TWO_PODS \
    put(KI_PODS, POD("") STATUS("\"phase\":\"Pending\"") "}"); \
    put(KI_PODS, "{\"metadata\":{\"name\":\"b\",\"namespace\":\"x\"},\"status\":{\"phase\":\"Running\"}}")

COMMAND_TEST(only_objects_that_fulfil_where_are_printed) {
    TWO_PODS;
    COMMAND_RUN("watch", "pods", "-n", "x", "--where", "status!=Running", "--count=2", "--server", "URL");
    command_says("synced, ");
    assert_line('+', "Pod x/a  ready: 0/0, status: Pending, restarts: 0");
    put(KI_PODS, "{\"metadata\":{\"name\":\"b\",\"namespace\":\"x\",\"labels\":{\"a\":\"b\"}},\"status\":{\"phase\":"
                 "\"Running\"}}"); /* not printed, and not counted */
    put(KI_PODS, POD("") STATUS("\"phase\":\"Running\"") "}");
    put(KI_PODS, POD("") STATUS("\"phase\":\"Failed\"") "}");
    assert_line('~', "Pod x/a  status.phase: Pending → Running");
    assert_line('~', "Pod x/a  status.phase: Running → Failed");
    command_ends(0);
    COMMAND_RUN("watch", "pods", "-n", "x", "-o", "name", "--where", "status.phase=Running", "--until-synced",
                "--server", "URL");
    assert_string_equal(command_output(), "pod/b\n");
    command_ends(0);
}

COMMAND_TEST(only_updates_of_what_only_names_are_printed_with_kubectls_columns) {
    TWO_PODS;
    COMMAND_RUN("watch", "pods", "-n", "x", "--only", "status", "--changes-only", "--count=1", "--server", "URL");
    command_says("synced, ");
    put(KI_PODS, POD(",\"labels\":{\"a\":\"b\"}") STATUS("\"phase\":\"Pending\"") "}");
    put(KI_PODS, POD("") STATUS("\"phase\":\"Running\"") "}");
    assert_line('~', "pod x/a  STATUS Pending → Running");
    command_ends(0);
}

COMMAND_TEST(a_filter_that_cannot_be_is_a_usage_error) {
    static const struct {
        const char *words[6];
        const char *message;
    } rows[] = {
        { { "watch", "pods", "--where", "status" }, "--where: \"status\" has no operator" },
        { { "watch", "pods", "--where", "statu=a", "-A" }, "--where: there is no column \"statu\", but name, ready" },
        { { "watch", "pods", "--only", "" }, "--only has an empty name" },
        { { "watch", "pods", "--only", "status", "-ojson" }, "--only is for lines" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const *words = rows[i].words;
        COMMAND_RUN(words[0], words[1], words[2], words[3], "--server", "URL", words[4]);
        command_says(rows[i].message);
        command_ends(2);
    }
}

/* ---- a terminal ---- */

/* A program on a terminal, with what it has printed on stdout and stderr so far. */
typedef struct screen {
    pid_t pid;
    int master;
    char text[16384];
    size_t used;
} screen;

/* Starts a watch in the namespace x, without colours. */
#define WATCH_ON_TERMINAL(s, width, ...) watch_on_terminal(s, width, (const char *const[]){ __VA_ARGS__, NULL })
static void watch_on_terminal(screen *s, unsigned short width, const char *const *arguments) {
    const struct winsize window = { .ws_row = 24, .ws_col = width };
    const char *words[16] = { KI_TEST_PROGRAM, "watch", "-n", "x", "--server", ki_testing_server_url(command_server) };
    for (size_t i = 6; i < 15 && *arguments; i++)
        words[i] = *arguments++;
    *s = (screen){ .master = posix_openpt(O_RDWR | O_NOCTTY) };
    bool is_ready = s->master >= 0 && grantpt(s->master) == 0 && unlockpt(s->master) == 0;
    int slave = is_ready ? open(ptsname(s->master), O_RDWR | O_NOCTTY) : -1;
    if (slave < 0) {
        print_message("skipped: this system has no pseudo terminals (%s); is /dev/pts mounted?\n", strerror(errno));
        close(s->master);
        skip();
    }
    assert_int_equal(ioctl(slave, TIOCSWINSZ, &window), 0);
    s->pid = fork();
    if (s->pid == 0) {
        dup2(slave, STDOUT_FILENO);
        dup2(slave, STDERR_FILENO);
        setenv("NO_COLOR", "1", 1);
        execv(words[0], (char *const *)(uintptr_t)words);
        _exit(127);
    }
    close(slave);
}

/* Waits until the screen has this text, and clears the screen up to its end. Returns the line that it is in. */
static const char *screen_line(screen *s, const char *expected) {
    static char line[4096];
    const char *found, *end;
    while (!(found = strstr(s->text, expected)) || !(end = strchr(found, '\n'))) {
        ssize_t got = read(s->master, s->text + s->used, sizeof s->text - 1 - s->used);
        if (got <= 0)
            fail_msg("'%s' is not in '%s'", expected, s->text);
        s->used += (size_t)got;
        s->text[s->used] = '\0';
    }
    const char *begin = found;
    while (begin > s->text && begin[-1] != '\n')
        begin--;
    snprintf(line, sizeof line, "%.*s", (int)(end - begin - 1), begin); /* the terminal ends lines with \r\n */
    s->used -= (size_t)(end + 1 - s->text);
    memmove(s->text, end + 1, s->used + 1);
    return line;
}

static void end_screen(screen *s) {
    int status = 0;
    assert_int_equal(kill(s->pid, SIGTERM), 0);
    while (read(s->master, s->text, sizeof s->text) > 0) /* the program does not wait for the terminal's reader */
        ;
    assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(s->master);
}

#define READY_POD(ready, more) \
    POD("") \
    ",\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\"}]}" STATUS( \
        "\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"c\",\"ready\":" ready \
        ",\"state\":{\"running\":{}}}]" more) "}"

COMMAND_TEST(a_terminal_shows_kubectls_columns_that_changed_in_its_width) {
    screen s;
    put(KI_PODS, READY_POD("false", ""));
    WATCH_ON_TERMINAL(&s, 53, "pods", "--changes-only");
    screen_line(&s, "synced, ");
    put(KI_PODS, READY_POD("true", ",\"podIP\":\"10.0.0.1\""));
    const char *line = screen_line(&s, "~ ");
    assert_string_equal(line + 11, "pod x/a  READY 0/1 → 1/1  podIP: (none) →…");
    end_screen(&s);
}

COMMAND_TEST(lines_follow_a_terminal_that_is_resized) {
    const struct winsize narrow = { .ws_row = 24, .ws_col = 20 };
    screen s;
    put(KI_PODS, READY_POD("false", ""));
    WATCH_ON_TERMINAL(&s, 80, "pods", "--changes-only");
    screen_line(&s, "synced, ");
    assert_int_equal(ioctl(s.master, TIOCSWINSZ, &narrow), 0);
    put(KI_PODS, READY_POD("true", ""));
    assert_string_equal(screen_line(&s, "~ "), "~ x/a 0/1 → 1/1");
    end_screen(&s);
}

COMMAND_TEST(templates_do_not_drive_a_terminal) {
    static const char *const formats[] = { "jsonpath={.metadata.annotations.a}{\"\\tend\\n\"}",
                                           "go-template={{.metadata.annotations.a}}{{\"\\tend\\n\"}}" };
    put(KI_PODS, "{\"metadata\":{\"name\":\"a\",\"namespace\":\"x\",\"annotations\":{\"a\":"
                 "\"\\u001b[31m\\u009b2J\\r\\u202eb\"}}}");
    for (size_t i = 0; i < 2; i++) {
        screen s;
        WATCH_ON_TERMINAL(&s, 80, "pods", "-q", "-o", formats[i]);
        assert_string_equal(screen_line(&s, "end"), "?[31m??2J????b\tend");
        end_screen(&s);
    }
}

COMMAND_TEST(wide_lines_on_a_terminal_are_whole) {
    screen s;
    put(KI_PODS, READY_POD("false", ""));
    WATCH_ON_TERMINAL(&s, 20, "pods", "-owide");
    screen_line(&s, "synced, ");
    put(KI_PODS, READY_POD("true", ",\"podIP\":\"10.0.0.1\",\"podIPs\":[{\"ip\":\"10.0.0.1\"}]"));
    const char *line = screen_line(&s, "~ ");
    assert_string_equal(line + 11, "pod x/a  READY 0/1 → 1/1  STATUS Running  IP (none) → 10.0.0.1  "
                                   "status.containerStatuses[c].ready: false → true, status.podIP: (none) → 10.0.0.1, "
                                   "status.podIPs: + 10.0.0.1");
    end_screen(&s);
}

#define BACK_OFF(count) \
    "{\"metadata\":{\"name\":\"a.1\",\"namespace\":\"x\"},\"type\":\"Warning\",\"reason\":\"BackOff\",\"message\":" \
    "\"restarting\\u001b[2J\",\"involvedObject\":{\"kind\":\"Pod\",\"name\":\"a\"},\"count\":" count "}"

COMMAND_TEST(a_terminal_counts_the_initial_objects_by_their_status) {
    screen s;
    put(KI_PODS, READY_POD("true", ""));
    put(KI_PODS, "{\"metadata\":{\"name\":\"b\",\"namespace\":\"x\"},\"spec\":{\"containers\":[{\"name\":\"c\"}]},"
                 "\"status\":{\"phase\":\"Pending\"}}");
    WATCH_ON_TERMINAL(&s, 80, "pods");
    screen_line(&s, "synced, 2 objects");
    assert_string_equal(screen_line(&s, "\n"), "PODS  READY  STATUS");
    assert_string_equal(screen_line(&s, "\n"), "   1      0  Pending");
    assert_string_equal(screen_line(&s, "\n"), "   1      1  Running");
    end_screen(&s);

    WATCH_ON_TERMINAL(&s, 80, "pods", "--all");
    assert_string_equal(screen_line(&s, "+ ") + 11, "pod x/a  READY 1/1  STATUS Running  RESTARTS 0  NODE n1");
    assert_string_equal(screen_line(&s, "+ ") + 11, "pod x/b  READY 0/1  STATUS Pending  RESTARTS 0");
    screen_line(&s, "synced, 2 objects");
    end_screen(&s);
}

COMMAND_TEST(a_terminal_shows_what_the_filters_leave) {
    screen s;
    TWO_PODS;
    WATCH_ON_TERMINAL(&s, 80, "pods", "--where=status!=Running");
    assert_string_equal(screen_line(&s, "PODS"), "PODS  READY  STATUS");
    assert_string_equal(screen_line(&s, "\n"), "   1      1  Pending");
    put(KI_PODS, POD("") STATUS("\"phase\":\"Running\"") "}");
    assert_string_equal(screen_line(&s, "\n") + 11, "pod x/a  STATUS Pending → Running");
    end_screen(&s);
}

COMMAND_TEST(a_named_object_has_a_line_on_a_terminal) {
    screen s;
    put(KI_PODS, READY_POD("true", ""));
    WATCH_ON_TERMINAL(&s, 80, "pods/a");
    assert_string_equal(screen_line(&s, "+ ") + 11, "pod x/a  READY 1/1  STATUS Running  RESTARTS 0  NODE n1");
    end_screen(&s);
}

COMMAND_TEST(lines_beside_exec_have_columns) {
    screen s;
    put(KI_PODS, READY_POD("true", ""));
    WATCH_ON_TERMINAL(&s, 80, "pods/a", "--exec", "true", "-o", "line");
    assert_string_equal(screen_line(&s, "+ ") + 11, "pod x/a  READY 1/1  STATUS Running  RESTARTS 0  NODE n1");
    end_screen(&s);
}

COMMAND_TEST(events_on_a_terminal_are_lines_of_kubectl) {
    screen s;
    put(KI_EVENTS, BACK_OFF("1"));
    WATCH_ON_TERMINAL(&s, 80, "events", "--changes-only");
    screen_line(&s, "synced, ");
    put(KI_EVENTS, BACK_OFF("2"));
    assert_string_equal(screen_line(&s, "~ ") + 11, "Warning  BackOff  pod/a  restarting?[2J (x2)");
    end_screen(&s);
}

/* Puts a pod of the deployment cart with this label. */
static void put_cart(int number, int value, const char *phase) {
    char json[512];
    snprintf(
        json, sizeof json,
        "{\"metadata\":{\"name\":\"cart-7d-%d\",\"namespace\":\"x\",\"labels\":{\"pod-template-hash\":\"7d\",\"n\":\"%"
        "d\"},"
        "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"cart-7d\",\"uid\":\"u\","
        "\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"c\"}]},\"status\":{\"phase\":\"%s\"}}",
        number, value, phase);
    put(KI_PODS, json);
}

COMMAND_TEST(a_terminal_folds_the_changes_of_a_busy_second_by_owner) {
    static const struct {
        const char *where; /* what does not fulfil it is not counted */
        const char *counts;
    } rows[] = {
        { "--where=metadata.namespace=x", "~ deployment x/cart  2 pods: 0 Ready, " },
        { "--where=status=Running", "~ deployment x/cart  1 pod: 0 Ready, " },
    };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        screen s;
        put_cart(0, 0, "Running");
        put_cart(1, 0, "Pending");
        WATCH_ON_TERMINAL(&s, 80, "pods", rows[row].where);
        screen_line(&s, "0  Running");
        for (int i = 1; i <= 300; i++)
            put_cart(0, i, "Running");
        screen_line(&s, "more than 20 changes a second: they are folded by owner; --every prints all");
        assert_non_null(strstr(screen_line(&s, " of 1 owner"), " pods: "));
        const char *line = screen_line(&s, "\n");
        assert_non_null(strstr(line, rows[row].counts));
        assert_non_null(strstr(line, " changes"));
        end_screen(&s);
    }
}

COMMAND_TEST(every_change_has_a_line_with_the_flag_every) {
    screen s;
    put_cart(0, 0, "Running");
    WATCH_ON_TERMINAL(&s, 80, "pods", "--every");
    screen_line(&s, "Running");
    for (int i = 1; i <= 50; i++)
        put_cart(0, i, "Running");
    for (int i = 1; i <= 50; i++) {
        char expected[64];
        snprintf(expected, sizeof expected, "pod x/cart-7d-0  STATUS Running  n: %d → %d", i - 1, i);
        assert_string_equal(screen_line(&s, "\n") + 11, expected);
    }
    end_screen(&s);
}
