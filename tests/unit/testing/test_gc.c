/* test_gc.c: what the garbage collector makes of owners that go. */
#include "tests/support/rest_stage.h"
#include "tests/support/test.h"
#include "tests/support/time/growth.h"

#include "src/base/memory.h"
#include "testing/cluster/storage.h"

#include <stdio.h>
#include <string.h>

#define MAPS "/api/v1/namespaces/default/configmaps"
#define SECRETS "/api/v1/namespaces/default/secrets"
#define MERGE "application/merge-patch+json"

static int set_up(void **state) {
    (void)state;
    rest_server_start(&server, &(kt_cluster_options){ .collects_garbage = true });
    return 0;
}

#define GC_TEST(name) REST_TEST_WITH(set_up, name)

static void uid_of_last(char uid[64]) {
    const char *at = strstr(server.text.data, "\"uid\":\"");
    snprintf(uid, 64, "%.36s", at + strlen("\"uid\":\""));
}

/* Creates a config map that the config map `owner` owns, and a second one where there is one; NULL: nobody. `more` is
 * JSON after an owner's uid. */
static void create(const char *name, const char *owner, const char *second, const char *more) {
    char body[1024], target[128], uid[64];
    int size = snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"%s\",\"ownerReferences\":[", name);
    const char *owners[] = { owner, second };
    for (int i = 0; i < 2 && owners[i]; i++) {
        snprintf(target, sizeof target, MAPS "/%s", owners[i]);
        assert_int_equal(rest_get(&server, target), 200);
        uid_of_last(uid);
        size += snprintf(body + size, sizeof body - (size_t)size,
                         "%s{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"%s\",\"uid\":\"%s\"%s}",
                         i ? "," : "", owners[i], uid, more);
    }
    snprintf(body + size, sizeof body - (size_t)size, "]}}");
    assert_int_equal(rest_post(&server, MAPS, body), 201);
}

static void delete_map(const char *name, const char *query) {
    char target[128];
    snprintf(target, sizeof target, MAPS "/%s%s", name, query);
    assert_int_equal(rest_send(&server, "DELETE", target, NULL, NULL), 200);
}

static void expect(const char *name, int status) {
    char target[128];
    snprintf(target, sizeof target, MAPS "/%s", name);
    assert_int_equal(rest_get(&server, target), status);
}

static void finalize(const char *name, const char *finalizers) {
    char target[128], body[128];
    snprintf(target, sizeof target, MAPS "/%s", name);
    snprintf(body, sizeof body, "{\"metadata\":{\"finalizers\":%s}}", finalizers);
    assert_int_equal(rest_send(&server, "PATCH", target, MERGE, body), 200);
}

GC_TEST(a_dependent_goes_with_its_owner_and_so_do_its_own) {
    create("a", NULL, NULL, "");
    create("b", "a", NULL, "");
    create("c", "b", NULL, "");
    create("other", NULL, NULL, "");
    delete_map("a", "");
    expect("a", 404);
    expect("b", 404);
    expect("c", 404);
    expect("other", 200);
}

GC_TEST(a_dependent_of_two_owners_goes_with_the_last_one) {
    create("a", NULL, NULL, "");
    create("b", NULL, NULL, "");
    create("c", "a", "b", "");
    delete_map("a", "");
    expect("c", 200);
    assert_null(strstr(server.text.data, "\"name\":\"a\""));
    assert_true(rest_has(&server, "\"name\":\"b\""));
    delete_map("b", "");
    expect("c", 404);
}

GC_TEST(a_dependent_of_nobody_goes_at_once) {
    static const char *const refs[] = { "\"v1\",\"kind\":\"ConfigMap\"", "\"example.com/v1\",\"kind\":\"Unknown\"" };
    static const int left[] = { 404, 200 };
    for (size_t i = 0; i < sizeof refs / sizeof refs[0]; i++) {
        char body[256];
        snprintf(
            body, sizeof body,
            "{\"metadata\":{\"name\":\"x\",\"ownerReferences\":[{\"apiVersion\":%s,\"name\":\"a\",\"uid\":\"u\"}]}}",
            refs[i]);
        assert_int_equal(rest_post(&server, MAPS, body), 201);
        expect("x", left[i]);
    }
}

GC_TEST(an_owner_deleted_in_the_foreground_waits_for_those_that_block_it) {
    create("a", NULL, NULL, "");
    create("blocking", "a", NULL, ",\"blockOwnerDeletion\":true");
    create("below", "blocking", NULL, ",\"blockOwnerDeletion\":true");
    create("free", "a", NULL, "");
    finalize("below", "[\"example.com/x\"]");
    finalize("free", "[\"example.com/x\"]");
    delete_map("a", "?propagationPolicy=Foreground");
    expect("a", 200);
    assert_true(rest_has(&server, "\"finalizers\":[\"foregroundDeletion\"]"));
    expect("blocking", 200);
    assert_true(rest_has(&server, "\"finalizers\":[\"foregroundDeletion\"]"));
    expect("below", 200);
    assert_true(rest_has(&server, "deletionTimestamp"));
    finalize("below", "null");
    expect("below", 404);
    expect("blocking", 404);
    expect("a", 404);
    expect("free", 200); /* it does not block, and its own finalizer keeps it */
    assert_true(rest_has(&server, "deletionTimestamp"));
}

