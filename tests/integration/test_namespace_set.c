/* test_namespace_set.c: an informer of a set of namespaces on the embedded server, over real sockets: namespaces that
 * are forbidden, and a set that changes on another thread. */
#include <kinformer-testing/access.h>
#include <kinformer-testing/faults.h>
#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

#include "tests/support/patience.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

#define CHECK(call) \
    do { \
        ki_error err_ = KI_ERROR_INIT; \
        ki_error *err = &err_; \
        if (call) \
            fail_msg("%s", ki_error_message(err)); \
    } while (0)

static const char *const names[] = { "a", "b", "c" };

/* A factory on a server, with an informer of a set, and what its state handler awaits. */
typedef struct fixture {
    ki_testing_server *server;
    ki_config *config;
    ki_factory *factory;
    ki_informer *configmaps;
    ki_state awaited; /* the state whose first message is kept; set before the start */
    char message[KI_HEALTH_MESSAGE_MAX];
    int64_t staleness_ms;
    sem_t reached;
} fixture;

static void on_state(ki_informer *informer, const ki_health *health, void *user) {
    (void)informer;
    fixture *self = user;
    if (health->state != self->awaited || self->message[0])
        return;
    memcpy(self->message, health->message, sizeof self->message);
    self->staleness_ms = health->staleness_ms;
    sem_post(&self->reached);
}

static void create(const fixture *self, const ki_resource *resource, const char *namespace_name, const char *name) {
    ki_unstructured *object = ki_unstructured_for(resource, namespace_name, name);
    CHECK(ki_client_create(ki_factory_client(self->factory), resource, object, NULL, NULL, err));
}

static void open_fixture(fixture *self, const ki_informer_options *options) {
    *self = (fixture){ .awaited = KI_STATE_BLOCKED };
    sem_init(&self->reached, 0, 0);
    CHECK(ki_testing_server_new(NULL, &self->server, err));
    CHECK(ki_config_new(&KI_CONFIG_OPTIONS(.server = ki_testing_server_url(self->server)), &self->config, err));
    CHECK(ki_factory_new(self->config, NULL, &self->factory, err));
    CHECK(ki_factory_informer(self->factory, KI_CONFIGMAPS, options, &self->configmaps, err));
    CHECK(ki_informer_set_state_handler(self->configmaps, on_state, self, err));
    for (size_t i = 0; i < 3; i++)
        create(self, KI_NAMESPACES, NULL, names[i]);
}

static void close_fixture(fixture *self) {
    ki_factory_free(self->factory);
    ki_config_free(self->config);
    ki_testing_server_free(self->server);
    sem_destroy(&self->reached);
}

static void await_key(const fixture *self, const char *key) {
    CHECK(ki_informer_wait_for_version(self->configmaps, key, NULL, 60000, err));
}

TEST(a_forbidden_namespace_shows_and_the_others_go_on) {
    fixture self;
    open_fixture(&self, &KI_INFORMER_OPTIONS(.namespace_set = "tenants"));
    CHECK(ki_testing_server_add_fault(self.server, "status,code=403,namespace=b,resource=configmaps,verb=list+watch",
                                      NULL, err));
    CHECK(ki_informer_set_namespaces(self.configmaps, names, 1, err));
    CHECK(ki_factory_start(self.factory, err));
    CHECK(ki_informer_wait_for_sync(self.configmaps, 60000, err));
    CHECK(ki_informer_set_namespaces(self.configmaps, names, 2, err));
    await_semaphore(&self.reached);
    assert_string_equal(self.message, "forbidden: list configmaps in namespace b");
    assert_int_equal(self.staleness_ms, -1);
    create(&self, KI_CONFIGMAPS, "a", "x");
    create(&self, KI_CONFIGMAPS, "b", "x");
    await_key(&self, "a/x");
    assert_true(ki_informer_has_synced(self.configmaps));
    assert_null(ki_informer_get(self.configmaps, "b/x"));
    ki_snapshot *now = ki_informer_snapshot(self.configmaps);
    assert_string_equal(ki_snapshot_resource_version(now), ""); /* b is not listed */
    ki_snapshot_free(now);
    ki_testing_server_clear_faults(self.server);
    await_key(&self, "b/x");
    close_fixture(&self);
}

