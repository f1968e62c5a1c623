/* test_example_website.c: the Website controller of examples/, run as a user would, against an embedded server: a
 * Website is served, changed, repaired and deleted. */
#include "tests/support/folder.h"
#include "tests/support/patience.h"
#include "tests/support/process.h"
#include "tests/support/test.h"

#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXAMPLE KI_TEST_DATA_DIR "/../../examples/website-controller/"
#define PROGRAM KI_TEST_EXAMPLES_DIR "/example-website-controller"

enum {
    PATIENCE_MS = PATIENCE_S * 1000
};

static const ki_resource website_resource = { "example.com", "v1", "websites", "Website", true };

/* What the test reads of any object. */
struct view {
    const char *page, *image, *selector, *volume;
    int64_t replicas, ready;
    const char *condition, *reason, *message, *transition;
    int64_t observed, generation;
};

static const ki_field fields[] = {
    KI_FIELD(struct view, page, "data['index.html']"),
    KI_FIELD(struct view, image, "spec.template.spec.containers[0].image"),
    KI_FIELD(struct view, selector, "spec.selector.website"),
    KI_FIELD(struct view, volume, "spec.template.spec.volumes[0].configMap.name"),
    KI_FIELD(struct view, replicas, "spec.replicas"),
    KI_FIELD(struct view, ready, "status.readyReplicas"),
    KI_FIELD(struct view, condition, "status.conditions[0].status"),
    KI_FIELD(struct view, reason, "status.conditions[0].reason"),
    KI_FIELD(struct view, message, "status.conditions[0].message"),
    KI_FIELD(struct view, transition, "status.conditions[0].lastTransitionTime"),
    KI_FIELD(struct view, observed, "status.conditions[0].observedGeneration"),
    KI_FIELD(struct view, generation, "metadata.generation"),
    KI_FIELD_END,
};

static ki_testing_server *server;
static ki_process programs[2];
static ki_factory *factory;
static ki_client *client;
static ki_informer *websites, *configmaps, *deployments, *services, *leases;

#define CHECK(call) \
    do { \
        ki_error check_err = KI_ERROR_INIT, *err = &check_err; \
        if (call) \
            fail_msg("%s", ki_error_message(err)); \
    } while (0)

static int set_up(void **state) {
    ki_config *config = NULL;
    for (size_t i = 0; i < 2; i++)
        programs[i] = (ki_process){ .pid = -1, .in = -1, .out = -1, .err = -1 };
    assert_int_equal(folder_open(state), 0);
    CHECK(ki_testing_server_new(NULL, &server, err));
    CHECK(ki_testing_server_write_kubeconfig(server, folder_file("kubeconfig"), err));
    CHECK(ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = folder_file("kubeconfig")), &config, err));
    CHECK(ki_factory_new(config, NULL, &factory, err));
    ki_config_free(config);
    client = ki_factory_client(factory);
    CHECK(ki_client_create(client, KI_CUSTOMRESOURCEDEFINITIONS, ki_unstructured_from_file(EXAMPLE "crd.yaml"), NULL,
                           NULL, err));
    const ki_informer_options options = KI_INFORMER_OPTIONS(.view = fields);
    CHECK(ki_factory_informer(factory, &website_resource, &options, &websites, err));
    CHECK(ki_factory_informer(factory, KI_CONFIGMAPS, &options, &configmaps, err));
    CHECK(ki_factory_informer(factory, KI_DEPLOYMENTS, &options, &deployments, err));
    CHECK(ki_factory_informer(factory, KI_SERVICES, &options, &services, err));
    CHECK(ki_factory_informer(factory, KI_LEASES, NULL, &leases, err));
    CHECK(ki_factory_start(factory, err));
    CHECK(ki_factory_wait_for_sync(factory, PATIENCE_MS, NULL, err));
    return 0;
}

