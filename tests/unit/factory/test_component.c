/* test_component.c: what starts and stops with a factory: in which order, how long it may take, and that it may come
 * and go at any time. */
#include "src/base/error.h"
#include "src/engine/thread.h"
#include "src/factory/component.h"
#include "src/factory/factory.h"
#include "testing/memory/transport.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <kinformer/kinformer.h>

enum {
    TEXT_MAX = 512,
    PARTS = 4
};

/* --- parts: components that write down what they are asked, and do what a test says ------------------------------- */

typedef struct stage stage;

typedef struct part {
    ki_component component; /* first */
    stage *stage;
    char name; /* capital letters stop by themselves, at once */
    struct part *start_removes, *stop_removes, *cut_removes;
    bool start_stops_factory, start_kills, stop_kills, ends_in_time;
    ki_timer timer;
} part;

struct stage {
    test_engine engine; /* or `threaded` */
    ki_engine *threaded;
    ki_transport *transport;
    ki_factory *factory;
    part parts[PARTS];
    char noted[TEXT_MAX];
    ki_mutex mutex; /* of `noted` */
};

static stage s;

static void note(char what, char name) {
    ki_mutex_lock(&s.mutex);
    size_t used = strlen(s.noted);
    snprintf(s.noted + used, sizeof s.noted - used, "%s%c%c", used ? " " : "", what, name);
    ki_mutex_unlock(&s.mutex);
}

static void expect(const char *noted) {
    ki_mutex_lock(&s.mutex);
    assert_string_equal(s.noted, noted);
    s.noted[0] = '\0';
    ki_mutex_unlock(&s.mutex);
}

static void start(ki_component *component) {
    part *self = (part *)component;
    note('+', self->name);
    if (self->start_removes)
        ki_component_remove(&self->start_removes->component);
    if (self->start_stops_factory)
        ki_factory_stop(s.factory);
    if (self->start_kills)
        kill(getpid(), SIGTERM);
}

static void ended_in_time(ki_timer *timer, void *user) {
    (void)timer;
    part *self = user;
    note('=', self->name);
    ki_component_stopped(&self->component);
}

static void stop(ki_component *component) {
    part *self = (part *)component;
    note('-', self->name);
    if (self->stop_kills)
        kill(getpid(), SIGTERM);
    if (self->ends_in_time)
        ki_timer_set(&self->timer, ki_engine_now(self->timer.engine) + KI_MILLISECONDS(5));
    if (self->stop_removes)
        ki_component_remove(&self->stop_removes->component);
    else if (self->name >= 'A' && self->name <= 'Z')
        ki_component_stopped(component);
}

static void cut_off(ki_component *component) {
    const part *self = (const part *)component;
    note('!', self->name);
    if (self->cut_removes)
        ki_component_remove(&self->cut_removes->component);
}

static part *part_of(size_t index, char name, ki_component_order order) {
    part *self = &s.parts[index];
    *self = (part){ .stage = &s, .name = name };
    self->component = (ki_component){
        .order = order, .stop_timeout_ns = KI_MILLISECONDS(100), .start = start, .stop = stop, .cut_off = cut_off
    };
    return self;
}

static void add(part *self) {
    assert_int_equal(ki_factory_add_component(s.factory, &self->component, NULL), KI_OK);
}

/* --- the stage ---------------------------------------------------------------------------------------------------- */

static void serve(kt_memory_call *call, const ki_request *request, void *user) {
    (void)call, (void)request, (void)user;
}

static void abandoned(kt_memory_call *call, void *user) {
    (void)call, (void)user;
}

static int open_on(ki_engine *engine) {
    const kt_memory_server server = { serve, abandoned, NULL };
    if (ki_mutex_init(&s.mutex, NULL) || kt_memory_transport_new(engine, &server, &s.transport, NULL))
        return 1;
    return ki_factory_new_on(NULL, s.transport, &KI_FACTORY_OPTIONS(.engine = engine), &s.factory, NULL) != KI_OK;
}

