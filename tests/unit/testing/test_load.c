/* test_load.c: the load makes a cluster that looks like one, and repeats itself for the same seed. */
#include "src/base/memory.h"
#include "src/base/rfc3339.h"
#include "testing/cluster/storage.h"
#include "testing/load/load.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

enum {
    PODS = 60,
    CHANGES = 5000
};
static const int64_t start_ms = 1750000000000;

typedef struct world {
    kt_cluster *cluster;
    kt_load *load;
} world;

static world make(const kt_load_options *options) {
    world w = { NULL, NULL };
    const kt_cluster_options cluster = { .seed = 1 };
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(kt_cluster_new(&ki_allocator_default, &cluster, &w.cluster, &err), KI_OK);
    if (kt_load_new(&ki_allocator_default, w.cluster, options, start_ms, &w.load, &err))
        fail_msg("%s", ki_error_message(&err));
    return w;
}

static void end(world *w) {
    kt_load_free(w->load);
    kt_cluster_free(w->cluster);
}

static void change(world *w, int count) {
    for (int i = 0; i < count; i++)
        assert_int_equal(kt_load_change(w->load, start_ms + i * 10, i * 10000000LL, NULL), KI_OK);
}

/* What a load makes. */
static const ki_resource *const made[] = { KI_PODS,        KI_NODES,          KI_LEASES,     KI_EVENTS, KI_DEPLOYMENTS,
                                           KI_REPLICASETS, KI_STATEFULSETS,   KI_DAEMONSETS, KI_JOBS,   KI_CRONJOBS,
                                           KI_SERVICES,    KI_ENDPOINTSLICES, KI_CONFIGMAPS, KI_SECRETS };
enum {
    MADE = sizeof made / sizeof made[0]
};

static bool contains(ki_str json, const char *text) {
    return memmem(json.data, json.size, text, strlen(text)) != NULL;
}

TEST(the_same_seed_gives_the_same_objects) {
    const kt_load_options options = { .pods = PODS, .nodes = 4, .seed = 9, .stamp = "stamp", .managed_fields = true };
    world a = make(&options);
    world b = make(&options);
    ki_str a_key, b_key, a_json, b_json;
    change(&a, CHANGES);
    change(&b, CHANGES);
    for (size_t i = 0; i < MADE; i++) {
        size_t a_cursor = 0, b_cursor = 0, count = 0;
        while (kt_cluster_next(a.cluster, made[i], &a_cursor, &a_key, &a_json)) {
            assert_true(kt_cluster_next(b.cluster, made[i], &b_cursor, &b_key, &b_json));
            assert_true(ki_str_equal(a_key, b_key));
            assert_true(ki_str_equal(a_json, b_json));
            count++;
        }
        assert_true(count > 0);
        if (made[i] == KI_PODS)
            assert_in_range(count, PODS * 3 / 4, PODS); /* some are between deletion and being made anew */
    }
    end(&a);
    end(&b);
}

TEST(each_object_is_filled_in) {
    world w = make(&(kt_load_options){ .pods = 500, .nodes = 4, .seed = 9, .managed_fields = true });
    ki_str key, json;
    change(&w, CHANGES);
    for (size_t i = 0; i < MADE; i++) {
        size_t cursor = 0;
        while (kt_cluster_next(w.cluster, made[i], &cursor, &key, &json)) {
            if (contains(json, "`") || contains(json, "'") || contains(json, "\"\"\"") ||
                contains(json, "\"uid\":\"\""))
                fail_msg("%.*s", (int)json.size, json.data);
            assert_true(contains(json, "\"managedFields\":[{\"manager\":\""));
        }
    }
    end(&w);
}

TEST(each_change_is_one_event) {
    world w = make(&(kt_load_options){ .pods = PODS, .seed = 3 });
    uint64_t before = kt_cluster_revision(w.cluster);
    change(&w, CHANGES);
    assert_int_equal(kt_cluster_revision(w.cluster) - before, CHANGES);
    end(&w);
}

static const char *text_at(yyjson_val *val, const char *path) {
    const char *text = yyjson_get_str(yyjson_ptr_get(val, path));
    return text ? text : "";
}

