/* top.c: kinformer top: a live table on a terminal. What it shows and what keys do: top/model.h; this file feeds it. */
#include "flags.h"
#include "line.h"
#include "lines/event_line.h"
#include "output.h"
#include "screen/screen.h"
#include "session/definition.h"
#include "session/session.h"
#include "top/inquiry.h"
#include "top/page.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TICK_MS = 100, /* at most one picture in this time */
    SECOND_MS = 1000
};

static const char *const default_resources[] = { "pods,deployments,statefulsets,daemonsets,jobs,nodes", NULL };

typedef struct top {
    session session;
    options options; /* the command line's; later without messages about states */
    ki_columns *columns[TARGETS_MAX];
    tab tabs[TARGETS_MAX];
    size_t tab_count; /* open tabs */
    model model;
    inquiry *inquiry;
    screen *screen;
    canvas *canvas;
    bool is_dirty;
    bool has_more_keys; /* on_input has left some */
    bool needs_settle;  /* for keys since the last model_settle */
    int64_t drawn_ms;
    int64_t next_second_ms;
} top;

/* ---- failures ---- */

static void end_with(session *s, ki_status status, const ki_error *err) {
    say("top", "%s", err->code ? ki_error_message(err) : ki_status_name(status));
    session_end(s, EXIT_FAILED);
}

/* ---- the informers' handlers ---- */

/* A row refers to the cache's object, which is packed, unlike that of the event. */
static void take(target *t, const ki_event *event, change_type type) {
    top *p = t->session->user;
    ki_object *kept = type == CHANGE_DELETED ? NULL : ki_informer_get(t->informer, ki_object_key(event->obj));
    ki_error err = KI_ERROR_INIT;
    char clock[LINE_CLOCK_MAX];
    const moment at = { .now_ms = session_now_ms(), .wall_ms = wall_now_ms() };
    line_clock(clock);
    const tab_change change = { .type = type,
                                .old = event->old,
                                .obj = event->obj,
                                .kept = kept ? kept : event->obj,
                                .is_initial = event->is_in_initial_list,
                                .clock = clock };
    ki_status status = tab_take(&p->tabs[t - t->session->targets], &change, at, &err);
    ki_object_unref(kept);
    if (status && !t->session->done)
        end_with(t->session, status, &err);
}

static void on_add(const ki_event *event, void *user) {
    take(user, event, CHANGE_ADDED);
}

static void on_update(const ki_event *event, void *user) {
    take(user, event, CHANGE_MODIFIED);
}

static void on_delete(const ki_event *event, void *user) {
    take(user, event, CHANGE_DELETED);
}

static void on_synced(ki_informer *informer, void *user) {
    target *t = user;
    (void)informer;
    t->synced = true;
}

/* ---- pictures ---- */

static ki_status settle(top *p, moment at, ki_error *err) {
    p->needs_settle = false;
    return model_settle(&p->model, at, err);
}

static ki_status draw(top *p, ki_error *err) {
    const moment at = { .now_ms = session_now_ms(), .wall_ms = wall_now_ms() };
    ki_status status = settle(p, at, err);
    if (!status)
        status = inquiry_select(p->inquiry, p->model.has_pane ? model_selected(&p->model) : NULL, at.now_ms);
    if (!status)
        status = inquiry_read(p->inquiry, &p->model.details, err);
    if (!status && !canvas_begin(p->canvas, screen_width(p->screen), screen_height(p->screen)))
        status = KI_ERR_NO_MEMORY;
    if (!status)
        status = page_draw(&p->model, p->canvas, at, err);
    if (!status)
        p->is_dirty = !screen_draw(p->screen, p->canvas); /* a slow terminal gets the rest with the next picture */
    p->drawn_ms = at.now_ms;
    return status;
}

static void draw_if_dirty(session *s, int64_t now_ms) {
    top *p = s->user;
    ki_error err = KI_ERROR_INIT;
    p->is_dirty = inquiry_has_changed(p->inquiry) || p->is_dirty || model_is_dirty(&p->model, now_ms);
    if (s->done || !p->is_dirty || now_ms < p->drawn_ms + TICK_MS)
        return;
    ki_status status = draw(p, &err);
    if (status)
        end_with(s, status, &err);
}

/* Takes the health of the informers, each second. */
static void tick_tabs(top *p) {
    for (size_t i = 0; i < p->tab_count; i++) {
        ki_health health;
        ki_informer_health(p->session.targets[i].informer, &health);
        tab_tick(&p->tabs[i], &health);
    }
}

/* ---- the keyboard ---- */

static ki_status take_key(top *p, int pressed, ki_error *err) {
    const moment at = { .now_ms = session_now_ms(), .wall_ms = wall_now_ms() };
    ki_status status = KI_OK;
    if (p->needs_settle && model_key_needs_lines(&p->model, pressed))
        status = settle(p, at, err);
    if (!status)
        status = model_key(&p->model, pressed, err);
    p->is_dirty = p->needs_settle = true;
    if (p->model.redraws)
        screen_redraw(p->screen);
    if (p->model.suspends)
        screen_suspend(p->screen);
    p->model.redraws = p->model.suspends = false;
    if (p->model.is_done)
        session_end(&p->session, EXIT_OK);
    return status;
}

