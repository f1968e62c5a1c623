/* test_discovery.c: what a server has, in both forms, whole and broken; what a resource name means; what is asked again
 * and when. */
#include <kinformer/discovery.h>

#include "src/base/buffer.h"
#include "src/base/memory.h"
#include "src/client/client.h"
#include "src/client/resource_map.h"
#include "src/object/resource_table.h"
#include "testing/memory/adapter.h"
#include "testing/memory/transport.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct page {
    const char *path;
    int status; /* 0: 200 */
    const char *body;
    bool never; /* no response */
} page;

typedef struct fixture {
    test_engine engine;
    ki_transport *transport;
    ki_client *client;
    ki_discovery *discovery;
    const page *pages; /* ended by a NULL path; anything else is 404 */
    int requests, under_way, most;
    int responses;
    ki_error err;
    ki_resource_map *map;
    kt_cluster *cluster; /* in place of pages */
    kt_memory_adapter *adapter;
} fixture;

static void serve(kt_memory_call *call, const ki_request *request, void *user) {
    fixture *self = user;
    const page *at = self->pages;
    self->requests++;
    while (at->path && strcmp(at->path, request->target) != 0)
        at++;
    if (at->never)
        return;
    const char *body = at->path ? at->body : "{\"kind\":\"Status\",\"reason\":\"NotFound\"}";
    const ki_response_head head = { .status = !at->path    ? 404
                                              : at->status ? at->status
                                                           : 200,
                                    .retry_after_ms = -1,
                                    .content_type = "application/json" };
    if (kt_memory_call_head(call, &head) && (!body[0] || kt_memory_call_data(call, body, strlen(body))))
        kt_memory_call_end(call, NULL);
}

static void on_map(const ki_resource_map *map, const ki_error *err, void *user) {
    fixture *self = user;
    self->responses++;
    assert_true((map == NULL) == (err != NULL));
    ki_resource_map_unref(self->map);
    self->map = ki_resource_map_ref(map);
    self->err = err ? *err : (ki_error)KI_ERROR_INIT;
}

static bool open_on(fixture *self, const kt_memory_server *server, const ki_allocator *allocator) {
    return test_engine_open(&self->engine, allocator, 1) &&
           (server ||
            (!kt_cluster_new(&ki_allocator_default, &(kt_cluster_options){ .seed = 1 }, &self->cluster, NULL) &&
             !kt_memory_adapter_new(self->engine.engine, self->cluster, 1750000000000, &self->adapter, NULL))) &&
           !kt_memory_transport_new(self->engine.engine, server ? server : kt_memory_adapter_server(self->adapter),
                                    &self->transport, NULL) &&
           !ki_client_new_on(NULL, self->transport, &KI_CLIENT_OPTIONS(.engine = self->engine.engine), &self->client,
                             NULL) &&
           !ki_discovery_new(self->client, &KI_DISCOVERY_OPTIONS(.timeout_ms = 5000), &self->discovery, NULL);
}

static void open_pages(fixture *self, const page *pages) {
    *self = (fixture){ .pages = pages };
    const kt_memory_server server = { serve, NULL, self };
    assert_true(open_on(self, &server, NULL));
}

static void close_fixture(fixture *self) {
    ki_discovery_free(self->discovery);
    ki_resource_map_unref(self->map);
    ki_client_free(self->client);
    ki_transport_free(self->transport);
    kt_memory_adapter_free(self->adapter);
    kt_cluster_free(self->cluster);
    test_engine_close(&self->engine);
}

static void ask(fixture *self) {
    assert_int_equal(ki_discovery_refresh(self->discovery, on_map, self, NULL), KI_OK);
    assert_true(test_engine_settle(&self->engine));
}

/* --- documents ---------------------------------------------------------------------------------------------------- */

#define AGGREGATED(items) \
    "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"metadata\":{},\"items\":[" items \
    "]}"
#define GROUP(name, versions) "{\"metadata\":{\"name\":\"" name "\"},\"versions\":[" versions "]}"
#define VERSION(name, resources) "{\"version\":\"" name "\",\"freshness\":\"Current\",\"resources\":[" resources "]}"
#define RESOURCE(plural, singular, kind, scope, more) \
    "{\"resource\":\"" plural "\",\"singularResource\":\"" singular "\",\"responseKind\":{\"kind\":\"" kind \
    "\"},\"scope\":\"" scope "\",\"verbs\":[\"get\",\"list\"]" more "}"

/* clang-format off */
#define CORE \
    GROUP("", VERSION("v1", \
        RESOURCE("pods", "pod", "Pod", "Namespaced", \
                 ",\"shortNames\":[\"po\"],\"categories\":[\"all\"],\"subresources\":[{\"subresource\":" \
                 "\"status\"},{\"subresource\":\"log\"}]") "," \
        RESOURCE("events", "event", "Event", "Namespaced", ",\"shortNames\":[\"ev\"]") "," \
        RESOURCE("nodes", "node", "Node", "Cluster", ",\"shortNames\":[\"no\"]")))

