/* serve.c: kinformer serve: runs the embedded API server until a signal. */
#include "flags.h"
#include "format/load_file.h"
#include "output.h"

#include <kinformer-testing/access.h>
#include <kinformer-testing/faults.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    END_WITHIN_S = 10 /* time to end after a signal; the process exits then */
};

/* Raises the limit of descriptors: each watch needs one. */
static void allow_many_connections(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit); /* on failure, fewer clients can connect */
    }
}

static int configure_access(ki_testing_server *server, const options *o) {
    ki_error err = KI_ERROR_INIT;
    for (size_t i = 0; i < o->tokens.count; i++) {
        if (ki_testing_server_add_token(server, o->tokens.items[i], &err)) {
            say("serve", "--token: %s", ki_error_message(&err));
            return EXIT_USAGE;
        }
    }
    for (size_t i = 0; i < o->rules.count; i++) {
        if (ki_testing_server_allow(server, o->rules.items[i], &err)) {
            say("serve", "--allow %s: %s", o->rules.items[i], ki_error_message(&err));
            return EXIT_USAGE;
        }
    }
    for (size_t i = 0; i < o->faults.count; i++) {
        if (ki_testing_server_add_fault(server, o->faults.items[i], NULL, &err)) {
            say("serve", "--fault %s: %s", o->faults.items[i], ki_error_message(&err));
            return EXIT_USAGE;
        }
    }
    return EXIT_OK;
}

static int prepare(ki_testing_server *server, const options *o) {
    ki_error err = KI_ERROR_INIT;
    size_t objects = 0;
    int status = configure_access(server, o);
    if (status != EXIT_OK)
        return status;
    for (size_t i = 0; i < o->loads.count; i++) {
        if (load_file(server, o->loads.items[i], &objects, &err)) {
            say("serve", "--load: %s", ki_error_message(&err));
            return EXIT_FAILED;
        }
        say("serve", "loaded %zu object%s from %s", objects, objects == 1 ? "" : "s", o->loads.items[i]);
    }
    if (ki_testing_server_keep_start(server, &err)) {
        say("serve", "%s", ki_error_message(&err));
        return EXIT_FAILED;
    }
    if (o->write_kubeconfig && ki_testing_server_write_kubeconfig(server, o->write_kubeconfig, &err)) {
        say("serve", "--write-kubeconfig: %s", ki_error_message(&err));
        return EXIT_FAILED;
    }
    return EXIT_OK;
}

/* Exits at once: a second signal, a signal during startup, or the alarm after END_WITHIN_S. No data needs to be saved.
 * Runs on the main thread: the server's threads block signals. */
static void exit_at_signal(int number) {
    static const char late[] = "kinformer serve: the server did not stop within 10 s\n";
    if (number != SIGALRM)
        _exit(EXIT_OK);
    if (write(STDERR_FILENO, late, sizeof late - 1) < 0)
        _exit(EXIT_FAILED);
    _exit(EXIT_FAILED);
}

static void set_signal_handlers(sigset_t *ret_ends) {
    const struct sigaction action = { .sa_handler = exit_at_signal };
    static const int numbers[] = { SIGINT, SIGTERM, SIGALRM };
    sigemptyset(ret_ends);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        sigaction(numbers[i], &action, NULL);
        if (numbers[i] != SIGALRM)
            sigaddset(ret_ends, numbers[i]);
    }
}

/* Rejects flags that do not fit together, such as a kubeconfig with credentials but without TLS: no client sends a
 * token of a kubeconfig without TLS. */
static int check(const options *o) {
    if (o->write_kubeconfig && (o->rbac || o->tokens.count) && !o->tls && !o->tls_certificate) {
        say("serve", "--write-kubeconfig with --rbac or --token needs --tls: clients send credentials only over https");
        return EXIT_USAGE;
    }
    if (o->write_kubeconfig && strcmp(o->write_kubeconfig, "-") == 0) {
        say("serve", "--write-kubeconfig writes a file, not standard output: use --write-kubeconfig FILE");
        return EXIT_USAGE;
    }
    size_t from_input = 0;
    for (size_t i = 0; i < o->loads.count; i++)
        from_input += strcmp(o->loads.items[i], "-") == 0;
    if (from_input > 1) {
        say("serve", "--load - can be used once: standard input ends");
        return EXIT_USAGE;
    }
    if (o->ready_fd > INT_MAX || (o->ready_fd && fcntl((int)o->ready_fd, F_GETFD) < 0)) {
        say("serve", "--ready-fd: descriptor %lld is not open", (long long)o->ready_fd);
        return EXIT_USAGE;
    }
    if (o->until_eof && from_input) {
        say("serve", "--until-eof and --load - both read standard input; use --load FILE");
        return EXIT_USAGE;
    }
    return EXIT_OK;
}

