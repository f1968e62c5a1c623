/* serve.c: kinformer serve: the embedded API server, until a signal. */
#include "flags.h"
#include "load_file.h"
#include "output.h"

#include <kinformer-testing/access.h>
#include <kinformer-testing/faults.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    END_WITHIN_S = 10
}; /* after the signal, in good order; it is cut short then */

/* Each watch is a descriptor. */
static void allow_many_connections(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit); /* where it may not be, fewer clients can connect */
    }
}

static int let_in(ki_testing_server *server, const options *o) {
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
    return EXIT_FINE;
}

static int prepare(ki_testing_server *server, const options *o) {
    ki_error err = KI_ERROR_INIT;
    size_t objects = 0;
    int status = let_in(server, o);
    if (status != EXIT_FINE)
        return status;
    if (o->load) {
        if (load_file(server, o->load, &objects, &err)) {
            say("serve", "--load: %s", ki_error_message(&err));
            return EXIT_FAILED;
        }
        say("serve", "loaded %zu objects from %s", objects, o->load);
    }
    if (o->write_kubeconfig && ki_testing_server_write_kubeconfig(server, o->write_kubeconfig, &err)) {
        say("serve", "--write-kubeconfig: %s", ki_error_message(&err));
        return EXIT_FAILED;
    }
    return EXIT_FINE;
}

/* There is nothing to be saved: while the server is being filled, and on a second signal, it may end at any moment. The server's threads
 * take no signals. */
static void leave(int number) {
    static const char late[] = "kinformer serve: it did not end in good order within 10 s\n";
    if (number != SIGALRM)
        _exit(EXIT_FINE);
    if (write(STDERR_FILENO, late, sizeof late - 1) < 0)
        _exit(EXIT_FAILED);
    _exit(EXIT_FAILED);
}

static void end_by_signals(sigset_t *ret_ends) {
    const struct sigaction action = { .sa_handler = leave };
    static const int numbers[] = { SIGINT, SIGTERM, SIGALRM };
    sigemptyset(ret_ends);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        sigaction(numbers[i], &action, NULL);
        if (numbers[i] != SIGALRM)
            sigaddset(ret_ends, numbers[i]);
    }
}

/* Neither kubectl nor any other client of a kubeconfig sends a token without TLS: it would be let in nowhere. */
static int check(const options *o) {
    if (o->write_kubeconfig && (o->rbac || o->tokens.count) && !o->tls && !o->tls_certificate) {
        say("serve",
            "--write-kubeconfig with --rbac or --token needs --tls: clients send no credentials to a server that is "
            "not https");
        return EXIT_USAGE;
    }
    if (o->until_eof && o->load && strcmp(o->load, "-") == 0) {
        say("serve", "--until-eof waits for the end of standard input, and --load - reads it to its end: take a file");
        return EXIT_USAGE;
    }
    return EXIT_FINE;
}

/* A signal, or with `until_eof` the end of standard input: what comes there is read and left. */
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

static int run(const options *o) {
    ki_testing_server *server = NULL;
    ki_error err = KI_ERROR_INIT;
    sigset_t ends;

    if (check(o) != EXIT_FINE)
        return EXIT_USAGE;
    end_by_signals(&ends);
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
    if (status == EXIT_FINE) {
        sigprocmask(SIG_BLOCK, &ends, NULL);
        say("serve",
            "kept and not enforced: webhooks, admission policies, CEL rules, quotas, limit ranges, API services");
        printf("serving %s\n", ki_testing_server_url(server));
        if (!output_flush())
            status = output_status();
        if (status == EXIT_FINE)
            wait_for_end(&ends, o->until_eof);
        sigprocmask(SIG_UNBLOCK, &ends, NULL);
        alarm(END_WITHIN_S);
    }
    ki_testing_server_free(server);
    return status;
}

static const flag flags[] = {
    FLAG("listen", 0, FLAG_TEXT, listen, "ADDR:PORT", "where to listen (default 127.0.0.1:0; port 0: any free one)"),
    FLAG("pods", 0, FLAG_NUMBER, pods, "N", "load: about so many pods at all times, with their owners"),
    FLAG("nodes", 0, FLAG_NUMBER, nodes, "N", "load: so many nodes (default with --pods: one for each 30)"),
    FLAG("churn", 0, FLAG_NUMBER, churn, "RATE", "load: changes a second"),
    FLAG("seed", 0, FLAG_NUMBER, seed, "N", "of the load, and of uids and generated names"),
    FLAG("managed-fields", 0, FLAG_BOOL, managed_fields, NULL, "load: objects with metadata.managedFields"),
    FLAG("load", 0, FLAG_TEXT, load, "FILE", "put the objects of a YAML or JSON file in first (-: standard input)"),
    FLAG("write-kubeconfig", 0, FLAG_TEXT, write_kubeconfig, "FILE", "write a kubeconfig for this server"),
    FLAG("compact-after", 0, FLAG_NUMBER, compact_after, "N", "keep so many events of history (default 100000)"),
    FLAG("tls", 0, FLAG_BOOL, tls, NULL, "serve HTTPS, with a CA, a certificate and a token of its own"),
    FLAG("tls-cert", 0, FLAG_TEXT, tls_certificate, "FILE", "serve HTTPS with this certificate (PEM)"),
    FLAG("tls-key", 0, FLAG_TEXT, tls_key, "FILE", "and this key"),
    FLAG("tls-ca", 0, FLAG_TEXT, tls_ca, "FILE", "and this CA, which signs clients' certificates too"),
    FLAG("token", 0, FLAG_LIST, tokens, "SPEC", "let in token=SECRET,user=NAME[,groups=A+B]; repeatable"),
    FLAG("allow", 0, FLAG_LIST, rules, "SPEC", "allow user=NAME,verb=get+list,resource=pods,…; repeatable"),
    FLAG("rbac", 0, FLAG_BOOL, rbac, NULL, "roles and their bindings decide who may do what"),
    FLAG("gc", 0, FLAG_BOOL, gc, NULL, "delete what an object owns with it, as the garbage collector does"),
    FLAG("until-eof", 0, FLAG_BOOL, until_eof, NULL, "end when standard input ends: with whoever started it"),
    FLAG("fault", 0, FLAG_LIST, faults, "SPEC", "do this wrong: status,code=503,verb=list,count=2; repeatable"),
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
        "Prints \"serving URL\" once it serves, and ends on SIGINT or SIGTERM; with --until-eof also when its standard "
        "input\n"
        "does, as that of a test that was killed. Everything is in memory.\n"
        "Webhooks, admission policies, CEL rules, quotas, limit ranges and API services are kept and not enforced: who "
        "writes one gets a\n"
        "Warning. There are no controllers; with --gc objects go with their owners.\n"
        "With --tls, --rbac or --token clients have to say who they are: the kubeconfig has all they need (with "
        "--tls:\n"
        "clients send no credentials without). Who is let in may do what an --allow or, with --rbac, a role says;\n"
        "everything where there is neither. DELETE, GET and POST /_faults change faults while it runs.\n"
        "kubectl --server URL, kinformer watch --server URL and every other client work with it.\n",
    .flags = tables,
    .run = run,
};