static int open_stage(void **state) {
    (void)state;
    memset(&s, 0, sizeof s);
    return !test_engine_open(&s.engine, NULL, 1) || open_on(s.engine.engine);
}

static int open_threaded(void **state) {
    (void)state;
    memset(&s, 0, sizeof s);
    return ki_engine_new(NULL, &s.threaded, NULL) || open_on(s.threaded);
}

static void free_transport(void *user) {
    (void)user;
    ki_transport_free(s.transport);
}

static int close_stage(void **state) {
    (void)state;
    ki_engine *engine = s.threaded ? s.threaded : s.engine.engine;
    ki_factory_free(s.factory);
    ki_engine_call(engine, free_transport, NULL);
    ki_engine_free(engine);
    ki_mutex_destroy(&s.mutex);
    return 0;
}

#define THREADED_TEST(name) TEST_WITH(open_threaded, close_stage, name)

#define COMPONENT_TEST(name) TEST_WITH(open_stage, close_stage, name)

static void start_factory(void) {
    assert_int_equal(ki_factory_start(s.factory, NULL), KI_OK);
    assert_true(test_engine_settle(&s.engine));
}

static void stop_factory(void) {
    ki_factory_stop(s.factory);
    assert_true(test_engine_settle(&s.engine));
}

/* --- order -------------------------------------------------------------------------------------------------------- */

COMPONENT_TEST(what_works_starts_last_and_stops_first) {
    add(part_of(0, 'W', KI_COMPONENT_WORKER));
    add(part_of(1, 'S', KI_COMPONENT_SERVICE));
    add(part_of(2, 'V', KI_COMPONENT_WORKER));
    expect("");
    start_factory();
    expect("+S +W +V");
    stop_factory();
    expect("-W -V -S");
    stop_factory(); /* again */
    expect("");
}

COMPONENT_TEST(the_second_order_waits_for_all_of_the_first) {
    part *a = part_of(0, 'a', KI_COMPONENT_WORKER), *b = part_of(1, 'b', KI_COMPONENT_WORKER);
    part *c = part_of(2, 'c', KI_COMPONENT_SERVICE);
    add(a);
    add(b);
    add(c);
    start_factory();
    expect("+c +a +b");
    stop_factory();
    expect("-a -b");
    ki_component_stopped(&b->component);
    assert_true(test_engine_settle(&s.engine));
    expect("");
    ki_component_stopped(&a->component);
    ki_component_stopped(&a->component);
    assert_true(test_engine_settle(&s.engine));
    expect("-c");
    ki_component_stopped(&c->component);
    assert_true(test_engine_advance(&s.engine, 1000));
    expect("");
}

COMPONENT_TEST(what_never_started_is_stopped_too) {
    add(part_of(0, 'W', KI_COMPONENT_WORKER));
    stop_factory();
    expect("-W");
    assert_int_equal(ki_factory_add_component(s.factory, &part_of(1, 'X', KI_COMPONENT_WORKER)->component, NULL),
                     KI_ERR_STATE);
    ki_component_remove(&s.parts[1].component); /* harmless */
}

COMPONENT_TEST(what_comes_later_starts_by_its_order) {
    start_factory();
    add(part_of(0, 'W', KI_COMPONENT_WORKER));
    add(part_of(1, 'S', KI_COMPONENT_SERVICE));
    assert_true(test_engine_settle(&s.engine));
    expect("+S");
    start_factory();
    expect("+W");
    start_factory();
    expect("");
}

COMPONENT_TEST(a_component_that_stops_the_factory_in_its_start_is_stopped) {
    part *a = part_of(0, 'A', KI_COMPONENT_SERVICE);
    a->start_stops_factory = true;
    add(a);
    start_factory();
    expect("+A -A");
}

