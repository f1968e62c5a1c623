/* fake_list_watch.c: see fake_list_watch.h. */
#include "tests/support/fake_list_watch.h"
#include "tests/support/test.h"

#include "src/base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORD_MAX = 128,
    LINE_MAX_SIZE = 512
};

void fake_note(fake_list_watch *fake, const char *text) {
    notation_add(fake->trace, ", ", text);
}

static void parameter(char *line, const char *name, const char *value) {
    size_t used = strlen(line);
    if (value && value[0])
        snprintf(line + used, LINE_MAX_SIZE - used, " %s=%s", name, value);
}

static ki_status refuse(fake_list_watch *fake, ki_error *err) {
    ki_status status = fake->refuse;
    fake->refuse = KI_OK;
    if (status)
        ki_error_set(err, status, "refused");
    return status;
}

static ki_status fake_list(ki_list_watch *base, const ki_list_options *options, const ki_list_handler *handler,
                           ki_error *err) {
    fake_list_watch *fake = (fake_list_watch *)base;
    char line[LINE_MAX_SIZE] = "list", limit[WORD_MAX] = "";
    if (options->limit)
        snprintf(limit, sizeof limit, "%" PRId64, options->limit);
    parameter(line, "rv", options->resource_version);
    parameter(line, "match", options->resource_version_match);
    parameter(line, "continue", options->continue_token);
    parameter(line, "limit", limit);
    fake_note(fake, fake->lists || fake->watches ? "TWO AT ONCE" : line);
    ki_status status = refuse(fake, err);
    if (status)
        return status;
    fake->lists = true;
    fake->opened = false;
    fake->idle_timeout_ns = options->idle_timeout_ns;
    fake->list = *handler;
    return KI_OK;
}

static ki_status fake_watch(ki_list_watch *base, const ki_watch_options *options, const ki_watch_handler *handler,
                            ki_error *err) {
    fake_list_watch *fake = (fake_list_watch *)base;
    char line[LINE_MAX_SIZE];
    snprintf(line, sizeof line, "%s", options->send_initial_events ? "stream" : "watch");
    parameter(line, "rv", options->resource_version);
    if (!options->allow_bookmarks)
        parameter(line, "bookmarks", "no");
    fake_note(fake, fake->lists || fake->watches ? "TWO AT ONCE" : line);
    ki_status status = refuse(fake, err);
    if (status)
        return status;
    fake->watches = true;
    fake->streams = options->send_initial_events;
    fake->opened = false;
    fake->idle_timeout_ns = options->idle_timeout_ns;
    fake->timeout_s = options->timeout_s;
    fake->watch = *handler;
    return KI_OK;
}

static ki_status fake_find_type(ki_list_watch *base, ki_on_type_found on_found, void *user, ki_error *err) {
    fake_list_watch *fake = (fake_list_watch *)base;
    fake_note(fake, "find type");
    fake->on_found = on_found;
    fake->on_found_user = user;
    return refuse(fake, err);
}

static ki_status fake_find_namespace(ki_list_watch *base, ki_on_namespace_found on_found, void *user, ki_error *err) {
    fake_list_watch *fake = (fake_list_watch *)base;
    (void)err;
    if (!fake->on_namespace)
        fake_note(fake, "find namespace");
    fake->on_namespace = on_found;
    fake->on_namespace_user = user;
    return KI_OK;
}

static bool find_namespace(fake_list_watch *fake, const char *how) {
    ki_on_namespace_found on_found = fake->on_namespace;
    fake->on_namespace = NULL;
    if (on_found)
        on_found(strcmp(how, "there") == 0     ? KI_NAMESPACE_THERE
                 : strcmp(how, "missing") == 0 ? KI_NAMESPACE_MISSING
                                               : KI_NAMESPACE_UNCERTAIN,
                 fake->on_namespace_user);
    return on_found != NULL;
}

static bool find_type(fake_list_watch *fake) {
    ki_on_type_found on_found = fake->on_found;
    fake->on_found = NULL;
    if (on_found)
        on_found(fake->type, NULL, fake->on_found_user);
    return on_found != NULL;
}

static void fake_cancel(ki_list_watch *base) {
    fake_list_watch *fake = (fake_list_watch *)base;
    if (fake->lists || fake->watches)
        fake_note(fake, "cancel");
    fake->lists = fake->watches = false;
    fake->on_found = NULL;
    fake->on_namespace = NULL;
}

