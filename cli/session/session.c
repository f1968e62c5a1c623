/* session.c: see session.h. */
#include "session.h"

#include "cli/output.h"
#include "connection.h"
#include "exec.h"
#include "failure.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum {
    PROGRESS_AFTER_MS = 1000,
    PROGRESS_EVERY_MS = 200,
    SILENT_MS = 5000 /* a discovery without a response is reported; an informer does the same */
};

static int64_t milliseconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t session_now_ms(void) {
    return milliseconds_of(CLOCK_MONOTONIC);
}

int64_t wall_now_ms(void) {
    return milliseconds_of(CLOCK_REALTIME);
}

void session_end(session *s, int status) {
    if (s->done)
        return;
    s->done = true;
    s->status = status;
}

bool session_has_synced(const session *s) {
    for (size_t i = 0; i < s->target_count; i++) {
        if (!s->targets[i].synced && !s->targets[i].failure.code)
            return false;
    }
    return true;
}

bool session_needs_watch(const session *s) {
    return !s->is_once || s->options->watch;
}

bool session_ends_at_once(const session *s) {
    return s->is_once && !s->options->wait && !s->options->timeout_ms;
}

/* ---- states ---- */

static bool is_waiting(const ki_health *health) {
    return health->state == KI_STATE_BACKING_OFF || health->state == KI_STATE_BLOCKED;
}

/* Returns the cause in the health's words. A server's own message about a permission says more: it names the user. */
static const char *cause_of(const ki_health *health) {
    return health->cause.http_status == 403 ? ki_error_message(&health->cause) : health->message;
}

/* Reports a failure once. With -v reports each attempt, and when the next one is. */
static void say_failure(target *t, const ki_health *health, const char *resource) {
    const session *s = t->session;
    char next[64] = "", fix[FAILURE_REMEDY_MAX];
    bool is_new = t->shown != health->state || strcmp(t->shown_message, health->message) != 0;
    if (!is_new && !s->options->verbose)
        return;
    memcpy(t->shown_message, health->message, sizeof t->shown_message);
    if (s->options->verbose && health->retry_in_ms >= 0)
        snprintf(next, sizeof next, "; trying again in %.1f s", (double)health->retry_in_ms / 1000);
    say(s->command, "%s: %s: %s%s%s", resource, ki_state_name(health->state), cause_of(health),
        failure_remedy(s, &t->resource, &health->cause, fix), next);
}

/* Returns true for a request that has no response for some seconds, unless an earlier failure was reported. */
static bool is_silent(const target *t, const ki_health *health) {
    bool was_well = t->shown == KI_STATE_NOT_STARTED || t->shown == KI_STATE_LISTING || t->shown == KI_STATE_WATCHING;
    return was_well && health->cause.code == KI_ERR_TIMEOUT;
}

static void say_health(target *t, const ki_health *health) {
    const session *s = t->session;
    char label[LABEL_MAX];
    const char *resource = session_label(t, label);
    if (s->options->quiet)
        return;
    switch (health->state) {
    case KI_STATE_CONNECTING:
        if (is_silent(t, health)) {
            bool is_asked = health->cause.category != KI_CATEGORY_CREDENTIALS; /* no exec plugin delays the request */
            say(s->command, "%s: %s%s%s", resource, health->message, is_asked ? " from " : "",
                is_asked ? ki_config_server(s->config) : "");
            break;
        }
        if (s->options->verbose && t->shown != KI_STATE_BACKING_OFF && t->shown != KI_STATE_BLOCKED)
            say(s->command, "%s: connecting to %s", resource, ki_config_server(s->config));
        return;
    case KI_STATE_LISTING:
        if (health->cause.code) /* no data for some seconds */
            say(s->command, "%s: %s from %s", resource, health->message, ki_config_server(s->config));
        else if (s->options->verbose || t->shown != KI_STATE_NOT_STARTED)
            say(s->command, "%s: connected, listing", resource);
        break;
    case KI_STATE_WATCHING:
        if (health->message[0]) { /* the namespace does not exist */
            if (strcmp(t->shown_message, health->message) != 0)
                say(s->command, "%s: %s", resource, health->message);
            memcpy(t->shown_message, health->message, sizeof t->shown_message);
            break;
        }
        if ((t->shown == KI_STATE_WATCHING || s->is_once) && !s->options->verbose)
            return;
        say(s->command, "%s: connected to %s, watching", resource, ki_config_server(s->config));
        break;
    case KI_STATE_BACKING_OFF:
    case KI_STATE_BLOCKED:
        say_failure(t, health, resource);
        if (s->is_once && !session_allowed_ms(s) && !t->session->has_hinted) {
            t->session->has_hinted = true; /* once: the user may ask whether the command ever ends */
            say(s->command,
                "trying again until the list succeeds; --timeout sets a limit, kinformer doctor finds the cause");
        }
        break;
    default:
        if (s->options->verbose)
            say(s->command, "%s: %s", resource, ki_state_name(health->state));
        return;
    }
    t->shown = health->state;
}