COMPONENT_TEST(a_name_is_there_once_in_an_order) {
    part *parts[3] = { part_of(0, 'A', KI_COMPONENT_WORKER), part_of(1, 'B', KI_COMPONENT_WORKER),
                       part_of(2, 'C', KI_COMPONENT_SERVICE) };
    for (int i = 0; i < 3; i++)
        parts[i]->component.name = "same";
    add(parts[0]);
    assert_int_equal(ki_factory_add_component(s.factory, &parts[1]->component, NULL), KI_ERR_EXISTS);
    add(parts[2]);
    ki_component_remove(&parts[0]->component);
    add(parts[1]);
}

/* --- time --------------------------------------------------------------------------------------------------------- */

COMPONENT_TEST(who_does_not_stop_in_time_is_cut_off) {
    part *quick = part_of(0, 'q', KI_COMPONENT_WORKER), *slow = part_of(1, 'w', KI_COMPONENT_WORKER);
    part *last = part_of(2, 'l', KI_COMPONENT_SERVICE);
    slow->component.stop_timeout_ns = KI_MILLISECONDS(300);
    add(quick);
    add(slow);
    add(last);
    start_factory();
    expect("+l +q +w");
    stop_factory();
    assert_true(test_engine_advance(&s.engine, 299));
    expect("-q -w"); /* the longest time counts for all of an order */
    assert_true(test_engine_advance(&s.engine, 1));
    expect("!q !w -l");
    ki_component_stopped(&quick->component); /* too late: nothing happens */
    assert_true(test_engine_advance(&s.engine, 99));
    expect("");
    assert_true(test_engine_advance(&s.engine, 1));
    expect("!l");
    assert_int_equal(ki_factory_shutdown(s.factory, NULL), KI_OK);
    expect("");
}

COMPONENT_TEST(without_any_time_it_is_cut_off_at_once) {
    part *a = part_of(0, 'a', KI_COMPONENT_WORKER);
    a->component.stop_timeout_ns = 0;
    add(a);
    start_factory();
    stop_factory();
    expect("+a -a !a");
}

/* --- coming and going --------------------------------------------------------------------------------------------- */

COMPONENT_TEST(a_stop_continues_when_the_one_it_waits_for_goes) {
    part *a = part_of(0, 'a', KI_COMPONENT_WORKER);
    add(a);
    add(part_of(1, 'S', KI_COMPONENT_SERVICE));
    start_factory();
    stop_factory();
    expect("+S +a -a");
    ki_component_remove(&a->component);
    ki_component_stopped(&a->component); /* harmless */
    assert_true(test_engine_settle(&s.engine));
    expect("-S");
}

COMPONENT_TEST(components_may_remove_themselves_and_others) {
    static const struct {
        int when;  /* 0: in start, 1: in stop, 2: when it is cut off */
        int which; /* 0: the first itself, 1: the second, 2: that of the other order */
        const char *noted;
    } cases[] = {
        { 0, 0, "+c +a +b -b !b -c !c" },       { 0, 1, "+c +a -a !a -c !c" },       { 0, 2, "+c +a +b -a -b !a !b" },
        { 1, 0, "+c +a +b -a -b !b -c !c" },    { 1, 1, "+c +a +b -a !a -c !c" },    { 1, 2, "+c +a +b -a -b !a !b" },
        { 2, 0, "+c +a +b -a -b !a !b -c !c" }, { 2, 1, "+c +a +b -a -b !a -c !c" }, { 2, 2, "+c +a +b -a -b !a !b" },
    };
    close_stage(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(open_stage(NULL), 0);
        part *parts[3] = { part_of(0, 'a', KI_COMPONENT_WORKER), part_of(1, 'b', KI_COMPONENT_WORKER),
                           part_of(2, 'c', KI_COMPONENT_SERVICE) };
        part **removes[] = { &parts[0]->start_removes, &parts[0]->stop_removes, &parts[0]->cut_removes };
        *removes[cases[i].when] = parts[cases[i].which];
        for (int k = 0; k < 3; k++)
            add(parts[k]);
        start_factory();
        stop_factory();
        assert_true(test_engine_advance(&s.engine, 1000));
        expect(cases[i].noted);
        close_stage(NULL);
    }
    assert_int_equal(open_stage(NULL), 0);
}