TEST(pods_have_the_sizes_of_real_ones) {
    static const struct {
        bool managed_fields;
        size_t least, most, mean_least, mean_most;
    } rows[] = { { false, 1700, 36000, 5500, 8500 }, { true, 2500, 64000, 9500, 14000 } };
    for (size_t i = 0; i < 2; i++) {
        world w = make(&(kt_load_options){ .pods = 2000, .seed = 3, .managed_fields = rows[i].managed_fields });
        size_t cursor = 0, sum = 0, least = SIZE_MAX, most = 0;
        ki_str key, json;
        while (kt_cluster_next(w.cluster, KI_PODS, &cursor, &key, &json)) {
            sum += json.size;
            least = json.size < least ? json.size : least;
            most = json.size > most ? json.size : most;
            assert_int_equal(contains(json, "managedFields"), rows[i].managed_fields);
        }
        assert_in_range(least, rows[i].least, 4000);
        assert_in_range(most, 28000, rows[i].most);
        assert_in_range(sum / 2000, rows[i].mean_least, rows[i].mean_most);
        end(&w);
    }
}

TEST(owners_exist_and_have_their_shares_of_the_pods) {
    static const struct {
        const char *kind;
        const ki_resource *resource;
        size_t share;
        const char *label;
    } rows[] = { { "ReplicaSet", KI_REPLICASETS, 60, "pod-template-hash" },
                 { "StatefulSet", KI_STATEFULSETS, 10, "statefulset.kubernetes.io~1pod-name" },
                 { "DaemonSet", KI_DAEMONSETS, 10, "controller-revision-hash" },
                 { "Job", KI_JOBS, 15, "batch.kubernetes.io~1controller-uid" },
                 { "", NULL, 5, "app" } };
    enum {
        ROWS = sizeof rows / sizeof rows[0],
        MANY = 2000
    };
    world w = make(&(kt_load_options){ .pods = MANY, .seed = 3 });
    size_t cursor = 0, counts[ROWS] = { 0 };
    ki_str key, json, owner;
    while (kt_cluster_next(w.cluster, KI_PODS, &cursor, &key, &json)) {
        char path[96];
        size_t row = 0;
        yyjson_doc *doc = yyjson_read(json.data, json.size, 0);
        yyjson_val *pod = yyjson_doc_get_root(doc);
        while (strcmp(rows[row].kind, text_at(pod, "/metadata/ownerReferences/0/kind")) != 0)
            row++;
        counts[row]++;
        snprintf(path, sizeof path, "/metadata/labels/%s", rows[row].label);
        assert_string_not_equal(text_at(pod, path), "");
        if (rows[row].resource) {
            assert_int_equal(kt_cluster_get(w.cluster, rows[row].resource, text_at(pod, "/metadata/namespace"),
                                            text_at(pod, "/metadata/ownerReferences/0/name"), &owner),
                             KI_OK);
            ki_str uid = ki_str_of(text_at(pod, "/metadata/ownerReferences/0/uid"));
            assert_int_equal(uid.size, 36);
            assert_true(contains(owner, uid.data));
        }
        yyjson_doc_free(doc);
    }
    for (size_t i = 0; i < ROWS; i++)
        assert_in_range(counts[i], rows[i].share * MANY / 100 - 2, rows[i].share * MANY / 100 + 2);
    end(&w);
}

/* ---- what differs in each pod ---- */

enum {
    IDS_MAX = 8 * PODS
};
typedef struct ids {
    char texts[IDS_MAX][96];
    size_t count;
} ids;

/* Asserts that the text has so many digits or letters after the prefix, and that no other one is the same. */
static void check_id(ids *all, const char *text, const char *prefix, size_t size, const char *letters) {
    assert_memory_equal(text, prefix, strlen(prefix));
    assert_int_equal(strlen(text), strlen(prefix) + size);
    assert_int_equal(strspn(text + strlen(prefix), letters), size);
    for (size_t i = 0; i < all->count; i++)
        assert_string_not_equal(all->texts[i], text);
    assert_true(all->count < IDS_MAX);
    snprintf(all->texts[all->count++], sizeof all->texts[0], "%s", text);
}

#define HEX "0123456789abcdef"