/* Ends the session, or only this target if the lists of others can still succeed. */
static void give_up_target(target *t, const ki_error *cause) {
    session *s = t->session;
    if (s->done)
        return;
    if (!s->is_once) {
        say(s->command, "%s", ki_error_message(cause));
        session_end(s, failure_status(cause));
    } else if (failure_is_of_server(cause)) {
        failure_print(s, &t->resource, cause);
        session_end(s, failure_status(cause));
    } else {
        t->failure = *cause;
        if (session_has_synced(s))
            session_end(s, EXIT_OK); /* the command prints which lists are missing */
    }
}

/* Returns true for a failure of the watch after a list, which is complete although it may still wait in the queue. An
 * error response can be that of a watch; a list that fails so fails again. */
static bool is_perhaps_of_watch(const target *t, const ki_health *health) {
    bool is_response = ki_error_is_method_not_supported(&health->cause) && health->failures <= 1;
    /* A streaming list that is forbidden is no failure: a list follows. */
    bool is_forbidden =
        ki_error_is_forbidden(&health->cause) && strncmp(ki_error_message(&health->cause), "watch ", 6) == 0;
    return t->session->is_once && (is_response || is_forbidden);
}

static void on_state(ki_informer *informer, const ki_health *health, void *user) {
    target *t = user;
    (void)informer;
    if (is_perhaps_of_watch(t, health))
        return;
    if (t->synced || !is_waiting(health) || !failure_is_hopeless(t->session, &health->cause))
        say_health(t, health);
    else if (!t->failure.code)
        give_up_target(t, &health->cause);
}

static void on_failure(ki_informer *informer, const ki_error *cause, const char *key, void *user) {
    const target *t = user;
    ki_health health;
    if (t->session->options->quiet)
        return;
    ki_informer_health(informer, &health);
    if (*key)
        say(t->session->command, "%s: skipped %s: %s", t->resource.plural, key, ki_error_message(cause));
    else if (cause->code == KI_ERR_PARSE) /* the output is incomplete */
        say(t->session->command, "%s: skipped an object without a name: %s", t->resource.plural,
            ki_error_message(cause));
    else if (t->session->options->verbose && !is_waiting(&health)) /* otherwise the state has the cause */
        say(t->session->command, "%s: %s; trying again within a second", t->resource.plural, ki_error_message(cause));
}

/* Prints the progress of the first list that is incomplete: "pods: 12,000 of 20,000 objects, 15,300 a second". */
static void show_sync(session *s) {
    char text[256] = "";
    char listed[32];
    char total[32];
    char rate[32];
    for (size_t i = 0; i < s->target_count && !*text; i++) {
        ki_health health;
        if (s->targets[i].synced || s->targets[i].failure.code)
            continue;
        ki_informer_health(s->targets[i].informer, &health);
        if (health.state != KI_STATE_LISTING)
            continue;
        unsigned long long ms = health.since_ms > 0 ? (unsigned long long)health.since_ms : 1;
        bool has_total = health.list_total >= 0;
        snprintf(text, sizeof text, "%s: %s%s%s objects, %s a second", s->targets[i].resource.plural,
                 with_commas(health.listed, listed), has_total ? " of " : "",
                 has_total ? with_commas((unsigned long long)health.list_total, total) : "",
                 with_commas(health.listed * 1000ULL / ms, rate));
    }
    show_progress(*text ? text : NULL);
    s->progressing = *text != '\0';
}

static void write_log(ki_log_level level, const char *component, const char *message, void *user) {
    const session *s = user;
    (void)level;
    if (strcmp(component, "reflector") != 0 && strcmp(component, "informer") != 0) /* the session reports these */
        say(s->command, "%s: %s", component, message);
}