TEST(it_has_not_synced_while_a_namespace_of_the_first_set_is_forbidden) {
    fixture self;
    open_fixture(&self, &KI_INFORMER_OPTIONS(.namespace_set = "tenants"));
    CHECK(ki_testing_server_add_fault(self.server, "status,code=403,namespace=b,resource=configmaps,verb=list+watch",
                                      NULL, err));
    create(&self, KI_CONFIGMAPS, "a", "x");
    CHECK(ki_informer_set_namespaces(self.configmaps, names, 2, err));
    CHECK(ki_factory_start(self.factory, err));
    await_key(&self, "a/x");
    await_semaphore(&self.reached);
    assert_false(ki_informer_has_synced(self.configmaps));
    ki_error cause = KI_ERROR_INIT;
    assert_int_equal(ki_informer_wait_for_sync(self.configmaps, 0, &cause), KI_ERR_TIMEOUT);
    assert_non_null(strstr(ki_error_message(&cause), "configmaps in (tenants) (blocked: forbidden: list configmaps in "
                                                     "namespace b)"));
    ki_testing_server_clear_faults(self.server);
    CHECK(ki_informer_wait_for_sync(self.configmaps, 60000, err));
    close_fixture(&self);
}

/* --- namespaces that the program finds out, as in docs/guide/deploy.md -------------------------------------------- */

static ki_status may_list(ki_client *client, const char *namespace_name, bool *ret_may, ki_error *err) {
    char review[512];
    ki_value allowed = KI_VALUE_INIT;
    ki_response *response = NULL;
    int size = snprintf(review, sizeof review,
                        "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectAccessReview\","
                        "\"spec\":{\"resourceAttributes\":{\"verb\":\"list\",\"resource\":\"configmaps\","
                        "\"namespace\":\"%s\"}}}",
                        namespace_name);
    const ki_client_request request =
        KI_CLIENT_REQUEST(.verb = KI_CLIENT_CREATE, .resource = KI_SELFSUBJECTACCESSREVIEWS, .body = review,
                          .body_size = (size_t)size);
    ki_status status = ki_client_do(client, &request, &response, err);
    if (!status)
        status = ki_response_field(response, "status.allowed", &allowed, err);
    *ret_may = !status && allowed.boolean;
    ki_value_clear(&allowed);
    ki_response_unref(response);
    return status;
}

static ki_status request_allowed(ki_factory *factory, ki_informer **ret_informer, ki_error *err) {
    const char *allowed[3];
    size_t count = 0;
    bool may = false;
    ki_status status = may_list(ki_factory_client(factory), "", &may, err);
    if (!status && may)
        return ki_factory_informer(factory, KI_CONFIGMAPS, NULL, ret_informer, err);
    for (size_t i = 0; !status && i < 3; i++) {
        status = may_list(ki_factory_client(factory), names[i], &may, err);
        if (!status && may)
            allowed[count++] = names[i];
    }
    if (!status)
        status = ki_factory_informer(factory, KI_CONFIGMAPS, &KI_INFORMER_OPTIONS(.namespace_set = "allowed"),
                                     ret_informer, err);
    return status ? status : ki_informer_set_namespaces(*ret_informer, allowed, count, err);
}