/* Takes the keys that have come, for a limited time: signals, changes and pictures do not wait for a pasted text. */
static void on_input(session *s) {
    top *p = s->user;
    ki_error err = KI_ERROR_INIT;
    ki_status status = KI_OK;
    const int64_t end_ms = session_now_ms() + TICK_MS;
    int pressed = KEY_NONE_YET;
    p->has_more_keys = false;
    while (!s->done && !status && !p->has_more_keys && (pressed = screen_key(p->screen)) != KEY_NONE_YET) {
        status = take_key(p, pressed, &err);
        p->has_more_keys = session_now_ms() >= end_ms;
    }
    if (status)
        end_with(s, status, &err);
    draw_if_dirty(s, session_now_ms());
}

/* ---- time ---- */

static void on_tick(session *s, int64_t now_ms) {
    top *p = s->user;
    ki_error err = KI_ERROR_INIT;
    if (now_ms >= p->next_second_ms) {
        tick_tabs(p);
        p->next_second_ms = now_ms + SECOND_MS;
        p->is_dirty = true;
    }
    ki_status status = inquiry_select(p->inquiry, p->model.has_pane ? model_selected(&p->model) : NULL, now_ms);
    if (status)
        end_with(s, status, &err);
    if (p->has_more_keys && !s->done)
        on_input(s);
    draw_if_dirty(s, now_ms);
}

/* ---- the command ---- */

/* Opens a tab for each target, once its columns are known. */
static int open_tabs(session *s) {
    top *p = s->user;
    ki_error err = KI_ERROR_INIT;
    if (definitions_read(s, p->columns, &err)) {
        say("top", "%s", ki_error_message(&err));
        return EXIT_FAILED;
    }
    p->options.quiet = true; /* from here on the health has what a message would say */
    for (size_t i = 0; i < s->target_count && !s->done; i++) {
        const target *t = &s->targets[i];
        const tab_options is = { .plural = t->resource.plural,
                                 .kind = t->resource.kind,
                                 .columns = p->columns[i],
                                 .has_namespaces = t->resource.namespaced && s->options->all_namespaces,
                                 .is_event = is_event_resource(&t->resource) };
        p->tab_count++;
        if (tab_open(&p->tabs[i], &is))
            continue;
        say("top", "out of memory");
        return EXIT_FAILED;
    }
    return EXIT_OK;
}

static int open_screen(top *p) {
    session *s = &p->session;
    char message[SCREEN_MESSAGE_MAX];
    p->inquiry = inquiry_new(s->config, s->engine);
    p->canvas = canvas_new();
    if (!p->inquiry || !p->canvas) {
        say("top", "out of memory");
        return EXIT_FAILED;
    }
    p->screen = screen_open(message);
    if (!p->screen) {
        say("top", "%s", message);
        return EXIT_FAILED;
    }
    model_open(&p->model, p->tabs, p->tab_count, ki_config_server(s->config));
    s->input_fd = screen_fd(p->screen);
    output_hold_messages();
    return EXIT_OK;
}

static void close_all(top *p) {
    screen_close(p->screen);
    output_release_messages();
    model_close(&p->model);
    inquiry_free(p->inquiry);
    canvas_free(p->canvas);
    for (size_t i = 0; i < p->tab_count; i++)
        tab_close(&p->tabs[i]);
    definitions_free(p->columns);
    session_close(&p->session);
}

static int show(const options *o) {
    static top p; /* too large for the stack */
    session *s = &p.session;
    p.options = *o;
    *s = (session){ .command = "top",
                    .uses_discovery = true,
                    .options = &p.options,
                    .user = &p,
                    .on_resolved = open_tabs,
                    .on_tick = on_tick,
                    .tick_ms = TICK_MS,
                    .on_input = on_input,
                    .input_fd = -1,
                    .handler = {
                        .on_add = on_add, .on_update = on_update, .on_delete = on_delete, .on_synced = on_synced } };
    int status = session_set_resources(s, o->arguments);
    if (status == EXIT_OK)
        status = session_start(s);
    if (status == EXIT_OK && !s->done)
        status = open_screen(&p);
    if (status == EXIT_OK)
        status = session_run(s);
    close_all(&p);
    return status;
}

static int run_top(const options *o) {
    options own = *o;
    if (!own.arguments[0])
        memcpy(own.arguments, default_resources, sizeof default_resources);
    if (!is_terminal(stdout))
        return command_get.run(&own); /* the table, once */
    if (!isatty(STDIN_FILENO)) {
        say("top", "standard input is no terminal, which has the keys; kinformer watch needs none");
        return EXIT_FAILED;
    }
    return show(&own);
}

static void set_defaults(options *o) {
    o->allow_missing_keys = true;
    o->server_print = true;
}

static const flag *const tables[] = { flags_selection, flags_connection, NULL };

const cli_command command_top = {
    .name = "top",
    .usage = "[RESOURCE[,RESOURCE...]] [NAME...] [flags]",
    .purpose = "show objects as a live table on a terminal",
    .text =
        "  kinformer top -A\n"
        "  kinformer top pods,deployments -n shop\n"
        "  kinformer top nodes\n"
        "  kinformer top certificates.cert-manager.io -A -l team=shop\n"
        "\n"
        "The rows change as the cluster does, without polling: changed cells are lit for two seconds. Each resource "
        "is\n"
        "a tab; the last one counts all objects by status, the worst first. Without a resource: pods, deployments,\n"
        "stateful sets, daemon sets, jobs and nodes. The pane below has the selected object's owners, Events and last\n"
        "changes; Enter shows its YAML. / filters, < and > sort, g groups by namespace, node or owner, ? shows all "
        "keys,\n"
        "q quits. It only reads. In a pipe it prints the table once, as get does.\n",
    .max_arguments = MAX_ARGUMENTS,
    .flags = tables,
    .set_defaults = set_defaults,
    .run = run_top,
};
