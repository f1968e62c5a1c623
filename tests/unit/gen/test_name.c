/* Names of C for the names of schemas: readable, valid, and no word of C or C++. */
#include "cli/gen/name.h"
#include "tests/support/test.h"

#include <string.h>

TEST(words_of_a_name_are_found) {
    static const struct {
        const char *key, *name;
    } rows[] = {
        { "nodeName", "node_name" },
        { "hostIP", "host_ip" },
        { "hostIPs", "host_ips" },
        { "clusterIPsAreMany", "cluster_ips_are_many" },
        { "podCIDRs", "pod_cidrs" },
        { "HTTPGet", "http_get" },
        { "CSIDriver", "csi_driver" },
        { "IPAddress", "ip_address" },
        { "openAPIV3Schema", "open_apiv3_schema" },
        { "x-kubernetes-list-type", "x_kubernetes_list_type" },
        { "$ref", "ref" },
        { "a..b__c", "a_b_c" },
        { "_private", "private" },
        { "trailing_", "trailing" },
        { "3scale", "3scale" },
        { "\303\244rger", "rger" },
        { "", "field" },
        { "\303\244", "field" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[GEN_NAME_MAX];
        gen_snake(rows[i].key, strlen(rows[i].key), name);
        assert_string_equal(name, rows[i].name);
    }
}

TEST(a_word_of_the_languages_is_no_member) {
    static const struct {
        const char *key, *member;
    } rows[] = {
        { "namespace", "namespace_" },
        { "default", "default_" },
        { "template", "template_" },
        { "operator", "operator_" },
        { "class", "class_" },
        { "stdin", "stdin_" },
        { "xor", "xor_" },
        { "typeof", "typeof_" },
        { "image", "image" },
        { "3scale", "_3scale" },
        { "int64_t", "int64_t_" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[GEN_NAME_MAX];
        gen_snake(rows[i].key, strlen(rows[i].key), name);
        gen_member(name);
        assert_string_equal(name, rows[i].member);
    }
}

TEST(a_struct_has_no_name_of_the_library) {
    static const struct {
        const char *kind, *name;
    } rows[] = {
        { "Pod", "pod" },
        { "Namespace", "namespace_" },
        { "Kinformer", "the_kinformer" },
        { "KinformerPolicy", "kinformer_policy" },
        { "Ki", "the_ki" }, /* a list "events" of it would be struct ki_event */
        { "KiObject", "the_ki_object" },
        { "Kit", "kit" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[GEN_NAME_MAX];
        gen_snake(rows[i].kind, strlen(rows[i].kind), name);
        gen_struct(name);
        assert_string_equal(name, rows[i].name);
    }
}

TEST(an_element_has_the_singular) {
    static const struct {
        const char *list, *element;
    } rows[] = {
        { "containers", "container" },
        { "container_statuses", "container_status" },
        { "addresses", "address" },
        { "policies", "policy" },
        { "host_aliases", "host_alias" },
        { "causes", "cause" },
        { "leases", "lease" },
        { "classes", "class" },
        { "matches", "match" },
        { "boxes", "box" },
        { "env", "env_item" },
        { "ingress", "ingress_item" },
        { "status", "status_item" },
        { "tls", "tls_item" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[GEN_NAME_MAX];
        strcpy(name, rows[i].list);
        gen_singular(name);
        if (strcmp(name, rows[i].element) != 0)
            fail_msg("%s: %s, not %s", rows[i].list, name, rows[i].element);
    }
}

TEST(a_long_name_is_cut) {
    char key[200], name[GEN_NAME_MAX];
    memset(key, 'a', sizeof key);
    gen_snake(key, sizeof key, name);
    assert_true(strlen(name) < GEN_NAME_MAX - 1);
    memset(key, 'A', sizeof key);
    key[0] = '9';
    for (size_t i = 1; i < sizeof key; i += 2)
        key[i] = 'a';
    gen_snake(key, sizeof key, name);
    assert_true(strlen(name) < GEN_NAME_MAX - 1);
    gen_member(name);
    assert_true(name[0] == '_' && strlen(name) < GEN_NAME_MAX);
    gen_singular(name);
    assert_true(strlen(name) < GEN_NAME_MAX);
}