#define SCALER \
    RESOURCE("horizontalpodautoscalers", "horizontalpodautoscaler", "HorizontalPodAutoscaler", "Namespaced", \
             ",\"shortNames\":[\"hpa\"],\"categories\":[\"all\"]")

static const page whole[] = {
    { "/api", 0, AGGREGATED(CORE), false },
    { "/apis", 0, AGGREGATED(
        GROUP("apps", VERSION("v1", RESOURCE("deployments", "deployment", "Deployment", "Namespaced",
                                             ",\"shortNames\":[\"deploy\"],\"categories\":[\"all\"]"))) ","
        GROUP("events.k8s.io", VERSION("v1", RESOURCE("events", "event", "Event", "Namespaced", ""))) ","
        GROUP("autoscaling", VERSION("v2", SCALER) ","
                             VERSION("v1", SCALER "," RESOURCE("olds", "old", "Old", "Cluster",
                                                               ",\"categories\":[\"all\"]"))) ","
        GROUP("example.com", VERSION("v1alpha1", RESOURCE("foos", "foo", "Foo", "Namespaced",
                                                          ",\"shortNames\":[\"po\",\"f\"]") ","
                                                 RESOURCE("pod", "", "Strange", "Namespaced", ""))) ","
        GROUP("metrics.k8s.io", "{\"version\":\"v1beta1\",\"freshness\":\"Stale\",\"resources\":[]}")), false },
    { NULL, 0, NULL, false },
};
/* clang-format on */

typedef struct meaning {
    const char *word, *wanted; /* "plural.version.group"; NULL: nothing */
} meaning;

static void check_meanings(const ki_resource_map *map, const meaning *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const ki_discovered *found = ki_resource_map_find(map, cases[i].word);
        char text[256] = "";
        if (found)
            snprintf(text, sizeof text, "%s.%s.%s", found->resource.plural, found->resource.version,
                     found->resource.group);
        if (strcmp(text, cases[i].wanted ? cases[i].wanted : "") != 0)
            fail_msg("%s is '%s', not '%s'", cases[i].word, text, cases[i].wanted ? cases[i].wanted : "");
    }
}

TEST(a_word_means_what_kubectl_takes_it_for) {
    static const meaning cases[] = {
        { "pods", "pods.v1." },
        { "pod", "pods.v1." },
        { "Pod", "pods.v1." },
        { "PODS", "pods.v1." },
        { "po", "pods.v1." }, /* the first group's short name */
        { "po.example.com", "foos.v1alpha1.example.com" },
        { "pods.", "pods.v1." },
        { "pods.v1", "pods.v1." },
        { "pods.v1.", "pods.v1." },
        { "pods.v2", NULL },
        { "deploy", "deployments.v1.apps" },
        { "deployments.apps", "deployments.v1.apps" },
        { "Deployment.apps", "deployments.v1.apps" },
        { "deployments.v1.apps", "deployments.v1.apps" },
        { "Deployment.v1.apps", "deployments.v1.apps" },
        { "deployments.v2.apps", NULL },
        { "deployments.extensions", NULL },
        { "events", "events.v1." },
        { "ev", "events.v1." },
        { "events.events.k8s.io", "events.v1.events.k8s.io" },
        { "events.v1.events.k8s.io", "events.v1.events.k8s.io" },
        { "hpa", "horizontalpodautoscalers.v2.autoscaling" },
        { "hpa.v1.autoscaling", "horizontalpodautoscalers.v1.autoscaling" },
        { "hpa.autoscal", "horizontalpodautoscalers.v2.autoscaling" },
        { "olds", "olds.v1.autoscaling" }, /* only an older version has it */
        { "foos.example.com", "foos.v1alpha1.example.com" },
        { "foos.v1alpha1.example.com", "foos.v1alpha1.example.com" },
        { "Strange", "pod.v1alpha1.example.com" },
        { "", NULL },
        { ".", NULL },
        { "pods.v1.x", NULL },
        { "all", NULL }, /* a category is no resource */
        { "pods/status", NULL },
    };
    fixture self;
    open_pages(&self, whole);
    ask(&self);
    assert_int_equal(self.requests, 2);
    assert_int_equal(self.responses, 1);
    check_meanings(self.map, cases, sizeof cases / sizeof *cases);
    close_fixture(&self);
}