static int tear_down(void **state) {
    for (size_t i = 0; i < 2; i++)
        ki_process_free(&programs[i]);
    ki_factory_free(factory);
    ki_testing_server_free(server);
    return folder_close(state);
}

#define EXAMPLE_WEBSITE_TEST(name) TEST_WITH(set_up, tear_down, name)

static void start(ki_process *program) {
    if (access(PROGRAM, X_OK))
        skip(); /* built without libkinformer-status */
    char entry[256];
    snprintf(entry, sizeof entry, "KUBECONFIG=%s", folder_file("kubeconfig"));
    const char *const environment[] = { entry, NULL };
    const char *const argv[] = { PROGRAM, folder_path(), "127.0.0.1:0", NULL };
    assert_true(ki_process_start(program, argv, environment, true));
}

static void end_well(ki_process *program) {
    ki_process_signal(program, SIGTERM);
    assert_int_equal(ki_process_wait(program), 0);
}

/* ---- waiting for states ---- */

/* A state of the object default/hello; members that are 0 are not compared. */
typedef struct wanted {
    const char *page, *selector, *condition, *message, *other_uid, *after; /* `after`: an older resource version */
    int64_t replicas;
    bool is_gone;
} wanted;

static bool is_text(const char *actual, const char *expected) {
    return !expected || (actual && strcmp(actual, expected) == 0);
}

static bool is_as_wanted(ki_informer *informer, const ki_event *event, void *user) {
    (void)informer;
    const wanted *want = user;
    if (!event || strcmp(ki_object_key(event->obj), "default/hello") != 0)
        return false;
    const struct view *view = ki_object_view(event->obj);
    if (want->is_gone || event->type == KI_EVENT_DELETE)
        return want->is_gone && event->type == KI_EVENT_DELETE;
    return is_text(view->page, want->page) && is_text(view->selector, want->selector) &&
           is_text(view->condition, want->condition) && is_text(view->message, want->message) &&
           (!want->other_uid || strcmp(ki_object_uid(event->obj), want->other_uid) != 0) &&
           (!want->after ||
            ki_resource_version_compare(ki_object_resource_version(event->obj), want->after) == KI_ORDER_NEWER) &&
           (!want->replicas || view->replicas == want->replicas);
}

static void wait_for(ki_informer *informer, wanted want) {
    CHECK(ki_informer_wait_until(informer, is_as_wanted, &want, PATIENCE_MS, err));
}

static ki_object *hello(ki_informer *informer) {
    ki_object *obj = ki_informer_get(informer, "default/hello");
    assert_non_null(obj);
    return obj;
}

/* ---- what the test does to the server ---- */

static void create_website(void) {
    ki_unstructured *site = ki_unstructured_from_file(EXAMPLE "example-website.yaml");
    ki_unstructured_set_string(site, "metadata.namespace", "default");
    CHECK(ki_client_create(client, &website_resource, site, NULL, NULL, err));
}

/* Returns the changed object. */
static ki_object *set_number(const ki_resource *resource, const char *path, int64_t number, const char *subresource) {
    ki_unstructured *patch = ki_unstructured_for(resource, "default", "hello");
    ki_object *obj = NULL;
    ki_unstructured_set_int(patch, path, number);
    CHECK(ki_client_patch(client, resource, KI_PATCH_MERGE, patch, &KI_REQUEST_OPTIONS(.subresource = subresource),
                          &obj, err));
    return obj;
}

static bool has_route(void) {
    return access(folder_file("default.hello"), R_OK) == 0;
}

