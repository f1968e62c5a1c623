/* resolve.c: looks up the names of resources that are not built in, by discovery. An unknown name that has a version
 * and a group is accepted: the resource can be installed later. */
#include "session.h"

#include "cli/output.h"
#include "failure.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_WAIT_MS = 1000,
    LONGEST_WAIT_MS = 30000
};

bool session_set_custom(target *t, const char *name) {
    const char *version = strchr(name, '.');
    const char *group = version ? strchr(version + 1, '.') : NULL;
    if (!group || version == name || version[1] != 'v' || version[2] < '0' || version[2] > '9' || !group[1])
        return false;
    size_t plural_size = (size_t)(version - name);
    char *text = malloc(strlen(name) + plural_size + 2);
    if (!text)
        return false;
    char *kind = text + strlen(name) + 1;
    strcpy(text, name);
    text[plural_size] = '\0';
    text[group - name] = '\0';
    strcpy(kind, text);
    if (*kind >= 'a' && *kind <= 'z')
        *kind = (char)(*kind - 'a' + 'A');
    if (plural_size > 1 && kind[plural_size - 1] == 's')
        kind[plural_size - 1] = '\0';
    t->text = text;
    t->resource = (ki_resource){ .group = text + (group - name) + 1,
                                 .version = text + plural_size + 1,
                                 .plural = text,
                                 .kind = kind,
                                 .namespaced = true };
    return true;
}

int session_print_unknown(const session *s, const char *name, const char *meant) {
    if (meant)
        say(s->command, "the resource \"%s\" is not known; did you mean %s?", name, meant);
    else
        say(s->command,
            "the resource \"%s\" is not known; write one that is not installed yet with its version and group, as "
            "foos.v1.example.com",
            name);
    return EXIT_USAGE;
}

/* ---- discovery ---- */

typedef struct discovery_result {
    session *session;
    bool has_ended;
    ki_error *err;
} discovery_result;

static void on_map(const ki_resource_map *map, const ki_error *err, void *user) {
    discovery_result *q = user;
    q->has_ended = true;
    q->session->map = ki_resource_map_ref(map);
    if (err)
        *q->err = *err;
}

static bool has_ended(void *user) {
    return ((const discovery_result *)user)->has_ended;
}

/* Returns the rest of the command's time limit; INT_MAX: none. */
static int64_t time_left_ms(const session *s) {
    int64_t allowed_ms = session_allowed_ms(s);
    return allowed_ms ? s->started_ms + allowed_ms - session_now_ms() : INT_MAX;
}

/* Requests the resources once. Sets the session's map; leaves it NULL if the requests failed (`*err` has the cause; the
 * function returns KI_OK) or the session ended. */
static ki_status discover(session *s, ki_error *err) {
    discovery_result q = { .session = s, .err = err };
    ki_discovery *discovery = NULL;
    int64_t left_ms = time_left_ms(s);
    const ki_discovery_options how = { .size = sizeof how,
                                       .timeout_ms = left_ms == INT_MAX ? 0
                                                     : left_ms > 0      ? left_ms
                                                                        : 1 };
    ki_status status = ki_discovery_new(ki_factory_client(s->factory), &how, &discovery, err);
    if (!status)
        status = ki_discovery_refresh(discovery, on_map, &q, err);
    if (!status)
        status = session_wait(s, has_ended, &q, err);
    ki_discovery_free(discovery);
    return status;
}

typedef struct document_request {
    bool has_ended;
    ki_error cause;
} document_request;

static void on_document(const ki_response *response, const ki_error *err, void *user) {
    document_request *r = user;
    (void)response;
    r->has_ended = true;
    if (err)
        r->cause = *err;
}

static bool has_document(void *user) {
    return ((const document_request *)user)->has_ended;
}

/* For failure_is_unread. */
static void get_document(void *user, const char *path, ki_error *ret_cause) {
    session *s = user;
    const ki_request_options limits = { .size = sizeof limits, .timeout_ms = FAILURE_WAIT_MS };
    const ki_client_request request = {
        .size = sizeof request, .verb = KI_CLIENT_RAW, .method = "GET", .path = path, .options = &limits
    };
    document_request r = { .cause = KI_ERROR_INIT };
    ki_pending_request *call = NULL;
    if (ki_client_send(ki_factory_client(s->factory), &request, on_document, &r, &call, ret_cause))
        return;
    (void)session_wait(s, has_document, &r, NULL);
    ki_pending_request_cancel(call);
    while (!r.has_ended && ki_engine_step(s->engine, 0, NULL) == KI_OK)
        ; /* the callback runs, also after a signal */
    ki_pending_request_free(call);
    *ret_cause = r.cause;
}

/* Waits for `ms`. Returns false once the session has ended. */
static bool pause_for(session *s, int64_t ms) {
    int64_t until_ms = session_now_ms() + ms;
    for (int64_t left_ms = ms; left_ms > 0 && !s->done; left_ms = until_ms - session_now_ms()) {
        struct pollfd fd = { .fd = s->signals, .events = POLLIN };
        if (poll(&fd, 1, left_ms < INT_MAX ? (int)left_ms : INT_MAX) > 0)
            session_take_signals(s);
    }
    return !s->done;
}

/* Prints a failure before the next attempt: once until it changes, or each time with -v. */
static void print_retry(const session *s, const ki_error *failure, char shown[KI_ERROR_MESSAGE_MAX]) {
    const char *message = ki_error_message(failure);
    if (!s->options->quiet && (s->options->verbose || strcmp(shown, message) != 0))
        say(s->command, "%s; trying again", message);
    snprintf(shown, KI_ERROR_MESSAGE_MAX, "%s", message);
}