/* ---- connecting ---- */

static bool is_set(const char *text) {
    return text && *text;
}

static ki_status connect_to(session *s, ki_error *err) {
    const options *o = s->options;
    const ki_log log = { .write = write_log, .user = s, .max_level = KI_LOG_INFO };
    const ki_engine_options engine = { .size = sizeof engine,
                                       .allocator = s->allocator,
                                       .log = o->verbose ? &log : NULL };

    ki_status status = connection_config(o, s->allocator, &s->config, err);
    if (status)
        return status;
    status = ki_engine_new(&engine, &s->engine, err);
    if (status)
        return status;
    const ki_factory_options factory = { .size = sizeof factory, .engine = s->engine };
    return ki_factory_new(s->config, &factory, &s->factory, err);
}

/* Returns true if what is printed has managedFields: JSON and YAML if they are asked for, and, as in kubectl, what a
 * template (jsonpath=…, go-template, custom-columns=…) names. */
static bool has_managed_fields(const options *o) {
    return o->show_managed_fields || o->template || (o->output && strpbrk(o->output, "=-"));
}

/* Creates the informer of a target and registers the command's handler. */
static ki_status add_target(session *s, target *t, ki_error *err) {
    const options *o = s->options;
    char *fields = NULL;
    ki_informer_options informer = {
        .size = sizeof informer,
        .label_selector = is_set(o->selector) ? o->selector : NULL,
        .field_selector = is_set(o->field_selector) ? o->field_selector : NULL,
        .view = s->view,
        .resync_ms = o->resync_ms,
        .page_size = o->chunk_size,
        .keep_managed_fields = has_managed_fields(o),
    };
    informer.namespace_name = session_namespace(t);
    if (t->name) { /* selection.c rejects names with selectors */
        fields = session_name_selector(t->name);
        if (!fields)
            return KI_ERR_NO_MEMORY;
        informer.field_selector = fields;
    }
    const ki_registration_options registration = { .size = sizeof registration, .on_loop = true, .name = s->command };
    ki_status status = ki_factory_informer(s->factory, &t->resource, &informer, &t->informer, err);
    free(fields);
    if (!status)
        status = ki_informer_set_state_handler(t->informer, on_state, t, err);
    if (!status)
        status = ki_informer_set_watch_error_handler(t->informer, on_failure, t, err);
    if (!status)
        status = ki_informer_add_handler(t->informer, &s->handler, t, &registration, NULL, err);
    return status;
}

static sigset_t make_signal_set(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGCHLD); /* wakes the loop */
    return set;
}

void session_block_signals(void) {
    const sigset_t set = make_signal_set();
    sigprocmask(SIG_BLOCK, &set, NULL);
}

static const char *first_unresolved(const session *s) {
    for (size_t i = 0; i < s->target_count; i++) {
        if (s->targets[i].lookup_name)
            return s->targets[i].lookup_name;
    }
    return NULL;
}

/* Returns true if the flags name an entry that can be missing. Otherwise KI_ERR_NOT_FOUND means that no cluster is
 * configured. */
static bool names_an_entry(const options *o) {
    return o->kubeconfig || o->context || o->cluster || o->user;
}

int session_start(session *s) {
    ki_error err = KI_ERROR_INIT;
    sigset_t set = make_signal_set();
    if (s->on_input)
        sigaddset(&set, SIGWINCH);
    sigprocmask(SIG_BLOCK, &set, NULL);
    s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    s->started_ms = session_now_ms();

    ki_status status = connect_to(s, &err);
    /* without a cluster only built-in resources are known */
    if (status == KI_ERR_NOT_FOUND && first_unresolved(s) && !names_an_entry(s->options))
        return session_print_unknown(s, first_unresolved(s), ki_resource_nearest(first_unresolved(s)));
    int resolved = status ? EXIT_OK : session_resolve(s);
    if (resolved != EXIT_OK)
        return resolved;
    if (!status && s->on_resolved && !s->done)
        resolved = s->on_resolved(s);
    if (resolved != EXIT_OK)
        return resolved;
    if (s->done)
        return s->status;
    for (size_t i = 0; i < s->target_count && !status; i++)
        status = add_target(s, &s->targets[i], &err);
    if (!status)
        status = ki_factory_start(s->factory, &err);
    if (status) {
        bool has_no_cluster = status == KI_ERR_NOT_FOUND && !names_an_entry(s->options);
        say(s->command, "%s%s", err.code ? ki_error_message(&err) : ki_status_name(status),
            has_no_cluster ? "; name one with --kubeconfig or --server, or try \"kinformer demo\"" : "");
        return status == KI_ERR_INVALID ? EXIT_USAGE : EXIT_FAILED;
    }
    return EXIT_OK;
}