TEST(an_entry_has_all_fields_that_the_server_sends) {
    fixture self;
    open_pages(&self, whole);
    ask(&self);
    const ki_discovered *pods = ki_resource_map_at(self.map, 0);
    assert_string_equal(pods->resource.kind, "Pod");
    assert_true(pods->resource.namespaced);
    assert_true(pods->preferred);
    assert_string_equal(pods->singular, "pod");
    assert_string_equal(pods->short_names[0], "po");
    assert_null(pods->short_names[1]);
    assert_string_equal(pods->categories[0], "all");
    assert_string_equal(pods->verbs[1], "list");
    assert_string_equal(pods->subresources[1], "log");
    assert_null(pods->subresources[2]);
    assert_false(ki_resource_map_find(self.map, "no")->resource.namespaced);
    size_t cursor = 0;
    static const char *const all[] = { "pods", "deployments", "horizontalpodautoscalers", "olds" };
    for (size_t i = 0; i < 4; i++) {
        const ki_discovered *found = ki_resource_map_in_category(self.map, "all", &cursor);
        assert_string_equal(found->resource.plural, all[i]);
        assert_string_equal(found->resource.version, i == 2 ? "v2" : "v1");
    }
    assert_null(ki_resource_map_in_category(self.map, "all", &cursor));
    static const char *const unknown[] = { "targaryens", "al", "alls", "" };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        cursor = 0;
        assert_null(ki_resource_map_in_category(self.map, unknown[i], &cursor));
    }
    assert_string_equal(ki_resource_map_nearest(self.map, "deplyoment"), "deployments");
    assert_null(ki_resource_map_nearest(self.map, "zzzzzzzz"));
    assert_string_equal(ki_resource_map_failed_at(self.map, 0), "metrics.k8s.io/v1beta1");
    assert_null(ki_resource_map_failed_at(self.map, 1));
    close_fixture(&self);
}

#define SIMPLE(plural, singular, short_names) \
    "{\"resource\":\"" plural "\",\"singularResource\":\"" singular "\",\"responseKind\":{\"kind\":\"K" plural \
    "\"},\"scope\":\"Namespaced\",\"shortNames\":[" short_names "]}"

/* clang-format off */
static const page crowded[] = {
    { "/api", 0, AGGREGATED(GROUP("", VERSION("v1", SIMPLE("pods", "pod", "\"po\"")) ","
                                      VERSION("v2", SIMPLE("pods", "pod", "\"po\"")))), false },
    { "/apis", 0, AGGREGATED(
        GROUP("early.io", VERSION("v1", SIMPLE("earlies", "early", "\"jobs\",\"broccoli\""))) ","
        GROUP("extensions", VERSION("v1beta", SIMPLE("jobs", "", "") "," SIMPLE("pods", "", ""))) ","
        GROUP("unpreferred", VERSION("v1", SIMPLE("broccoli", "", "")) ","
                             VERSION("v2beta1", SIMPLE("broccoli", "", "") "," SIMPLE("peas", "", "")) ","
                             VERSION("v2alpha1", SIMPLE("broccoli", "", "") "," SIMPLE("peas", "", ""))) ","
        GROUP("autoscaling", VERSION("v1", SIMPLE("superhorizontalpodautoscalers", "", "\"hpa\"") ","
                                           SIMPLE("horizontalpodautoscalers", "", "\"hpa\""))) ","
        GROUP("foo", VERSION("v1", SIMPLE("deployments", "", "\"dpl\""))) ","
        GROUP("extension", VERSION("v1beta1", SIMPLE("deployments", "", "\"deploy\""))) ","
        GROUP("acme.com", VERSION("v1", SIMPLE("poddlers", "", "\"pods\",\"pod\",\"po\"")) ","
                          VERSION("v1beta1", SIMPLE("poddlers", "", "\"pods\",\"pod\",\"po\""))) ","
        GROUP("storage.k8s.io", VERSION("v1", SIMPLE("storageclasses", "", "\"sc\"")))), false },
    { NULL, 0, NULL, false },
};
/* clang-format on */

TEST(of_several_the_first_is_meant_and_names_go_before_short_names) {
    static const meaning cases[] = {
        { "pods", "pods.v1." },
        { "pod", "pods.v1." },
        { "po", "pods.v1." },
        { "pods.v2.", "pods.v2." },
        { "pods.extensions", "pods.v1beta.extensions" },
        { "po.acme.com", "poddlers.v1.acme.com" },
        { "pods.acme.com", "poddlers.v1.acme.com" },
        { "jobs", "jobs.v1beta.extensions" },
        { "broccoli", "broccoli.v1.unpreferred" },
        { "broccoli.v2beta1.unpreferred", "broccoli.v2beta1.unpreferred" },
        { "peas", "peas.v2beta1.unpreferred" },
        { "peas.v2alpha1.unpreferred", "peas.v2alpha1.unpreferred" },
        { "peas.v1.unpreferred", NULL },
        { "hpa", "superhorizontalpodautoscalers.v1.autoscaling" },
        { "dpl", "deployments.v1.foo" },
        { "deploy", "deployments.v1beta1.extension" },
        { "deployments", "deployments.v1.foo" },
        { "storageclasses", "storageclasses.v1.storage.k8s.io" },
        { "sc", "storageclasses.v1.storage.k8s.io" },
        { "sc.storage.k8s.io", "storageclasses.v1.storage.k8s.io" },
    };
    fixture self;
    open_pages(&self, crowded);
    ask(&self);
    check_meanings(self.map, cases, sizeof cases / sizeof *cases);
    close_fixture(&self);
}