TEST(each_container_and_volume_has_a_name_of_its_own) {
    static ids containers, volumes;
    size_t cursor = 0, index, size, restarted = 0;
    world w = make(&(kt_load_options){ .pods = PODS, .seed = 3 });
    ki_str key, json;
    containers.count = volumes.count = 0;
    change(&w, CHANGES); /* some containers have restarted */
    while (kt_cluster_next(w.cluster, KI_PODS, &cursor, &key, &json)) {
        yyjson_doc *doc = yyjson_read(json.data, json.size, 0);
        yyjson_val *container, *volume;
        yyjson_arr_foreach(yyjson_ptr_get(yyjson_doc_get_root(doc), "/status/containerStatuses"), index, size,
                           container) {
            const char *id = text_at(container, "/containerID"), *image = text_at(container, "/imageID");
            const char *last = text_at(container, "/lastState/terminated/containerID");
            if (id[0])
                check_id(&containers, id, "containerd://", 64, HEX);
            if (last[0] && strcmp(last, id) != 0)
                check_id(&containers, last, "containerd://", 64, HEX);
            restarted += last[0] != '\0';
            assert_int_equal(id[0] != '\0', image[0] != '\0');
            if (image[0])
                assert_int_equal(strspn(strstr(image, "@sha256:") + 8, HEX), 64);
        }
        yyjson_arr_foreach(yyjson_ptr_get(yyjson_doc_get_root(doc), "/spec/volumes"), index, size, volume) {
            if (strstr(text_at(volume, "/name"), "kube-api-access-"))
                check_id(&volumes, text_at(volume, "/name"), "kube-api-access-", 5, "bcdfghjklmnpqrstvwxz2456789");
        }
        yyjson_doc_free(doc);
    }
    assert_true(containers.count > PODS);
    assert_true(restarted > 0);
    end(&w);
}

static int64_t seconds_at(yyjson_val *val, const char *path) {
    int64_t seconds = 0, nanoseconds;
    if (!ki_rfc3339_parse(ki_str_of(text_at(val, path)), &seconds, &nanoseconds))
        fail_msg("no time: %s", path);
    return seconds;
}

TEST(pods_were_made_in_three_weeks_and_started_step_by_step) {
    enum {
        DAY_S = 24 * 3600
    };
    world w = make(&(kt_load_options){ .pods = 500, .seed = 3 });
    size_t cursor = 0, apart = 0;
    int64_t first = INT64_MAX, last = 0;
    ki_str key, json;
    while (kt_cluster_next(w.cluster, KI_PODS, &cursor, &key, &json)) {
        yyjson_doc *doc = yyjson_read(json.data, json.size, 0);
        yyjson_val *pod = yyjson_doc_get_root(doc);
        int64_t made_s = seconds_at(pod, "/metadata/creationTimestamp");
        first = made_s < first ? made_s : first;
        last = made_s > last ? made_s : last;
        if (strcmp(text_at(pod, "/status/phase"), "Running") == 0) {
            int64_t start_s = seconds_at(pod, "/status/startTime");
            int64_t sandbox_s = seconds_at(pod, "/status/conditions/0/lastTransitionTime");
            int64_t ready_s = seconds_at(pod, "/status/conditions/2/lastTransitionTime");
            assert_true(made_s <= start_s && start_s <= sandbox_s && sandbox_s <= ready_s);
            assert_true(ready_s <= start_ms / 1000);
            apart += start_s < sandbox_s && sandbox_s < ready_s;
        }
        yyjson_doc_free(doc);
    }
    assert_true(first >= start_ms / 1000 - 21 * DAY_S && last <= start_ms / 1000);
    assert_true(last - first > 14 * DAY_S);
    assert_true(apart > 200);
    end(&w);
}

static size_t count_with(const world *w, const ki_resource *resource, const char *text) {
    size_t cursor = 0, count = 0;
    ki_str key, json;
    while (kt_cluster_next(w->cluster, resource, &cursor, &key, &json))
        count += contains(json, text);
    return count;
}

TEST(some_pods_fail_in_each_of_the_usual_ways) {
    static const char *const texts[] = {
        "\"phase\":\"Failed\"",      "\"phase\":\"Succeeded\"",    "\"Evicted\"",
        "\"Unschedulable\"",         "\"CrashLoopBackOff\"",       "\"ImagePullBackOff\"",
        "\"initContainerStatuses\"", "\"sidecar.istio.io/status\""
    };
    world w = make(&(kt_load_options){ .pods = 2000, .seed = 3 });
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (!count_with(&w, KI_PODS, texts[i]))
            fail_msg("no pod has %s", texts[i]);
    }
    end(&w);
}

