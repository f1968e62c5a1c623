/* Which kinds have checks of their values, and what the checks cost. The table of requests has what they reject. */
#include "src/base/memory.h"
#include "src/object/resource_table.h"
#include "testing/kinds/validate_object.h"
#include "tests/support/rest_stage.h"
#include "tests/support/test.h"

#include <stdio.h>

#define JSON "application/json"
#define UNCHECKED "kinformer serve: the types of this kind's fields are checked, their values are not\n"
#define CORE "/api/v1/namespaces/default/"

enum {
    TARGET_SIZE = 256,
    README_SIZE = 64 * 1024
};

/* Returns true for a kind without values that a real server would check, and for reviews, which are not stored. */
static bool has_no_values(const ki_resource *resource) {
    static const char *const kinds[] = { "Binding",       "ComponentStatus", "CustomResourceDefinition",
                                         "Namespace",     "PodTemplate",     "ReplicationController",
                                         "ServiceAccount" };
    bool is_review = strstr(resource->kind, "Review") != NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        is_review = is_review || strcmp(resource->kind, kinds[i]) == 0;
    return is_review;
}

REST_TEST(each_kind_whose_values_are_not_checked_says_so) {
    static char readme[README_SIZE];
    FILE *in = fopen(KI_TEST_DATA_DIR "/../../testing/README.md", "r");
    const ki_resource_info *info;
    size_t count = 0;
    assert_non_null(in);
    readme[fread(readme, 1, sizeof readme - 1, in)] = '\0';
    fclose(in);
    const char *list = strstr(readme, "- Of CertificateSigningRequest, ");
    assert_non_null(list);
    for (unsigned i = 0; (info = ki_resource_info_at(i)) != NULL; i++) {
        const ki_resource *resource = info->resource;
        char target[TARGET_SIZE];
        if (kt_validate_knows(resource) || has_no_values(resource))
            continue;
        snprintf(target, sizeof target, "/apis/%s/%s/%s%s", resource->group, resource->version,
                 resource->namespaced ? "namespaces/default/" : "", resource->plural);
        print_message("%s\n", target);
        assert_int_equal(rest_post(&server, target, "{\"metadata\":{\"name\":\"x\"}}"), 201);
        assert_non_null(server.response.warnings.data);
        assert_non_null(strstr(server.response.warnings.data, UNCHECKED));
        assert_non_null(strstr(list, resource->kind));
        count++;
    }
    assert_int_equal(count, 9);
}

REST_TEST(a_kind_with_checks_has_no_such_warning) {
    assert_int_equal(rest_post(&server, CORE "configmaps", "{\"metadata\":{\"name\":\"x\"}}"), 201);
    assert_int_equal(server.response.warnings.size, 0);
    assert_int_equal(rest_post(&server, CORE "serviceaccounts", "{\"metadata\":{\"name\":\"x\"}}"), 201);
    assert_int_equal(server.response.warnings.size, 0);
}

