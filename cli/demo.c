/* demo.c: kinformer demo: the embedded server with changing pods, and an informer that follows it over HTTP. */
#include "compare.h"
#include "flags.h"
#include "line.h"
#include "meter.h"
#include "output.h"
#include "terminal.h"

#include <kinformer-testing/faults.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    LINES_A_SECOND = 8,        /* printed changes; a person reads them */
    CATCH_UP_MS = 10000,       /* time limit for the last change to arrive */
    CATCH_UP_FAULTY_MS = 90000 /* the same with faults, when the informer can be backing off */
};

static const char last_key[] = "default/the-last-change";
static const char last_json[] = "{\"metadata\":{\"name\":\"the-last-change\",\"namespace\":\"default\"},\"spec\":"
                                "{\"containers\":[{\"name\":\"none\",\"image\":\"registry.example.com/none:1\"}]}}";

struct view {
    const char *changed_at;
};
static const ki_field fields[] = {
    KI_FIELD(struct view, changed_at, "metadata.annotations['" KI_TESTING_CHANGED_AT "']"), KI_FIELD_END
};

/* The faults of --faults, from the first sync to the end. */
static const char *const all_faults[] = {
    "cut,bytes=200000,verb=watch,every=3",
    "chunks,size=7,verb=watch,every=4",
    "error-event,event=500,code=410,verb=watch,every=5",
    "bad-event,event=100,which=1,verb=watch,every=2",
    "status,code=429,retry-after=1,verb=watch,every=6",
    "status,code=503,verb=list,percent=20",
    "again,event=50,verb=watch,percent=50",
    "too-large,verb=list,percent=10",
    "close-watches,after=1s,every=1500ms",
    "compact,after=2s,every=2s",
    "restart,down=300ms,after=1500ms,count=1",
};

typedef struct demo {
    session session;
    ki_testing_server *server;
    filter filter;     /* lets everything pass */
    terminal terminal; /* prints the lines if stdout is a terminal */
    ki_columns *columns;
    uint64_t added;
    uint64_t modified;
    uint64_t deleted;
    int64_t synced_ms;           /* duration of the first sync */
    int64_t live_ms;             /* time of the first sync; 0: not yet */
    int64_t ended_ms;            /* time of the last change; 0: not yet */
    int64_t next_line_ms;        /* time of the next printed line */
    unsigned long long injected; /* injected faults */
    bool caught_up;              /* the informer has received the last change */
    meter latency;               /* nanoseconds */
} demo;