TEST(of_a_group_whose_first_version_is_down_the_next_is_preferred) {
    static const page pages[] = {
        { "/api", 0,
          AGGREGATED(
              GROUP("", "{\"version\":\"v1\",\"freshness\":\"Stale\",\"resources\":[" SIMPLE("pods", "pod", "") "]}")),
          false },
        { "/apis", 0,
          AGGREGATED(GROUP(
              "apps",
              "{\"version\":\"v2\",\"freshness\":\"Stale\",\"resources\":[" SIMPLE("deployments", "", "") "]}," VERSION(
                  "v1", SIMPLE("deployments", "",
                               "")) "," VERSION("v1beta1",
                                                SIMPLE("deployments", "",
                                                       ""))) "," GROUP("other.io",
                                                                       VERSION("v3", SIMPLE("deployments", "", "")))),
          false },
        { NULL, 0, NULL, false },
    };
    static const meaning cases[] = {
        { "deployments", "deployments.v1.apps" },
        { "deployments.apps", "deployments.v1.apps" },
        { "deployments.v2.apps", NULL },
        { "deployments.v1beta1.apps", "deployments.v1beta1.apps" },
        { "pods", NULL },
    };
    fixture self;
    open_pages(&self, pages);
    ask(&self);
    check_meanings(self.map, cases, sizeof cases / sizeof *cases);
    static const bool preferred[] = { true, false, true };
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(ki_resource_map_at(self.map, i)->preferred, preferred[i]);
    assert_null(ki_resource_map_at(self.map, 3));
    assert_string_equal(ki_resource_map_failed_at(self.map, 0), "v1");
    assert_string_equal(ki_resource_map_failed_at(self.map, 1), "apps/v2");
    assert_null(ki_resource_map_failed_at(self.map, 2));
    close_fixture(&self);
}

/* --- the old form ------------------------------------------------------------------------------------------------- */

#define LIST(resources) "{\"kind\":\"APIResourceList\",\"groupVersion\":\"x\",\"resources\":[" resources "]}"
#define OLD(name, singular, kind, more) \
    "{\"name\":\"" name "\",\"singularName\":\"" singular "\",\"namespaced\":true,\"kind\":\"" kind \
    "\",\"verbs\":[\"get\"]" more "}"

static const page old_form[] = {
    { "/api", 0, "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"]}", false },
    { "/api/v1", 0,
      LIST(OLD("pods", "pod", "Pod", ",\"shortNames\":[\"po\"]") "," OLD("pods/status", "", "Pod",
                                                                         "") "," OLD("pods/log", "", "Pod", "")),
      false },
    { "/apis", 0,
      "{\"kind\":\"APIGroupList\",\"groups\":[{\"name\":\"apps\",\"versions\":[{\"groupVersion\":\"apps/"
      "v1beta1\",\"version\":"
      "\"v1beta1\"},{\"groupVersion\":\"apps/v1\",\"version\":\"v1\"}],\"preferredVersion\":{\"groupVersion\":\"apps/"
      "v1\",\"version\":\"v1\"}},{\"name\":\"down.io\",\"versions\":[{\"version\":\"v1\"}]},{\"name\":\"late.io\","
      "\"versions\":[{"
      "\"version\":\"v1\"}]}]}",
      false },
    { "/apis/apps/v1", 0, LIST(OLD("deployments", "deployment", "Deployment", "")), false },
    { "/apis/apps/v1beta1", 0, LIST(OLD("deployments", "deployment", "Deployment", "")), false },
    { "/apis/down.io/v1", 503, "service unavailable", false },
    { "/apis/late.io/v1", 0, "", true },
    { NULL, 0, NULL, false },
};

TEST(the_old_form_is_read_where_the_server_has_no_other) {
    static const meaning cases[] = {
        { "po", "pods.v1." },
        { "deployments", "deployments.v1.apps" }, /* the preferred version, which is not the first */
        { "deployments.v1beta1.apps", "deployments.v1beta1.apps" },
    };
    fixture self;
    open_pages(&self, old_form);
    ask(&self);
    assert_int_equal(self.responses, 0); /* one group has no response yet */
    assert_true(test_engine_advance(&self.engine, 5000));
    assert_int_equal(self.responses, 1);
    assert_int_equal(self.requests, 7);
    check_meanings(self.map, cases, sizeof cases / sizeof *cases);
    assert_string_equal(ki_resource_map_find(self.map, "pods")->subresources[1], "log");
    close_fixture(&self);
}

TEST(a_group_that_is_down_spoils_only_itself) {
    fixture self;
    open_pages(&self, old_form);
    ask(&self);
    assert_true(test_engine_advance(&self.engine, 5000));
    assert_int_equal(self.err.code, KI_OK);
    assert_string_equal(ki_resource_map_failed_at(self.map, 0), "down.io/v1");
    assert_string_equal(ki_resource_map_failed_at(self.map, 1), "late.io/v1");
    assert_null(ki_resource_map_failed_at(self.map, 2));
    close_fixture(&self);
}