REST_TEST(a_member_whose_values_are_not_checked_says_so_in_a_warning) {
    static const struct {
        const char *target, *body, *member; /* NULL: no warning */
    } rows[] = {
        { CORE "pods", "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
          NULL },
        { CORE "pods",
          "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"volumes\":[{\"name\":\"a\",\"emptyDir\":{}},{\"name\":\"v\","
          "\"iscsi\":"
          "{\"targetPortal\":\"1.2.3.4\",\"iqn\":\"iqn.2001-04.com.example:a\",\"lun\":1}}],\"containers\":[{\"name\":"
          "\"c\","
          "\"image\":\"i\"}]}}",
          "spec.volumes[].iscsi" },
        { "/apis/apps/v1/namespaces/default/deployments",
          "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"template\":{"
          "\"metadata\":"
          "{\"labels\":{\"a\":\"b\"}},\"spec\":{\"volumes\":[{\"name\":\"v\",\"projected\":{\"sources\":[{\"secret\":{"
          "\"name\":"
          "\"s\"}}]}}],\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}",
          "spec.template.spec.volumes[].projected" },
        { CORE "persistentvolumeclaims",
          "{\"metadata\":{\"name\":\"e\"},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"selector\":{\"matchLabels\":{"
          "\"a\":"
          "\"b\"}},\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}",
          NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char wanted[160];
        assert_int_equal(rest_post(&server, rows[i].target, rows[i].body), 201);
        if (!rows[i].member) {
            assert_int_equal(server.response.warnings.size, 0);
            continue;
        }
        snprintf(wanted, sizeof wanted, "kinformer serve: the type of %s is checked, its values are not\n",
                 rows[i].member);
        assert_string_equal(server.response.warnings.data, wanted);
    }
}

REST_TEST(the_indexes_in_a_jobs_status_are_not_checked_and_its_spec_is_not_warned_of_again) {
    static const char target[] = "/apis/batch/v1/namespaces/default/jobs";
    assert_int_equal(
        rest_post(&server, target,
                  "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"completionMode\":\"Indexed\",\"completions\":3,"
                  "\"managedBy\":\"example.com/a\",\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
                  "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}"),
        201);
    assert_string_equal(server.response.warnings.data,
                        "kinformer serve: the type of spec.managedBy is checked, its values are not\n");
    assert_int_equal(rest_send(&server, "PATCH", "/apis/batch/v1/namespaces/default/jobs/j/status",
                               "application/merge-patch+json", "{\"status\":{\"completedIndexes\":\"0-1\"}}"),
                     200);
    assert_string_equal(server.response.warnings.data,
                        "kinformer serve: the type of status.completedIndexes is checked, its values are not\n");
}

REST_TEST(data_of_more_than_a_megabyte_are_too_long) {
    ki_buffer body;
    ki_buffer_init(&body, &ki_allocator_default, 0);
    ki_buffer_append_string(&body, "{\"metadata\":{\"name\":\"x\"},\"data\":{\"a\":\"");
    for (size_t i = 0; i < 1024 * 1024; i++)
        ki_buffer_append_char(&body, 'a');
    ki_buffer_append_string(&body, "\"}}");
    assert_int_equal(rest_post(&server, CORE "configmaps", body.data), 201);
    body.size -= 3;
    ki_buffer_append_string(&body, "a\"}}");
    assert_int_equal(rest_post(&server, CORE "configmaps", body.data), 422);
    assert_true(rest_has(&server, "is invalid: : Too long: may not be more than 1048576 bytes"));
    ki_buffer_free(&body);
}

/* Sends an object with 100,000 texts between `start` and `end`. `after` follows each. */
static int post_many(const char *target, const char *start, const char *after, const char *end) {
    ki_buffer body;
    ki_buffer_init(&body, &ki_allocator_default, 0);
    ki_buffer_append_string(&body, start);
    for (int i = 0; i < 100000; i++)
        ki_buffer_printf(&body, "%s\"a/b%d\"%s", i ? "," : "", i, after);
    ki_buffer_append_string(&body, end);
    int status = rest_post(&server, target, body.data);
    ki_buffer_free(&body);
    return status;
}

#define NAMED "{\"metadata\":{\"name\":\"x\"},\"spec\":{"

REST_TEST(very_many_values_are_checked_in_time) {
    const char *quotas = CORE "resourcequotas";
    assert_int_equal(
        post_many(CORE "limitranges", NAMED "\"limits\":[{\"type\":\"Container\",\"max\":{", ":\"1\"", "}}]}}"), 201);
    assert_int_equal(post_many(quotas, NAMED "\"hard\":{", ":\"-1\"", "}}}"), 422);
    assert_int_equal(post_many(quotas, NAMED "\"scopes\":[", "", "]}}"), 422);
    assert_int_equal(post_many("/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
                               NAMED "\"policyTypes\":[", "", "]}}"),
                     422);
}

TEST(lack_of_memory_while_values_are_checked_leaks_nothing) {
    static const rest_call calls[] = {
        { "POST", "/apis/policy/v1/namespaces/default/poddisruptionbudgets", JSON,
          "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"minAvailable\":1,\"maxUnavailable\":\"200%\"}}" },
        { "POST", "/api/v1/nodes", JSON,
          "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"podCIDRs\":[\"x\"],\"taints\":[{\"key\":\"a\",\"effect\":"
          "\"NoSchedule\"},{"
          "\"key\":\"a\",\"effect\":\"NoSchedule\"}]}}" },
        { "POST", "/api/v1/persistentvolumes", JSON,
          "{\"metadata\":{\"name\":\"v\"},\"spec\":{\"capacity\":{\"storage\":\"-1\",\"cpu\":\"1\"}}}" },
        { "POST", "/apis/storage.k8s.io/v1/storageclasses", JSON,
          "{\"metadata\":{\"name\":\"s\"},\"provisioner\":\"a b\",\"reclaimPolicy\":\"X\"}" },
        { "POST", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates", JSON,
          "{\"metadata\":{\"name\":\"t\"},\"spec\":{\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\",\"exactly\":{"
          "\"deviceClassName\":\"c\"}}]}}}}" },
        { "PATCH", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates/t",
          "application/merge-patch+json",
          "{\"spec\":{\"spec\":{\"devices\":{\"requests\":[{\"name\":\"q\",\"exactly\":{\"deviceClassName\":\"c\"}}]}}}"
          "}" },
    };
    rest_run_short_of_memory(calls, sizeof calls / sizeof *calls);
}

REST_TEST(what_selects_a_device_and_what_was_allocated_are_not_checked) {
    static const char target[] = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
    assert_int_equal(
        rest_post(&server, target,
                  "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\",\"exactly\":{"
                  "\"deviceClassName\":\"gpu\",\"selectors\":[{\"cel\":{\"expression\":\"no CEL\"}}]}}]}}}"),
        201);
    assert_string_equal(server.response.warnings.data,
                        "kinformer serve: the type of spec.devices.requests[].exactly.selectors is checked, its values "
                        "are not\n");
    assert_int_equal(rest_send(&server, "PATCH", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c/status",
                               "application/merge-patch+json",
                               "{\"status\":{\"allocation\":{\"devices\":{\"results\":[]}}}}"),
                     200);
    assert_string_equal(server.response.warnings.data,
                        "kinformer serve: the type of status.allocation is checked, its values are not\n");
}