/* The same program where its role is for all namespaces, and where it is for two. */
TEST(a_program_finds_its_namespaces_by_access_reviews) {
    static const char *const rules[] = { "user=jane,verb=list+watch,resource=configmaps",
                                         "user=jane,verb=list+watch,resource=configmaps,namespace=a+c" };
    for (size_t i = 0; i < 2; i++) {
        fixture self = { .awaited = KI_STATE_BLOCKED };
        CHECK(ki_testing_server_new(NULL, &self.server, err));
        for (size_t n = 0; n < 3; n++) {
            char text[64];
            snprintf(text, sizeof text, "{\"metadata\":{\"name\":\"%s\"}}", names[n]);
            CHECK(ki_testing_server_create(self.server, KI_NAMESPACES, NULL, text, 0, err));
            CHECK(ki_testing_server_create(self.server, KI_CONFIGMAPS, names[n], text, 0, err));
        }
        CHECK(ki_testing_server_add_token(self.server, "token=t,user=jane", err));
        CHECK(ki_testing_server_allow(self.server, rules[i], err));
        CHECK(ki_config_new(&KI_CONFIG_OPTIONS(.server = ki_testing_server_url(self.server), .token = "t",
                                               .no_kubeconfig = true, .credentials_over_loopback_http = true),
                            &self.config, err));
        CHECK(ki_factory_new(self.config, NULL, &self.factory, err));
        CHECK(request_allowed(self.factory, &self.configmaps, err));
        CHECK(ki_factory_start(self.factory, err));
        CHECK(ki_informer_wait_for_sync(self.configmaps, 60000, err));
        assert_true(ki_informer_namespace_health(self.configmaps, "a", NULL));
        assert_int_equal(ki_informer_namespace_health(self.configmaps, "b", NULL), i == 0);
        ki_factory_free(self.factory);
        ki_config_free(self.config);
        ki_testing_server_free(self.server);
    }
}

static void on_namespaces_changed(ki_informer *namespaces, void *user) {
    const char *chosen[KI_NAMESPACES_MAX + 1];
    size_t count = 0;
    ki_cursor cursor = KI_CURSOR_INIT;
    const ki_object *obj;
    ki_snapshot *now = ki_informer_snapshot(namespaces);
    while (count <= KI_NAMESPACES_MAX && (obj = ki_snapshot_next(now, &cursor)))
        chosen[count++] = ki_object_name(obj);
    CHECK(ki_informer_set_namespaces(user, chosen, count, err));
    ki_snapshot_free(now);
}

TEST(a_namespace_that_gets_the_label_joins_the_set) {
    static const ki_handler handler = { .on_changed = on_namespaces_changed };
    fixture self;
    ki_informer *namespaces = NULL;
    open_fixture(&self, &KI_INFORMER_OPTIONS(.namespace_set = "web"));
    CHECK(ki_factory_informer(self.factory, KI_NAMESPACES, &KI_INFORMER_OPTIONS(.label_selector = "team=web"),
                              &namespaces, err));
    CHECK(ki_informer_add_handler(namespaces, &handler, self.configmaps, NULL, NULL, err));
    CHECK(ki_factory_start(self.factory, err));
    CHECK(ki_informer_wait_for_sync(self.configmaps, 60000, err)); /* with no namespace yet */
    for (size_t i = 0; i < 3; i++) {
        char key[16];
        create(&self, KI_CONFIGMAPS, names[i], "x");
        ki_unstructured *patch = ki_unstructured_for(KI_NAMESPACES, NULL, names[i]);
        ki_unstructured_set_string(patch, "metadata.labels.team", "web");
        CHECK(ki_client_patch(ki_factory_client(self.factory), KI_NAMESPACES, KI_PATCH_MERGE, patch, NULL, NULL, err));
        snprintf(key, sizeof key, "%s/x", names[i]);
        await_key(&self, key);
    }
    close_fixture(&self);
}

TEST(a_set_changes_while_objects_do) {
    fixture self;
    open_fixture(&self, &KI_INFORMER_OPTIONS(.namespace_set = "tenants"));
    CHECK(ki_factory_start(self.factory, err));
    for (int i = 0; i < 60; i++) {
        char name[16], key[32];
        CHECK(ki_informer_set_namespaces(self.configmaps, names + i % 3, i % 3 == 2 ? 1 : 2, err));
        snprintf(name, sizeof name, "x%d", i);
        create(&self, KI_CONFIGMAPS, names[i % 3], name);
        snprintf(key, sizeof key, "%s/%s", names[i % 3], name);
        await_key(&self, key);
    }
    close_fixture(&self);
}
