/* test_memory_adapter.c: the API server behind the transport within the process, in the engine's own time. */
#include "src/base/buffer.h"
#include "src/base/memory.h"
#include "testing/memory/adapter.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

#include <stdlib.h>

static const int64_t start_ms = 1750000000000;
static const char config_map[] = "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\"},\"data\":{\"k\":\"v\"}}";

typedef struct client {
    test_engine engine;
    kt_cluster *cluster;
    kt_memory_adapter *adapter;
    ki_transport *transport;
    ki_exchange *exchange;
    ki_buffer body;
    int status;
    int ends;
    bool failed;
    bool cancels; /* at the first data */
} client;

static client c;

static void on_head(const ki_response_head *head, void *user) {
    (void)user;
    c.status = head->status;
}

static void on_data(const char *data, size_t size, void *user) {
    (void)user;
    assert_int_equal(ki_buffer_append(&c.body, data, size), KI_OK);
    if (c.cancels)
        ki_transport_cancel(c.transport, c.exchange);
}

static void on_end(const ki_error *err, void *user) {
    (void)user;
    c.ends++;
    c.failed = err != NULL;
}

static int set_up(void **state) {
    (void)state;
    const kt_cluster_options options = { .seed = 1 };
    c = (client){ 0 };
    ki_buffer_init(&c.body, &ki_allocator_default, 0);
    return !test_engine_open(&c.engine, NULL, 1) || kt_cluster_new(&ki_allocator_default, &options, &c.cluster, NULL) ||
           kt_memory_adapter_new(c.engine.engine, c.cluster, start_ms, &c.adapter, NULL) ||
           kt_memory_transport_new(c.engine.engine, kt_memory_adapter_server(c.adapter), &c.transport, NULL);
}

static int tear_down(void **state) {
    (void)state;
    ki_transport_free(c.transport);
    kt_memory_adapter_free(c.adapter);
    kt_cluster_free(c.cluster);
    test_engine_close(&c.engine);
    ki_buffer_free(&c.body);
    return 0;
}

#define MEMORY_ADAPTER_TEST(name) TEST_WITH(set_up, tear_down, name)

static void ask(const char *target) {
    const ki_request request = { .method = "GET", .target = target };
    const ki_response_sink sink = { .on_head = on_head, .on_data = on_data, .on_end = on_end, .user = NULL };
    ki_buffer_reset(&c.body, 0);
    assert_int_equal(ki_transport_send(c.transport, &request, &sink, &c.exchange, NULL), KI_OK);
    assert_true(test_engine_settle(&c.engine));
}

static void put(void) {
    assert_int_equal(kt_cluster_put_json(c.cluster, KI_CONFIGMAPS, KI_STR(config_map),
                                         kt_memory_adapter_now_ms(c.adapter), NULL, NULL),
                     KI_OK);
}

static bool has(const char *text) {
    return c.body.data && strstr(c.body.data, text);
}

MEMORY_ADAPTER_TEST(a_list_comes_whole) {
    put();
    ask("/api/v1/configmaps");
    assert_int_equal(c.status, 200);
    assert_int_equal(c.ends, 1);
    assert_false(c.failed);
    assert_true(has("\"kind\":\"ConfigMapList\""));
    ask("/api/v1/nothing");
    assert_int_equal(c.status, 404);
    assert_int_equal(c.ends, 2);
}

MEMORY_ADAPTER_TEST(a_watch_follows_the_cluster_and_ends_in_time) {
    ask("/api/v1/configmaps?watch=true&timeoutSeconds=30");
    assert_int_equal(c.status, 200);
    assert_int_equal(c.body.size, 0);
    put();
    assert_true(test_engine_settle(&c.engine));
    assert_true(has("\"type\":\"ADDED\""));
    assert_true(test_engine_advance(&c.engine, 29000));
    assert_int_equal(c.ends, 0);
    assert_true(test_engine_advance(&c.engine, 2000));
    assert_int_equal(c.ends, 1);
    assert_false(c.failed);
}

MEMORY_ADAPTER_TEST(time_continues_with_the_engine) {
    assert_true(kt_memory_adapter_now_ms(c.adapter) == start_ms);
    assert_true(test_engine_advance(&c.engine, 1500));
    assert_true(kt_memory_adapter_now_ms(c.adapter) == start_ms + 1500);
}

MEMORY_ADAPTER_TEST(a_watch_that_is_cancelled_or_left_open_leaves_nothing) {
    ask("/api/v1/configmaps?watch=true");
    ki_transport_cancel(c.transport, c.exchange);
    put();
    assert_true(test_engine_settle(&c.engine));
    assert_int_equal(c.body.size, 0);

    c.cancels = true;
    ask("/api/v1/configmaps?watch=true"); /* cancelled in the first data */
    assert_true(has("\"ADDED\""));
    c.cancels = false;
    ask("/api/v1/configmaps?watch=true"); /* open until the end */
    assert_int_equal(c.ends, 0);
}