/* Waits for a signal, or with `until_eof` also for the end of standard input; discards the input. */
static void wait_for_end(const sigset_t *ends, bool until_eof) {
    int signal_number;
    if (!until_eof) {
        sigwait(ends, &signal_number);
        return;
    }
    struct pollfd waits[] = { { .fd = signalfd(-1, ends, SFD_CLOEXEC), .events = POLLIN },
                              { .fd = STDIN_FILENO, .events = POLLIN } };
    char rest[4096];
    ssize_t got = waits[0].fd < 0 ? 0 : 1;
    while (got > 0) {
        if (poll(waits, 2, -1) < 0) {
            got = errno == EINTR;
        } else if (waits[0].revents) {
            got = 0;
        } else if (waits[1].revents) {
            got = read(STDIN_FILENO, rest, sizeof rest);
            if (got < 0 && (errno == EINTR || errno == EAGAIN))
                got = 1;
        }
    }
    if (waits[0].fd >= 0)
        close(waits[0].fd);
}

/* Writes the URL to the descriptor of --ready-fd, and closes it. */
static int report_ready(const ki_testing_server *server, int fd) {
    char line[512];
    int size = snprintf(line, sizeof line, "%s\n", ki_testing_server_url(server));
    ssize_t wrote = write(fd, line, (size_t)size);
    if (wrote == size && close(fd) == 0)
        return EXIT_OK;
    say("serve", "--ready-fd: cannot write to descriptor %d: %s", fd, strerror(errno));
    return EXIT_FAILED;
}

static int run_serve(const options *o) {
    ki_testing_server *server = NULL;
    ki_error err = KI_ERROR_INIT;
    sigset_t ends;

    if (check(o) != EXIT_OK)
        return EXIT_USAGE;
    set_signal_handlers(&ends);
    allow_many_connections();

    const ki_testing_server_options server_options = {
        .size = sizeof server_options,
        .listen = o->listen,
        .seed = (uint64_t)o->seed,
        .pods = (size_t)o->pods,
        .nodes = (size_t)o->nodes,
        .churn = o->churn,
        .managed_fields = o->managed_fields,
        .compact_after = (size_t)o->compact_after,
        .tls = o->tls,
        .tls_certificate = o->tls_certificate,
        .tls_key = o->tls_key,
        .tls_ca = o->tls_ca,
        .rbac = o->rbac,
        .collects_garbage = o->gc,
    };
    if (ki_testing_server_new(&server_options, &server, &err)) {
        say("serve", "%s", ki_error_message(&err));
        return err.code == KI_ERR_INVALID || err.code == KI_ERR_STATE ? EXIT_USAGE : EXIT_FAILED;
    }
    int status = prepare(server, o);
    if (status == EXIT_OK) {
        sigprocmask(SIG_BLOCK, &ends, NULL);
        printf("serving %s\n", ki_testing_server_url(server));
        if (!output_flush())
            status = output_status();
        if (status == EXIT_OK && o->ready_fd > 0)
            status = report_ready(server, (int)o->ready_fd);
        if (status == EXIT_OK)
            wait_for_end(&ends, o->until_eof);
        sigprocmask(SIG_UNBLOCK, &ends, NULL);
        alarm(END_WITHIN_S);
    }
    ki_testing_server_free(server);
    return status;
}