static void fake_free(ki_list_watch *base) {
    fake_list_watch *fake = (fake_list_watch *)base;
    fake_cancel(base);
    fake->freed = true;
}

static bool fake_waits_for(const ki_list_watch *base, char *text, size_t size) {
    const fake_list_watch *fake = (const fake_list_watch *)base;
    if (fake->waits_for)
        snprintf(text, size, "%s", fake->waits_for);
    return fake->waits_for != NULL;
}

static const ki_list_watch_ops fake_ops = { .list = fake_list,
                                            .watch = fake_watch,
                                            .find_type = fake_find_type,
                                            .find_namespace = fake_find_namespace,
                                            .cancel = fake_cancel,
                                            .waits_for = fake_waits_for,
                                            .free = fake_free };

void fake_init(fake_list_watch *fake) {
    memset(fake, 0, sizeof *fake);
    fake->base.ops = &fake_ops;
}

static ki_error error_of(const char *what) {
    static const struct {
        const char *name;
        ki_status code;
        ki_category category;
    } names[] = { { "connect", KI_ERR_CONNECT, KI_CATEGORY_RETRY },
                  { "cut", KI_ERR_UNEXPECTED_EOF, KI_CATEGORY_RETRY },
                  { "timeout", KI_ERR_TIMEOUT, KI_CATEGORY_RETRY },
                  { "toolarge", KI_ERR_TOO_LARGE_RV, KI_CATEGORY_RETRY },
                  { "nomemory", KI_ERR_NO_MEMORY, KI_CATEGORY_FATAL },
                  { "expired", KI_ERR_EXPIRED, KI_CATEGORY_RETRY },
                  { "protocol", KI_ERR_PROTOCOL, KI_CATEGORY_SERVER },
                  { "untrusted", KI_ERR_TLS, KI_CATEGORY_REQUEST },
                  { "outdated", KI_ERR_TLS, KI_CATEGORY_SERVER },
                  { "handshake", KI_ERR_TLS, KI_CATEGORY_RETRY },
                  { "unsupported", KI_ERR_UNSUPPORTED, KI_CATEGORY_REQUEST } };
    ki_error err = KI_ERROR_INIT;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, what) == 0) {
            ki_error_set(&err, names[i].code, "%s", what);
            err.category = names[i].category;
            return err;
        }
    int status = atoi(what);
    ki_error_set(&err, status == 410 ? KI_ERR_EXPIRED : KI_ERR_HTTP, "HTTP %s%s", what,
                 status == 404 ? ": 404 page not found" : ""); /* kube-apiserver's response to an unknown path */
    err.http_status = status;
    if (strstr(what, "User")) /* "403 User "jane" cannot list …" */
        snprintf(err.message, sizeof err.message, "list: %s", strchr(what, ' ') + 1);
    if (strstr(what, "NotFound"))
        snprintf(err.reason, sizeof err.reason, "NotFound");
    const char *plus = strchr(what, '+');
    if (plus)
        err.retry_after_ms = atoi(plus + 1);
    return err;
}

static bool end(fake_list_watch *fake, const ki_error *err, bool in_stream) {
    bool lists = fake->lists, opened = fake->opened;
    if (!lists && !fake->watches)
        return false;
    fake->lists = fake->watches = false;
    if (lists)
        fake->list.on_end(NULL, err, fake->list.user);
    else
        fake->watch.on_end(err, opened, in_stream, fake->watch.user);
    return true;
}

static bool bad(fake_list_watch *fake, ki_bad_object object) {
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_PARSE, "bad object");
    object.err = &err;
    if (fake->lists)
        fake->list.on_bad_object(&object, fake->list.user);
    else if (fake->watches)
        fake->watch.on_bad_object(&object, fake->watch.user);
    else
        return false;
    return true;
}

/* Reports bytes, as from a server, before the next item. */
static void bytes(const fake_list_watch *fake) {
    if (fake->watches && fake->watch.on_bytes && fake->engine)
        fake->watch.on_bytes(fake->watch.user);
}

static void all_is_read(const fake_list_watch *fake) {
    if (fake->watches && fake->watch.on_read && fake->engine && !fake->is_part)
        fake->watch.on_read(ki_engine_now(fake->engine) - fake->late_ns, fake->watch.user);
}