TEST(a_name_that_a_failed_group_can_have_is_told_from_one_that_is_not_there) {
    static const struct {
        const char *name, *failed;
    } cases[] = {
        { "things.down.io", "down.io/v1" },
        { "things.v1.down.io", "down.io/v1" },
        { "Things.Down.IO", "down.io/v1" },
        { "things.v2.down.io", NULL },
        { "things.dow", "down.io/v1" }, /* the beginning of the group */
        { "things.late.io", "late.io/v1" },
        { "things", "down.io/v1" }, /* in any group */
        { "things.example.com", NULL },
        { "things.v1.example.com", NULL },
        { "things.apps", NULL }, /* a group that was read */
        { "things.v1", NULL },   /* in the core group */
        { "", NULL },
    };
    fixture self;
    open_pages(&self, old_form);
    ask(&self);
    assert_true(test_engine_advance(&self.engine, 5000));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *failed = ki_resource_map_failed_for(self.map, cases[i].name);
        if (!cases[i].failed)
            assert_null(failed);
        else
            assert_string_equal(failed, cases[i].failed);
    }
    close_fixture(&self);
}

TEST(a_mistyped_name_gets_a_suggestion_also_while_a_group_is_down) {
    fixture self;
    open_pages(&self, old_form);
    ask(&self);
    assert_true(test_engine_advance(&self.engine, 5000));
    const ki_discovered *found = NULL;
    assert_int_equal(ki_discovery_find(self.discovery, "podz", &self.map, &found, &self.err), KI_ERR_NOT_FOUND);
    assert_non_null(strstr(self.err.message, "of down.io/v1, which can have \"podz\"; did you mean pods?"));
    assert_null(ki_resource_map_nearest(self.map, "pods.down.io")); /* the group can have it */
    close_fixture(&self);
}

TEST(a_server_that_has_only_one_root_is_enough_and_none_is_not) {
    static const page core_only[] = { { "/api", 0, AGGREGATED(CORE), false }, { NULL, 0, NULL, false } };
    static const page groups_forbidden[] = { { "/api", 0, AGGREGATED(CORE), false },
                                             { "/apis", 403, "{}", false },
                                             { NULL, 0, NULL, false } };
    static const page groups_only[] = {
        { "/apis", 0, AGGREGATED(GROUP("g", VERSION("v1", SIMPLE("as", "", "")))), false }, { NULL, 0, NULL, false }
    };
    static const page forbidden[] = { { "/api", 403, "{}", false },
                                      { "/apis", 403, "{}", false },
                                      { NULL, 0, NULL, false } };
    static const page nothing[] = { { NULL, 0, NULL, false } };
    static const page broken[] = { { "/api", 0, AGGREGATED(CORE), false },
                                   { "/apis", 500, "{}", false },
                                   { NULL, 0, NULL, false } };
    fixture self;
    open_pages(&self, core_only);
    ask(&self);
    assert_non_null(ki_resource_map_find(self.map, "pods"));
    close_fixture(&self);
    open_pages(&self, groups_only);
    ask(&self);
    assert_non_null(ki_resource_map_find(self.map, "as"));
    close_fixture(&self);
    open_pages(&self, forbidden);
    ask(&self);
    assert_true(ki_error_is_forbidden(&self.err));
    close_fixture(&self);
    open_pages(&self, groups_forbidden); /* nothing is known about the groups: not that they are empty */
    ask(&self);
    assert_true(ki_error_is_forbidden(&self.err));
    close_fixture(&self);
    open_pages(&self, nothing);
    ask(&self);
    assert_int_equal(self.err.code, KI_ERR_PROTOCOL);
    close_fixture(&self);
    open_pages(&self, broken);
    ask(&self);
    assert_int_equal(self.err.http_status, 500);
    close_fixture(&self);
}

TEST(the_embedded_servers_resources_are_the_built_in_ones) {
    fixture self = { .responses = 0 };
    assert_true(open_on(&self, NULL, NULL));
    ask(&self);
    assert_int_equal(self.err.code, KI_OK);
    const ki_resource *resource;
    for (unsigned i = 0; (resource = ki_resource_at(i)); i++) {
        const ki_resource_info *info = ki_resource_info_at(i);
        const char *words[] = { resource->plural, info->singular, resource->kind, info->short_names[0] };
        for (size_t k = 0; k < 4; k++) {
            const ki_resource *wanted = words[k] ? ki_resource_find(words[k]) : NULL;
            if (!wanted)
                continue;
            const ki_discovered *found = ki_resource_map_find(self.map, words[k]);
            assert_non_null(found);
            assert_string_equal(found->resource.plural, wanted->plural);
            assert_string_equal(found->resource.group, wanted->group);
            assert_string_equal(found->resource.version, wanted->version);
            assert_string_equal(found->resource.kind, wanted->kind);
            assert_int_equal(found->resource.namespaced, wanted->namespaced);
        }
    }
    close_fixture(&self);
}