/* Adds an owner that blocks. */
static void own_too(const char *name, const char *owner) {
    char target[128], body[512], uid[64];
    snprintf(target, sizeof target, MAPS "/%s", owner);
    assert_int_equal(rest_get(&server, target), 200);
    uid_of_last(uid);
    snprintf(target, sizeof target, MAPS "/%s", name);
    snprintf(body, sizeof body,
             "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"%s\","
             "\"uid\":\"%s\",\"blockOwnerDeletion\":true}]}}",
             owner, uid);
    assert_int_equal(rest_send(&server, "PATCH", target, MERGE, body), 200);
}

GC_TEST(a_cycle_of_owners_goes_as_a_whole) {
    static const char *const names[] = { "a", "b", "c", "d" };
    static const char *const queries[] = { "?propagationPolicy=Foreground", "" };
    for (size_t i = 0; i < 8; i++) {
        size_t length = 1 + i / 2;
        create("a", NULL, NULL, "");
        for (size_t k = 1; k < length; k++)
            create(names[k], names[k - 1], NULL, ",\"blockOwnerDeletion\":true");
        own_too("a", names[length - 1]);
        delete_map("a", queries[i % 2]);
        for (size_t k = 0; k < length; k++)
            expect(names[k], 404);
    }
}

GC_TEST(a_cycle_of_owners_waits_for_a_finalizer) {
    create("a", NULL, NULL, "");
    create("b", "a", NULL, ",\"blockOwnerDeletion\":true");
    create("outside", "a", NULL, ",\"blockOwnerDeletion\":true");
    own_too("a", "b");
    finalize("outside", "[\"example.com/x\"]");
    delete_map("a", "?propagationPolicy=Foreground");
    expect("a", 200);
    expect("outside", 200);
    finalize("outside", "null");
    expect("outside", 404);
    expect("a", 404);
    expect("b", 404);
}

GC_TEST(an_owner_without_dependents_does_not_wait) {
    create("a", NULL, NULL, "");
    delete_map("a", "?propagationPolicy=Foreground");
    expect("a", 404);
    create("a", NULL, NULL, "");
    delete_map("a", "?propagationPolicy=Orphan");
    expect("a", 404);
}

GC_TEST(orphans_stay_and_forget_their_owner) {
    create("a", NULL, NULL, "");
    create("b", "a", NULL, "");
    delete_map("a", "?propagationPolicy=Orphan");
    expect("a", 404);
    expect("b", 200);
    assert_null(strstr(server.text.data, "\"ownerReferences\":"));
}

GC_TEST(without_the_collector_dependents_stay) {
    rest_server_stop(&server);
    rest_server_start(&server, NULL);
    create("a", NULL, NULL, "");
    create("b", "a", NULL, "");
    delete_map("a", "");
    expect("b", 200);
}

GC_TEST(it_continues_after_the_cluster_went_back) {
    create("a", NULL, NULL, "");
    create("b", "a", NULL, "");
    delete_map("a", "");
    assert_int_equal(kt_cluster_rewind(server.cluster, 2, server.now_ms), KI_OK);
    expect("b", 200);
    delete_map("a", "");
    expect("b", 404);
}

/* --- many --------------------------------------------------------------------------------------------------------- */

static void put_map(const char *name, ki_str owner) {
    char json[256];
    int size = snprintf(json, sizeof json, "{\"metadata\":{\"namespace\":\"default\",\"name\":\"%s\"", name);
    if (owner.size)
        size += snprintf(json + size, sizeof json - (size_t)size,
                         ",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"o%s\","
                         "\"uid\":\"%.*s\"}]",
                         name + 1, (int)owner.size, owner.data);
    size += snprintf(json + size, sizeof json - (size_t)size, "}}");
    assert_int_equal(
        kt_cluster_put_json(server.cluster, KI_CONFIGMAPS, (ki_str){ json, (size_t)size }, server.now_ms, NULL, NULL),
        KI_OK);
}

static void create_pairs(size_t count, void *user) {
    char name[32];
    (void)user;
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "o%zu", i);
        put_map(name, KI_STR(""));
        ki_str uid =
            kt_storage_get(kt_storage_of(server.cluster, KI_CONFIGMAPS), KI_STR("default"), ki_str_of(name))->uid;
        name[0] = 'd';
        put_map(name, uid);
    }
}

static void delete_owners(size_t count, void *user) {
    char name[32];
    (void)user;
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "o%zu", i);
        assert_int_equal(kt_cluster_delete(server.cluster, KI_CONFIGMAPS, "default", name, server.now_ms, NULL), KI_OK);
    }
    assert_int_equal(kt_storage_of(server.cluster, KI_CONFIGMAPS)->count, 0);
}

GC_TEST(a_delete_with_its_dependent_takes_no_longer_beside_many_others) {
    assert_true(growth_after(create_pairs, delete_owners, 300, NULL) < GROWTH_LINEAR_MAX);
}
