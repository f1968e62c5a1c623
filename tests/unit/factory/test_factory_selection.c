/* test_factory_selection.c: an informer is notified of the objects of its namespace and selectors, of any resource, and
 * of no others; against the API server within the process, in the engine's time. */

#include <kinformer/factory.h>

#include "src/factory/factory.h"
#include "testing/memory/adapter.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

#include <stdio.h>
#include <string.h>

enum {
    TEXT = 1024
};

typedef struct host {
    test_engine engine;
    kt_cluster *cluster;
    kt_memory_adapter *adapter;
    ki_transport *transport;
    ki_factory *factory;
    int puts;
    char notes[TEXT]; /* "+ns-foo/name-foo~ns-foo/name-foo-ns-foo/name-foo" */
} host;

static void add_note(host *h, char sign, const ki_object *obj) {
    size_t used = strlen(h->notes);
    snprintf(h->notes + used, sizeof h->notes - used, "%s%c%s", used ? " " : "", sign, ki_object_key(obj));
}

static void on_add(const ki_event *e, void *user) {
    add_note(user, '+', e->obj);
}

static void on_update(const ki_event *e, void *user) {
    add_note(user, '~', e->obj);
}

static void on_delete(const ki_event *e, void *user) {
    add_note(user, '-', e->obj);
}

static const ki_handler handler = { .on_add = on_add, .on_update = on_update, .on_delete = on_delete };

/* As a program has it that knows group, version and resource only when it runs. */
static const ki_resource deployments = { "apps", "v1", "deployments", "Deployment", true };

static void open_host(host *h, bool streams) {
    const kt_cluster_options options = { .seed = 1 };
    memset(h, 0, sizeof *h);
    assert_true(test_engine_open(&h->engine, NULL, 1));
    assert_int_equal(kt_cluster_new(ki_engine_allocator(h->engine.engine), &options, &h->cluster, NULL), KI_OK);
    assert_int_equal(kt_memory_adapter_new(h->engine.engine, h->cluster, 1750000000000, &h->adapter, NULL), KI_OK);
    assert_int_equal(
        kt_memory_transport_new(h->engine.engine, kt_memory_adapter_server(h->adapter), &h->transport, NULL), KI_OK);
    assert_int_equal(ki_factory_new_on(NULL, h->transport,
                                       &KI_FACTORY_OPTIONS(.engine = h->engine.engine, .no_streaming_list = !streams),
                                       &h->factory, NULL),
                     KI_OK);
}

static void close_host(host *h) {
    ki_factory_free(h->factory);
    ki_transport_free(h->transport);
    kt_memory_adapter_free(h->adapter);
    kt_cluster_free(h->cluster);
    test_engine_close(&h->engine);
}

static void put(host *h, const char *ns, const char *name, const char *environment) {
    char json[TEXT];
    int size = snprintf(json, sizeof json,
                        "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\",\"labels\":{\"environment\":\"%s\"}},"
                        "\"spec\":{\"replicas\":%d}}",
                        ns, name, environment, h->puts++);
    const ki_str text = { json, (size_t)size };
    assert_int_equal(
        kt_cluster_put_json(h->cluster, &deployments, text, kt_memory_adapter_now_ms(h->adapter), NULL, NULL), KI_OK);
    assert_true(test_engine_settle(&h->engine));
}

static void take_out(host *h, const char *ns, const char *name) {
    assert_int_equal(kt_cluster_delete(h->cluster, &deployments, ns, name, kt_memory_adapter_now_ms(h->adapter), NULL),
                     KI_OK);
    assert_true(test_engine_settle(&h->engine));
}

static void expect(host *h, size_t i, const char *notes) {
    if (strcmp(h->notes, notes) != 0)
        fail_msg("case %zu: heard \"%s\", not \"%s\"", i, h->notes, notes);
    h->notes[0] = '\0';
}

TEST(an_informer_is_notified_of_its_namespace_and_selectors_alone) {
    static const struct {
        const char *namespace_name, *label_selector, *field_selector;
        bool matches;
    } cases[] = {
        { "", NULL, NULL, true },
        { "ns-bar", NULL, NULL, false },
        { "ns-foo", NULL, NULL, true },
        { "ns-foo", NULL, "metadata.name=name-bar", false },
        { "ns-foo", NULL, "metadata.name=name-foo", true },
        { "ns-foo", "environment=production", NULL, false },
        { "ns-foo", "environment=test", NULL, true },
        { "ns-foo", "environment=test", "metadata.name=name-bar", false },
        { "ns-foo", "environment=test", "metadata.name=name-foo", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int variant = 0; variant < 4; variant++) {
            host h;
            ki_informer *informer = NULL;
            const ki_informer_options options =
                KI_INFORMER_OPTIONS(.namespace_name = cases[i].namespace_name,
                                    .label_selector = cases[i].label_selector,
                                    .field_selector = cases[i].field_selector, .queue = variant & 1);
            open_host(&h, variant & 2);
            put(&h, "ns-foo", "other", "other"); /* of no selector */
            assert_int_equal(ki_factory_informer(h.factory, &deployments, &options, &informer, NULL), KI_OK);
            assert_int_equal(ki_informer_add_handler(informer, &handler, &h, NULL, NULL, NULL), KI_OK);
            assert_int_equal(ki_factory_start(h.factory, NULL), KI_OK);
            assert_true(test_engine_settle(&h.engine));
            assert_true(ki_informer_has_synced(informer));
            bool selects = cases[i].label_selector || cases[i].field_selector;
            expect(&h, i, cases[i].matches && !selects ? "+ns-foo/other" : "");
            put(&h, "ns-foo", "name-foo", "test");
            expect(&h, i, cases[i].matches ? "+ns-foo/name-foo" : "");
            put(&h, "ns-foo", "name-foo", "test");
            expect(&h, i, cases[i].matches ? "~ns-foo/name-foo" : "");
            take_out(&h, "ns-foo", "name-foo");
            expect(&h, i, cases[i].matches ? "-ns-foo/name-foo" : "");
            close_host(&h);
        }
    }
}

/* A change into or out of the selection is told as such by the server. */
TEST(an_object_comes_and_goes_with_its_labels) {
    for (ki_queue_kind kind = KI_QUEUE_IN_ORDER; kind <= KI_QUEUE_DELTA_FIFO; kind++) {
        host h;
        ki_informer *informer = NULL;
        open_host(&h, true);
        put(&h, "ns-foo", "a", "production");
        assert_int_equal(ki_factory_informer(h.factory, &deployments,
                                             &KI_INFORMER_OPTIONS(.label_selector = "environment=test", .queue = kind),
                                             &informer, NULL),
                         KI_OK);
        assert_int_equal(ki_informer_add_handler(informer, &handler, &h, NULL, NULL, NULL), KI_OK);
        assert_int_equal(ki_factory_start(h.factory, NULL), KI_OK);
        assert_true(test_engine_settle(&h.engine));
        put(&h, "ns-foo", "a", "test");
        put(&h, "ns-foo", "a", "production");
        put(&h, "ns-foo", "a", "other");
        put(&h, "ns-foo", "a", "test");
        expect(&h, 0, "+ns-foo/a -ns-foo/a +ns-foo/a");
        close_host(&h);
    }
}