/* --- the end of the engine ---------------------------------------------------------------------------------------- */

COMPONENT_TEST(a_stepped_shutdown_cuts_off_what_still_stops) {
    add(part_of(0, 'a', KI_COMPONENT_WORKER));
    add(part_of(1, 'b', KI_COMPONENT_SERVICE));
    start_factory();
    stop_factory();
    expect("+b +a -a");
    assert_int_equal(ki_factory_shutdown(s.factory, NULL), KI_OK);
    expect("!a !b");
    assert_int_equal(ki_factory_shutdown(s.factory, NULL), KI_OK);
    expect("");
}

static void shut_down_in_response(const ki_response *response, const ki_error *err, void *user) {
    (void)response;
    (void)err;
    ki_factory_free(s.factory); /* frees nothing */
    *(ki_status *)user = ki_factory_shutdown(s.factory, NULL);
}

COMPONENT_TEST(no_callback_of_the_loop_shuts_down) {
    ki_status status = KI_OK;
    ki_pending_request *request = NULL;
    assert_int_equal(ki_client_send(ki_factory_client(s.factory),
                                    &KI_CLIENT_REQUEST(.verb = KI_CLIENT_LIST, .resource = KI_PODS),
                                    shut_down_in_response, &status, &request, NULL),
                     KI_OK);
    ki_pending_request_cancel(request);
    ki_pending_request_free(request);
    assert_true(test_engine_settle(&s.engine));
    assert_int_equal(status, KI_ERR_DEADLOCK);
}

COMPONENT_TEST(an_engine_that_ends_cuts_off_all) {
    add(part_of(0, 'a', KI_COMPONENT_WORKER));
    add(part_of(1, 'b', KI_COMPONENT_SERVICE));
    start_factory();
    ki_engine_stop(s.engine.engine);
    assert_int_equal(ki_engine_step(s.engine.engine, 0, NULL), KI_OK);
    expect("+b +a !a !b");
    stop_factory();
    expect("");
}

THREADED_TEST(a_shutdown_on_another_thread_waits_for_the_components) {
    part *a = part_of(0, 'a', KI_COMPONENT_WORKER);
    a->ends_in_time = true;
    a->component.stop_timeout_ns = KI_SECONDS(60);
    ki_timer_init(&a->timer, s.threaded, ended_in_time, a);
    add(a);
    add(part_of(1, 'B', KI_COMPONENT_SERVICE));
    assert_int_equal(ki_factory_start(s.factory, NULL), KI_OK);
    assert_int_equal(ki_engine_start(s.threaded, NULL), KI_OK);
    assert_int_equal(ki_factory_shutdown(s.factory, NULL), KI_OK);
    ki_mutex_lock(&s.mutex); /* the start may have come too late */
    const char *noted = strncmp(s.noted, "+", 1) == 0 ? "+B +a -a =a -B" : "-a =a -B";
    ki_mutex_unlock(&s.mutex);
    expect(noted);
    ki_engine_stop(s.threaded);
    assert_int_equal(ki_engine_join(s.threaded, NULL), KI_OK);
    ki_timer_close(&a->timer);
}

/* --- signals ------------------------------------------------------------------------------------------------------ */

THREADED_TEST(the_first_signal_stops_in_order) {
    part *a = part_of(0, 'a', KI_COMPONENT_WORKER);
    a->start_kills = a->ends_in_time = true;
    a->component.stop_timeout_ns = KI_SECONDS(60);
    ki_timer_init(&a->timer, s.threaded, ended_in_time, a);
    add(a);
    add(part_of(1, 'B', KI_COMPONENT_SERVICE));
    assert_int_equal(ki_factory_run(s.factory, NULL), KI_OK);
    expect("+B +a -a =a -B");
    ki_timer_close(&a->timer);
}

