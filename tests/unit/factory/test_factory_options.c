/* test_factory_options.c: options that a factory passes on to its informers, and what it takes from the environment. */

#include <kinformer/factory.h>

#include "src/base/memory.h"
#include "src/cache/informer/informer_parts.h"
#include "src/cache/queue/queue.h"
#include "src/factory/factory.h"
#include "testing/memory/transport.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DETECTOR "KUBE_CACHE_MUTATION_DETECTOR"

typedef struct host {
    test_engine engine;
    ki_transport *transport;
    ki_factory *factory;
} host;

static void no_server(kt_memory_call *call, const ki_request *request, void *user) {
    (void)call;
    (void)request;
    (void)user;
}

static void abandoned(kt_memory_call *call, void *user) {
    (void)call;
    (void)user;
}

static void open_host_with(host *h, ki_factory_options options) {
    const kt_memory_server server = { no_server, abandoned, NULL };
    assert_true(test_engine_open(&h->engine, NULL, 1));
    assert_int_equal(kt_memory_transport_new(h->engine.engine, &server, &h->transport, NULL), KI_OK);
    options.engine = h->engine.engine;
    assert_int_equal(ki_factory_new_on(NULL, h->transport, &options, &h->factory, NULL), KI_OK);
}

static void open_host(host *h, bool detect_mutations) {
    open_host_with(h, KI_FACTORY_OPTIONS(.detect_mutations = detect_mutations));
}

static void close_host(host *h) {
    ki_factory_free(h->factory);
    ki_transport_free(h->transport);
    test_engine_close(&h->engine);
}

TEST(mutations_are_detected_where_option_or_environment_asks_for_it) {
    static const struct {
        const char *environment;
        bool option, detects;
    } cases[] = {
        { NULL, false, false },  { NULL, true, true }, { "true", false, true },
        { "1", false, true },    { "T", false, true }, { "false", false, false },
        { "false", true, true }, { "", false, false }, { "yes", false, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        host h;
        ki_informer *before = NULL, *after = NULL;
        if (cases[i].environment)
            setenv(DETECTOR, cases[i].environment, 1);
        else
            unsetenv(DETECTOR);
        open_host(&h, cases[i].option);
        assert_int_equal(ki_factory_informer(h.factory, KI_PODS, NULL, &before, NULL), KI_OK);
        assert_int_equal(before->options.factory->detect_mutations, cases[i].detects);
        setenv(DETECTOR, "true", 1); /* read when the factory was made, and not again */
        assert_int_equal(ki_factory_informer(h.factory, KI_NODES, NULL, &after, NULL), KI_OK);
        assert_int_equal(after->options.factory->detect_mutations, cases[i].detects);
        close_host(&h);
    }
    unsetenv(DETECTOR);
}

TEST(each_informer_has_the_options_that_the_factory_alone_has) {
    host h;
    ki_informer *informers[2];
    open_host_with(&h, KI_FACTORY_OPTIONS(.backoff_first_ms = 50, .backoff_longest_ms = 5000, .keep_fetched_ms = 7,
                                          .keep_fetched_max = 8, .object_limit = 9, .no_streaming_list = true));
    assert_int_equal(ki_factory_informer(h.factory, KI_PODS, NULL, &informers[0], NULL), KI_OK);
    assert_int_equal(ki_factory_informer(h.factory, KI_NODES, NULL, &informers[1], NULL), KI_OK);
    for (size_t i = 0; i < sizeof informers / sizeof *informers; i++) {
        const ki_factory_options *options = informers[i]->options.factory;
        assert_int_equal(options->backoff_first_ms, 50);
        assert_int_equal(options->backoff_longest_ms, 5000);
        assert_int_equal(options->keep_fetched_ms, 7);
        assert_int_equal(options->keep_fetched_max, 8);
        assert_int_equal(options->object_limit, 9);
        assert_true(options->no_streaming_list);
    }
    close_host(&h);
}

TEST(a_backoff_that_contradicts_itself_is_an_error_that_names_the_option) {
    static const struct {
        int64_t first_ms, longest_ms;
        const char *message;
    } cases[] = {
        { -1, 0, ".backoff_first_ms -1: not 0 to a day" },
        { 0, -1, ".backoff_longest_ms -1: not 0 to a day" },
        { 86400001, 0, ".backoff_first_ms 86400001: not 0 to a day" },
        { 0, INT64_MAX, ".backoff_longest_ms 9223372036854775807: not 0 to a day" },
        { 2000, 1000, ".backoff_longest_ms 1000 is shorter than .backoff_first_ms 2000" },
    };
    host h;
    open_host(&h, false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_error err = KI_ERROR_INIT;
        ki_factory *factory = NULL;
        char want[128];
        const ki_factory_options options =
            KI_FACTORY_OPTIONS(.engine = h.engine.engine, .backoff_first_ms = cases[i].first_ms,
                               .backoff_longest_ms = cases[i].longest_ms);
        snprintf(want, sizeof want, "ki_factory_options: %s", cases[i].message);
        assert_int_equal(ki_factory_new_on(NULL, h.transport, &options, &factory, &err), KI_ERR_INVALID);
        assert_string_equal(err.message, want);
    }
    close_host(&h);
}

TEST(an_informer_has_the_queue_that_it_was_asked_for) {
    ki_queue *queue = NULL;
    assert_int_equal(ki_queue_new(NULL, &queue, NULL), KI_OK);
    host h;
    ki_error err = KI_ERROR_INIT;
    ki_informer *pods = NULL, *nodes = NULL, *services = NULL;
    open_host(&h, false);
    assert_int_equal(ki_factory_informer(h.factory, KI_PODS, NULL, &pods, NULL), KI_OK);
    const ki_informer_options by_key = KI_INFORMER_OPTIONS(.queue = KI_QUEUE_DELTA_FIFO);
    assert_int_equal(ki_factory_informer(h.factory, KI_NODES, &by_key, &nodes, NULL), KI_OK);
    assert_ptr_equal(pods->work.queue->ops, queue->ops);
    assert_ptr_not_equal(nodes->work.queue->ops, queue->ops);
    const ki_informer_options unknown = KI_INFORMER_OPTIONS(.queue = (ki_queue_kind)2);
    assert_int_equal(ki_factory_informer(h.factory, KI_SERVICES, &unknown, &services, &err), KI_ERR_INVALID);
    assert_string_equal(err.message, ".queue: 2 is no kind of queue");
    assert_null(services);
    close_host(&h);
    queue->ops->free(queue);
}

TEST(of_what_no_server_lists_there_is_no_informer) {
    host h;
    ki_informer *informer = NULL;
    ki_error err = KI_ERROR_INIT;
    open_host(&h, false);
    assert_int_equal(ki_factory_informer(h.factory, KI_TOKENREVIEWS, NULL, &informer, &err), KI_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "tokenreviews cannot be listed: "));
    assert_null(informer);
    assert_int_equal(ki_factory_informer(h.factory, KI_COMPONENTSTATUSES, NULL, &informer, NULL), KI_OK);
    close_host(&h);
}