EXAMPLE_WEBSITE_TEST(a_website_is_served_changed_repaired_and_deleted) {
    create_website();
    start(&programs[0]);
    wait_for(configmaps, (wanted){ .page = "<h1>hello</h1>" });
    wait_for(deployments, (wanted){ .replicas = 2 });
    wait_for(services, (wanted){ .selector = "hello" });
    wait_for(websites, (wanted){ .condition = "False", .message = "0 of 2 replicas are ready" });
    assert_true(has_route());
    ki_object *site = hello(websites), *deployment = hello(deployments);
    const struct view *view = ki_object_view(deployment);
    assert_true(ki_object_is_controlled_by(deployment, site));
    assert_true(ki_object_has_finalizer(site, "example.com/route"));
    assert_string_equal(view->image, "nginx:1.27"); /* the default of the definition */
    assert_string_equal(view->volume, "hello");
    ki_object_unref(deployment);
    ki_object_unref(site);

    ki_object_unref(set_number(KI_DEPLOYMENTS, "status.replicas", 2, "status"));
    ki_object_unref(set_number(KI_DEPLOYMENTS, "status.readyReplicas", 2, "status"));
    wait_for(websites, (wanted){ .condition = "True", .message = "2 of 2 replicas are ready" });
    site = hello(websites);
    view = ki_object_view(site);
    assert_string_equal(view->reason, "AllReady");
    assert_int_equal(view->observed, view->generation);
    ki_object_unref(site);
    ki_object_unref(set_number(&website_resource, "spec.replicas", 3, NULL));
    wait_for(deployments, (wanted){ .replicas = 3 });
    wait_for(websites, (wanted){ .condition = "False", .message = "2 of 3 replicas are ready" });

    deployment = set_number(KI_DEPLOYMENTS, "spec.replicas", 7, NULL); /* by hand */
    wait_for(deployments, (wanted){ .replicas = 3, .after = ki_object_resource_version(deployment) });
    ki_object_unref(deployment);
    ki_object *service = hello(services);
    CHECK(ki_client_delete(client, KI_SERVICES, "default", "hello", NULL, NULL, err));
    wait_for(services, (wanted){ .selector = "hello", .other_uid = ki_object_uid(service) });
    ki_object_unref(service);

    CHECK(ki_client_delete(client, &website_resource, "default", "hello", NULL, NULL, err));
    wait_for(websites, (wanted){ .is_gone = true });
    assert_false(has_route());
    end_well(&programs[0]);
}

static bool has_no_holder(ki_informer *informer, const ki_event *event, void *user) {
    (void)informer;
    (void)user;
    if (!event || event->type == KI_EVENT_DELETE)
        return false;
    char holder[256];
    return !*ki_object_string(event->obj, "spec.holderIdentity", "", holder, sizeof holder);
}

EXAMPLE_WEBSITE_TEST(a_second_controller_takes_over_when_the_first_one_ends) {
    start(&programs[0]);
    CHECK(ki_informer_wait_for_version(leases, "default/website-controller", NULL, PATIENCE_MS, err));
    start(&programs[1]);
    create_website();
    wait_for(services, (wanted){ .selector = "hello" });
    end_well(&programs[0]);
    ki_object_unref(set_number(&website_resource, "spec.replicas", 4, NULL));
    wait_for(deployments, (wanted){ .replicas = 4 });
    end_well(&programs[1]);
    CHECK(ki_informer_wait_until(leases, has_no_holder, NULL, PATIENCE_MS, err));
}

EXAMPLE_WEBSITE_TEST(a_folder_that_is_missing_is_tried_again) {
    char missing[512];
    if (access(PROGRAM, X_OK))
        skip();
    snprintf(missing, sizeof missing, "%s", folder_file("later"));
    char entry[256];
    snprintf(entry, sizeof entry, "KUBECONFIG=%s", folder_file("kubeconfig"));
    const char *const environment[] = { entry, NULL };
    const char *const argv[] = { PROGRAM, missing, "127.0.0.1:0", NULL };
    assert_true(ki_process_start(&programs[0], argv, environment, true));
    create_website();
    assert_non_null(ki_process_expect_err(&programs[0], "later/default.hello: No such file or directory"));
    folder_write("later/x", "");
    wait_for(websites, (wanted){ .condition = "False" });
    end_well(&programs[0]);
}