static const flag flags[] = {
    FLAG("listen", 0, FLAG_TEXT, listen, "ADDR:PORT",
         "listen at this address (default 127.0.0.1:0; port 0: any free port)"),
    FLAG("pods", 0, FLAG_NUMBER, pods, "N", "generate objects: about N pods with their owners"),
    FLAG("nodes", 0, FLAG_NUMBER, nodes, "N", "generate objects: N nodes (default with --pods: one for 30 pods)"),
    FLAG("churn", 0, FLAG_NUMBER, churn, "RATE", "change RATE generated objects a second"),
    FLAG("seed", 0, FLAG_NUMBER, seed, "N", "generate the same objects again with the same N, with uids of their own"),
    FLAG("managed-fields", 0, FLAG_BOOL, managed_fields, NULL, "generate metadata.managedFields too"),
    FLAG("load", 0, FLAG_LIST, loads, "FILE",
         "create the objects of a YAML or JSON file first (-: standard input); repeatable"),
    FLAG("write-kubeconfig", 0, FLAG_TEXT, write_kubeconfig, "FILE", "write a kubeconfig for this server"),
    FLAG("compact-after", 0, FLAG_NUMBER, compact_after, "N", "keep a history of N events (default 100000)"),
    FLAG("tls", 0, FLAG_BOOL, tls, NULL, "serve HTTPS with a generated CA, certificate and token"),
    FLAG("tls-cert", 0, FLAG_TEXT, tls_certificate, "FILE", "serve HTTPS with this certificate (PEM)"),
    FLAG("tls-key", 0, FLAG_TEXT, tls_key, "FILE", "use this key of the certificate (PEM)"),
    FLAG("tls-ca", 0, FLAG_TEXT, tls_ca, "FILE", "use this CA; it also verifies clients' certificates"),
    FLAG("token", 0, FLAG_LIST, tokens, "SPEC", "accept a token: token=SECRET,user=NAME[,groups=A+B]; repeatable"),
    FLAG("allow", 0, FLAG_LIST, rules, "SPEC", "allow requests: user=NAME,verb=get+list,resource=pods,…; repeatable"),
    FLAG("rbac", 0, FLAG_BOOL, rbac, NULL, "authorize requests by roles and bindings"),
    FLAG("gc", 0, FLAG_BOOL, gc, NULL, "delete dependents with their owner, as the garbage collector does"),
    FLAG("until-eof", 0, FLAG_BOOL, until_eof, NULL,
         "end when standard input ends, for example with the parent process"),
    FLAG("ready-fd", 0, FLAG_NUMBER, ready_fd, "N", "write the URL to descriptor N once it serves, and close N"),
    FLAG("fault", 0, FLAG_LIST, faults, "SPEC", "inject a fault: status,code=503,verb=list,count=2; repeatable"),
    FLAGS_END
};
static const flag *const tables[] = { flags, NULL };

const cli_command command_serve = {
    .name = "serve",
    .usage = "[flags]",
    .purpose = "serve the Kubernetes API from memory, for tests of any client",
    .text =
        "  kinformer serve --pods 2000 --churn 500\n"
        "  kinformer serve --listen 127.0.0.1:8080 --load objects.yaml --write-kubeconfig ./kubeconfig\n"
        "  kinformer serve --tls --rbac --token token=secret,user=jane --write-kubeconfig ./kubeconfig\n"
        "  kinformer serve --pods 100 --churn 10 --fault cut,bytes=5000,verb=watch,every=2\n"
        "\n"
        "Prints \"serving URL\" once it accepts connections. Ends on SIGINT or SIGTERM, and with --until-eof also at\n"
        "the end of standard input, for example when a test that started it is killed. All data is in memory.\n"
        "kubectl --server URL, kinformer watch --server URL and every other client work with it.\n"
        "\n"
        "Webhooks, admission policies, CEL rules, quotas, limit ranges and API services are stored but not enforced;\n"
        "a request that writes one gets a Warning. No controllers run; --gc deletes the dependents of deleted owners.\n"
        "\n"
        "With --tls, --rbac or --token clients must authenticate. The kubeconfig of --write-kubeconfig has the\n"
        "credentials; clients send them only over https. --allow and, with --rbac, roles decide what a user may do;\n"
        "without both a user may do everything.\n"
        "\n"
        "While it runs, clients on this machine drive it: /_faults changes the faults, /_requests has what clients\n"
        "have requested, /_wait waits for what they do, POST /_load adds objects, POST /_reset returns to the start,\n"
        "and POST /_restore restores a backup. A server with tokens lets only the group system:masters do that.\n",
    .flags = tables,
    .run = run_serve,
};