static bool is_category(const session *s, const char *word) {
    size_t cursor = 0;
    return ki_resource_map_in_category(s->map, word, &cursor) != NULL;
}

/* Returns true, and sets `*err`, if a resource can be of a group that is down, and the command waits for it. */
static bool waits_for_group(session *s, ki_error *err) {
    bool waits = s->is_once && !session_ends_at_once(s);
    for (size_t i = 0; i < s->target_count && waits; i++) {
        const char *name = s->targets[i].lookup_name;
        if (name && !ki_resource_map_find(s->map, name) && !is_category(s, name) &&
            failure_is_unread(s->map, name, get_document, s, err))
            return true;
    }
    return false;
}

/* Runs discovery until it succeeds, with growing waits, as an informer would. Ends at a failure for which a retry is
 * hopeless, or after the time limit. */
static ki_status discover_with_retries(session *s, ki_error *err) {
    char shown[KI_ERROR_MESSAGE_MAX] = "";
    for (int64_t wait_ms = FIRST_WAIT_MS;; wait_ms = 2 * wait_ms < LONGEST_WAIT_MS ? 2 * wait_ms : LONGEST_WAIT_MS) {
        ki_status status = discover(s, err);
        if (status || s->done || (s->map && !waits_for_group(s, err)))
            return status;
        int64_t ms = err->retry_after_ms > wait_ms ? err->retry_after_ms : wait_ms;
        int64_t left_ms = time_left_ms(s);
        if (failure_is_hopeless(s, err) || left_ms <= 0)
            return err->code;
        print_retry(s, err, shown);
        if (!pause_for(s, ms < left_ms ? ms : left_ms))
            return KI_OK;
        *err = (ki_error)KI_ERROR_INIT;
        ki_resource_map_unref(s->map);
        s->map = NULL;
    }
}

/* ---- resource names ---- */

static void remove_target(session *s, target *t) {
    free(t->lookup_name);
    s->target_count--;
    memmove(t, t + 1, (size_t)(&s->targets[s->target_count] - t) * sizeof *t);
}

static bool has_verb(const ki_discovered *found, const char *name) {
    for (const char *const *verb = found->verbs; *verb; verb++) {
        if (strcmp(*verb, name) == 0)
            return true;
    }
    return false;
}

/* Replaces a category, such as "all", in its place by its resources that are not targets yet. Returns false if the name
 * is not a category. */
static bool take_category(session *s, target *t) {
    size_t cursor = 0;
    bool has_any = false;
    size_t placed = 0;
    const ki_discovered *found;
    char *word = t->lookup_name;
    while ((found = ki_resource_map_in_category(s->map, word, &cursor))) {
        has_any = true;
        bool watches = has_verb(found, "watch");
        if (!has_verb(found, "list") || !(watches || !session_needs_watch(s)) ||
            session_has_target(s, t, &found->resource, NULL, NULL) || (placed && s->target_count == TARGETS_MAX))
            continue;
        if (placed) {
            target *place = t + placed, *end = &s->targets[s->target_count++];
            memmove(place + 1, place, (size_t)(end - place) * sizeof *t);
        }
        t[placed++] = (target){ .session = s, .resource = found->resource };
    }
    if (placed)
        free(word);
    else if (has_any)
        remove_target(s, t);
    return has_any;
}

static int resolve(session *s, target *t) {
    ki_error err = KI_ERROR_INIT;
    const ki_discovered *found = ki_resource_map_find(s->map, t->lookup_name);
    bool watches = found && has_verb(found, "watch");
    int status = found ? session_check_verbs(s, &found->resource, has_verb(found, "list"), watches) : EXIT_OK;
    if (status)
        return status;
    if (found && session_has_target(s, t, &found->resource, t->name, t->namespace_name)) {
        remove_target(s, t);
        return EXIT_OK;
    }
    if (!found && t->name && is_category(s, t->lookup_name)) {
        say(s->command, "\"%s\" is a category of several resources: you must specify only one resource",
            t->lookup_name);
        return EXIT_USAGE;
    }
    if (!found && take_category(s, t))
        return EXIT_OK;
    if (found && t->name && s->options->all_namespaces && found->resource.namespaced) {
        say(s->command, "a resource cannot be retrieved by name across all namespaces");
        return EXIT_USAGE;
    }
    if (!found && failure_is_unread(s->map, t->lookup_name, get_document, s, &err)) {
        say(s->command, "%s", ki_error_message(&err));
        return EXIT_FAILED;
    }
    if (found)
        t->resource = found->resource;
    else if (!session_set_custom(t, t->lookup_name))
        return session_print_unknown(s, t->lookup_name, ki_resource_map_nearest(s->map, t->lookup_name));
    free(t->lookup_name);
    t->lookup_name = NULL;
    return EXIT_OK;
}

int session_resolve(session *s) {
    size_t unknown = 0;
    ki_error err = KI_ERROR_INIT;
    for (size_t i = 0; i < s->target_count; i++)
        unknown += s->targets[i].lookup_name != NULL;
    if (unknown == 0)
        return EXIT_OK;
    ki_status status = discover_with_retries(s, &err);
    if (s->done)
        return EXIT_OK;
    if (status) {
        if (session_ends_at_once(s) && err.code)
            failure_print(s, NULL, &err);
        else
            say(s->command, "%s", err.code ? ki_error_message(&err) : ki_status_name(status));
        return failure_status(&err);
    }
    for (size_t i = 0; i < s->target_count;) {
        size_t before = s->target_count;
        int failed = s->targets[i].lookup_name ? resolve(s, &s->targets[i]) : EXIT_OK;
        if (failed)
            return failed;
        i += s->target_count >= before; /* otherwise one was removed, and the next has its index */
    }
    return EXIT_OK;
}