/* ---- the loop ---- */

int64_t session_allowed_ms(const session *s) {
    int64_t all = s->options->timeout_ms;
    int64_t one = s->options->request_timeout_ms;
    return !all || (one && one < all) ? one : all;
}

/* Writes a hint if a credential plugin may be the cause: no request has been sent yet. */
static void hint_at_plugin(const session *s, const ki_health *health, char *text, size_t size) {
    ki_config_description about = { .size = sizeof about };
    text[0] = '\0';
    ki_config_describe(s->config, &about);
    bool is_before = health->state == KI_STATE_CONNECTING || health->state == KI_STATE_NOT_STARTED;
    if (is_before && !health->cause.code && (about.credentials & KI_CREDENTIAL_EXEC))
        snprintf(text, size, "; check the exec plugin %.100s: requests wait until it has ended", about.exec_command);
}

static void give_up(session *s) {
    char hint[192], label[LABEL_MAX], fix[FAILURE_REMEDY_MAX];
    for (size_t i = 0; i < s->target_count; i++) {
        ki_health health;
        if (s->targets[i].synced || s->targets[i].failure.code)
            continue;
        ki_informer_health(s->targets[i].informer, &health);
        hint_at_plugin(s, &health, hint, sizeof hint);
        say(s->command, "%s did not sync within %.1f s (%s)%s%s%s%s", session_label(&s->targets[i], label),
            (double)session_allowed_ms(s) / 1000, ki_state_name(health.state), health.cause.code ? ": " : "",
            cause_of(&health), failure_remedy(s, &s->targets[i].resource, &health.cause, fix), hint);
    }
    session_end(s, EXIT_UNREACHED);
}

static int shorter(int timeout_ms, int64_t other_ms) {
    if (other_ms < 0)
        other_ms = 0;
    return timeout_ms < 0 || other_ms < timeout_ms ? (int)other_ms : timeout_ms;
}

/* Does the work that is due: time limit, progress, tick. Returns the timeout of the next poll. */
static int run_times(session *s, int64_t *next_tick_ms, int64_t *next_progress_ms) {
    int64_t now_ms = session_now_ms();
    int timeout_ms = -1;

    if (!session_has_synced(s)) {
        if (session_allowed_ms(s)) {
            int64_t left_ms = s->started_ms + session_allowed_ms(s) - now_ms;
            if (left_ms <= 0)
                give_up(s);
            timeout_ms = shorter(timeout_ms, left_ms);
        }
        if (is_terminal(stderr) && !s->options->quiet) {
            if (now_ms >= *next_progress_ms) {
                show_sync(s);
                *next_progress_ms = now_ms + PROGRESS_EVERY_MS;
            }
            timeout_ms = shorter(timeout_ms, *next_progress_ms - now_ms);
        }
    } else if (s->progressing) {
        show_progress(NULL);
        s->progressing = false;
    }
    if (s->on_tick) {
        if (now_ms >= *next_tick_ms) {
            s->on_tick(s, now_ms);
            *next_tick_ms = now_ms + s->tick_ms;
        }
        timeout_ms = shorter(timeout_ms, *next_tick_ms - now_ms);
    }
    return timeout_ms;
}

/* Ends the session early, and the commands of --exec. */
static void end_early(session *s, int status) {
    session_end(s, status);
    if (s->exec)
        exec_stop(s->exec);
}

void session_take_signals(session *s) {
    struct signalfd_siginfo info;
    while (read(s->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGWINCH)
            s->is_resized = true;
        if (info.ssi_signo == SIGCHLD || info.ssi_signo == SIGWINCH)
            continue;
        s->is_interrupted = true;
        end_early(s, EXIT_OK);
    }
}

/* Calls on_input for what poll has reported of input_fd. A terminal that is gone ends the session. */
static void take_input(session *s, short reported) {
    if (reported & (POLLERR | POLLHUP | POLLNVAL)) {
        end_early(s, EXIT_OK);
    } else if (s->on_input && (reported || s->is_resized)) {
        s->is_resized = false;
        s->on_input(s);
    }
}