/* --- when it asks ------------------------------------------------------------------------------------------------- */

TEST(those_who_ask_at_once_share_one_asking) {
    fixture self;
    open_pages(&self, whole);
    for (int i = 0; i < 5; i++)
        assert_int_equal(ki_discovery_refresh(self.discovery, on_map, &self, NULL), KI_OK);
    assert_true(test_engine_settle(&self.engine));
    assert_int_equal(self.requests, 2);
    assert_int_equal(self.responses, 5);
    ask(&self);
    assert_int_equal(self.requests, 4);
    close_fixture(&self);
}

TEST(a_discovery_that_is_freed_calls_the_waiting_callbacks) {
    fixture self;
    open_pages(&self, old_form);
    ask(&self);
    assert_int_equal(self.responses, 0);
    ki_discovery_free(self.discovery);
    self.discovery = NULL;
    assert_int_equal(self.responses, 1);
    assert_int_equal(self.err.code, KI_ERR_CANCELLED);
    assert_true(test_engine_advance(&self.engine, 10000));
    assert_int_equal(self.responses, 1);
    close_fixture(&self);
}

/* Read by the engine's thread, moved by the test. */
static _Atomic int64_t own_time = KI_SECONDS(1000);

static int64_t own_now(void *user) {
    (void)user;
    return own_time;
}

TEST(what_is_not_known_is_asked_for_again_but_not_at_once) {
    const ki_clock clock = { .now = own_now, .user = NULL };
    for (int often = 0; often < 2; often++) {
        fixture self = { .pages = whole };
        ki_engine *engine = NULL;
        ki_resource_map *map = NULL;
        const ki_discovered *found = NULL;
        const kt_memory_server server = { serve, NULL, &self };
        assert_int_equal(ki_engine_new(&KI_ENGINE_OPTIONS(.clock = &clock), &engine, NULL), KI_OK);
        assert_int_equal(kt_memory_transport_new(engine, &server, &self.transport, NULL), KI_OK);
        assert_int_equal(
            ki_client_new_on(NULL, self.transport, &KI_CLIENT_OPTIONS(.engine = engine), &self.client, NULL), KI_OK);
        assert_int_equal(ki_discovery_new(self.client, &KI_DISCOVERY_OPTIONS(.refresh_ms = often ? 1 : 3600000),
                                          &self.discovery, NULL),
                         KI_OK);
        assert_int_equal(self.requests, 0); /* nothing before it is needed */
        assert_int_equal(ki_engine_start(engine, NULL), KI_OK);
        assert_int_equal(ki_discovery_find(self.discovery, "peas", &map, &found, NULL), KI_ERR_NOT_FOUND);
        assert_int_equal(self.requests, 2); /* it was asked just now */
        assert_int_equal(ki_discovery_find(self.discovery, "pods", &map, &found, NULL), KI_OK);
        ki_resource_map_unref(map);
        assert_int_equal(self.requests, 2);
        self.pages = crowded; /* what is new comes with another asking */
        own_time += KI_MILLISECONDS(1);
        if (often) {
            assert_int_equal(ki_discovery_find(self.discovery, "peas", &map, &found, NULL), KI_OK);
            assert_string_equal(found->resource.kind, "Kpeas");
            ki_resource_map_unref(map);
            own_time += KI_SECONDS(1);
            assert_int_equal(ki_discovery_find(self.discovery, "peas", &map, &found, NULL), KI_OK);
            ki_resource_map_unref(map);
            assert_int_equal(self.requests, 4); /* what is known is not asked for, however old */
            assert_int_equal(ki_discovery_find(self.discovery, "beans", &map, &found, NULL), KI_ERR_NOT_FOUND);
            assert_int_equal(self.requests, 6);
        } else {
            assert_int_equal(ki_discovery_find(self.discovery, "peas", &map, &found, NULL), KI_ERR_NOT_FOUND);
            assert_int_equal(self.requests, 2);
        }
        ki_engine_stop(engine);
        ki_discovery_free(self.discovery);
        ki_client_free(self.client);
        ki_transport_free(self.transport);
        ki_engine_free(engine);
    }
}

TEST(a_failed_asking_is_not_kept) {
    static const page broken[] = { { "/api", 500, "{}", false },
                                   { "/apis", 500, "{}", false },
                                   { NULL, 0, NULL, false } };
    fixture self;
    open_pages(&self, broken);
    ask(&self);
    assert_int_equal(self.err.http_status, 500);
    assert_null(self.map);
    self.pages = whole;
    ask(&self);
    assert_int_equal(self.err.code, KI_OK);
    assert_non_null(ki_resource_map_find(self.map, "pods"));
    self.pages = broken;
    ask(&self);
    assert_int_equal(self.err.http_status, 500);
    close_fixture(&self);
}

