/* test_load.c: the load makes a cluster that looks like one, and repeats itself for the same seed. */
#include "src/base/memory.h"
#include "testing/load/load.h"
#include "testing/load/text.h"
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

TEST(the_same_seed_gives_the_same_objects) {
    const kt_load_options options = { .pods = PODS, .nodes = 4, .seed = 9, .stamp = "stamp" };
    world a = make(&options);
    world b = make(&options);
    size_t a_cursor = 0, b_cursor = 0, count = 0;
    ki_str a_key, b_key, a_json, b_json;
    change(&a, CHANGES);
    change(&b, CHANGES);
    while (kt_cluster_next(a.cluster, KI_PODS, &a_cursor, &a_key, &a_json)) {
        assert_true(kt_cluster_next(b.cluster, KI_PODS, &b_cursor, &b_key, &b_json));
        assert_true(ki_str_equal(a_key, b_key));
        assert_true(ki_str_equal(a_json, b_json));
        count++;
    }
    assert_in_range(count, PODS * 3 / 4, PODS); /* some are between deletion and being made anew */
    end(&a);
    end(&b);
}

TEST(each_change_is_one_event) {
    world w = make(&(kt_load_options){ .pods = PODS, .seed = 3 });
    uint64_t before = kt_cluster_revision(w.cluster);
    change(&w, CHANGES);
    assert_int_equal(kt_cluster_revision(w.cluster) - before, CHANGES);
    end(&w);
}

TEST(a_pod_has_the_size_of_a_real_one_and_an_owner_that_exists) {
    static const struct {
        bool managed_fields;
        size_t least, most;
    } rows[] = { { false, 4500, 6000 }, { true, 8000, 9500 } };
    for (size_t i = 0; i < 2; i++) {
        world w = make(&(kt_load_options){ .pods = PODS, .seed = 3, .managed_fields = rows[i].managed_fields });
        size_t cursor = 0;
        ki_str key, json, owner;
        while (kt_cluster_next(w.cluster, KI_PODS, &cursor, &key, &json)) {
            assert_in_range(json.size, rows[i].least, rows[i].most);
            yyjson_doc *doc = yyjson_read(json.data, json.size, 0);
            yyjson_val *pod = yyjson_doc_get_root(doc);
            yyjson_val *reference = yyjson_ptr_get(pod, "/metadata/ownerReferences/0");
            const char *ns = yyjson_get_str(yyjson_ptr_get(pod, "/metadata/namespace"));
            assert_int_equal(yyjson_ptr_get(pod, "/metadata/managedFields") != NULL, rows[i].managed_fields);
            assert_int_equal(kt_cluster_get(w.cluster, KI_REPLICASETS, ns,
                                            yyjson_get_str(yyjson_obj_get(reference, "name")), &owner),
                             KI_OK);
            ki_str uid = ki_str_of(yyjson_get_str(yyjson_obj_get(reference, "uid")));
            assert_int_equal(uid.size, 36);
            assert_non_null(memmem(owner.data, owner.size, uid.data, uid.size));
            yyjson_doc_free(doc);
        }
        end(&w);
    }
}

static const char *text_at(yyjson_val *val, const char *path) {
    const char *text = yyjson_get_str(yyjson_ptr_get(val, path));
    return text ? text : "";
}

TEST(each_container_has_an_id_of_its_own) {
    enum {
        IDS_MAX = 4 * PODS
    };
    static char ids[IDS_MAX][96];
    size_t count = 0, cursor = 0, index, size;
    world w = make(&(kt_load_options){ .pods = PODS, .seed = 3 });
    ki_str key, json;
    change(&w, CHANGES); /* some containers have restarted */
    while (kt_cluster_next(w.cluster, KI_PODS, &cursor, &key, &json)) {
        yyjson_doc *doc = yyjson_read(json.data, json.size, 0);
        yyjson_val *container;
        yyjson_arr_foreach(yyjson_ptr_get(yyjson_doc_get_root(doc), "/status/containerStatuses"), index, size,
                           container) {
            const char *id = text_at(container, "/containerID");
            for (size_t i = 0; i < count && id[0]; i++)
                assert_string_not_equal(ids[i], id);
            assert_true(count < IDS_MAX);
            if (id[0])
                snprintf(ids[count++], sizeof ids[0], "%s", id);
        }
        yyjson_doc_free(doc);
    }
    assert_true(count > PODS);
    end(&w);
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
    assert_string_equal(text_at(pod, "/metadata/labels/app.kubernetes.io~1instance"),
                        text_at(slice, "/metadata/labels/kubernetes.io~1service-name"));
    assert_string_equal(yyjson_get_bool(yyjson_obj_get(conditions, "ready")) ? "True" : "False",
                        text_at(pod, "/status/conditions/1/status"));
    assert_int_equal(yyjson_get_bool(yyjson_obj_get(conditions, "terminating")),
                     yyjson_ptr_get(pod, "/metadata/deletionTimestamp") != NULL);
    yyjson_doc_free(doc);
}

static size_t count_addresses(const world *w) {
    size_t cursor = 0, count = 0;
    ki_str key, json;
    while (kt_cluster_next(w->cluster, KI_PODS, &cursor, &key, &json))
        count += memmem(json.data, json.size, "\"podIP\"", 7) != NULL;
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
    assert_int_equal(kt_cluster_count(w.cluster, KI_SERVICES), kt_cluster_count(w.cluster, KI_DEPLOYMENTS));
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