THREADED_TEST(the_second_signal_ends_at_once) {
    part *a = part_of(0, 'a', KI_COMPONENT_WORKER);
    a->start_kills = a->stop_kills = true;
    a->component.stop_timeout_ns = KI_SECONDS(3600);
    add(a);
    add(part_of(1, 'b', KI_COMPONENT_SERVICE));
    assert_int_equal(ki_factory_run(s.factory, NULL), KI_OK);
    expect("+b +a -a !a !b");
}

THREADED_TEST(a_run_ends_when_a_component_stops_the_factory) {
    part *a = part_of(0, 'A', KI_COMPONENT_WORKER);
    a->start_stops_factory = true;
    add(a);
    assert_int_equal(ki_factory_run(s.factory, NULL), KI_OK);
    expect("+A -A");
}

/* --- metrics ------------------------------------------------------------------------------------------------------ */

static const ki_metric own_a = { .name = "own_a", .help = "A", .type = KI_METRIC_GAUGE };
static const ki_metric own_b = { .name = "own_b", .help = "B", .type = KI_METRIC_COUNTER };

static void visit_own(const ki_component *component, const ki_metrics_visit *to) {
    const part *self = (const part *)(const void *)component;
    const ki_label label = { "part", (char[]){ self->name, '\0' } };
    ki_metrics_pass(to, &own_a, &label, 1, 1);
    ki_metrics_pass(to, &own_b, &label, 1, 2);
}

COMPONENT_TEST(samples_of_one_metric_stand_together) {
    part *a = part_of(0, 'a', KI_COMPONENT_WORKER), *b = part_of(2, 'b', KI_COMPONENT_SERVICE);
    a->component.visit_metrics = b->component.visit_metrics = visit_own;
    add(a);
    add(part_of(1, 'x', KI_COMPONENT_WORKER)); /* has none */
    add(b);
    char *text = NULL;
    assert_int_equal(ki_factory_metrics_text(s.factory, &text, NULL), KI_OK);
    assert_string_equal(text, "# TYPE own_a gauge\n# HELP own_a A.\nown_a{part=\"a\"} 1\nown_a{part=\"b\"} 1\n"
                              "# TYPE own_b counter\n# HELP own_b B.\n"
                              "own_b_total{part=\"a\"} 2\nown_b_total{part=\"b\"} 2\n# EOF\n");
    ki_metrics_text_free(text);
    ki_component_remove(&a->component);
    assert_int_equal(ki_factory_metrics_text(s.factory, &text, NULL), KI_OK);
    assert_string_equal(text, "# TYPE own_a gauge\n# HELP own_a A.\nown_a{part=\"b\"} 1\n"
                              "# TYPE own_b counter\n# HELP own_b B.\nown_b_total{part=\"b\"} 2\n# EOF\n");
    ki_metrics_text_free(text);
}

/* A thread reads metrics all the time while components come and go. */
static _Atomic bool is_over;

static void read_metrics(void *user) {
    (void)user;
    while (!is_over) {
        char *text = NULL;
        if (ki_factory_metrics_text(s.factory, &text, NULL))
            abort();
        ki_metrics_text_free(text);
    }
}

THREADED_TEST(no_component_goes_while_its_metrics_are_read) {
    enum {
        ROUNDS = 300
    };
    ki_thread reader = { .started = false };
    is_over = false;
    assert_int_equal(ki_engine_start(s.threaded, NULL), KI_OK);
    assert_int_equal(ki_thread_start(&reader, "reader", read_metrics, NULL, NULL), KI_OK);
    for (int i = 0; i < ROUNDS; i++) {
        part *parts[2];
        for (size_t k = 0; k < 2; k++) {
            parts[k] = part_of(k, 'A', KI_COMPONENT_WORKER);
            parts[k]->component.visit_metrics = visit_own;
            add(parts[k]);
        }
        for (size_t k = 0; k < 2; k++) {
            ki_component_remove(&parts[k]->component);
            memset(parts[k], 0xa5, sizeof *parts[k]);
        }
    }
    is_over = true;
    ki_thread_join(&reader);
}