TEST(the_core_groups_first_version_is_its_preferred_one) {
    ki_group_versions versions = { .items = NULL };
    const char text[] = "{\"kind\":\"APIVersions\",\"versions\":[\"v2\",\"v1\"]}";
    assert_int_equal(ki_group_versions_add(&ki_allocator_default, &versions, KI_STR(text), NULL), KI_OK);
    assert_true(versions.items[0].preferred && !versions.items[1].preferred);
    ki_free(&ki_allocator_default, versions.items);
}

/* --- hostile documents -------------------------------------------------------------------------------------------- */

static ki_status read_both(const char *text, size_t size, size_t *ret_count) {
    ki_resource_map *map = ki_resource_map_new(&ki_allocator_default, 1);
    ki_error err = KI_ERROR_INIT;
    ki_str body = { text, size };
    ki_status status = ki_resource_map_add_aggregated(map, body, &err);
    ki_status other = ki_resource_map_add_list(map, "g", "v1", true, body, &err);
    ki_group_versions versions = { .items = NULL };
    (void)ki_group_versions_add(&ki_allocator_default, &versions, body, &err);
    ki_free(&ki_allocator_default, versions.items);
    assert_int_equal(ki_resource_map_close(map), KI_OK);
    *ret_count = 0;
    for (const ki_discovered *at; (at = ki_resource_map_at(map, *ret_count)); ++*ret_count)
        assert_null(strpbrk(at->resource.plural, "/ %\n"));
    (void)ki_resource_map_find(map, "pods");
    ki_resource_map_unref(map);
    return status ? other : KI_OK;
}

TEST(senseless_documents_are_left_out_or_refused) {
    static const struct {
        const char *text;
        size_t count;
    } cases[] = {
        { "", 0 },
        { "null", 0 },
        { "[]", 0 },
        { "{}", 0 },
        { "{\"kind\":\"Status\"}", 0 },
        { AGGREGATED("1,null,[],{},{\"versions\":7},{\"versions\":[1,{}]}"), 0 },
        { AGGREGATED(GROUP("g", VERSION("v1", RESOURCE("a/b", "", "K", "Cluster", "")))), 0 },
        { AGGREGATED(GROUP("../g", VERSION("v1", RESOURCE("as", "", "A", "Cluster", "")))), 0 },
        { AGGREGATED(GROUP("g", VERSION("v 1", RESOURCE("as", "", "A", "Cluster", "")))), 0 },
        { AGGREGATED(GROUP("g", VERSION("v1", RESOURCE("as", "", "", "Cluster", "")))), 0 },
        { AGGREGATED(GROUP(
              "g", VERSION("v1", "{\"resource\":\"*\",\"scope\":\"Namespaced\",\"subresources\":[{"
                                 "\"subresource\":\"x\",\"responseKind\":{\"kind\":\"L\"}}]}," SIMPLE("as", "", "")))),
          1 }, /* a subresource alone, as of external metrics */
        { AGGREGATED(GROUP("g", VERSION("v1", RESOURCE("as\\u0000", "", "A", "Cluster", "")))), 0 },
        { AGGREGATED(GROUP(
              "g", VERSION("v1", RESOURCE("as", "", "A", "Cluster", "") "," RESOURCE("as", "", "B", "Cluster", "")))),
          1 }, /* twice is once */
        { AGGREGATED(GROUP("g", VERSION("v1", RESOURCE("as", "x y", "A", "?", ",\"shortNames\":[1,\"\",\"a\\nb\"]")))),
          1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t count;
        (void)read_both(cases[i].text, strlen(cases[i].text), &count);
        if (count != cases[i].count)
            fail_msg("case %zu: %zu resources", i, count);
    }
}

TEST(every_prefix_of_a_document_is_rejected) {
    const char *text = whole[1].body;
    for (size_t size = 0; size < strlen(text); size++) {
        size_t count;
        char *part = malloc(size + 1);
        memcpy(part, text, size);
        assert_int_not_equal(read_both(part, size, &count), KI_OK);
        assert_int_equal(count, 0);
        free(part);
    }
}

/* `count` times `item` with its number in it. */
static char *many(const char *before, const char *item, size_t count, const char *after, size_t *ret_size) {
    ki_buffer text;
    ki_buffer_init(&text, &ki_allocator_default, 0);
    ki_buffer_append_string(&text, before);
    for (size_t i = 0; i < count; i++) {
        ki_buffer_append_string(&text, i ? "," : "");
        for (const char *at = item; *at; at++) {
            if (*at == '#')
                ki_buffer_printf(&text, "%zu", i);
            else
                ki_buffer_append_char(&text, *at);
        }
    }
    ki_buffer_append_string(&text, after);
    return ki_buffer_take(&text, ret_size);
}

TEST(too_many_resources_or_versions_are_an_error) {
    static const struct {
        const char *before, *item, *after;
        size_t limit;
    } cases[] = {
        { "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{\"metadata\":{\"name\":\"g\"},\"versions\":[{\"version\":"
          "\"v1\",\"resources\":[",
          RESOURCE("r#", "", "K#", "Cluster", ""), "]}]}]}", KI_DISCOVERY_RESOURCES_MAX },
        { "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{\"metadata\":{\"name\":\"g\"},\"versions\":[",
          "{\"version\":\"v#\",\"resources\":[]}", "]}]}", KI_DISCOVERY_GROUP_VERSIONS_MAX },
    };
    for (size_t i = 0; i < 2; i++) {
        for (size_t more = 0; more < 2; more++) {
            size_t size;
            char *text = many(cases[i].before, cases[i].item, cases[i].limit + more, cases[i].after, &size);
            ki_resource_map *map = ki_resource_map_new(&ki_allocator_default, 1);
            assert_int_equal(ki_resource_map_add_aggregated(map, (ki_str){ text, size }, NULL),
                             more ? KI_ERR_LIMIT : KI_OK);
            assert_int_equal(ki_resource_map_close(map), KI_OK);
            ki_resource_map_unref(map);
            ki_free(&ki_allocator_default, text);
        }
    }
}

/* A document with blanks up to this size. */
static char *padded(const char *json, size_t size) {
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, ' ', size);
    text[size] = '\0';
    memcpy(text, json, strlen(json));
    return text;
}