/* Polls once, then handles signals, input, a closed stdout and --exec. The caller runs the engine's step. */
static void wait_once(session *s, int timeout_ms, bool steps) {
    /* stdout: poll reports its end without any requested event */
    struct pollfd fds[] = {
        { .fd = s->signals, .events = POLLIN },
        { .fd = s->done ? -1 : STDOUT_FILENO },
        { .fd = steps ? ki_engine_fd(s->engine) : -1, .events = POLLIN },
        { .fd = -1 },
        { .fd = s->on_input && !s->done ? s->input_fd : -1, .events = POLLIN },
    };
    if (s->exec)
        fds[3] = exec_prepare(s->exec, &timeout_ms);
    if (poll(fds, sizeof fds / sizeof fds[0], timeout_ms) < 0 && errno != EINTR) {
        say(s->command, "poll: %s", strerror(errno));
        end_early(s, EXIT_FAILED);
    }
    if (fds[0].revents)
        session_take_signals(s);
    if (!s->done && fds[1].revents & (POLLERR | POLLHUP)) {
        end_early(s, EXIT_OK);
    }
    if (!s->done)
        take_input(s, fds[4].revents);
    if (s->exec)
        exec_run(s->exec);
}

static void say_silence(const session *s) {
    ki_config_description about = { .size = sizeof about };
    ki_config_describe(s->config, &about);
    if (about.credentials & KI_CREDENTIAL_EXEC)
        say(s->command, "the exec plugin %.100s has not ended, or there is no response from %s, for %d s",
            about.exec_command, ki_config_server(s->config), SILENT_MS / 1000);
    else
        say(s->command, "no response for %d s from %s", SILENT_MS / 1000, ki_config_server(s->config));
}

ki_status session_wait(session *s, bool (*is_done)(void *user), void *user, ki_error *err) {
    ki_status status = KI_OK;
    const int64_t silent_ms = session_now_ms() + SILENT_MS;
    bool is_silent_said = s->options->quiet;
    while (!is_done(user) && !s->is_interrupted && !status) {
        int64_t left_ms = silent_ms - session_now_ms();
        if (left_ms <= 0 && !is_silent_said) {
            is_silent_said = true;
            say_silence(s);
        }
        int timeout_ms = is_silent_said ? -1 : shorter(-1, left_ms);
        struct pollfd fds[] = { { .fd = ki_engine_fd(s->engine), .events = POLLIN },
                                { .fd = s->signals, .events = POLLIN } };
        if (poll(fds, sizeof fds / sizeof fds[0], timeout_ms) < 0 && errno != EINTR)
            return KI_ERR_SYSTEM;
        if (fds[1].revents)
            session_take_signals(s);
        if (!s->is_interrupted)
            status = ki_engine_step(s->engine, 0, err);
    }
    return status;
}

int session_run(session *s) {
    int64_t next_tick_ms = s->started_ms + s->tick_ms;
    int64_t next_progress_ms = s->started_ms + PROGRESS_AFTER_MS;
    ki_error err = KI_ERROR_INIT;

    while (!s->done) {
        int timeout_ms = run_times(s, &next_tick_ms, &next_progress_ms);
        if (s->done)
            break;
        bool steps = !s->exec || !exec_is_full(s->exec);
        wait_once(s, steps ? timeout_ms : -1, steps);
        if (!s->done && steps && ki_engine_step(s->engine, 0, &err)) {
            say(s->command, "%s", ki_error_message(&err));
            session_end(s, EXIT_FAILED);
        }
    }
    show_progress(NULL);
    if (s->status && s->exec)
        exec_stop(s->exec);
    while (s->exec && exec_is_busy(s->exec)) /* commands that have started are finished */
        wait_once(s, -1, false);
    return s->status;
}

static void free_target(target *t) {
    free(t->text);
    free(t->lookup_name);
}

void session_close(session *s) {
    ki_factory_free(s->factory);
    ki_engine_free(s->engine);
    ki_config_free(s->config);
    if (s->signals > 0)
        close(s->signals);
    for (size_t i = 0; i < s->target_count; i++)
        free_target(&s->targets[i]);
    ki_resource_map_unref(s->map);
}
