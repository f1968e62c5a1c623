/* test_informer_by_name.c: an informer of a custom resource whose definition is created while the informer waits, on
 * the embedded server, over real sockets. */
#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

#include "tests/support/patience.h"
#include "tests/support/test.h"

#include <semaphore.h>
#include <string.h>

static const char definition[] =
    "{\"metadata\":{\"name\":\"widgets.example.com\"},\"spec\":{\"group\":\"example.com\",\"scope\":\"Namespaced\","
    "\"names\":{\"plural\":\"widgets\",\"singular\":\"widget\",\"kind\":\"Widget\",\"listKind\":\"WidgetList\"},"
    "\"versions\":[{\"name\":\"v1beta1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":"
    "\"object\"}}}]}}";

static const char late[] = "{\"apiVersion\":\"example.com/"
                           "v1beta1\",\"kind\":\"Widget\",\"metadata\":{\"name\":\"late\",\"namespace\":\"default\"}}";
static const ki_resource widgets = { "example.com", "v1beta1", "widgets", "Widget", true };

#define CHECK(call) \
    do { \
        ki_error err_ = KI_ERROR_INIT; \
        ki_error *err = &err_; \
        if (call) \
            fail_msg("%s", ki_error_message(err)); \
    } while (0)

typedef struct watcher {
    sem_t blocked, added;
    char message[KI_HEALTH_MESSAGE_MAX];
} watcher;

static void on_state(ki_informer *informer, const ki_health *health, void *user) {
    (void)informer;
    watcher *self = user;
    if (health->state != KI_STATE_BLOCKED || self->message[0])
        return;
    memcpy(self->message, health->message, sizeof self->message);
    sem_post(&self->blocked);
}

static void on_add(const ki_event *event, void *user) {
    watcher *self = user;
    if (strcmp(ki_object_key(event->obj), "default/late") == 0)
        sem_post(&self->added);
}

TEST(an_informer_finds_a_resource_that_is_defined_after_its_start) {
    ki_testing_server *server = NULL;
    ki_config *config = NULL;
    ki_factory *factory = NULL;
    ki_informer *informer = NULL;
    watcher self = { .message = "" };
    ki_sync_results results;
    const ki_handler handler = { .on_add = on_add };
    sem_init(&self.blocked, 0, 0);
    sem_init(&self.added, 0, 0);
    CHECK(ki_testing_server_new(NULL, &server, err));
    CHECK(ki_config_new(&KI_CONFIG_OPTIONS(.server = ki_testing_server_url(server)), &config, err));
    CHECK(ki_factory_new(config, NULL, &factory, err));
    CHECK(ki_factory_informer_by_name(factory, "widgets.example.com", NULL, &informer, err));
    CHECK(ki_informer_set_state_handler(informer, on_state, &self, err));
    CHECK(ki_informer_add_handler(informer, &handler, &self, NULL, NULL, err));
    CHECK(ki_factory_start(factory, err));
    await_semaphore(&self.blocked);
    assert_string_equal(self.message, "the server has no resource widgets.example.com: the CRD is not installed");
    assert_int_equal(ki_factory_wait_for_sync(factory, 0, &results, NULL), KI_ERR_TIMEOUT);
    assert_int_equal(results.count, 1);
    assert_non_null(strstr(results.results[0].cause.message, self.message));
    ki_sync_results_free(&results);
    ki_client *client = ki_factory_client(factory);
    CHECK(ki_client_create(client, KI_CUSTOMRESOURCEDEFINITIONS, ki_unstructured_new(definition), NULL, NULL, err));
    CHECK(ki_client_create(client, &widgets, ki_unstructured_new(late), NULL, NULL, err));
    await_semaphore(&self.added);
    CHECK(ki_factory_wait_for_sync(factory, -1, NULL, err));
    assert_string_equal(ki_informer_resource(informer)->version, "v1beta1");
    assert_string_equal(ki_informer_resource(informer)->kind, "Widget");
    ki_factory_free(factory);
    ki_config_free(config);
    ki_testing_server_free(server);
    sem_destroy(&self.blocked);
    sem_destroy(&self.added);
}