TEST(a_root_that_is_too_long_is_an_error) {
    fixture self;
    char *text = padded(AGGREGATED(CORE), KI_DISCOVERY_BYTES_MAX / 2 + 1);
    const page pages[] = { { "/api", 0, AGGREGATED(CORE), false },
                           { "/apis", 0, text, false },
                           { NULL, 0, NULL, false } };
    open_pages(&self, pages);
    ask(&self);
    assert_int_equal(self.err.code, KI_ERR_LIMIT);
    text[KI_DISCOVERY_BYTES_MAX / 2] = '\0';
    ask(&self);
    assert_int_equal(self.err.code, KI_OK);
    close_fixture(&self);
    free(text);
}

/* Each within its limit, and together too much for memory. */
TEST(groups_that_are_too_long_spoil_themselves_and_together_all) {
    enum {
        FITTING = KI_DISCOVERY_BYTES_MAX / KI_DISCOVERY_GROUP_BYTES_MAX - 1,
        GROUPS = FITTING + 4
    };
    static char groups[GROUPS * 64 + 64], paths[GROUPS][32];
    char *text = padded("{\"kind\":\"APIResourceList\",\"resources\":[]}", KI_DISCOVERY_GROUP_BYTES_MAX + 1);
    char *fitting = padded("{\"kind\":\"APIResourceList\",\"resources\":[]}", KI_DISCOVERY_GROUP_BYTES_MAX);
    page pages[GROUPS + 2] = { { "/apis", 0, groups, false } };
    size_t size = (size_t)snprintf(groups, sizeof groups, "{\"kind\":\"APIGroupList\",\"groups\":[");
    for (size_t i = 0; i < GROUPS; i++) {
        size += (size_t)snprintf(groups + size, sizeof groups - size,
                                 "%s{\"name\":\"g%zu\",\"versions\":[{\"version\":\"v1\"}]}", i ? "," : "", i);
        snprintf(paths[i], sizeof paths[i], "/apis/g%zu/v1", i);
        pages[i + 1] = (page){ paths[i], 0, i < FITTING ? fitting : text, false };
    }
    snprintf(groups + size, sizeof groups - size, "]}");
    fixture self;
    open_pages(&self, pages);
    ask(&self);
    assert_int_equal(self.err.code, KI_OK);
    assert_string_equal(ki_resource_map_failed_at(self.map, 0), "g15/v1");
    assert_non_null(ki_resource_map_failed_at(self.map, GROUPS - FITTING - 1));
    assert_null(ki_resource_map_failed_at(self.map, GROUPS - FITTING));
    for (size_t i = FITTING; i < GROUPS; i++)
        pages[i + 1].body = fitting;
    ask(&self);
    assert_int_equal(self.err.code, KI_ERR_LIMIT);
    close_fixture(&self);
    free(text);
    free(fitting);
}

TEST(whatever_allocation_fails_an_asking_ends_and_nothing_leaks) {
    for (int form = 0; form < 2; form++) {
        scarce_memory memory = SCARCE_MEMORY_FROM(0);
        while (scarce_memory_next(&memory)) {
            fixture self = { .pages = form ? old_form : whole };
            const kt_memory_server server = { serve, NULL, &self };
            if (open_on(&self, &server, &memory.allocator)) {
                bool asked = ki_discovery_refresh(self.discovery, on_map, &self, NULL) == KI_OK;
                test_engine_advance(&self.engine, 6000);
                assert_int_equal(self.responses, asked);
            }
            ki_discovery_free(self.discovery);
            ki_resource_map_unref(self.map);
            ki_client_free(self.client);
            ki_transport_free(self.transport);
            if (self.engine.engine)
                test_engine_close(&self.engine);
        }
    }
}