static size_t average(size_t sum, size_t count) {
    return count ? sum / count : 0; /* NOLINT(clang-analyzer-core.*): it takes a count that is not 0 for 0 */
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- while it runs ---- */

static void note_latency(demo *d, const ki_object *obj) {
    const struct view *view = ki_object_view(obj);
    long long changed_at = 0;
    if (!d->live_ms) /* it changed before the first sync */
        return;
    if (view && view->changed_at && sscanf(view->changed_at, "%lld", &changed_at) == 1 && changed_at > 0)
        meter_add(&d->latency, now_ns() - changed_at);
}

static void show(demo *d, const ki_event *event, change_type type) {
    int64_t now_ms = session_now_ms();
    if (!d->live_ms || now_ms < d->next_line_ms)
        return;
    d->next_line_ms = now_ms + 1000 / LINES_A_SECOND;
    if (is_terminal(stdout))
        terminal_show(&d->terminal, &d->session.targets[0], event, type, (passing){ event->old, true });
    else
        print_line(&d->session.targets[0], event, type, (line_columns){ 0 });
    if (!output_flush())
        session_end(&d->session, output_status());
}

static demo *demo_of(void *target_user) {
    const target *t = target_user;
    return t->session->user;
}

static void on_add(const ki_event *event, void *user) {
    demo *d = demo_of(user);
    if (event->is_in_initial_list) {
        ((target *)user)->initial++;
        return;
    }
    if (strcmp(ki_object_key(event->obj), last_key) == 0) {
        d->caught_up = true;
        session_end(&d->session, EXIT_OK);
        return;
    }
    d->added++;
    note_latency(d, event->obj);
    show(d, event, CHANGE_ADDED);
}

static void on_update(const ki_event *event, void *user) {
    demo *d = demo_of(user);
    d->modified++;
    note_latency(d, event->obj);
    show(d, event, CHANGE_MODIFIED);
}

static void on_delete(const ki_event *event, void *user) {
    demo *d = demo_of(user);
    d->deleted++;
    show(d, event, CHANGE_DELETED);
}

static void on_synced(ki_informer *informer, void *user) {
    target *t = user;
    demo *d = demo_of(user);
    char count[32];
    (void)informer;
    t->synced = true;
    d->live_ms = session_now_ms();
    d->synced_ms = d->live_ms - d->session.started_ms;
    printf("%ssynced %s pods in %lld ms%s; changes follow, at most %d lines a second:\n\n",
           colour_text(stdout, COLOUR_BOLD), with_commas(t->initial, count), (long long)d->synced_ms,
           colour_text(stdout, COLOUR_NONE), LINES_A_SECOND);
    if (!output_flush())
        session_end(&d->session, output_status());
    for (size_t i = 0; d->session.options->with_faults && i < sizeof all_faults / sizeof all_faults[0]; i++) {
        ki_error err = KI_ERROR_INIT;
        if (ki_testing_server_add_fault(d->server, all_faults[i], NULL, &err)) {
            say("demo", "%s: %s", all_faults[i], ki_error_message(&err));
            session_end(&d->session, EXIT_FAILED);
        }
    }
}

/* Returns the number of injected faults. */
static unsigned long long count_injected(demo *d) {
    static const char field[] = "\"injected\":";
    ki_testing_text json = KI_TESTING_TEXT_INIT;
    unsigned long long sum = 0;
    if (ki_testing_server_faults(d->server, &json, NULL))
        return 0;
    for (const char *at = json.data; (at = strstr(at, field)) != NULL; at += sizeof field)
        sum += strtoull(at + sizeof field - 1, NULL, 10);
    ki_testing_text_clear(&json);
    return sum;
}

static void on_tick(session *s, int64_t now_ms) {
    demo *d = s->user;
    ki_error err = KI_ERROR_INIT;
    if (!d->live_ms)
        return;
    if (d->ended_ms) {
        if (now_ms - d->ended_ms > (s->options->with_faults ? CATCH_UP_FAULTY_MS : CATCH_UP_MS))
            session_end(s, EXIT_FAILED);
        return;
    }
    if (now_ms - d->live_ms < s->options->seconds * 1000)
        return;
    d->ended_ms = now_ms;
    d->injected = count_injected(d);
    ki_testing_server_clear_faults(d->server);
    if (ki_testing_server_set_churn(d->server, 0, &err) ||
        ki_testing_server_put(d->server, KI_PODS, last_json, 0, &err)) {
        say("demo", "%s", ki_error_message(&err));
        session_end(s, EXIT_FAILED);
    }
}

/* ---- at the end ---- */

static double milliseconds(demo *d, double percent) {
    return (double)meter_percentile(&d->latency, percent) / 1e6;
}

static int summarise(demo *d) {
    const target *t = &d->session.targets[0];
    comparison c;
    char a[32], b[32], e[32], f[32];
    size_t memory = meter_bytes();
    double seconds = (double)(d->ended_ms - d->live_ms) / 1000;
    const char *bold = colour_text(stdout, COLOUR_BOLD);
    const char *plain = colour_text(stdout, COLOUR_NONE);

    compare_cache(t->informer, d->server, &c);
    size_t objects = c.same + c.different + c.left;
    size_t server_objects = c.same + c.different + c.missing;
    bool is_equal = d->caught_up && !c.different && !c.missing && !c.left;

    printf("\n%safter %.1f s, over HTTP:%s\n", bold, seconds, plain);
    printf("  objects  %s pods, %s bytes of memory each, of %s as the server's JSON\n", with_commas(objects, a),
           with_commas(average(memory, objects), b), with_commas(average(c.server_bytes, server_objects), e));
    printf("  sync     %lld ms for the first list of %s\n", (long long)d->synced_ms, with_commas(t->initial, a));
    printf("  events   %s added, %s updated, %s deleted: %s a second\n", with_commas(d->added, a),
           with_commas(d->modified, b), with_commas(d->deleted, e),
           with_commas((unsigned long long)((double)(d->added + d->modified + d->deleted) / seconds), f));
    printf("  latency  p50 %.2f ms, p90 %.2f ms, p99 %.2f ms from the change to the handler\n", milliseconds(d, 50),
           milliseconds(d, 90), milliseconds(d, 99));
    if (d->session.options->with_faults)
        printf("  faults   %s injected, of %zu kinds\n", with_commas(d->injected, a),
               sizeof all_faults / sizeof all_faults[0]);
    if (is_equal) {
        printf("  result   %scache equals server%s: all %s objects, field by field\n",
               colour_text(stdout, COLOUR_GREEN), plain, with_commas(c.same, a));
    } else {
        printf("  result   %scache differs from server%s: %zu the same, %zu different, %zu missing, %zu deleted on the "
               "server%s%s%s\n",
               colour_text(stdout, COLOUR_RED), plain, c.same, c.different, c.missing, c.left,
               c.first[0] ? "; first " : "", c.first, d->caught_up ? "" : "; timed out waiting for the last change");
    }
    if (!output_flush())
        return output_status();
    return is_equal ? EXIT_OK : EXIT_FAILED;
}

/* `own` gets the address of the server. The session of `d` refers to `own`. */
static int serve_and_watch(demo *d, options *own) {
    const options *o = own;
    const ki_testing_server_options server = { .size = sizeof server,
                                               .pods = (size_t)o->pods,
                                               .churn = o->churn,
                                               .seed = (uint64_t)o->seed,
                                               .managed_fields = true,
                                               .stamp_changes = true };
    session *s = &d->session;
    ki_error err = KI_ERROR_INIT;
    char pods[32], churn[32];

    session_block_signals();
    if (ki_testing_server_new(&server, &d->server, &err)) {
        say("demo", "%s", ki_error_message(&err));
        return EXIT_FAILED;
    }
    own->server = ki_testing_server_url(d->server);
    own->kubeconfig = "/dev/null"; /* the user's kubeconfig is not read */
    own->all_namespaces = true;
    own->timeout_ms = 60000;
    s->options = own;
    printf("an API server in this process at %s: %s pods of some 11 KB, %s changes a second\n", own->server,
           with_commas((unsigned long long)o->pods, pods), with_commas((unsigned long long)o->churn, churn));
    if (!output_flush()) /* nobody reads: the demo ends before it connects */
        return output_status();
    int status = session_set_resources(s, (const char *const[]){ "pods", NULL });
    if (status == EXIT_OK && ki_columns_new(KI_PODS, NULL, 0, NULL, &d->columns, &err)) {
        say("demo", "%s", ki_error_message(&err));
        status = EXIT_FAILED;
    }
    d->terminal.columns = &d->columns;
    d->terminal.filter = &d->filter;
    if (status == EXIT_OK)
        status = session_start(s);
    if (status == EXIT_OK)
        status = session_run(s);
    if (d->ended_ms)
        status = summarise(d); /* otherwise a signal or a failure ended the demo */
    session_close(s);
    return status;
}

static int run_demo(const options *given) {
    static demo d;
    static options own; /* as long as `d`, whose session refers to it */
    own = *given;
    const options *o = &own;
    if (o->pods < 1 || o->churn < 1 || o->seconds < 1) {
        say("demo", "--pods, --churn and --seconds must be at least 1");
        return EXIT_USAGE;
    }
    d.session = (session){
        .command = "demo",
        .user = &d,
        .is_once = true,
        .view = fields,
        .handler = { .on_add = on_add, .on_update = on_update, .on_delete = on_delete, .on_synced = on_synced },
        .on_tick = on_tick,
        .tick_ms = 50,
        .allocator = &meter_allocator,
    };
    int status = serve_and_watch(&d, &own);
    ki_testing_server_free(d.server);
    terminal_close(&d.terminal);
    ki_columns_free(d.columns);
    meter_free(&d.latency);
    return status;
}

static void set_defaults(options *o) {
    o->pods = 2000;
    o->churn = 500;
    o->seconds = 5;
    o->seed = 1;
}

static const flag flags[] = {
    FLAG("pods", 0, FLAG_NUMBER, pods, "N", "keep about N pods (default 2000)"),
    FLAG("churn", 0, FLAG_NUMBER, churn, "RATE", "make RATE changes a second (default 500)"),
    FLAG("seconds", 0, FLAG_NUMBER, seconds, "N", "run for N seconds (default 5)"),
    FLAG("seed", 0, FLAG_NUMBER, seed, "N", "make the same changes again with the same N (default 1)"),
    FLAG("faults", 0, FLAG_BOOL, with_faults, NULL, "inject faults: errors, cut connections, lost history, restarts"),
    FLAGS_END,
};
static const flag *const tables[] = { flags, NULL };

const cli_command command_demo = {
    .name = "demo",
    .usage = "[flags]",
    .purpose = "run an informer against an embedded server, no cluster needed",
    .text = "  kinformer demo\n"
            "  kinformer demo --pods 20000 --churn 5000 --seconds 10\n"
            "  kinformer demo --faults --seconds 10\n"
            "\n"
            "Starts the embedded API server with pods that change all the time, follows it with an informer over\n"
            "HTTP on loopback, and compares the informer's cache with the server at the end.\n",
    .flags = tables,
    .set_defaults = set_defaults,
    .run = run_demo,
};