TEST(nodes_slices_and_config_maps_are_large) {
    world w = make(&(kt_load_options){ .pods = 2000, .seed = 3 });
    size_t cursor = 0, most = 0, endpoints = 0;
    ki_str key, json;
    while (kt_cluster_next(w.cluster, KI_NODES, &cursor, &key, &json)) {
        yyjson_doc *doc = yyjson_read(json.data, json.size, 0);
        assert_int_equal(yyjson_arr_size(yyjson_ptr_get(yyjson_doc_get_root(doc), "/status/images")), 50);
        yyjson_doc_free(doc);
    }
    for (cursor = 0; kt_cluster_next(w.cluster, KI_CONFIGMAPS, &cursor, &key, &json);)
        most = json.size > most ? json.size : most;
    assert_in_range(most, 100000, 110000);
    for (cursor = 0; kt_cluster_next(w.cluster, KI_ENDPOINTSLICES, &cursor, &key, &json);) {
        yyjson_doc *doc = yyjson_read(json.data, json.size, 0);
        size_t size = yyjson_arr_size(yyjson_ptr_get(yyjson_doc_get_root(doc), "/endpoints"));
        endpoints = size > endpoints ? size : endpoints;
        yyjson_doc_free(doc);
    }
    assert_in_range(endpoints, 80, 100); /* those of pods that are pending are missing */
    end(&w);
}

/* ---- changes ---- */

static uint64_t changes_of(const world *w, const ki_resource *resource) {
    const kt_storage *storage = kt_storage_of(w->cluster, resource);
    return storage->first_seq + storage->history.count;
}