/* Events only for warnings, pods of a node, and an own period for nodes. */
static void tweak(const ki_resource *resource, ki_informer_options *options, void *user) {
    int *calls = user;
    ++*calls;
    if (strcmp(resource->plural, "events") == 0)
        options->field_selector = "type=Warning";
    else if (strcmp(resource->plural, "nodes") == 0)
        options->resync_ms = 60000;
    else if (strcmp(resource->plural, "widgets") == 0 && strcmp(resource->group, "example.com") == 0)
        options->label_selector = "by=name";
    else if (strcmp(resource->plural, "secrets") == 0)
        options->page_size = -1;
}

TEST(a_factory_changes_the_options_of_its_informers) {
    host h;
    int calls = 0;
    ki_informer *events = NULL, *again = NULL, *nodes = NULL, *pods = NULL, *widgets = NULL;
    ki_error err = KI_ERROR_INIT;
    open_host_with(&h, KI_FACTORY_OPTIONS(.namespace_name = "shop", .resync_ms = 5000, .tweak = tweak, .user = &calls));
    assert_int_equal(ki_factory_informer(h.factory, KI_EVENTS, NULL, &events, NULL), KI_OK);
    assert_string_equal(events->options.selection->name, "events in shop (type=Warning)");
    assert_int_equal(events->options.given.resync_ms, 5000);
    const ki_informer_options same = KI_INFORMER_OPTIONS(.field_selector = "type=Warning");
    assert_int_equal(ki_factory_informer(h.factory, KI_EVENTS, &same, &again, NULL), KI_OK);
    assert_ptr_equal(again, events);
    assert_int_equal(ki_factory_informer(h.factory, KI_NODES, NULL, &nodes, NULL), KI_OK);
    assert_int_equal(nodes->options.given.resync_ms, 60000);
    assert_int_equal(ki_factory_informer(h.factory, KI_PODS, &KI_INFORMER_OPTIONS(.resync_ms = 1000), &pods, NULL),
                     KI_OK);
    assert_int_equal(pods->options.given.resync_ms, 1000);
    assert_int_equal(ki_factory_informer_by_name(h.factory, "widgets.example.com", NULL, &widgets, NULL), KI_OK);
    assert_string_equal(widgets->options.selection->label_selector, "by=name");
    assert_int_equal(calls, 5);
    /* What it makes of them is checked as what the program asks for. */
    assert_int_equal(ki_factory_informer(h.factory, KI_SECRETS, NULL, &again, &err), KI_ERR_INVALID);
    assert_int_equal(ki_factory_informer(h.factory, NULL, NULL, &again, &err), KI_ERR_INVALID);
    close_host(&h);
}