/* An object of the open list, or an event. */
static bool change(fake_list_watch *fake, const noted_change *noted) {
    if (noted->is_unreadable)
        return bad(fake, (ki_bad_object){
                             .key = noted->key, .resource_version = noted->version, .is_deleted = noted->sign == '-' });
    ki_object *obj = notation_object(noted);
    bool is_possible = noted->sign ? fake->watches : fake->lists;
    bytes(fake);
    if (is_possible && !noted->sign)
        fake->list.on_object(obj, fake->list.user);
    else if (is_possible)
        fake->watch.on_event(noted->sign == '+'   ? KI_EVENT_ADD
                             : noted->sign == '~' ? KI_EVENT_UPDATE
                                                  : KI_EVENT_DELETE,
                             obj, fake->watch.user);
    all_is_read(fake);
    ki_object_unref(obj);
    return is_possible;
}

static bool list(fake_list_watch *fake, const noted_list *noted) {
    ki_list_result result = { noted->version, noted->token, noted->remaining };
    for (size_t i = 0; i < noted->count; i++)
        if (!change(fake, &noted->changes[i]))
            return false;
    if (!fake->lists)
        return false;
    fake->lists = false;
    fake->list.on_end(&result, NULL, fake->list.user);
    return true;
}

static bool bookmark(fake_list_watch *fake, const char *version, bool ends_initial_events) {
    bool watches = fake->watches;
    bytes(fake);
    if (watches)
        fake->watch.on_bookmark(strcmp(version, "-") == 0 ? "" : version, ends_initial_events, fake->watch.user);
    all_is_read(fake);
    return watches;
}

bool fake_play(fake_list_watch *fake, const char *step) {
    const char *rest;
    noted_change noted;
    noted_list page;
    if (notation_read_list(step, &page))
        return list(fake, &page);
    if (notation_read_change(step, &noted))
        return change(fake, &noted);
    if ((rest = notation_after(step, "part "))) {
        fake->is_part = true;
        bool is_played = fake_play(fake, rest);
        fake->is_part = false;
        return is_played;
    }
    if ((rest = notation_after(step, "late "))) {
        fake->late_ns = KI_MILLISECONDS(atoi(rest));
        return true;
    }
    if (strcmp(step, "open") == 0) {
        fake->opened = true;
        if (fake->watches)
            fake->watch.on_open(fake->watch.user);
        return fake->watches;
    }
    if (strcmp(step, "byte") == 0) {
        bool watches = fake->watches;
        bytes(fake);
        all_is_read(fake);
        return watches;
    }
    if (strcmp(step, "bookmark !") == 0)
        return bad(fake, (ki_bad_object){ .key = "", .resource_version = "", .is_bookmark = true });
    if ((rest = notation_after(step, "foreign ")) && notation_read_change(rest, &noted))
        return bad(fake, (ki_bad_object){ .key = noted.key, .resource_version = noted.version, .is_foreign = true });
    if ((rest = notation_after(step, "bookmark ")))
        return bookmark(fake, rest, false);
    if ((rest = notation_after(step, "initial-end ")))
        return bookmark(fake, rest, true);
    if (strcmp(step, "type") == 0)
        return find_type(fake);
    if ((rest = notation_after(step, "namespace ")))
        return find_namespace(fake, rest);
    if (strcmp(step, "close") == 0)
        return end(fake, NULL, false);
    bool in_stream = notation_after(step, "error ") != NULL;
    if (in_stream || notation_after(step, "fail ")) {
        ki_error err = error_of(strchr(step, ' ') + 1);
        return end(fake, &err, in_stream);
    }
    return false;
}

void fake_step(fake_list_watch *fake, test_engine *engine, const char *step) {
    const char *rest;
    if ((rest = notation_after(step, "? "))) {
        notation_expect(step, fake->trace, rest);
    } else if ((rest = notation_after(step, "wait "))) {
        assert_true(test_engine_advance(engine, atoi(rest)));
    } else if ((rest = notation_after(step, "quiet "))) {
        assert_true(test_engine_advance(engine, atoi(rest)));
        notation_expect(step, fake->trace, "-");
    } else if (!fake_play(fake, step)) {
        fail_msg("the source cannot do \"%s\" now; it was asked: %s", step, fake->trace);
    }
}