TEST(changes_are_of_the_kinds_that_clusters_have) {
    static const struct {
        const ki_resource *resource;
        size_t least, most; /* of 100 changes */
    } rows[] = { { KI_PODS, 60, 80 },
                 { KI_ENDPOINTSLICES, 5, 20 },
                 { KI_LEASES, 4, 15 },
                 { KI_NODES, 1, 4 },
                 { KI_EVENTS, 4, 15 } };
    enum {
        ROWS = sizeof rows / sizeof rows[0],
        MANY = 20000
    };
    world w = make(&(kt_load_options){ .pods = 500, .seed = 3 });
    uint64_t before[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        before[i] = changes_of(&w, rows[i].resource);
    change(&w, MANY);
    for (size_t i = 0; i < ROWS; i++)
        assert_in_range(changes_of(&w, rows[i].resource) - before[i], rows[i].least * MANY / 100,
                        rows[i].most * MANY / 100);
    assert_true(count_with(&w, KI_PODS, "\"load.kinformer/config-generation\"") > 100);
    assert_true(count_with(&w, KI_PODS, "\"controller.kubernetes.io/pod-deletion-cost\"") > 100);
    end(&w);
}

static const char *ready_path(yyjson_val *pod) {
    return strcmp(text_at(pod, "/status/conditions/2/type"), "Ready") == 0 ? "/status/conditions/2/status" : "";
}

/* Asserts that an endpoint is what its pod says. */
static void check_endpoint(const world *w, yyjson_val *slice, yyjson_val *endpoint) {
    ki_str json;
    assert_int_equal(kt_cluster_get(w->cluster, KI_PODS, text_at(slice, "/metadata/namespace"),
                                    text_at(endpoint, "/targetRef/name"), &json),
                     KI_OK);
    yyjson_doc *doc = yyjson_read(json.data, json.size, 0);
    yyjson_val *pod = yyjson_doc_get_root(doc), *conditions = yyjson_obj_get(endpoint, "conditions");
    assert_string_equal(text_at(endpoint, "/targetRef/uid"), text_at(pod, "/metadata/uid"));
    assert_string_equal(text_at(endpoint, "/addresses/0"), text_at(pod, "/status/podIP"));
    assert_string_equal(text_at(endpoint, "/nodeName"), text_at(pod, "/spec/nodeName"));
    const char *service = text_at(pod, "/metadata/labels/app.kubernetes.io~1instance");
    assert_string_equal(service[0] ? service : text_at(pod, "/metadata/labels/app"),
                        text_at(slice, "/metadata/labels/kubernetes.io~1service-name"));
    assert_string_equal(yyjson_get_bool(yyjson_obj_get(conditions, "ready")) ? "True" : "False",
                        text_at(pod, ready_path(pod)));
    assert_int_equal(yyjson_get_bool(yyjson_obj_get(conditions, "terminating")),
                     yyjson_ptr_get(pod, "/metadata/deletionTimestamp") != NULL);
    yyjson_doc_free(doc);
}

/* Counts the pods of Services that have an address and have not ended. */
static size_t count_addresses(const world *w) {
    size_t cursor = 0, count = 0;
    ki_str key, json;
    while (kt_cluster_next(w->cluster, KI_PODS, &cursor, &key, &json)) {
        yyjson_doc *doc = yyjson_read(json.data, json.size, 0);
        yyjson_val *pod = yyjson_doc_get_root(doc);
        const char *owner = text_at(pod, "/metadata/ownerReferences/0/kind"), *phase = text_at(pod, "/status/phase");
        count += yyjson_ptr_get(pod, "/status/podIP") && strcmp(phase, "Failed") != 0 &&
                 (strcmp(owner, "ReplicaSet") == 0 || strcmp(owner, "StatefulSet") == 0);
        yyjson_doc_free(doc);
    }
    return count;
}

TEST(services_and_their_slices_say_what_the_pods_say) {
    world w = make(&(kt_load_options){ .pods = 300, .seed = 3 });
    for (int round = 0; round < 3; round++) {
        size_t cursor = 0, endpoints = 0, index, size;
        ki_str key, json, service;
        assert_int_equal(kt_load_settle(w.load, start_ms, NULL), KI_OK);
        while (kt_cluster_next(w.cluster, KI_ENDPOINTSLICES, &cursor, &key, &json)) {
            yyjson_doc *doc = yyjson_read(json.data, json.size, 0);
            yyjson_val *slice = yyjson_doc_get_root(doc), *endpoint;
            const char *name = text_at(slice, "/metadata/ownerReferences/0/name");
            assert_int_equal(
                kt_cluster_get(w.cluster, KI_SERVICES, text_at(slice, "/metadata/namespace"), name, &service), KI_OK);
            ki_str uid = ki_str_of(text_at(slice, "/metadata/ownerReferences/0/uid"));
            assert_int_equal(uid.size, 36);
            assert_non_null(memmem(service.data, service.size, uid.data, uid.size));
            assert_string_equal(name, text_at(slice, "/metadata/labels/kubernetes.io~1service-name"));
            yyjson_arr_foreach(yyjson_obj_get(slice, "endpoints"), index, size, endpoint) {
                check_endpoint(&w, slice, endpoint);
                endpoints++;
            }
            yyjson_doc_free(doc);
        }
        assert_int_equal(endpoints, count_addresses(&w));
        assert_true(endpoints > 100);
        change(&w, CHANGES);
    }
    assert_int_equal(kt_cluster_count(w.cluster, KI_SERVICES),
                     kt_cluster_count(w.cluster, KI_DEPLOYMENTS) + kt_cluster_count(w.cluster, KI_STATEFULSETS));
    end(&w);
}

TEST(pods_that_a_client_deletes_are_made_anew) {
    world w = make(&(kt_load_options){ .pods = PODS, .seed = 3 });
    for (int i = 0; i < PODS; i++) {
        size_t cursor = 0;
        ki_str key, json;
        char text[256];
        assert_true(kt_cluster_next(w.cluster, KI_PODS, &cursor, &key, &json));
        snprintf(text, sizeof text, "%.*s", (int)key.size, key.data);
        char *name = strchr(text, '/');
        *name++ = '\0';
        assert_int_equal(kt_cluster_delete(w.cluster, KI_PODS, text, name, start_ms, NULL), KI_OK);
    }
    assert_int_equal(kt_cluster_count(w.cluster, KI_PODS), 0);
    change(&w, CHANGES);
    assert_in_range(kt_cluster_count(w.cluster, KI_PODS), PODS * 3 / 4, PODS);
    end(&w);
}

TEST(nodes_alone_and_too_many_pods) {
    world w = make(&(kt_load_options){ .nodes = 3 });
    change(&w, 100);
    assert_int_equal(kt_cluster_count(w.cluster, KI_NODES), 3);
    kt_load *load = NULL;
    assert_int_equal(
        kt_load_new(&ki_allocator_default, w.cluster, &(kt_load_options){ .pods = SIZE_MAX }, start_ms, &load, NULL),
        KI_ERR_LIMIT);
    end(&w);
}

TEST(lack_of_memory_is_a_failure_and_nothing_more) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        kt_cluster *cluster = NULL;
        kt_load *load = NULL;
        const kt_cluster_options options = { .seed = 1 };
        ki_status status = kt_cluster_new(&memory.allocator, &options, &cluster, NULL);
        if (!status)
            status = kt_load_new(&memory.allocator, cluster, &(kt_load_options){ .pods = 2, .stamp = "s" }, start_ms,
                                 &load, NULL);
        bool failed_before = scarce_memory_failed(&memory);
        if (failed_before)
            assert_true(status);
        for (int i = 0; i < 10 && load; i++) { /* whatever fails is left out, and it goes on */
            ki_status changed = kt_load_change(load, start_ms + i * 1000, 0, NULL);
            assert_true(!changed || changed == KI_ERR_NO_MEMORY);
        }
        kt_load_free(load);
        kt_cluster_free(cluster);
    }
}