static ki_status keep(ki_object *obj, ki_object **ret_obj, void *user, ki_error *err) {
    (void)user, (void)err;
    *ret_obj = ki_object_ref(obj);
    return KI_OK;
}

static ki_status keep_too(ki_object *obj, ki_object **ret_obj, void *user, ki_error *err) {
    return keep(obj, ret_obj, user, err);
}

TEST(a_factory_s_transform_is_that_of_informers_without_one) {
    host h;
    int user;
    ki_informer *pods = NULL, *nodes = NULL;
    open_host_with(&h, KI_FACTORY_OPTIONS(.transform = keep, .user = &user));
    assert_int_equal(ki_factory_informer(h.factory, KI_PODS, NULL, &pods, NULL), KI_OK);
    assert_int_equal(ki_factory_informer(h.factory, KI_NODES, NULL, &nodes, NULL), KI_OK);
    assert_int_equal(ki_informer_set_transform(nodes, keep_too, NULL, NULL), KI_OK);
    assert_true(pods->settings.transform.transform == keep && pods->settings.transform.user == &user);
    assert_true(nodes->settings.transform.transform == keep_too && nodes->settings.transform.user == NULL);
    close_host(&h);
}

/* Where maps are walked their order follows from the seed: a simulation repeats itself. */
TEST(the_order_of_things_follows_from_the_engine_s_seed_alone) {
    host h[3];
    ki_informer *pods[3];
    for (int i = 0; i < 3; i++) {
        open_host(&h[i], false);
        assert_int_equal(ki_factory_informer(h[i].factory, KI_PODS, NULL, &pods[i], NULL), KI_OK);
    }
    assert_true(pods[0]->options.seed == pods[1]->options.seed && pods[1]->options.seed == pods[2]->options.seed);
    for (int i = 0; i < 3; i++)
        close_host(&h[i]);
}

/* What a server would refuse, again and again, or what would lead to another path. */
TEST(what_cannot_be_asked_for_is_rejected_at_once) {
    static const struct {
        const char *group, *version, *plural, *namespace_name, *labels, *fields;
        ki_status status;
    } rows[] = {
        { "", "v1", "pods", "default", "app=web,tier in (a, b),!x", "metadata.name=a,spec.nodeName!=b\\,c", KI_OK },
        { "example.com", "v1beta1", "foos", NULL, NULL, "", KI_OK },
        { "", "v1", "pods", "..", NULL, NULL, KI_ERR_INVALID },
        { "", "v1", "pods", "a b", NULL, NULL, KI_ERR_INVALID },
        { "", "v1", "pods", "a/b", NULL, NULL, KI_ERR_INVALID },
        { "", "v1", "pods", "a\r\nb", NULL, NULL, KI_ERR_INVALID },
        { "", "v1", "pods", "a.b", NULL, NULL, KI_ERR_INVALID },
        { "", "v1", "pods", "-a", NULL, NULL, KI_ERR_INVALID },
        { "", "v1", "..", NULL, NULL, NULL, KI_ERR_INVALID },
        { "", "v1", "", NULL, NULL, NULL, KI_ERR_INVALID },
        { "", "", "pods", NULL, NULL, NULL, KI_ERR_INVALID },
        { "", "v1/x", "pods", NULL, NULL, NULL, KI_ERR_INVALID },
        { "a..", "v1", "pods", NULL, NULL, NULL, KI_ERR_INVALID },
        { "a%2f", "v1", "pods", NULL, NULL, NULL, KI_ERR_INVALID },
        { "", "v1", "pods", NULL, "app in (a", NULL, KI_ERR_PARSE },
        { "", "v1", "pods", NULL, "=a", NULL, KI_ERR_PARSE },
        { "", "v1", "pods", NULL, NULL, "metadata.name", KI_ERR_PARSE },
        { "", "v1", "pods", NULL, NULL, "=a", KI_ERR_PARSE },
        { "", "v1", "pods", NULL, NULL, "a=b=c", KI_ERR_PARSE },
        { "", "v1", "pods", NULL, NULL, "a=b\\", KI_ERR_PARSE },
        { "", "v1", "pods", NULL, NULL, "a=b\\n", KI_ERR_PARSE },
    };
    host h;
    open_host(&h, false);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const ki_resource resource = { rows[i].group, rows[i].version, rows[i].plural, "Thing", true };
        ki_error err = KI_ERROR_INIT;
        ki_informer *informer = NULL;
        ki_status status = ki_factory_informer(h.factory, &resource,
                                               &KI_INFORMER_OPTIONS(.namespace_name = rows[i].namespace_name,
                                                                    .label_selector = rows[i].labels,
                                                                    .field_selector = rows[i].fields),
                                               &informer, &err);
        if (status != rows[i].status)
            fail_msg("row %zu: %s: %s", i, ki_status_name(status), ki_error_message(&err));
        assert_int_equal(informer == NULL, status != KI_OK);
    }
    close_host(&h);
}
